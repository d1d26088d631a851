#!/usr/bin/env python3
"""Checks the rules in rules.py over a source tree and prints one line a violation.

usage: layering.py --root DIR                          includes, conditionals, getenv, threads, goto, length of files,
                                                        GOSS_ON_LOOP, cycles, classes, folders, the transport seam,
                                                        paths in rules.py that no file has
       layering.py --root DIR --headers --cache FILE --cxx CXX [--cc CC] [--skip HEADER]... [-- FLAG...]
                                                        every header compiles alone

The exit status is 0 when nothing was found, 1 otherwise.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import rules
from python_imports import check_python
from rule_paths import check_rule_paths
from shape import Shape
from source_tree import INCLUDE_ROOTS, Tree, blank, line_of

CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else)\b(.*)$", re.M)
# The declaration of a function that ends in OnLoop, without its mark.
UNMARKED = re.compile(r"^ *(?!return\b)[\w\[][\w\[\]:<>*&, ]*[ *&](\w+OnLoop)\((?:[^()]|\([^()]*\))*\)(?!\s*(?:const\s+)?GOSS_ON_LOOP)", re.M)


def unit_of(path):
    """The unit that a path belongs to, or None."""
    for unit in sorted(rules.UNITS, key=len, reverse=True):
        if path.startswith(unit + "/"):
            rest = path[len(unit) + 1 :].split("/")
            return f"{unit}/{rest[0]}" if unit in rules.SPLIT and len(rest) > 1 else unit
    return None


def allowed_units(path):
    unit = unit_of(path)
    base = next(name for name in sorted(rules.UNITS, key=len, reverse=True) if path.startswith(name + "/"))
    return (unit,) + tuple(rules.UNITS[base]) + tuple(rules.EXTRA.get(path, ()))


def covers(allowed, target):
    return allowed == "" or target == allowed or target.startswith(allowed + "/")


def check_includes(tree):
    for path in tree.files:
        allowed = allowed_units(path)
        own_header = os.path.splitext(path)[0] + ".h"
        first = True
        for line, name, quoted, resolved in tree.includes(path):
            where = f"{path}:{line}"
            if resolved is None:
                if quoted:
                    yield f'{where}: "{name}" is not found from include/, lib/ or the root; write includes from there'
                for prefix, places in rules.THIRD_PARTY.items():
                    if name.startswith(prefix) and not path.startswith(places or ("\0",)):
                        yield f"{where}: <{name}> may be included only in: {', '.join(places) or 'no file'}"
            else:
                if resolved.startswith("tests/") and not path.startswith("tests/"):
                    yield f"{where}: only tests may include {resolved}"
                elif not any(covers(unit, resolved) for unit in allowed):
                    yield f"{where}: {unit_of(path)} may not include {resolved}"
            if first and path.endswith(".cc") and own_header in tree.known and resolved != own_header:
                yield f"{where}: a source includes its own header first ({own_header})"
            first = False


def check_conditionals(tree):
    for path in tree.files:
        if path.startswith(rules.CONDITIONAL):
            continue
        code = blank(tree.text[path])
        guard_seen = not path.endswith((".h", ".hpp", ".inc"))
        for match in CONDITIONAL.finditer(code):
            word, rest = match.group(1), match.group(2).strip()
            if not guard_seen and word == "ifndef" and rest.endswith(("_H_", "_HPP_")):
                guard_seen = True
            elif not (word == "ifdef" and rest == "__cplusplus"):
                yield (f"{path}:{line_of(code, match.start(1))}: #{word} {rest}: conditional compilation belongs to lib/platform "
                       "or to the seam of an optional dependency (tests/layering/rules.py lists them)")
        if not guard_seen:
            yield f"{path}:1: a header needs an include guard that ends in _H_"


def check_words(tree):
    """getenv, threads and goto in code, outside comments and strings."""
    words = (
        (re.compile(r"\b(?:secure_)?getenv\s*\("), rules.LIBRARY, rules.GETENV, "the environment is read in lib/world/config.cc"),
        (re.compile(r"\b(?:std::(?:jthread|thread)\b(?!\s*::)|std::async\b|pthread_create\b|thrd_create\b)"), rules.LIBRARY,
         rules.THREADS, "threads are made where rules.THREADS says"),
        (re.compile(r"\bgoto\b"), ("",), (), "goto is not used"),
    )
    for path in tree.files:
        code = blank(tree.text[path])
        for pattern, inside, exempt, text in words:
            if path.startswith(inside) and not (exempt and path.startswith(exempt)):
                for match in pattern.finditer(code):
                    yield f"{path}:{line_of(code, match.start())}: {match.group(0).strip()}: {text}"


def check_locks(tree):
    """Clang checks who calls a function that needs the engine's lock only where the declaration says so."""
    for path in tree.files:
        if path.startswith("lib/") and path.endswith(".h"):
            code = blank(tree.text[path])
            for match in UNMARKED.finditer(code):
                yield f"{path}:{line_of(code, match.start(1))}: {match.group(1)} needs the engine's lock: mark it GOSS_ON_LOOP"


def check_length(tree):
    for path in tree.files:
        lines = tree.text[path].count("\n")
        if lines > rules.MAX_LINES:
            yield f"{path}:{lines}: {lines} lines; a file has at most {rules.MAX_LINES}"


def check_tree(root):
    tree = Tree(root)
    found = []
    for check in (check_includes, check_conditionals, check_words, check_locks, check_length, check_rule_paths):
        found += list(check(tree))
    python_modules, wrong_imports = check_python(root)
    shape = Shape(tree)
    return len(tree.files) + python_modules, found + wrong_imports + list(shape.violations()), list(shape.numbers())


def compile_alone(root, command, path):
    """None when the header compiles as a translation unit of its own, else the compiler's words."""
    flags = ["-fsyntax-only"]
    flags += [f"-I{os.path.join(root, include)}" for include in INCLUDE_ROOTS]
    # The header is included twice: it must stand alone, and its guard must work.
    unit = f'#include "{path}"\n' * 2
    done = subprocess.run(command + flags + ["-"], input=unit, capture_output=True, text=True, cwd=root, check=False)
    return None if done.returncode == 0 else f"{path}:1: does not compile alone:\n{done.stderr}"


def read_cache(cache_file):
    """Digests of the header compilations that succeeded before."""
    try:
        with open(cache_file, encoding="utf-8") as file:
            return set(json.load(file))
    except (OSError, ValueError):
        return set()


def header_compilations(tree, options, flags):
    """(digest of all that matters, command, header) of every header; the C ABI's are compiled as C99 too.

    A header with a source of its own is left out: the source includes it first (check_includes sees to that), so the build
    has compiled it alone already.
    """
    for path in tree.files:
        if not path.endswith((".h", ".hpp")) or path in options.skip or os.path.splitext(path)[0] + ".cc" in tree.known:
            continue
        commands = [[options.cxx, "-x", "c++", "-std=c++20"] + flags]
        if path in rules.C_ABI and path.endswith(".h"):
            commands.append([options.cc, "-x", "c", "-std=c99", "-pedantic", "-Wall", "-Werror"] + flags)
        for command in commands:
            digest = hashlib.sha256(json.dumps(command).encode())
            for reached in tree.closure(path):
                digest.update(reached.encode() + tree.text[reached].encode())
            yield digest.hexdigest(), command, path


def check_headers(options, flags):
    work = list(header_compilations(Tree(options.root), options, flags))
    cache = read_cache(options.cache)
    todo = [item for item in work if item[0] not in cache]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda item: compile_alone(options.root, item[1], item[2]), todo))
    good = {item[0] for item in work} - {item[0] for item, text in zip(todo, results) if text}
    with open(options.cache, "w", encoding="utf-8") as file:
        json.dump(sorted(good), file)
    return len(work), [text for text in results if text], []


def main(arguments):
    flags = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, flags = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--cache", default=os.devnull)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    if options.headers:
        count, found, numbers = check_headers(options, flags)
    else:
        count, found, numbers = check_tree(options.root)
    for text in found + numbers:
        print(text)
    print(f"{count} {'header compilations' if options.headers else 'files'}, {len(found)} violations")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
