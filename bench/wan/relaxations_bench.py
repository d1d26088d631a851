#!/usr/bin/python3
"""Every synchronizer for the same small GPT, and Bagua's six algorithms over five networks: tables of docs/relaxations.md.

    bench/wan/relaxations_bench.py all --bin build/release/bin          every method on 8 ranks over shared memory: loss, bytes, seconds
    bench/wan/relaxations_bench.py networks --bin build/release/bin     six algorithms x five networks, 4 emulated hosts; needs root
    ... --methods ddp choco --networks 100/50 --steps 20                a part of it, for a try

The same seed, data, warm-up and learning rate for all but those that see signs (a tenth of it). Seconds are a run's steps alone.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS, HOSTS = 8, 4
MODEL = ("--layers 2 --channels 32 --heads 2 --context 32 --micro-batch 2 --lr 2e-3 --val-samples 64 --seed 1 --sample 0 "
         "--val-every 0 --checkpoint-every 0 --print-every 1000")
SIGNS = "--lr 2e-4"
# Spec, flags besides, and what is expected: the most that the loss may be above that of ddp, in per cent; the least that a rank may send
# less, as a factor. None: nothing is expected.
METHODS = {
    "ddp": ("", 0, 1), "local:h=10": ("", 5, 8), "diloco:h=10": ("", 5, 8), "streaming:h=10": ("", 5, 8), "eager:h=10": ("", 10, 8),
    "delayed-nesterov:h=10": ("", 10, 8), "slowmo:h=10": ("", 5, 8), "co2:h=10": ("", 10, 8), "qsr:h=10": ("", 5, 8),
    "demo": (SIGNS, None, 4), "cocktail:tau=0": ("", 10, 20), "async-average:h=10": ("", 10, 8), "dpsgd": ("", 5, None),
    "gossipgrad": ("", 5, 1.5), "gossip-pga": ("", 5, 1), "moshpit": ("", 5, None), "moshpit:wait=0": ("", 10, None),
    "adpsgd": ("", 10, 1), "acid": ("", 10, 1), "sgp": ("", 5, 1.5), "sgp:wait=0": ("", 10, None), "osgp": ("", 10, 1.5),
    "choco:gamma=0.5,codec=int8": ("", 10, 3), "dcd:codec=int8": ("", 10, 3), "deepsqueeze:gamma=0.5,codec=int8": ("", 10, 3),
    "noloco:h=10": ("", 10, 4), "sparta:part=0.05": ("", None, 10), "sparseloco:h=10": ("", 15, 50), "easgd:h=10": ("", None, 8),
    "papa:h=10": ("", None, 8), "fedavg:h=10": ("", 5, 8), "fedopt:h=10": ("", None, 8), "fedprox:h=10": ("", 5, 8),
    "lion": (SIGNS, None, 4), "signum": (SIGNS, None, 4), "ef21": ("", None, 10), "1-bit-adam:warmup=20": ("", None, 2), "qadam:warmup=20": ("", None, 1.5),
    "0-1-adam": ("", None, 2), "dadam": ("", None, None), "heloco:h=10": ("", None, 2), "one-byte:samples=4": (SIGNS, None, 1000),
    "auto:steps=6": ("", 5, None)}
# Of Gan et al., VLDB 2021, as named here. All exchange in every step, so that speeds are of equally many exchanges.
BAGUA = {"allreduce": "ddp", "bytegrad": "ddp:codec=minmaxuint8", "qadam": "qadam:warmup=5", "decentralized": "dpsgd",
         "low precision decentralized": "dcd:codec=minmaxuint8", "async": "async-average:h=1"}
NETWORKS = {"10000/0.1": "10 Gbit/s", "1000/0.1": "1 Gbit/s", "100/0.1": "100 Mbit/s", "100/50": "100 Mbit/s, 50 ms",
            "slow": "10 Gbit/s, one rank 5 times slower"}
DECIDES = 1.2  # smaller differences are the clock's noise


def card_of(record, done, name):
    if done.returncode != 0:
        sys.exit(f"{name}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads((record / "run.json").read_text())


def train_here(args, spec, flags):
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "run"
        command = ["mpirun", "-np", str(RANKS), str(args.bin / "goss-train"), *MODEL.split(), "--batch", str(2 * RANKS), "--steps", str(args.steps),
                   "--sync", spec, "--run", str(record), *flags.split()]
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        return card_of(record, done, spec)


def all_methods(args):
    print(f"`mpirun -np {RANKS} goss-train {MODEL} --batch {2 * RANKS} --steps {args.steps} --sync ...`; bold: not held\n")
    print("| `--sync` | validation | to `ddp` | expected | sent by rank 0, MB | less than `ddp` | expected | seconds |\n|---|---|---|---|---|---|---|---|")
    base = None
    for spec, (flags, most, least) in METHODS.items():
        if args.methods and spec.split(":")[0] not in args.methods + ["ddp"]:
            continue
        card = train_here(args, spec, flags)
        loss, sent = card["validation"][-1][1], card["wire_bytes"] - card["edge_bytes"]
        base = base or (loss, sent)
        above, factor = 100 * (loss / base[0] - 1), base[1] / sent if sent else float("inf")
        held = lambda expected, holds: "-" if expected is None else f"{expected:g}" if holds else f"**{expected:g}**"
        print(f"| `{spec}` {flags and f'`{flags}`'} | {loss:.4f} | {above:+.1f} % | {held(most, most is None or above <= most)} | {sent / 1e6:.2f} | "
              f"{factor:.1f} | {held(least, least is None or factor >= 0.99 * least)} | {sum(card['step_seconds']):.1f} |", flush=True)


def train_apart(args, spec, network):
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "run"
        mbit, delay = ("10000/0.1" if network == "slow" else network).split("/")
        command = [str(args.bin / "goss-train"), *MODEL.split(), "--batch", str(2 * HOSTS), "--steps", str(args.steps), "--sync", spec, "--run", str(record)]
        if network == "slow":
            command += ["--slow", "1:5"]
        environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(HOSTS))
        run = [str(args.bin / "goss-wanem"), "run", "--prefix", "gtr", "--hosts", str(HOSTS), "--timeout", "110", "--each", "--up", mbit,
               "--down", mbit, "--delay", delay, "--", "bash", "-c", 'RANK=$WANEM_RANK exec "$@"', "bash", *command]
        done = subprocess.run(run, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
        card = card_of(record, done, f"{spec} over {network}")
        seconds = card["step_seconds"][len(card["step_seconds"]) // 4:]  # connections gather speed in the first
        return card["tokens_per_step"] * len(seconds) / sum(seconds)


def all_networks(args):
    names = list(BAGUA)
    print(f"Tokens/s; {HOSTS} emulated hosts of a rank each, as above but `--batch {2 * HOSTS} --steps {args.steps}`.\n")
    print("| network | " + " | ".join(f"{name} `{BAGUA[name]}`" for name in names) + " | fastest |\n" + "|---" * (len(names) + 2) + "|")
    winners = []
    for network, title in NETWORKS.items():
        if args.networks and network not in args.networks:
            continue
        speeds = [train_apart(args, BAGUA[name], network) for name in names]
        best, second = sorted(speeds, reverse=True)[:2]
        winner = names[speeds.index(best)] if best >= DECIDES * second else "not decided"
        if network != "slow":  # there a small model hardly computes, so that its slow rank slows little
            winners.append(winner)
        print(f"| {title} | " + " | ".join(f"{speed:,.0f}" for speed in speeds) + f" | {winner} |", flush=True)
    decided = set(winners) - {"not decided"}
    verdict = "Held" if len(decided) > 1 else "NOT held" if "not decided" not in winners else "Not decided by these runs"
    print(f"\nExpected: the fastest changes with the network. Rows count where it is {DECIDES} times as fast as the second, that with the slow rank "
          f"never. {verdict}; the fastest in rows that count: {', '.join(sorted(decided)) or 'none'}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["all", "networks"])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=[])
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=[])
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    if args.what == "all":
        all_methods(args)
    else:
        all_networks(args)


if __name__ == "__main__":
    main()
