"""Which modules of a Python package import which: the floors of rules.PYTHON."""

import ast
import os
import sys

import rules


def modules(package, tree):
    """(line, name) of what a module imports when it is loaded: names of this package as paths, others as they are."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module
        elif isinstance(node, ast.ImportFrom):
            above = package.split("/")[: len(package.split("/")) - node.level + 1] if package else []
            places = [node.module] if node.module else [alias.name for alias in node.names]
            yield from ((node.lineno, "./" + "/".join(above + place.split("."))) for place in places)


def check_module(root, folder, name, floor_of):
    """Violations of one module; `name` is its path in the package, without the ending."""
    where = f"{folder}/{name}.py"
    if name not in floor_of:
        yield f"{where}:1: tests/layering/rules.py has no floor for this module"
        return
    with open(os.path.join(root, where), encoding="utf-8") as source:
        tree = ast.parse(source.read())
    loads = [loaded for prefix, listed in rules.LOADS.items() if where.startswith(prefix) for loaded in listed]
    for line, imported in modules(os.path.dirname(name), tree):
        if imported.startswith("./"):
            target = imported[2:]
            if floor_of.get(target, floor_of.get(target + "/__init__", len(floor_of))) >= floor_of[name]:
                yield f"{where}:{line}: imports {target}, which does not lie below it"
        elif imported.split(".")[0] not in (*sys.stdlib_module_names, *loads):
            yield f"{where}:{line}: may not load {imported}"


def check_python(root):
    """(number of modules, violations)"""
    count, found = 0, []
    for folder, floors in rules.PYTHON.items():
        floor_of = {name: floor for floor, names in enumerate(floors) for name in names}
        for path, _, files in os.walk(os.path.join(root, folder)):
            for file in sorted(file for file in files if file.endswith(".py")):
                name = os.path.relpath(os.path.join(path, file), os.path.join(root, folder))[: -len(".py")]
                found += check_module(root, folder, name, floor_of)
                count += 1
    return count, found
