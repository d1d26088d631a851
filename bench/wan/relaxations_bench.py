#!/usr/bin/python3
"""Every synchronizer for the same small GPT, and Bagua's six algorithms over five networks: tables of docs/relaxations.md.

    bench/wan/relaxations_bench.py all --bin build/release/bin          every method on 8 ranks over shared memory: loss, bytes, seconds;
                                                                        and, as root, its steps over emulated links
    bench/wan/relaxations_bench.py networks --bin build/release/bin     six algorithms x five networks, 4 emulated hosts; needs root
    ... --methods ddp choco --networks 100/50 --steps 20 --rounds 1     a part of it, for a try

The same seed, data and learning rate for all but those that see signs (a tenth of it). Seconds are a run's steps alone.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

RANKS, HOSTS = 8, 4
MODEL = ("--layers 2 --channels 32 --heads 2 --context 32 --micro-batch 2 --lr 2e-3 --val-samples 64 --seed 1 --sample 0 "
         "--val-every 0 --checkpoint-every 0 --print-every 1000")
SIGNS = "--lr 2e-4"
# Spec, flags besides, and what is expected: the most that the loss may be above that of ddp, in per cent; the least that a rank may send
# less, as a factor; the least that its steps over emulated links may be faster, as a factor. None: nothing is expected.
METHODS = {
    "ddp": ("", 0, 1, 1), "local:h=10": ("", 5, 8, 4), "diloco:h=10": ("", 5, 8, 4), "streaming:h=10": ("", 5, 8, 4),
    "eager:h=10": ("", 10, 8, 4), "delayed-nesterov:h=10": ("", 10, 8, 4), "slowmo:h=10": ("", 5, 8, 4), "co2:h=10": ("", 10, 8, 4),
    "qsr:h=10": ("", 5, 8, 4), "demo": (SIGNS, None, 4, 1), "cocktail:tau=0": ("", 10, 20, 2), "async-average:h=10": ("", 10, 8, 4),
    "dpsgd": ("", 5, None, 1), "gossipgrad": ("", 5, 1.5, 1.5), "gossip-pga": ("", 5, 1, 1), "moshpit": ("", 5, None, None),
    "moshpit:wait=0": ("", 10, None, 2), "adpsgd": ("", 10, 1, 2), "acid": ("", 10, 1, 2), "sgp": ("", 5, 1.5, 1.5),
    "sgp:wait=0": ("", 10, None, 2), "osgp": ("", 10, 1.5, 1.5), "choco:gamma=0.5,codec=int8": ("", 10, 3, 1.5),
    "dcd:codec=int8": ("", 10, 3, 1.5), "deepsqueeze:gamma=0.5,codec=int8": ("", 10, 3, 1.5), "noloco:h=10": ("", 10, 4, 4),
    "sparta:part=0.05": ("", None, 10, 1), "sparseloco:h=10": ("", 15, 50, 4), "easgd:h=10": ("", None, 8, 4),
    "papa:h=10": ("", None, 8, 4), "fedavg:h=10": ("", 5, 8, 4), "fedopt:h=10": ("", None, 8, 4), "fedprox:h=10": ("", 5, 8, 4),
    "lion": (SIGNS, None, 4, 1), "signum": (SIGNS, None, 4, 1), "ef21": ("", None, 10, 1.5), "1-bit-adam:warmup=50": ("", None, 2, None),
    "qadam:warmup=50": ("", None, 1.5, None), "0-1-adam": ("", None, 2, None), "dadam": ("", None, None, 1),
    "heloco:h=10": ("", None, 2, 2), "one-byte:samples=4": (SIGNS, None, 1000, 1), "auto:steps=6": ("", 5, None, None)}
# The algorithms of Bagua (Gan et al., VLDB 2021), as method specs of Gossamer. Each of them exchanges in every step, so
# that the speeds of equal numbers of exchanges are compared.
BAGUA = {"allreduce": "ddp", "bytegrad": "ddp:codec=minmaxuint8", "qadam": "qadam:warmup=50", "decentralized": "dpsgd",
         "low precision decentralized": "dcd:codec=minmaxuint8", "async": "async-average:h=1"}
# Title, and steps: so many that a run takes some seconds.
NETWORKS = {"10000/0.1": ("10 Gbit/s", 1000), "1000/0.1": ("1 Gbit/s", 1000), "100/0.1": ("100 Mbit/s", 200), "100/50": ("100 Mbit/s, 50 ms", 60),
            "slow": ("10 Gbit/s, one rank 5 times slower", 1000)}
STEPS = 200  # of a run on one machine
SLOW, SLOW_STEPS = "50/50", 20  # the links over which every method takes some steps: Mbit/s and milliseconds


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
    print(f"`mpirun -np {RANKS} goss-train {MODEL} --batch {2 * RANKS} --steps {args.steps} --sync ...`; the last columns: seconds of "
          f"{SLOW_STEPS} steps of {RANKS} emulated hosts with lines of {SLOW.replace('/', ' Mbit/s and ')} ms each; bold: not held\n")
    print("| `--sync` | validation | to `ddp` | expected | sent by rank 0, MB | less than `ddp` | expected | seconds | slow links, seconds | "
          "faster than `ddp` | expected |\n" + "|---" * 11 + "|")
    base = None
    for spec, (flags, most, least, faster) in METHODS.items():
        if args.methods and spec.split(":")[0] not in args.methods + ["ddp"]:
            continue
        card = train_here(args, spec, flags)
        loss, sent = card["validation"][-1][1], card["wire_bytes"] - card["edge_bytes"]
        apart = sum(train_apart(args, spec, flags, SLOW, RANKS, SLOW_STEPS)["step_seconds"]) if os.geteuid() == 0 else None
        base = base or (loss, sent, apart)
        above, factor = 100 * (loss / base[0] - 1), base[1] / sent if sent else float("inf")
        held = lambda expected, holds: "-" if expected is None else f"{expected:g}" if holds else f"**{expected:g}**"
        slow = (f"{apart:.1f} | {base[2] / apart:.1f} | {held(faster, faster is None or base[2] >= 0.99 * faster * apart)}" if apart
                else "not run | | ")
        print(f"| `{spec}` {flags and f'`{flags}`'} | {loss:.4f} | {above:+.1f} % | {held(most, most is None or above <= most)} | {sent / 1e6:.2f} | "
              f"{factor:.1f} | {held(least, least is None or factor >= 0.99 * least)} | {sum(card['step_seconds']):.1f} | {slow} |", flush=True)


def train_apart(args, spec, flags, network, hosts, steps):
    """One rank on each emulated host."""
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "run"
        mbit, delay = ("10000/0.1" if network == "slow" else network).split("/")
        command = [str(args.bin / "goss-train"), *MODEL.split(), "--batch", str(2 * hosts), "--steps", str(steps), "--sync", spec, "--run", str(record),
                   *flags.split()]
        if network == "slow":
            command += ["--slow", "1:5"]
        environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(hosts))
        run = [str(args.bin / "goss-wanem"), "run", "--prefix", "gtr", "--hosts", str(hosts), "--timeout", "110", "--each", "--up", mbit,
               "--down", mbit, "--delay", delay, "--", "bash", "-c", 'RANK=$WANEM_RANK exec "$@"', "bash", *command]
        done = subprocess.run(run, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
        return card_of(record, done, f"{spec} over {network}")


def speed_apart(args, spec, network):
    # At this rate parameters hardly move, so that no run meets denormal numbers, which slow processors.
    card = train_apart(args, spec, "--lr 1e-6", network, HOSTS, args.steps or NETWORKS[network][1])
    seconds = card["step_seconds"][len(card["step_seconds"]) // 4:]  # connections gather speed in the first
    return card["tokens_per_step"] * len(seconds) / sum(seconds)


def all_networks(args):
    names = list(BAGUA)
    print(f"Tokens/s, medians of {args.rounds} runs in turn; {HOSTS} emulated hosts of a rank each, as above but `--batch {2 * HOSTS} --lr 1e-6` "
          "and the steps named. Beside the fastest stand those that beat it in a quarter of the runs.\n")
    print("| network; steps | " + " | ".join(f"{name} `{BAGUA[name]}`" for name in names) + " | fastest |\n" + "|---" * (len(names) + 2) + "|")
    sets = []
    for network, (title, steps) in NETWORKS.items():
        if args.networks and network not in args.networks:
            continue
        speeds = {name: [] for name in names}
        for _ in range(args.rounds):
            for name in names:
                speeds[name].append(speed_apart(args, BAGUA[name], network))
        best = max(names, key=lambda name: statistics.median(speeds[name]))
        beats_best = lambda name: sum(own > other for own, other in zip(speeds[name], speeds[best])) >= args.rounds / 4
        fastest = [best] + [name for name in names if name != best and beats_best(name)]
        if network != "slow":  # there a small model hardly computes, so that its slow rank slows little
            sets.append(set(fastest))
        print(f"| {title}; {args.steps or steps} | " + " | ".join(f"{statistics.median(speeds[name]):,.0f}" for name in names) + f" | {', '.join(fastest)} |", flush=True)
    changes = any(not one & other for one in sets for other in sets)
    verdict = "Held: two rows have none in common." if changes else "Not held: all rows have one in common, or runs differ too much."
    print(f"\nExpected: the fastest changes with the network, by rows without a slow rank. {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["all", "networks"])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--steps", type=int, help=f"of each run; all: {STEPS}, networks: as their rows say")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each algorithm over each network")
    parser.add_argument("--methods", nargs="+", default=[])
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=[])
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    if args.what == "all":
        args.steps = args.steps or STEPS
        all_methods(args)
    else:
        all_networks(args)


if __name__ == "__main__":
    main()
