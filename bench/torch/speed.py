#!/usr/bin/python3
"""The speed of torch.distributed over Gossamer and over Gloo, in turn in one run.

    build/torch/bin/python3 bench/torch/speed.py --bin build/release/bin --library build/release/lib/libgossamer.so.0
    ... --write         also into the table of docs/pytorch.md

All-reduces of float32, and steps of DistributedDataParallel with 10 million parameters, on 2 and on 4 processes of this host; then such steps
over emulated lines of 100 Mbit/s, Gossamer with TLS and int8, Gloo without either. Medians of rounds. The lines need root, for goss-wanem.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "pytorch.md"
BEGIN, END = "<!-- bench/torch/speed.py --write writes what follows -->", "<!-- end of speed -->"
SIZES = [4 << shift for shift in range(0, 25, 3)]  # bytes: 4 B to 64 MiB
ROUNDS = 5
BLOCK_S = 0.1  # of one backend, before it is the other one's turn
MBIT, DELAY_MS = 100, 5


def worker(kind, key):
    """In each process: measures, and writes the results on rank 0."""
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel

    import gossamer.torch  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    settings = {"interface": "lo"} if kind == "host" else {"transport": "tls", "interface": "wan0", "tls": f"psk:{key}"}
    dist.init_process_group("gossamer", pg_options=gossamer.torch.Options(**settings))
    groups = {"gossamer": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}

    def timed(call, count, group):
        dist.barrier(group=group)
        began = time.perf_counter()
        for _ in range(count):
            call(group)
        return (time.perf_counter() - began) / count

    def in_turn(calls, block_s, rounds):
        """Medians by backend; rank 0 says how often a block repeats the call."""
        seconds = {name: [] for name in groups}
        counts = {}
        for name, group in groups.items():
            calls[name](group)
            count = torch.tensor([max(1, int(block_s / timed(calls[name], 3 if block_s else 1, group)))])
            dist.broadcast(count, 0)
            counts[name] = int(count)
        for _ in range(rounds):
            for name, group in groups.items():
                seconds[name].append(timed(calls[name], counts[name], group))
        return {name: statistics.median(times) for name, times in seconds.items()}

    def step(name, codec=None):
        torch.manual_seed(1)
        net = torch.nn.Sequential(*[torch.nn.Linear(1600, 1600) for _ in range(4)])
        model = torch.nn.parallel.DistributedDataParallel(net, process_group=groups[name])
        if codec:
            model.register_comm_hook(groups[name], gossamer.torch.hook(codec))
        points = torch.randn(16, 1600)

        def run(_):
            model.zero_grad()
            model(points).square().mean().backward()

        return run

    found = {}
    if kind == "host":
        for size in SIZES:
            values = torch.zeros(size // 4)
            reduce = {name: lambda group: dist.all_reduce(values, group=group) for name in groups}
            found[str(size)] = in_turn(reduce, BLOCK_S, ROUNDS)
        found["step"] = in_turn({name: step(name) for name in groups}, 0.3, ROUNDS)
    else:
        found["step"] = in_turn({"gossamer": step("gossamer", "int8:block=256"), "gloo": step("gloo")}, 0, 2)
    if dist.get_rank() == 0:
        print("RESULT " + json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def result_of(text, what):
    lines = [line for line in text.splitlines() if line.startswith("RESULT ")]
    if len(lines) != 1:
        sys.exit(f"{what} failed:\n{text}")
    return json.loads(lines[0][len("RESULT "):])


def command(kind, key=""):
    return [sys.executable, "-B", __file__, "--worker", kind, "--key", key]


def environment(options, ranks, **variables):
    path = os.pathsep.join(filter(None, (str(ROOT / "bindings" / "python"), os.environ.get("PYTHONPATH"))))
    return dict(os.environ, PYTHONPATH=path, GOSSAMER_LIBRARY=str(options.library.resolve()), OMP_NUM_THREADS="1",
                WORLD_SIZE=str(ranks), **variables)


def on_host(options, ranks):
    variables = environment(options, ranks, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(random.randrange(20000, 32000)), GLOO_SOCKET_IFNAME="lo")
    processes = [subprocess.Popen(command("host"), env=dict(variables, RANK=str(rank)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for rank in range(ranks)]
    return result_of("".join(process.communicate(timeout=300)[0] for process in processes), f"{ranks} processes")


def over_lines(options, ranks):
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        subprocess.run([options.bin / "goss-keys", "psk", key], check=True, stdout=subprocess.DEVNULL)
        variables = environment(options, ranks, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", GLOO_SOCKET_IFNAME="wan0")
        done = subprocess.run([options.bin / "goss-wanem", "run", "--prefix", "gts", "--hosts", str(ranks), "--timeout", "200", "--each", "--up", str(MBIT), "--down", str(MBIT),
                               "--delay", str(DELAY_MS), "--", "bash", "-c", 'RANK=$WANEM_RANK exec "$@"', "bash", *command("lines", key)],
                              env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if "OVERLOADED" in done.stderr:
            print("goss-wanem was overloaded: do not use the times over lines", file=sys.stderr)
        return result_of(done.stdout + done.stderr, f"{ranks} hosts")


def text_of(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            break
    return f"{seconds * scale:.3g} {unit}"


def cell(pair):
    return f"{text_of(pair['gossamer'])} (**{pair['gloo'] / pair['gossamer']:.2f}**)"


def name_of(size):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)):
        if size >= scale:
            return f"{size // scale} {unit}"
    return ""


def table(host, lines):
    rows = ["| Gossamer (times as fast as Gloo) | " + " | ".join(f"{ranks} processes" for ranks in host) + " |", "|---" * (1 + len(host)) + "|"]
    for size in SIZES:
        rows.append(f"| all-reduce, {name_of(size)} | " + " | ".join(cell(one[str(size)]) for one in host.values()) + " |")
    means = [statistics.geometric_mean([one[str(size)]["gloo"] / one[str(size)]["gossamer"] for size in SIZES]) for one in host.values()]
    rows.append("| geometric mean of all-reduces | " + " | ".join(f"**{mean:.2f}**" for mean in means) + " |")
    rows.append("| DDP step, 10 M parameters | " + " | ".join(cell(one["step"]) for one in host.values()) + " |")
    if lines:
        rows.append(f"| DDP step over {MBIT} Mbit/s, {DELAY_MS} ms; Gossamer: int8, TLS | " +
                    " | ".join(cell(lines[ranks]["step"]) if ranks in lines else "" for ranks in host) + " |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin", help="where goss-wanem and goss-keys are")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release" / "lib" / "libgossamer.so.0")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--no-lines", action="store_true", help="nothing that needs root")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--worker", choices=("host", "lines"), help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.key)
        return
    host = {ranks: on_host(options, ranks) for ranks in options.ranks}
    text = table(host, {} if options.no_lines else {ranks: over_lines(options, ranks) for ranks in options.ranks})
    print(text)
    if options.write:
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
        DOCUMENT.write_text(before + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
