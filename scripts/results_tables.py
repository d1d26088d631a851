#!/usr/bin/python3
"""Writes the generated parts of documents; texts between them stay. scripts/reproduce calls it; scripts/faults, scripts/scale and scripts/scale-document use replace().

    results_tables.py training OUT WORK FLAGS WARM STEPS    from the runs in the folder WORK
    results_tables.py wan OUT                               what bench/wan/train_bench.py printed, from standard input
    results_tables.py sweep OUT                             what scripts/training_sweep.py printed, likewise
    results_tables.py relaxations-all|-networks OUT         what bench/wan/relaxations_bench.py printed, likewise
"""
import json
import pathlib
import sys

MIB = 1024.0 * 1024.0
# Order of the table; only what was run is shown.
RUNS = ["ddp", "ddp-2", "single", "diloco-1", "diloco-10", "diloco-50", "diloco-100", "diloco-1-2", "diloco-10-2", "diloco-50-2",
        "diloco-100-2", "fp16", "int8", "e3m0", "streaming", "streaming-tau2", "streaming-tau5", "streaming-e3m0", "eager", "eager-2",
        "eager-islands", "demo", "cocktail", "islands", "local", "slowmo"]
# Exchanges that hide behind a whole round of many steps: with workers as small as these they do not pay, and are shown for that.
LATE = ["eager-50", "eager-50-plain", "co2", "co2-islands"]
PIPELINES = ["pipeline", "pipeline-direct", "pipeline-aq-sgd"]


class Run:
    def __init__(self, folder):
        card = json.loads((folder / "run.json").read_text())
        self.command = (folder / "command").read_text().strip()
        self.loss = card["validation"][-1][1]
        self.sent = card["wire_bytes"] - card["edge_bytes"]
        self.seconds = sum(card["step_seconds"])
        self.steps = len(card["step_seconds"])


def percent(run, other):
    return 100 * (run.loss / other.loss - 1)


def share(run, other):
    return f"1/{other.sent / run.sent:.1f}" if run.sent else "-"


def run_table(runs, names, base):
    rows = ["| run | `mpirun ... goss-train ...` | validation | to the first | sent MiB | of the first's | seconds |",
            "|---|---|---|---|---|---|---|"]
    for name in names:
        run = runs.get(name)
        if run is None:
            continue
        rows.append(f"| {name} | `{run.command}` | {run.loss:.4f} | {percent(run, base):+.2f} % | {run.sent / MIB:.2f} | "
                    f"{share(run, base)} | {run.seconds:.0f} |")
    return rows


def bounds(runs):
    """(what, bound, measured, whether it holds)"""
    rows = []

    def loss(what, name, other, most):
        if name in runs and other in runs:
            value = percent(runs[name], runs[other])
            rows.append((f"{what}: loss to `{other}`", f"at most {most:+.1f} %", f"{value:+.2f} %", value <= most))

    def sent(what, name, least):
        if name in runs and runs[name].sent:
            value = runs["ddp"].sent / runs[name].sent
            rows.append((f"{what}: bytes of `ddp`'s", f"at most 1/{least}", f"1/{value:.1f}", value >= least))

    loss("H = 10, 4 workers", "diloco-10", "ddp", 0.5)
    loss("H = 50, 4 workers", "diloco-50", "ddp", 4)
    # Ten exchanges in 500 steps; the few bytes over are those of hashes and of buckets' odd ends.
    sent("H = 50, 4 workers", "diloco-50", 50)
    loss("int8", "int8", "diloco-50", 0.2)
    sent("int8", "int8", 190)
    loss("e3m0", "e3m0", "diloco-50", 0.7)
    sent("e3m0", "e3m0", 350)
    loss("streaming, tau 2", "streaming-tau2", "streaming", 1)
    loss("streaming, tau 5", "streaming-tau5", "streaming", 1)
    loss("AQ-SGD, 4 bits", "pipeline-aq-sgd", "pipeline", 1)
    if "pipeline-direct" in runs and "pipeline" in runs:
        value = percent(runs["pipeline-direct"], runs["pipeline"])
        rows.append(("direct 2 bits: loss to `pipeline`", "more than +1.0 %", f"{value:+.2f} %", value > 1))
    if "single" in runs:
        gains = {name: percent(runs["single"], runs[name]) for name in RUNS if name in runs and name != "single"}
        worse = [name for name, gain in gains.items() if gain <= 0]
        shown = sorted(worse or gains, key=lambda name: gains[name])[: len(worse) or 1]
        rows.append(("a single worker with a quarter of the tokens: its loss to every other's of the first table", "above 0 %",
                     "; ".join(f"`{name}` {gains[name]:+.2f} %" for name in shown), not worse))
    missed = [f"- {what}: expected {bound}, measured {measured}" for what, bound, measured, holds in rows if not holds]
    return [f"{len(rows) - len(missed)} of the {len(rows)} bounds in `bounds()` of `scripts/results_tables.py` hold{'; missed:' if missed else '.'}"] + missed


def training(work, flags, warm, steps):
    work = pathlib.Path(work)
    runs = {name: Run(work / name) for name in RUNS + LATE + PIPELINES if (work / name / "command").exists()}
    lines = [f"All runs go on from one warm start (`-np 4 --sync ddp --final-lr 1 --steps {warm}`) to step {steps} with `{flags} --resume`, the flags of the",
             "table and the default text. Equal tokens everywhere, but for `single`.", ""]
    lines += run_table(runs, RUNS, runs["ddp"])
    if any(name in runs for name in LATE):
        lines += ["", "What does not pay: no better than `single`, with the exchange of a round hidden behind the whole next one:", ""]
        lines += run_table(runs, LATE, runs["ddp"])
    first = next(name for name in PIPELINES if name in runs)
    lines += ["", "Two pipeline stages, whose activations are encoded:", ""] + run_table(runs, PIPELINES, runs[first])
    lines += [""] + bounds(runs)
    return "\n".join(lines)


def replace(out, part, text):
    """Puts `text` between the marks of `part`, at the end of the file where it has none."""
    path = pathlib.Path(out)
    old = path.read_text() if path.exists() else "# Results\n"
    begin, end = f"<!-- begin: {part} -->\n", f"<!-- end: {part} -->\n"
    if begin not in old:
        old += f"\n{begin}{end}"
    head, rest = old.split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}{text.rstrip()}\n{end}{tail}")


def main():
    if len(sys.argv) == 7 and sys.argv[1] == "training":
        replace(sys.argv[2], "training", training(*sys.argv[3:]))
    elif len(sys.argv) == 3 and sys.argv[1] in ("wan", "sweep", "relaxations-all", "relaxations-networks"):
        replace(sys.argv[2], sys.argv[1], sys.stdin.read())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
