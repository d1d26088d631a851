#!/usr/bin/python3
"""All-reduce over emulated wide-area links, beside the least time that bandwidth and delay allow. Needs root (goss-wanem).

    bench/wan/wan_bench.py --bin build/release/bin                          all cases
    bench/wan/wan_bench.py --bin build/release/bin --case 100/10/0 matrix   only these: Mbit/s, ms one way, % loss
    bench/wan/wan_bench.py --list

Four hosts, every pair joined by links of its own. Prints a table in Markdown: the median of --iterations all-reduces after one
that warms the connections up. The bound: every rank must get size * (p - 1) / p bytes of others' sums over its links, and
the same of results; over p - 1 equal links at once that is 2 * size / p bytes a link, at 96.5 % (TCP's share of an IP
packet), and two one-way delays. For unequal links it is the linear programme's for direct exchange: a rank's share of the vector is
as large as its slowest link allows.
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
    return 2 * size / HOSTS / (mbit * 1e6 / 8 * SHARE) + 2 * delay_ms / 1e3


def matrix_bound_s(size, delay_ms):
    """Shares w_r (sum 1): each link i -> j carries w_j * size, then w_i * size: time max over links of (w_i + w_j) * size / rate.
    Found by bisection over the time, and a few hundred steps of shrinking the largest violation."""
    rates = {pair: mbit * 1e6 / 8 * SHARE for pair, mbit in MATRIX.items()}

    def best_sum(seconds):
        # Most sum of w with w_i + w_j <= limit: of four ranks, half-integral vertices of the polytope suffice.
        limits = {pair: seconds * rate / size for pair, rate in rates.items()}
        best = 0.0
        for order in ([0, 1, 2, 3], [3, 0, 1, 2], [1, 2, 0, 3], [2, 1, 3, 0], [0, 3, 1, 2], [1, 3, 0, 2], [2, 0, 1, 3]):
            for first in range(0, 101):
                w = {}
                for rank in order:
                    most = min([1.0] + [limits[tuple(sorted((rank, other)))] - w[other] for other in w])
                    w[rank] = max(0.0, most * first / 100 if not w else most)
                if all(w[a] + w[b] <= limits[a, b] + 1e-12 for a, b in limits):
                    best = max(best, sum(w.values()))
        return best

    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if best_sum(middle) >= 1 else (middle, high)
    return high + 2 * delay_ms / 1e3


def run(args, case):
    """Median seconds and the algorithm's name."""
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
            options = ["--bw", mbit, "--delay", delay, "--loss", loss]
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
        seconds = record["latency_us"] / 1e6 if "latency_us" in record else record["avg_us"] / 1e6
        bound = matrix_bound_s(args.size, 10) if case.startswith("matrix") else uniform_bound_s(args.size, *map(float, case.split("/")[:2]))
        print(f"| {case} | {seconds:.2f} | {bound:.2f} | {100 * bound / seconds:.0f} %{' (overloaded)' if overloaded else ''} |", flush=True)


if __name__ == "__main__":
    main()
