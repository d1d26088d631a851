#!/usr/bin/python3
"""Tokens/s of goss-train over emulated wide-area links with TLS, beside the same run where communication is free. Needs root.

    bench/wan/train_bench.py --bin build/release/bin                        all methods, over 50 Mbit/s and 50 ms one way
    bench/wan/train_bench.py --bin build/release/bin --method streaming     only this one
    bench/wan/train_bench.py --bin build/release/bin --case 100/20          Mbit/s / ms one way

Four hosts with a rank each, each host with an access line of so many Mbit/s up and down; all connections are encrypted with a key of this
run. Free: four ranks in one host over shared memory, without TLS. Both in turn, --rounds times; medians. The first steps of a run, in which
connections gather speed, are left out: for methods with periods the first period.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HOSTS = 4
SHARE = 0.965 # TCP's of IP packets
MODEL = "--layers 4 --channels 128 --heads 4 --context 64 --micro-batch 8 --batch 32 --lr 2e-3 --val-samples 4"
QUIET = "--sample 0 --val-every 0 --checkpoint-every 0 --print-every 1000"
# By name: the --sync spec, the number of steps of a run, and how many first steps are not measured.
METHODS = {"ddp": ("ddp", 25, 5), "ddp-int8": ("ddp:codec=int8", 25, 5), "diloco": ("diloco:h=50", 100, 50),
           "streaming": ("streaming:h=50,fragments=2,tau=5,alpha=0.5", 100, 50),
           "streaming-e3m0": ("streaming:h=50,fragments=2,tau=5,alpha=0.5,codec=e3m0", 100, 50)}


def train(args, folder, method, wan):
    """Tokens/s of one run, the bytes that rank 0 sent in a step, and a remark."""
    sync, steps, skipped = METHODS[method]
    record = folder / "run"
    command = [str(args.bin / "goss-train"), *MODEL.split(), *QUIET.split(), "--steps", str(steps), "--sync", sync, "--run", str(record)]
    environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(HOSTS))
    network = []
    if wan:
        mbit, delay = args.case.split("/")
        links = folder / "links"
        links.write_text(f"gossamer-links 1\nbase wan\ndefault latency {delay}ms bandwidth {float(mbit) / 8 * SHARE:.4g}MB/s\n")
        subprocess.run([str(args.bin / "goss-keys"), "psk", str(folder / "key")], check=True, stdout=subprocess.DEVNULL)
        environment.update(GOSS_LINKS=str(links), GOSS_TLS=f"psk:{folder / 'key'}")
        network = ["--up", mbit, "--down", mbit, "--delay", delay]
        launch = ["--each", *network, "--", "bash", "-c", 'RANK=$WANEM_RANK exec "$@"', "bash"]
    else: # the ranks share the first host and its shared memory; nothing crosses a link
        launch = ["--", "ip", "netns", "exec", "gtb0", "bash", "-c", 'for RANK in 1 2 3; do RANK=$RANK "$@" & done; RANK=0 "$@" || exit; wait', "bash"]
    done = subprocess.run([str(args.bin / "goss-wanem"), "run", "--prefix", "gtb", "--hosts", str(HOSTS), "--timeout", "110", *launch, *command],
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{method}: status {done.returncode}\n{done.stdout}{done.stderr}")
    card = json.loads((record / "run.json").read_text())
    seconds = card["step_seconds"][skipped:]
    sent = (card["wire_bytes"] - card["edge_bytes"]) / len(card["step_seconds"])
    return card["tokens_per_step"] * len(seconds) / sum(seconds), sent, "OVERLOADED" in done.stderr


def row(args, method):
    slow, free, overloaded = [], [], False
    for _ in range(args.rounds):
        for wan, speeds in ((True, slow), (False, free)):
            with tempfile.TemporaryDirectory() as folder:
                speed, bytes_a_step, over = train(args, pathlib.Path(folder), method, wan)
            speeds.append(speed)
            overloaded = overloaded or over
            if wan: # shared memory takes other algorithms
                sent = bytes_a_step
    middle, best = statistics.median(slow), statistics.median(free)
    print(f"| `{METHODS[method][0]}` | {middle:,.0f} | {best:,.0f} | {100 * middle / best:.1f} % | {sent / 1e3:,.0f} |"
          f"{' overloaded' if overloaded else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--case", default="50/50", help="Mbit/s / ms one way")
    parser.add_argument("--method", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    print("| `--sync` | tokens/s | with free communication | share | kB sent a step |\n|---|---|---|---|---|", flush=True)
    for method in args.method:
        row(args, method)


if __name__ == "__main__":
    main()
