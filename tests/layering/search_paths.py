#!/usr/bin/env python3
"""Checks that the compiler finds no more than rules.py lets a file include: reads compile_commands.json of a build.

usage: search_paths.py --root DIR --build DIR

A source sees its own folder, include/gossamer/, and what the folders that it may include see in their turn (a target passes on what
it links with, to all of its sources). Only tests see everything. The exit status is 0 when nothing was found, 1 otherwise.
"""
import argparse
import json
import os
import shlex
import sys

import layering
import rules

WHOLE = ("", "lib")  # search paths that show all folders


def rooms(root, words, directory):
    """The folders that a compiler's command line shows, from the root; "" and "lib" where it shows all of them."""
    found = set()
    for word in words:
        if not word.startswith("-I"):
            continue
        path = os.path.relpath(os.path.join(directory, word[2:]), root)
        if path in (".", "lib", "include"):
            found.add("" if path == "." else path)
            continue
        for folder, folders, _ in os.walk(os.path.join(root, path)):
            links = [os.path.join(folder, name) for name in folders if os.path.islink(os.path.join(folder, name))]
            found.update(os.path.relpath(os.path.realpath(link), os.path.realpath(root)) for link in links)
    return found


def reachable(path):
    """What a file may include, and what those folders may."""
    base = max((unit for unit in rules.UNITS if path.startswith(unit + "/")), key=len)
    seen, todo = set(), [layering.unit_of(path), base, *rules.UNITS[base]]
    # What one source of a target may include, the compiler shows to all of them.
    todo += [unit for source, units in rules.EXTRA.items() if source.startswith(base + "/") for unit in units]
    while todo:
        unit = todo.pop()
        if unit not in seen:
            seen.add(unit)
            todo += rules.UNITS.get(unit, ())
    return seen


def is_allowed(room, allowed):
    """Rooms and units may be parts of each other: collectives/ is one room, lib/capi may include all of lib/."""
    return room == "include" or any(layering.covers(unit, room) or layering.covers(room, unit) for unit in allowed)


def check(root, build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    count, found = 0, []
    for entry in commands:
        path = os.path.relpath(entry["file"], root)
        words = shlex.split(entry["command"])
        output = os.path.relpath(os.path.join(entry["directory"], words[words.index("-o") + 1]), build)
        if path.startswith("tests/") or output.startswith("tests/"):
            continue
        if os.path.abspath(entry["file"]).startswith(build + os.sep):
            continue  # CMake's own, for precompiled headers
        count += 1
        allowed = reachable(path)
        for room in sorted(rooms(root, words, entry["directory"])):
            if room in WHOLE or not is_allowed(room, allowed):
                found.append(f"{path}: the compiler finds {room or 'the root'}, which {layering.unit_of(path)} may not include")
    return count, found


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    options = parser.parse_args(arguments)
    count, found = check(os.path.abspath(options.root), os.path.abspath(options.build))
    for text in found:
        print(text)
    print(f"{count} sources, {len(found)} search paths that show too much")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
