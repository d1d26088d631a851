#!/usr/bin/python3
"""All-reduce over emulated links that nobody describes, beside the least time that the links allow. Needs root (goss-wanem).

    bench/wan/undescribed_bench.py --bin build/release/bin                          link sets a to e and two generated matrices, 16 MiB
    bench/wan/undescribed_bench.py --bin build/release/bin --set b d --source none file   only these sets and sources of prices
    bench/wan/undescribed_bench.py --bin build/release/bin --set a --change 20:20:40      from call 20 to 40 the lines of set a have 20 Mbit/s
    bench/wan/undescribed_bench.py --bin build/release/bin --set m1 --change 10:20:40:0-1 only the pair of hosts 0 and 1; `:3` only the line of host 3
    bench/wan/undescribed_bench.py --bin build/release/bin --set m7                       the matrix that seed 7 generates

Sources of prices: `none` (nothing is set but TLS: the links are measured when the communicator is made), `off` (GOSS_MEASURE=off: round
trips alone are known), `trials` (GOSS_MEASURE=trials: plans are tried), `measured` (goss-links writes the link file before), `file` (a
hand-written link file). The bound is the largest, over all sets of hosts, of the bytes that must
leave the set over the rate at which they can, or of all bytes that all hosts must send over the rate of all lines; and one delay.
A row has the seconds of the first call, the median of those from the third and from the --settled th on, and this over the bound.
"""
import argparse
import array
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

SHARE = 0.965  # TCP's of IP packets
HERE = pathlib.Path(__file__).resolve()
PACKAGE = HERE.parents[2] / "bindings/python"


class Network:
    """Hosts, Mbit/s up and down of each (0: no line of its own), and Mbit/s and ms one way of each pair."""

    def __init__(self, hosts, pairs, lines=None, loss=0.0):
        self.hosts, self.pairs, self.loss = hosts, pairs, loss
        self.lines = lines or [(0, 0)] * hosts

    def pair(self, one, other):
        return self.pairs[min(one, other), max(one, other)]

    def rate(self, senders, receivers):
        """Mbit/s from one set of hosts to another, each limited by its line."""
        out = 0
        for sender in senders:
            across = sum(self.pair(sender, receiver)[0] or 1e9 for receiver in receivers)
            out += min(self.lines[sender][0] or 1e9, across)
        return min(out, sum(self.lines[receiver][1] or 1e9 for receiver in receivers))

    def bound_s(self, size):
        everyone = range(self.hosts)
        sets = [set(part) for count in range(1, self.hosts) for part in itertools.combinations(everyone, count)]
        seconds = [size / per_s(self.rate(part, set(everyone) - part)) for part in sets]
        together = sum(self.rate({host}, set(everyone) - {host}) for host in everyone)
        return max(seconds + [2 * (self.hosts - 1) * size / per_s(together)]) + max(delay for _, delay in self.pairs.values()) / 1e3

    def emulated(self):
        """The emulator's links file."""
        text = "".join(f"{a} {b} bw={mbit} delay={delay} loss={self.loss}\n" for (a, b), (mbit, delay) in self.pairs.items())
        return text + "".join(f"set-host {host} up={up} down={down}\n" for host, (up, down) in enumerate(self.lines) if up)

    def described(self):
        """The link file that somebody who knows the network would write."""
        text = "gossamer-links 1\nbase wan\n"
        for host, (up, down) in enumerate(self.lines):
            mine = sum(self.pair(host, other)[0] for other in range(self.hosts) if other != host)
            text += f"node {host} up {mb(up or mine)} down {mb(down or mine)}\n"
        for (a, b), (mbit, delay) in self.pairs.items():
            for one, other in ((a, b), (b, a)):
                least = min(rate for rate in (mbit, self.lines[one][0], self.lines[other][1]) if rate)
                text += f"pair {one} -> {other} latency {delay}ms bandwidth {mb(least)}\n"
        return text


def per_s(mbit):
    return mbit * 1e6 / 8 * SHARE


def mb(mbit):
    return f"{per_s(mbit) / 1e6:.4g}MB/s"


def uniform(hosts, mbit, delay):
    return {pair: (mbit, delay) for pair in itertools.combinations(range(hosts), 2)}


def generated(seed):
    """Four to six hosts somewhere on a map, with a rate of its own for each pair."""
    dice = random.Random(seed)
    hosts = dice.randint(4, 6)
    places = [(dice.uniform(0, 80), dice.uniform(0, 40)) for _ in range(hosts)]
    pairs = {}
    for a, b in itertools.combinations(range(hosts), 2):
        distance = ((places[a][0] - places[b][0])**2 + (places[a][1] - places[b][1])**2)**0.5
        pairs[a, b] = (round(dice.choice([50, 100, 200, 400]) * dice.uniform(0.7, 1.3)), round(5 + distance, 1))
    return Network(hosts, pairs)


def chain():
    """Regions in a row: the farther, the slower."""
    at = [0, 5, 40, 85, 140]
    rates = {1: 400, 2: 200, 3: 100, 4: 50}
    return Network(5, {(a, b): (rates[b - a], at[b] - at[a]) for a, b in itertools.combinations(range(5), 2)})


def sites():
    pairs = uniform(4, 80, 60)
    pairs.update({(0, 1): (1000, 1), (2, 3): (1000, 1)})
    return Network(4, pairs)


SETS = {"a": Network(4, uniform(4, 0, 35), [(200, 200)] * 4),
        "b": sites(),
        "c": Network(4, uniform(4, 0, 35), [(30, 200)] + [(300, 300)] * 3),
        "d": chain(),
        "e": Network(4, uniform(4, 0, 35), [(200, 200)] * 4, loss=0.5)}


def network(name):
    return SETS[name] if name in SETS else generated(int(name[1:]))


def parts(change):
    """Of MBIT:FROM:TO[:WHERE]."""
    mbit, first, last, where = (change.split(":") + [""])[:4]
    return mbit, int(first), int(last), where


def ctl(*words):
    subprocess.run([os.environ["WANEM"], "ctl", "--prefix", os.environ["WANEM_PREFIX"], *words], check=True, stdout=subprocess.DEVNULL)


def set_rate(mbit, where, hosts):
    """Gives a pair, the line of a host, or all lines this rate."""
    if "-" in where:
        ctl("set", *where.split("-"), f"bw={mbit}")
        return
    for host in [where] if where else range(hosts):
        ctl("set-host", str(host), f"up={mbit}", f"down={mbit}")


def rank_main(calls, size, codec, change):
    """What a rank runs: rank 0 prints the seconds of each call."""
    import gossamer
    comm = gossamer.init()
    rank = comm.rank
    vector = array.array("f", bytes(size))
    options = {"codec": codec} if codec else {}
    for call in range(calls):
        vector[0] = vector[-1] = 1.0
        if rank == 0 and change:
            mbit, first, last, where, usual = change
            if call in (first, last):
                set_rate(mbit if call == first else usual, where, comm.size)
        begun = time.monotonic()
        comm.all_reduce(vector, **options)
        seconds = time.monotonic() - begun
        if not codec and (vector[0] != comm.size or vector[-1] != comm.size):
            raise SystemExit(f"call {call}: rank {rank} has {vector[0]} and {vector[-1]} instead of {comm.size}")
        if rank == 0:
            print(f"call {seconds:.4f}", flush=True)
    if rank == 0:
        print("trials " + json.dumps(comm.trials()), flush=True)
    comm.close()


def run(args, name, source):
    net = network(name)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "net").write_text(net.emulated())
        subprocess.run([str(args.bin / "goss-keys"), "psk", str(scratch / "key")], check=True, stdout=subprocess.DEVNULL)
        environment = dict({"GOSS_LOG": "info"} if args.verbose else {}, **os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE=str(net.hosts * args.per_host), GOSS_TLS=f"psk:{scratch / 'key'}",
                           PYTHONPATH=str(PACKAGE), LD_LIBRARY_PATH=str(args.library or args.bin.parent / "lib"))
        emulator = [str(args.bin / "goss-wanem"), "run", "--prefix", args.prefix, "--hosts", str(net.hosts), "--timeout", str(args.timeout),
                    "--links", str(scratch / "net"), "--each"] + (["--cc", args.control] if args.control else [])
        if args.control:
            environment["GOSS_TCP_CONGESTION"] = args.control
        each = ["--", "bash", "-c", f'for i in $(seq {args.per_host}); do RANK=$((WANEM_RANK * {args.per_host} + i - 1)) "$@" & '
                'ranks+=" $!"; done; for one in $ranks; do wait $one || exit; done', "bash"]

        def emulate(program):
            done = subprocess.run([*emulator, *each, *program], env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{name}, {source}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
            return done

        if source == "file":
            (scratch / "links").write_text(net.described())
        elif source == "measured":
            emulate([str(args.bin / "goss-links"), "-o", str(scratch / "links")])
        elif source == "off":
            environment["GOSS_MEASURE"] = "off"
        elif source == "trials":
            environment["GOSS_MEASURE"] = "trials"
        if (scratch / "links").exists():
            environment["GOSS_LINKS"] = str(scratch / "links")
        options = ["--size", str(args.size), "--calls", str(args.calls)] + (["--codec", args.codec] if args.codec else [])
        if args.change:
            mbit, first, last, where = parts(args.change)
            usual = net.pair(*map(int, where.split("-")))[0] if "-" in where else 200
            options += ["--change", f"{mbit}:{first}:{last}:{where}:{usual}"]
        done = emulate([sys.executable, str(HERE), "--as-rank", *options])
        if args.verbose:
            print(done.stderr[-6000:], file=sys.stderr)
        said = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith(("call ", "trials "))]
        seconds = [float(rest) for word, rest in said if word == "call"]
        tried = [json.loads(rest) for word, rest in said if word == "trials"]
        return seconds, tried[0], " (overloaded)" if "OVERLOADED" in done.stderr else ""


def row(args, name, source):
    seconds, tried, remark = run(args, name, source)
    bound = network(name).bound_s(args.size)
    third, settled = statistics.median(seconds[2:]), statistics.median(seconds[args.settled - 1:])
    over = f"{third / bound:.2f} | {settled / bound:.2f}" if not args.codec else "- | -"
    print(f"| {name} | {source} | {bound:.2f} | {seconds[0]:.2f} | {third:.2f} | {settled:.2f} | {over}{remark} |", flush=True)
    if args.calls_too:
        print("    " + " ".join(f"{value:.2f}" for value in seconds), flush=True)
        for one in tried["trials"]:
            print(f"    call {one['call']}: {one['tried']} {one['seconds']:.2f} s, {one['against']} in use {one['against_seconds']:.2f}{', adopted' if one['adopted'] else ''}", flush=True)
        for one in tried["calls"]:
            print(f"    now: {one['algorithm']}{'' if one['settled'] else ', comparing'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--library", type=pathlib.Path, help="folder of libgossamer.so.0")
    parser.add_argument("--set", nargs="+", default=[*SETS, "m1", "m2"], metavar="NAME", help="a to e; mN: the matrix of seed N")
    parser.add_argument("--source", nargs="+", default=["none", "off", "trials", "file"], choices=["none", "off", "trials", "measured", "file"])
    parser.add_argument("--size", type=int, default=16 << 20)
    parser.add_argument("--calls", type=int, default=16)
    parser.add_argument("--settled", type=int, default=10, metavar="N")
    parser.add_argument("--per-host", type=int, default=1, metavar="RANKS", help="ranks on each host; above 1 neither with --source file nor with --change")
    parser.add_argument("--codec")
    parser.add_argument("--control", help="congestion control instead of the library's choice: cubic")
    parser.add_argument("--change", metavar="MBIT:FROM:TO[:WHERE]",
                        help="during these calls a pair A-B, the line of host A, or each line has so many Mbit/s, afterwards as before (lines: 200)")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--prefix", default="gub")
    parser.add_argument("--calls-too", action="store_true", help="print the seconds of each call, and which plans were compared")
    parser.add_argument("--verbose", action="store_true", help="print what the ranks log")
    parser.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.per_host > 1 and ("file" in args.source or args.change):
        parser.error("--per-host goes with neither --source file nor --change")
    if args.as_rank:
        rank_main(args.calls, args.size, args.codec, (*parts(args.change), args.change.split(":")[4]) if args.change else None)
        return
    print("| links | prices | bound (s) | first call (s) | from the 3rd (s) | settled (s) | of the bound | settled |\n|---|---|---|---|---|---|---|---|")
    for name in args.set:
        for source in args.source:
            row(args, name, source)


if __name__ == "__main__":
    main()
