#!/usr/bin/python3
"""Every method at its best learning rate: the tables of docs/results.md that compare methods. Called by scripts/reproduce --sweep.

    training_sweep.py PROGRAM WORK RESULTS [--hours H] [--quick] [--texts bible python] [--sizes small large] [--methods ddp diloco-50 ...]

All runs of a text and a model size go on from one warm start. Each method runs with five learning rates for a fifth of the steps. The rate
with the lowest loss and its neighbours then run all steps, and the best of these runs with two more seeds. Last, the small model runs each
method at its best rate for equal time: for as many steps as fit into the time that all steps of DiLoCo with H = 50 take over 50 Mbit/s. A step
takes the time that it computed plus the time of its bytes on the line; a method that computes while it sends takes the longer of both. For
the time that a step computes each method runs once more, after all have their rates: nothing else should use the machine then.

RESULTS has a line for each run. The sweep starts no run after --hours H; the next call reads RESULTS and makes only the runs that are missing.
WORK holds the warm starts. Standard output has the tables of the methods whose runs are complete, and sentences that follow from them.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

LINE_BYTES_PER_S = 50e6 / 8
# About 0.5 M and 3 M parameters. Tokens are bytes, so that the embedding has few of them.
SIZES = {"small": "--layers 4 --channels 96 --heads 4 --context 64", "large": "--layers 8 --channels 176 --heads 8 --context 64"}
TEXTS = {"bible": "the King James Bible (the default text)", "python": "Debian's Python sources (the library of /usr/bin/python3)"}
RATES = {"adamw": ["2e-3", "4e-3", "8e-3", "16e-3", "32e-3"], "signs": ["1e-4", "3e-4", "1e-3", "3e-3", "1e-2"]}
# Flags, the name of the learning rates in RATES, and by how many per cent the loss may exceed data parallel's according to the paper, if it says.
METHODS = {
    "ddp": ("--sync ddp", "adamw", None), "ddp-muon": ("--sync ddp --optimizer muon", "adamw", None),
    "diloco-10": ("--sync diloco:h=10", "adamw", 1), "diloco-50": ("--sync diloco:h=50", "adamw", 3),
    "diloco-100": ("--sync diloco:h=100", "adamw", 5), "diloco-50-2-workers": ("--sync diloco:h=50", "adamw", 3),
    "muloco-50": ("--sync diloco:h=50 --optimizer muon", "adamw", 3), "int8": ("--sync diloco:h=50,codec=int8", "adamw", 3),
    "e3m0": ("--sync diloco:h=50,codec=e3m0", "adamw", 4), "streaming": ("--sync streaming:h=50,fragments=2,tau=0", "adamw", 4),
    "streaming-tau5": ("--sync streaming:h=50,fragments=2,tau=5,alpha=0.5", "adamw", 5), "local": ("--sync local:h=50", "adamw", None),
    "slowmo": ("--sync slowmo:h=50", "adamw", None), "eager": ("--sync eager:h=10,lr=0.2,momentum=0.85", "adamw", None),
    "delayed-nesterov": ("--sync delayed-nesterov:h=10", "adamw", None), "qsr": ("--sync qsr:h=4", "adamw", 2),
    "co2": ("--sync co2:h=50", "adamw", None), "cocktail": ("--sync cocktail:tau=0", "adamw", None), "demo": ("--sync demo", "signs", 1),
}
WORKERS = {"diloco-50-2-workers": 2}
OVERLAPPING = {"streaming-tau5", "eager", "co2"}  # the exchange of a period is under way while the next computes
SEEDS = [1, 2, 3]


class OutOfTime(Exception):
    """A run is missing, and --hours are over."""


class Results:
    """The outcomes of runs, found by what made them. The file has a JSON object in each line."""

    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[:text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole, encoding="utf-8")  # a stop cut the last line off
        self.by_key = {self.key(line): line for line in map(json.loads, whole.splitlines())}

    @staticmethod
    def key(line):
        return tuple(line[name] for name in ("text", "size", "method", "rate", "seed", "steps", "flags"))

    def add(self, line):
        self.by_key[self.key(line)] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class Sweep:
    """The runs of one text and one model size."""

    def __init__(self, args, results, text, size):
        self.args, self.results, self.text, self.size = args, results, text, size
        self.folder = args.work / f"{text}-{size}{'-quick' if args.quick else ''}"
        self.folder.mkdir(parents=True, exist_ok=True)
        micro = 1 if args.quick else 8
        model = "--layers 2 --channels 16 --heads 2 --context 16" if args.quick else SIZES[size]
        self.warm, self.timed, self.short, self.steps = (2, 3, 4, 8) if args.quick else (200, 350, 300, 700)
        self.flags = (f"{model} --batch {4 * micro} --micro-batch {micro} --val-samples {4 if args.quick else 320} --sample 0 --val-every 0 "
                      "--checkpoint-every 0 --print-every 1000000")

    def data(self):
        if self.text == "bible":
            return []
        file = self.args.work / "python.txt"
        if not file.exists():
            sources = sorted(pathlib.Path(os.__file__).resolve().parent.glob("*.py"))
            if not sources:
                sys.exit("there are no sources of Python's library; apt-get install libpython3-stdlib")
            file.write_text("".join(source.read_text(errors="replace") for source in sources))
        return ["--data", str(file)]

    def start(self, name, workers, steps, seed, flags):
        """Runs goss-train in a folder of WORK. Returns its run.json, or None when the run diverged."""
        record, saved = self.folder / name, self.folder / f"{name}.checkpoint"
        print(f"{self.folder.name} {name}", file=sys.stderr, flush=True)
        command = ["mpirun", "-np", str(workers), str(self.args.program), *self.flags.split(), *self.data(), "--steps", str(steps), "--seed",
                   str(seed), "--resume", "--checkpoint", str(saved), "--run", str(record), *flags.split()]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0 and "not finite" in done.stdout + done.stderr:
            return None
        if done.returncode != 0:
            sys.exit(f"{name}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads((record / "run.json").read_text())

    def warm_start(self, seed):
        saved = self.folder / f"warm-{seed}.checkpoint"
        if not (self.folder / f"warm-{seed}" / "run.json").exists():
            shutil.rmtree(saved, ignore_errors=True)
            self.start(f"warm-{seed}", 4, self.warm, seed, "--sync ddp --final-lr 1 --lr 2e-3")
        return saved

    def at(self, method, rate, seed, steps):
        """The outcome of a run that goes on from the warm start of its seed. Runs it unless RESULTS has it, of the same flags."""
        flags = f"{METHODS[method][0]} --lr {rate}"
        line = {"text": self.text, "size": self.size, "method": method, "rate": rate, "seed": seed, "steps": steps,
                "flags": f"-np {WORKERS.get(method, 4)} {self.flags} {flags}"}
        if found := self.results.by_key.get(Results.key(line)):
            return found
        if time.monotonic() > self.args.until:
            raise OutOfTime
        saved = self.folder / f"{method}.checkpoint"
        shutil.rmtree(saved, ignore_errors=True)
        shutil.copytree(self.warm_start(seed), saved)
        card = self.start(method, WORKERS.get(method, 4), steps, seed, flags)
        shutil.rmtree(saved)
        line |= {"loss": None, "bytes": None, "seconds": None}  # of a run that diverged
        if card is not None:
            trained = len(card["step_seconds"])
            line |= {"loss": card["validation"][-1][1], "bytes": (card["wire_bytes"] - card["edge_bytes"]) / trained,
                     "seconds": sum(card["step_seconds"]) / trained}
        self.results.add(line)
        return line

    def tune(self, method):
        """The best rate, the losses of all seeds with it, and the bytes of a step (None where all rates diverged)."""
        rates = RATES[METHODS[method][1]]
        if self.args.quick:
            rates = rates[:2]
        early = [loss_of(self.at(method, rate, SEEDS[0], self.short)) for rate in rates]
        best = early.index(min(early))
        cards = {rate: self.at(method, rate, SEEDS[0], self.steps) for rate in rates[max(0, best - 1):best + 2]}
        rate = min(cards, key=lambda rate: loss_of(cards[rate]))
        losses = [loss_of(self.at(method, rate, seed, self.steps)) for seed in (SEEDS[:2] if self.args.quick else SEEDS)]
        return {"rate": rate, "losses": losses, "at_end": rate in (rates[0], rates[-1]), "bytes": cards[rate]["bytes"]}

    def step_seconds(self, method, result):
        """The time of a step: a method that overlaps computation and sending takes the longer of both, any other their sum. Infinite if the
        timed run diverges."""
        seconds = self.at(method, result["rate"], SEEDS[0], self.timed)["seconds"]
        parts = math.inf if seconds is None else seconds, result["bytes"] / LINE_BYTES_PER_S
        return max(parts) if method in OVERLAPPING else sum(parts)


def loss_of(line):
    return math.inf if line["loss"] is None else line["loss"]


def shown(loss):
    return f"{loss:.4f}" if math.isfinite(loss) else "diverged"


def spread(losses):
    if math.inf in losses:
        return "diverged"
    return f"{shown(statistics.mean(losses))} +- {shown((max(losses) - min(losses)) / 2)}"


def name_of(method):
    return f"`{METHODS[method][0]}`{' of 2 workers' if method in WORKERS else ''}"


def equal_tokens(tuned):
    base = statistics.mean(tuned["ddp"]["losses"])
    rows = ["| method | `--lr` | validation, mean +- half the spread | to data parallel | kB sent a step |", "|---|---|---|---|---|"]
    for method, result in tuned.items():
        mark = " (at the end of the rates)" if result["at_end"] else ""
        mean = statistics.mean(result["losses"])
        excess = f"{100 * (mean / base - 1):+.2f} %" if math.isfinite(mean) else "-"
        sent = "-" if result["bytes"] is None else f"{result['bytes'] / 1e3:,.1f}"
        rows.append(f"| {name_of(method)} | {result['rate']}{mark} | {spread(result['losses'])} | {excess} | {sent} |")
    return rows


def equal_time(sweep, tuned):
    """A table of all methods that never diverge, each trained for the time that DiLoCo with H = 50, or else data parallel, takes."""
    step_s = {method: sweep.step_seconds(method, result) for method, result in tuned.items() if math.inf not in result["losses"]}
    step_s = {method: seconds for method, seconds in step_s.items() if math.isfinite(seconds)}
    clock = "diloco-50" if "diloco-50" in step_s else "ddp"
    seconds = (sweep.steps - sweep.warm) * step_s[clock]
    rows = [f"Over 50 Mbit/s, {seconds:.0f} s after the warm start, as {name_of(clock)} takes for {sweep.steps - sweep.warm} steps:", "",
            "| method | steps | validation |", "|---|---|---|"]
    for method in step_s:
        steps = max(1, int(seconds / step_s[method]))
        if sweep.args.quick:
            steps = min(steps, 2 * (sweep.steps - sweep.warm))
        loss = loss_of(sweep.at(method, tuned[method]["rate"], SEEDS[0], sweep.warm + steps))
        rows.append(f"| {name_of(method)} | {steps} | {shown(loss)} |")
    return rows + [""]


def sentences(tuned):
    """Whether each method keeps its bound, best rate against best rate. A difference within the spread of the seeds decides nothing."""
    base, rows = tuned["ddp"]["losses"], []
    for method, result in tuned.items():
        bound = METHODS[method][2]
        if bound is None:
            continue
        if math.inf in result["losses"]:
            rows.append(f"- {name_of(method)} diverged at its best rate; expected at most {bound} %: NOT held.")
            continue
        value = 100 * (statistics.mean(result["losses"]) / statistics.mean(base) - 1)
        noise = 100 * (max(base) - min(base) + max(result["losses"]) - min(result["losses"])) / 2 / statistics.mean(base)
        verdict = "held" if value <= bound else "within the spread of the seeds" if value - noise <= bound else "NOT held"
        rows.append(f"- {name_of(method)} loses {value:+.2f} % (+- {noise:.2f}) to data parallel at its best rate; expected at most {bound} %: "
                    f"{verdict}.")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("work", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("results", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--hours", type=float, default=float("inf"), help="start no run after so many hours; the next call goes on")
    parser.add_argument("--quick", action="store_true", help="a few steps of a tiny model and two rates: that it runs, not that it learns")
    parser.add_argument("--texts", nargs="*", choices=list(TEXTS), default=list(TEXTS))
    parser.add_argument("--sizes", nargs="*", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.until = time.monotonic() + 3600 * args.hours
    results = Results(args.results)
    methods = ["ddp"] + [method for method in args.methods if method != "ddp"]
    for text in args.texts:
        for size in args.sizes:
            print("\n".join(tables(Sweep(args, results, text, size), methods)), flush=True)


def tables(sweep, methods):
    """The tables of the methods whose runs RESULTS has or there is time to make."""
    tuned, missing, times = {}, [], []
    for method in methods:
        try:
            tuned[method] = sweep.tune(method)
        except OutOfTime:
            missing.append(method)
    if "ddp" not in tuned:
        return []
    if math.inf in tuned["ddp"]["losses"]:
        return [f"### {TEXTS[sweep.text]}, {sweep.size} model", "", "Data parallel diverged at its best rate: there is nothing to compare with.", ""]
    if not missing and sweep.size == "small":
        try:
            times = equal_time(sweep, tuned)
        except OutOfTime:
            missing = ["equal time"]
    rows = [f"### {TEXTS[sweep.text]}, {sweep.size} model", "",
            f"`mpirun -np 4 goss-train {sweep.flags}`, from step {sweep.warm} (AdamW, rate 2e-3) to {sweep.steps}; the best of "
            f"{len(RATES['adamw'])} rates at step {sweep.short}, its neighbours, and seeds {', '.join(map(str, SEEDS))} with the best of those.", ""]
    rows += [*equal_tokens(tuned), "", *times, *sentences(tuned), ""]
    if missing:
        rows += [f"Not run yet: {', '.join(missing)}.", ""]
    return rows


if __name__ == "__main__":
    main()
