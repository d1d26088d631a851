"""Runs, for the preset torch, beside our own tests: torch's tests of torch.distributed and the programs of features/, over Gossamer.

    run.py              torch's tests for Gloo, and all programs; a failure that is not among REASONS ends in status 1
    run.py --table      all of torch's tests, over Gossamer and over Gloo, into the table of docs/pytorch.md
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "bindings", "python"))

import ranks  # noqa: E402  pylint: disable=wrong-import-position

REASONS = {"test_sparse_all_reduce_sum": "sparse tensors are refused"}
ROLES = ("gloo", "mpi")  # torch gives some tests to backend mpi alone
FEATURES = {"fsdp2": "FSDP2", "dtensor": "DTensor, tensor parallel", "functional": "functional collectives", "checkpoint": "DCP: save, load, asynchronously",
            "zero": "`ZeroRedundancyOptimizer`", "pipelining": "pipelining: GPipe, 1F1B"}
OURS = ("compressed",)  # what Gloo does not have
DOCUMENT = os.path.join(ROOT, "docs", "pytorch.md")
BEGIN, END = "<!-- tests/torch/run.py --table writes what follows -->", "<!-- end -->"


def own_tests(backend, role):
    """{method: [status, reason, seconds]}; a test that fails while others run beside it runs again alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "results")

        def run(*arguments):
            subprocess.run([sys.executable, "-B", os.path.join(HERE, "own_tests.py"), "--backend", backend, "--as", role, "--results", file,
                            *arguments], check=False)
            with open(file, encoding="utf-8") as results:
                return json.load(results)

        results = run()
        failed = [method for method, result in results.items() if result[0] == "failed" and method not in REASONS]
        return run("--jobs", "1", *failed) if failed else results


def feature(name, backend):
    """Whether a program of features/ runs on four ranks."""
    try:
        ranks.finish(ranks.start(4, os.path.join(HERE, "features", name + ".py"), variables={"BACKEND": backend, "GLOO_SOCKET_IFNAME": "lo"}), 200)
    except AssertionError as error:
        print(f"---- {name} over {backend}\n{error}")
        return False
    return True


def why(method, text):
    found = [line for line in re.findall(r"^\S*(?:Error|Exception): (.*)", text, re.MULTILINE) if "exited with error" not in line]
    return REASONS.get(method, found[0].partition(" at index")[0] if found else "killed at the time limit")


def of_all_roles(backend):
    """Status of each method, under the first role in which torch does not skip it."""
    merged = {}
    for role in ROLES:
        for method, result in own_tests(backend, role).items():
            if merged.get(method, ["skipped"])[0] == "skipped":
                merged[method] = result
    return merged


def table():
    results = {backend: of_all_roles(backend) for backend in ("gossamer", "gloo")}
    lines = ["| `distributed_test`, 4 processes | Gossamer | Gloo |", "|---|---|---|"]
    for status, words in (("passed", "pass"), ("failed", "fail"), ("skipped", "skipped by torch: they need CUDA, NCCL or torchvision, or are disabled")):
        counts = [sum(one[0] == status for one in results[backend].values()) for backend in results]
        lines.append(f"| {words} | {counts[0]} | {counts[1]} |")
    for name, words in FEATURES.items():
        cells = ["passes" if feature(name, backend) else "fails" for backend in results]
        lines.append(f"| {words} ([`{name}.py`](../tests/torch/features/{name}.py)) | {cells[0]} | {cells[1]} |")
    lines.append("")
    for backend, words in (("gossamer", "Gossamer"), ("gloo", "Gloo")):
        reasons = {}
        for method, result in results[backend].items():
            if result[0] == "failed":
                reasons.setdefault(why(method, result[1]), []).append(f"`{method}`")
        lines += [f"- {words} fails {', '.join(methods)}: {reason}." for reason, methods in reasons.items()]
    with open(DOCUMENT, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1])
    return 0


def check():
    results = own_tests("gossamer", "gloo")
    wrong = [method for method, result in results.items() if (result[0] == "failed") != (method in REASONS)]
    wrong += [name for name in (*FEATURES, *OURS) if not feature(name, "gossamer")]
    passed = sum(result[0] == "passed" for result in results.values())
    print(f"{passed} of torch's tests and {len(FEATURES) + len(OURS)} programs; unexpected: {', '.join(wrong) or 'none'}")
    return 1 if wrong or passed < 60 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    return table() if parser.parse_args().table else check()


if __name__ == "__main__":
    sys.exit(main())
