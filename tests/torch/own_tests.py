"""Runs torch's own tests of torch.distributed, torch.testing._internal.distributed.distributed_test, over a backend.

    own_tests.py --backend gossamer --results FILE           all of them, on four processes each
    own_tests.py --backend gossamer --as mpi METHOD...       these, also where torch gives them to backend mpi alone

torch runs some tests only for backends of certain names, which --as overrules. FILE (JSON) gets status, reason and seconds of each
method; entries of other methods stay. The tests run in forks of one process that has imported torch, so that none imports it again.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import unittest

STATUSES = ("passed", "skipped", "failed")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help="none: all")
    parser.add_argument("--backend", choices=("gossamer", "gloo"), required=True)
    parser.add_argument("--as", dest="role", choices=("gossamer", "gloo", "mpi"), help="whose tests; as a rule its own")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time")
    parser.add_argument("--timeout", type=float, default=100, help="seconds for each test")
    parser.add_argument("--results", help="a JSON file")
    return parser.parse_args()


class Name(str):
    """The name of a backend that also equals that of another one, where a test asks which one it runs on."""

    def __new__(cls, name, role):
        made = super().__new__(cls, name)
        made.role = role
        return made

    def __eq__(self, other):
        return other == self.role or str(self) == other

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def load(backend, role, ranks):
    """The class of the tests. torch's decorators read the name of the backend when they are imported."""
    os.environ.update(BACKEND=role, WORLD_SIZE=str(ranks), INIT_METHOD="env://", TEMP_DIR=tempfile.gettempdir(), GLOO_SOCKET_IFNAME="lo",
                      GOSS_INTERFACE="lo", OMP_NUM_THREADS="1")
    import torch  # pylint: disable=import-outside-toplevel
    from torch.testing._internal import common_distributed  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    if backend == "gossamer":
        import gossamer.torch  # pylint: disable=import-outside-toplevel,unused-import
    for feature in ("ddp", "subgroup", "plugin"):
        common_distributed.DistTestCases.backend_feature[feature].add(role)
    from torch.testing._internal.distributed import distributed_test  # pylint: disable=import-outside-toplevel

    distributed_test.BACKEND = Name(backend, role)
    def fork(self):
        self._start_processes(torch.multiprocessing.get_context("fork").Process)

    class OwnTests(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        _spawn_processes = fork

        def setUp(self):
            super().setUp()
            self._spawn_processes()

    return OwnTests


def run_method(kind, method, pipe):
    """In a process of its own: runs a test, and writes status and reason."""
    os.setsid()
    folder = tempfile.mkdtemp()
    os.environ["TEMP_DIR"] = folder
    for name in ("barrier", "test_dir", "init_dir"):
        os.mkdir(os.path.join(folder, name))
    log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    result = unittest.TestResult()
    kind.setUpClass()
    kind(method).run(result)
    problems = result.errors + result.failures
    if problems:
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as file:
            answer = ["failed", problems[0][1] + file.read()[-20000:]]
    elif result.skipped:
        answer = ["skipped", result.skipped[0][1]]
    else:
        answer = ["passed", ""]
    os.write(pipe, json.dumps(answer).encode())
    os._exit(0)


class Running:
    """A test in its process."""

    def __init__(self, kind, method):
        self.method, self.began = method, time.monotonic()
        self.pipe, theirs = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            try:
                run_method(kind, method, theirs)
            finally:
                os._exit(1)
        os.close(theirs)
        self.text = b""

    def poll(self, limit):
        """[status, reason, seconds], or None while it runs."""
        took = time.monotonic() - self.began
        is_late = took > limit
        if is_late:
            os.killpg(self.pid, signal.SIGKILL)
        elif not select([self.pipe]):
            return None
        while True:
            part = os.read(self.pipe, 65536)
            if not part:
                break
            self.text += part
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        try:
            os.killpg(self.pid, signal.SIGKILL)  # ranks that are left
        except ProcessLookupError:
            pass
        if is_late:
            return ["failed", f"not done after {limit:g} s", took]
        status, reason = json.loads(self.text) if self.text else ["failed", "the test's process died"]
        return [status, reason, round(took, 2)]


def select(pipes):
    import select as system  # pylint: disable=import-outside-toplevel

    return system.select(pipes, [], [], 0)[0]


def why_skipped(kind, method):
    function = getattr(kind, method)
    return getattr(function, "__unittest_skip_why__", "") if getattr(function, "__unittest_skip__", False) else None


def run(kind, methods, jobs, limit):
    results, waiting, running = {}, [], []
    for method in methods:
        why = why_skipped(kind, method)
        if why is None:
            waiting.append(method)
        else:
            results[method] = ["skipped", why, 0]
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Running(kind, waiting.pop(0)))
        for one in list(running):
            result = one.poll(limit)
            if result is not None:
                running.remove(one)
                results[one.method] = result
                print(f"{result[0]:8} {result[2]:6.1f} s  {one.method}", flush=True)
        time.sleep(0.02)
    return results


def main():
    options = parse()
    kind = load(options.backend, options.role or options.backend, options.ranks)
    methods = options.methods or sorted(method for method in dir(kind) if method.startswith("test_"))
    results = run(kind, methods, options.jobs, options.timeout)
    if options.results:
        old = {}
        if os.path.exists(options.results):
            with open(options.results, encoding="utf-8") as file:
                old = json.load(file)
        with open(options.results, "w", encoding="utf-8") as file:
            json.dump({**old, **results}, file, indent=1)
    for method, (status, reason, _) in results.items():
        if status == "failed":
            print(f"---- {method}\n{reason}")
    counts = {status: sum(one[0] == status for one in results.values()) for status in STATUSES}
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
