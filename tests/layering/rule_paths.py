"""Paths in rules.py that no file of the tree has: a rule for files that have gone."""
import os

import rules

# What files of these rules begin with; paths of other rules are files or folders.
PREFIXES = ("LIBRARY", "CONDITIONAL", "GETENV", "THREADS", "THIRD_PARTY", "LOADS")


def named():
    """(rule, path) of every path in rules.py, besides the exceptions, which shape.py checks."""
    for rule in ("C_ABI", "LOW", "SPLIT", "ONE_A_PAIR", "LIBRARY", "CONDITIONAL", "GETENV", "THREADS"):
        yield from ((rule, path) for path in getattr(rules, rule))
    for rule in ("UNITS", "EXTRA"):
        for path, allowed in getattr(rules, rule).items():
            yield from ((rule, each) for each in (path, *allowed))
    yield from (("THIRD_PARTY", place) for places in rules.THIRD_PARTY.values() for place in places)
    yield "SEAM", rules.SEAM
    yield "FACADE", rules.FACADE.split(":")[0]
    for folder, floors in rules.PYTHON.items():
        yield from (("PYTHON", f"{folder}/{module}.py") for modules in floors for module in modules)
    yield from (("LOADS", prefix) for prefix in rules.LOADS)


def python_files(root):
    for folder in rules.PYTHON:
        for path, _, files in os.walk(os.path.join(root, folder)):
            yield from (os.path.relpath(os.path.join(path, file), root) for file in files)


def check_rule_paths(tree):
    files = [*tree.files, *python_files(tree.root)]
    known = {"", *files}
    for file in files:
        parts = file.split("/")
        known.update("/".join(parts[:length]) for length in range(1, len(parts)))
    for rule, path in dict.fromkeys(named()):
        if path not in known and not (rule in PREFIXES and any(file.startswith(path) for file in files)):
            yield f"tests/layering/rules.py:1: {rule} names {path}, which no file has; take it out"
