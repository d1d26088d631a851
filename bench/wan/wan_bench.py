#!/usr/bin/python3
"""All-reduce over emulated wide-area links, beside the least time that bandwidth and delay allow. Needs root (goss-wanem).

    bench/wan/wan_bench.py --bin build/release/bin                            all cases
    bench/wan/wan_bench.py --bin build/release/bin --case 100/10/0 matrix     only these: Mbit/s, ms one way, % loss
    bench/wan/wan_bench.py --bin build/release/bin --tls --case 500/50/0.1    the same encrypted, with a key of this run
    bench/wan/wan_bench.py --bin build/release/bin --case 500/20/0 --codec int8 cocktail
    bench/wan/wan_bench.py --bin build/release/bin --case 500/20/0 --codec int8 cocktail --overlap 1
    bench/wan/wan_bench.py --bin build/release/bin --measured --case 500/10/0 matrix    by links that goss_comm_measure_links found
    bench/wan/wan_bench.py --list

Uniform cases: four hosts, each with an access line of so many Mbit/s up and down. The bound: a rank must send and receive
2 (p - 1) / p of the vector, at 96.5 % of the line (TCP's share of IP packets), and the last of it is under way for one
delay. With a codec, it is what the rank did send, at that rate, and one delay. Matrix: every pair has a link of its own, at two sites; the bound is the narrowest cut: whatever
the algorithm, both sides need the other's sum.

Without a codec the seconds are the mean of --iterations all-reduces after one that warms the connections up. With codecs
they are medians of --rounds calls, in turn with the same call uncompressed; each call begins at a moment that the ranks
agree on, and the seconds are the mean over the ranks. With --overlap N both are instead what a call takes when each is
started before the one N earlier is waited for: the mean of --iterations, as medians of --rounds. Then delays are hidden,
and what is left as the bound is the line's rate.
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
MATRIX_DELAY_MS = 10


def bytes_per_s(mbit):
    return mbit * 1e6 / 8 * SHARE


def sent_s(sent_bytes, case):
    return sent_bytes / bytes_per_s(float(case.split("/")[0]))


def uniform_bound_s(sent_bytes, case):
    return sent_s(sent_bytes, case) + float(case.split("/")[1]) / 1e3


def matrix_bound_s(size):
    sides = [{rank for rank in range(HOSTS) if mask >> rank & 1} for mask in range(1, 2**HOSTS - 1)]
    narrowest = min(sum(mbit for (a, b), mbit in MATRIX.items() if (a in side) != (b in side)) for side in sides)
    return size / bytes_per_s(narrowest) + MATRIX_DELAY_MS / 1e3


def plain_bound_s(size, case):
    return matrix_bound_s(size) if case.startswith("matrix") else uniform_bound_s(2 * (HOSTS - 1) / HOSTS * size, case)


def prepare(case, scratch):
    """Options of the emulator and of goss-bench; writes the link prices that the planner is to know."""
    links = scratch / "links"
    if case.startswith("matrix"):
        (scratch / "wan").write_text("".join(f"{a} {b} bw={m}\n" for (a, b), m in MATRIX.items()))
        # No two pairs share a line, so that a host's port is as fast as its links together.
        ports = max(sum(m for pair, m in MATRIX.items() if host in pair) for host in range(HOSTS))
        port = f"{bytes_per_s(ports) / 1e6:.4g}MB/s"
        links.write_text(f"gossamer-links 1\nbase wan\nnodes of 1 up {port} down {port}\n" + "".join(
            f"pair {a} <-> {b} latency {MATRIX_DELAY_MS}ms bandwidth {bytes_per_s(m) / 1e6:.4g}MB/s\n" for (a, b), m in MATRIX.items()))
        return ["--links", str(scratch / "wan"), "--delay", str(MATRIX_DELAY_MS)], ["--algorithm", "ring"] if case == "matrix-ring" else []
    mbit, delay, loss = case.split("/")
    rate = f"{bytes_per_s(float(mbit)) / 1e6:.4g}MB/s"
    links.write_text(f"gossamer-links 1\nbase wan\ndefault latency {delay}ms bandwidth {rate}\nnodes of 1 up {rate} down {rate}\n")
    return ["--up", mbit, "--down", mbit, "--delay", delay, "--loss", loss], []


def run(args, case, codec):
    """What goss-bench reports, and whether the emulator was overloaded."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        options, algorithm = prepare(case, scratch)
        repeats = ["-i", str(args.iterations), "-x", "1"]
        if codec and args.overlap:
            repeats = ["-i", str(args.iterations), "-x", "2", "--rounds", str(args.rounds), "--codec", codec, "--overlap", str(args.overlap)]
        elif codec:
            repeats = ["-i", "1", "-x", "0", "--rounds", str(args.rounds), "--codec", codec, "--together"]
        bench = [str(args.bin / "goss-bench"), "allreduce", "-m", f"{args.size}:{args.size}", "--json", str(scratch / "json"), *repeats, *algorithm]
        environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(HOSTS), GOSS_LINKS=str(scratch / "links"))
        if args.tls:
            subprocess.run([str(args.bin / "goss-keys"), "psk", str(scratch / "key")], check=True, stdout=subprocess.DEVNULL)
            environment["GOSS_TLS"] = f"psk:{scratch / 'key'}"
        if args.connections:
            environment["GOSS_CONNECTIONS"] = str(args.connections)
        def emulate(program):
            command = [str(args.bin / "goss-wanem"), "run", "--prefix", "gwb", "--hosts", str(HOSTS), "--timeout", "110", "--each", *options,
                       "--", "bash", "-c", "RANK=$WANEM_RANK exec \"$@\"", "bash", *program]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{case}: status {done.returncode}\n{done.stdout}{done.stderr}")
            return done

        if args.measured:
            environment.update(GOSS_LINKS="", GOSS_MEASURE="off")
            (scratch / "links").write_text(emulate([str((args.measure_with or args.bin) / "measure_rank")]).stdout)
            environment["GOSS_LINKS"] = str(scratch / "links")
        done = emulate(bench)
        record = json.loads((scratch / "json").read_text().splitlines()[-1])
        return record, " (overloaded)" if "OVERLOADED" in done.stderr else ""


def plain_row(args, case):
    record, remark = run(args, case, None)
    seconds, bound = record["us"] / 1e6, plain_bound_s(args.size, case)
    print(f"| {case} | {seconds:.2f} | {bound:.2f} | {100 * bound / seconds:.0f} %{remark} |", flush=True)


def codec_row(args, case, codec):
    record, remark = run(args, case, codec)
    bound = 1e3 * (sent_s if args.overlap else uniform_bound_s)(record["wire_bytes"], case)
    took, plain = record["us"] / 1e3, record["peer_us"] / 1e3
    print(f"| {case} | `{codec}` | {took:.0f} | {bound:.0f} | {100 * bound / took:.0f} % | {plain:.0f} | {plain / took:.1f} | "
          f"{record['wire_ratio']:.1f}{remark} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--case", nargs="+", default=CASES, metavar="CASE", help="Mbit/s / ms / %% loss; matrix, matrix-ring")
    parser.add_argument("--codec", nargs="+", default=[], metavar="SPEC")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--size", type=int, default=64 << 20)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--overlap", type=int, default=0, metavar="N", help="with --codec: calls are started before the one N earlier has ended")
    parser.add_argument("--connections", type=int, help="to each peer, instead of what the library takes")
    parser.add_argument("--measured", action="store_true", help="the planner knows what goss_comm_measure_links found, not what is emulated")
    parser.add_argument("--measure-with", type=pathlib.Path, metavar="BIN", help="with --measured: by measure_rank of another build")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    if args.codec:
        print("| case | codec | compressed (ms) | bound (ms) | of the bound | uncompressed (ms) | ratio | fewer bytes |\n|---|---|---|---|---|---|---|---|")
        for case in args.case:
            for codec in args.codec:
                codec_row(args, case, codec)
        return
    print("| case | seconds | bound | of the bound |\n|---|---|---|---|")
    for case in args.case:
        plain_row(args, case)


if __name__ == "__main__":
    main()
