"""Torch's own NCCL backends over libnccl.so.2, and gossamer.torch, over the CUDA stand-in of build/dev, for the preset nccl.

    run.py                    everything; prints what fails, and "N passed, N failed" at the end
    run.py --only EXPRESSION  scenarios whose name this regular expression finds
    run.py --gpu LIBRARIES    on GPUs instead, with the libraries of this folder and whatever torch has CUDA, for scripts/gpu-check
"""

import argparse
import inspect
import itertools
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.path.join(HERE, "..", "..", "..", "build", "dev"))
PACKAGE = os.path.abspath(os.path.join(HERE, "..", "..", "..", "bindings", "python"))
PRELOADED = ("standin/libcuda.so.1", "standin/libcudart.so.13", "lib/nccl/libnccl.so.2")

# Gossamer's own, and what torch calls NCCL's default, the one before, and the one with a communicator for each pair of ranks.
BACKENDS = ("gossamer", "nccl", "nccl-legacy", "nccl-lazy")
MODES = {"one queue": {"CUDA_STANDIN_ONE_QUEUE": "1"}, "delay": {"CUDA_STANDIN_DELAY_US": "100"},
         "one queue, delay": {"CUDA_STANDIN_ONE_QUEUE": "1", "CUDA_STANDIN_DELAY_US": "100"}, "tcp": {"GOSS_TRANSPORT": "tcp"},
         "kernels load late": {"CUDA_STANDIN_LAZY": "1", "CUDA_STANDIN_LOCK": "1"},
         "a device each": {"CUDA_STANDIN_DEVICES": "3"}, "non-blocking communicators": {"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"}}

# Torch's reasons: it asks the device for multicast.
NOT_FOR = {"memory_of_the_library": ("gossamer", "nccl-legacy", "nccl-lazy")}

# Torch ends a process without writing what it recorded.
SOON = {"GOSS_SILENCE_MS": "2000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0", "TORCH_FR_BUFFER_SIZE": "0", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "100",
        "TORCH_NCCL_COORD_CHECK_MILSEC": "100"}
LOST = r"lost rank 1|rank 1 was lost"
FAULTS = {"killed": ({}, LOST), "stopped": ({}, LOST), "mismatched": ({}, r"does not match: .*rank 1 called all_reduce\(sum\) of 2000"),
          "absent": ({"GOSS_TIMEOUT_MS": "3000"}, "rank 1 has not called it yet"), "absent_to_the_watchdog": ({}, "[Tt]imed out|[Ww]atchdog.*timeout|did not complete within 4000 ms"),
          "device_lost": ({}, "rank 1: cuda device"), "without_gates": ({"CUDA_STANDIN_MEMOPS": "0", "CUDA_STANDIN_KERNELS": "0"}, "do not await values in memory"),
          "recovered": ({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}, LOST), "shrunk": ({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}, None)}  # torch has nothing to tell
FAILING = {"device_lost": {"CUDA_STANDIN_FAIL_AT": "3000"}}  # the culprit's alone
# gossamer.torch takes torch's limit, not GOSS_TIMEOUT_MS, and torch has no way to ask it for a smaller group.
NOT_OURS = ("absent", "shrunk")
STAYS = ("stopped", "absent", "absent_to_the_watchdog")  # the culprit does not end by itself


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, title, begun, ranks, wrong, total, left_out=None):
        """`wrong`: {check: problem}; `left_out`, which are no part of `total`: {check: reason}"""
        self.passed += total - len(wrong)
        self.failed += len(wrong)
        print(f"{total - len(wrong):3} of {total}  {time.monotonic() - begun:5.1f} s  {title}", flush=True)
        for check, reason in (left_out or {}).items():
            print(f"     left out: {check}: {reason}")
        for check, problem in wrong.items():
            print(f"---- {check}: {problem}")
        for number in range(len(ranks.processes) if wrong else 0):
            print(f"---- log of rank {number}, which ended with {ranks.codes[number]}\n{ranks.log(number)[-6000:]}")


def functions(module):
    return [one for name, one in vars(module).items() if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")]


def worlds():
    """(backend, eager, ranks, mode): everything in the plain mode, and each mode with both backends, both starts and both sizes."""
    yield from ((*one, "") for one in itertools.product(BACKENDS, (False, True), (2, 3)))
    for backend, mode in itertools.product(BACKENDS[:3], MODES):
        if backend == "gossamer" and mode.startswith("non-blocking"):
            continue
        turn = BACKENDS.index(backend) + list(MODES).index(mode)
        yield from ((backend, size % 2 == turn % 2, size, mode) for size in (2, 3))


def known(backends):
    """Those that this torch has; says which it has not, which only an older torch may say."""
    import rig  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel

    unknown = [one for one in backends if one != "gossamer" and not dist.is_backend_available(one)]
    if unknown:
        print(f"left out: this torch has no backend {', '.join(unknown)}", flush=True)
    return [one for one in backends if one not in unknown] if rig.IS_OLD else list(backends)


def is_wanted(options, title, variables):
    """A GPU does not do what the stand-in's variables say; what is left out there is said."""
    if not re.search(options.only, title):
        return False
    left_out = options.gpu and any(name.startswith("CUDA_STANDIN") for name in variables)
    if left_out:
        print(f"     left out on a GPU: {title}", flush=True)
    return not left_out


def run_checks(meeting, options, count):
    import backend as ours  # pylint: disable=import-outside-toplevel
    import collectives  # pylint: disable=import-outside-toplevel
    import graphs  # pylint: disable=import-outside-toplevel
    import groups  # pylint: disable=import-outside-toplevel
    import rig  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel

    for backend, eager, size, mode in worlds():
        title = ", ".join(filter(None, (backend, "eager" if eager else "lazy", f"{size} ranks", mode)))
        if backend not in options.backends or not is_wanted(options, title, MODES.get(mode, {})):
            continue
        own = functions(ours if backend == "gossamer" else graphs)
        checks = [one for one in (*functions(collectives), *functions(groups), *own) if backend not in NOT_FOR.get(one.__name__, ())]

        def body(rank, backend=backend, eager=eager, checks=checks):
            rank.begin(backend, eager)
            for check in checks:
                rank.check(check)
            dist.destroy_process_group()
            rank.note("destroy_process_group")

        begun = time.monotonic()
        ranks = rig.Ranks(meeting, size, body, MODES.get(mode, {}))
        ended = ranks.wait(30 if options.gpu else 150)
        wrong, left_out = {}, {}
        for name in [*(check.__name__ for check in checks), "destroy_process_group"]:
            said = [ranks.results(number).get(name, "not reached" if ended else "not reached in time") for number in range(size)]
            if all(problem.startswith(rig.LEFT_OUT) for problem in said):
                left_out[name] = said[0][len(rig.LEFT_OUT):]
            elif any(said):
                wrong[name] = "\n".join(f"rank {number}: {problem}" for number, problem in enumerate(said) if problem)
        if any("cuda stand-in" in ranks.log(number) for number in range(size)):
            wrong["the stand-in complains of nothing"] = "a log below tells"
        if not rig.IS_OLD and not options.gpu:
            wrong.update({name: f"left out: {reason}" for name, reason in left_out.items()})
        count.add(title, begun, ranks, wrong, len(checks) + (1 if options.gpu else 2) - len(left_out), left_out)


def run_fault(meeting, name, title, backend, variables):
    """The ranks, and what is wrong: {check: problem}"""
    import faults  # pylint: disable=import-outside-toplevel
    import rig  # pylint: disable=import-outside-toplevel

    def body(rank):
        rank.backend = backend
        getattr(faults, name)(rank)

    more, culprit = FAULTS[name]
    if name == "device_lost" and backend == "gossamer":  # the culprit's program may end by CUDA's error before the library finds it
        culprit += "|" + LOST
    settings = {**SOON, **variables, **more}
    failing = {**settings, **FAILING.get(name, {})}
    ranks = rig.Ranks(meeting, 3, body, lambda number: failing if number == faults.CULPRIT else settings)
    wrong = {}
    if not ranks.wait(60, but=[faults.CULPRIT] if name in STAYS else []):
        wrong["nobody hangs"] = f"{title}: some did not end"
    for number in (0, 2):
        said = ranks.results(number)
        own = "\n".join(line for line in ranks.log(number).splitlines() if " gossamer rank " not in line)
        if culprit and not re.search(culprit, own + said.get("raised", "")):
            wrong["torch tells the culprit"] = f"rank {number}"
        if "began" not in said and name != "without_gates":
            wrong["the group worked before"] = f"rank {number}"
        if said.get("read", "NaN") != "NaN":
            wrong["nobody reads an old value"] = f"rank {number} read {said['read']}"
        if ranks.codes[number] == 0 and "recovered" not in said:
            wrong["nobody takes it for a success"] = f"rank {number}"
    return ranks, wrong


def run_faults(meeting, options, count):
    for backend, (mode, variables), name in itertools.product(BACKENDS[:3], (("", {}), ("one queue", MODES["one queue"])), FAULTS):
        if backend not in options.backends or (backend == "gossamer" and name in NOT_OURS):
            continue
        title = ", ".join(filter(None, (backend, name.replace("_", " "), mode)))
        if not is_wanted(options, title, {**variables, **FAULTS[name][0], **FAILING.get(name, {})}):
            continue
        begun = time.monotonic()
        ranks, wrong = run_fault(meeting, name, title, backend, variables)
        count.add(title, begun, ranks, wrong, 4 if FAULTS[name][1] else 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--gpu", metavar="LIBRARIES")
    options = parser.parse_args()
    found = [options.gpu] if options.gpu else [f"{BUILD}/standin", f"{BUILD}/lib"]
    libraries = ":".join(os.path.join(BUILD, name) for name in PRELOADED)
    if options.gpu:
        beside, below = (os.path.join(options.gpu, folder, "libnccl.so.2") for folder in ("", "nccl"))
        libraries = beside if os.path.exists(beside) else below
    if os.environ.get("LD_PRELOAD") != libraries:  # it is read when a process begins
        os.environ.update(LD_PRELOAD=libraries, LD_LIBRARY_PATH=":".join([*found, os.environ.get("LD_LIBRARY_PATH", "")]), OMP_NUM_THREADS="1",
                          PYTHONPATH=PACKAGE, GOSSAMER_LIBRARY=os.path.join(found[-1], "libgossamer.so.0"))
        os.execv(sys.executable, [sys.executable, "-B", *sys.argv])
    import rig  # pylint: disable=import-outside-toplevel

    options.backends = known(BACKENDS)
    meeting, count = rig.Meeting(), Count()
    try:
        run_faults(meeting, options, count)
        run_checks(meeting, options, count)
    finally:
        meeting.close()
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
