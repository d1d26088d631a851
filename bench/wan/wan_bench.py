#!/usr/bin/python3
"""All-reduce over emulated wide-area links, beside the least time that bandwidth and delay allow. Needs root (goss-wanem).

    bench/wan/wan_bench.py --bin build/release/bin                          all cases
    bench/wan/wan_bench.py --bin build/release/bin --case 100/10/0 matrix   only these: Mbit/s, ms one way, % loss
    bench/wan/wan_bench.py --list

Uniform cases: four hosts, each with an access line of so many Mbit/s up and down. The bound: a rank must send and receive 2 (p - 1) / p
of the vector, at 96.5 % of the line (TCP's share of IP packets), and two one-way delays pass. Matrix: every pair has a link
of its own, at two sites; the bound is the narrowest cut: whatever the algorithm, both sides need the other's sum. The
seconds are the mean of --iterations all-reduces after one that warms the connections up.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HOSTS = 4
SHARE = 0.965
# Mbit/s of each pair, symmetric: two sites of two hosts, and one link that is far worse than the others.
MATRIX = {(0, 1): 1000, (2, 3): 1000, (0, 2): 200, (1, 3): 200, (1, 2): 100, (0, 3): 10}
UNIFORM = [f"{bw}/{delay}/{loss}" for bw in (100, 500, 1000) for delay in (10, 50) for loss in ("0", "0.1", "1")]
CASES = UNIFORM + ["matrix", "matrix-ring"]


def uniform_bound_s(size, mbit, delay_ms):
    return 2 * (HOSTS - 1) / HOSTS * size / (mbit * 1e6 / 8 * SHARE) + 2 * delay_ms / 1e3


def matrix_bound_s(size, delay_ms):
    sides = [{rank for rank in range(HOSTS) if mask >> rank & 1} for mask in range(1, 2**HOSTS - 1)]
    narrowest = min(sum(mbit for (a, b), mbit in MATRIX.items() if (a in side) != (b in side)) for side in sides)
    return size / (narrowest * 1e6 / 8 * SHARE) + 2 * delay_ms / 1e3


def run(args, case):
    """What goss-bench reports, and whether the emulator was overloaded."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        options, algorithm = [], []
        if case.startswith("matrix"):
            delay = 10
            (scratch / "wan").write_text("".join(f"{a} {b} bw={m}\n" for (a, b), m in MATRIX.items()))
            options = ["--links", str(scratch / "wan"), "--delay", str(delay)]
            links = "gossamer-links 1\nbase wan\n" + "".join(
                f"pair {a} <-> {b} latency {delay}ms bandwidth {m / 8 * SHARE:.4g}MB/s\n" for (a, b), m in MATRIX.items())
            algorithm = ["--algorithm", "ring"] if case == "matrix-ring" else []
        else:
            mbit, delay, loss = case.split("/")
            options = ["--up", mbit, "--down", mbit, "--delay", delay, "--loss", loss]
            links = f"gossamer-links 1\nbase wan\ndefault latency {delay}ms bandwidth {float(mbit) / 8 * SHARE:.4g}MB/s\n"
        (scratch / "links").write_text(links)
        bench = [str(args.bin / "goss-bench"), "allreduce", "-m", f"{args.size}:{args.size}", "-i", str(args.iterations), "-x", "1",
                 "--json", str(scratch / "json"), *algorithm]
        environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(HOSTS),
                           GOSS_LINKS=str(scratch / "links"), GOSS_CONNECTIONS=str(args.connections))
        command = [str(args.bin / "goss-wanem"), "run", "--prefix", "gwb", "--hosts", str(HOSTS), "--timeout", "110", "--each", *options,
                   "--", "bash", "-c", "RANK=$WANEM_RANK exec \"$@\"", "bash", *bench]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{case}: status {done.returncode}\n{done.stdout}{done.stderr}")
        record = json.loads((scratch / "json").read_text().splitlines()[-1])
        return record, "OVERLOADED" in done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--case", nargs="+", choices=CASES, default=CASES, metavar="CASE")
    parser.add_argument("--size", type=int, default=64 << 20)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    print("| case | seconds | bound | of the bound |\n|---|---|---|---|")
    for case in args.case:
        record, overloaded = run(args, case)
        seconds = record["us"] / 1e6
        bound = matrix_bound_s(args.size, 10) if case.startswith("matrix") else uniform_bound_s(args.size, *map(float, case.split("/")[:2]))
        print(f"| {case} | {seconds:.2f} | {bound:.2f} | {100 * bound / seconds:.0f} %{' (overloaded)' if overloaded else ''} |", flush=True)


if __name__ == "__main__":
    main()
