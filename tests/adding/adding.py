#!/usr/bin/env python3
"""Applies the patches of docs/adding to a copy of the tree and proves that they add what docs/adding.md says.

    adding.py --root ROOT check                          each patch applies, and touches no more files than its bound
    adding.py --root ROOT --build BUILD --copy DIR copy  copies the tree, applies all patches, configures the copy
    adding.py --root ROOT --build BUILD --copy DIR KIND  compiles what the patch of KIND changes and runs its suite

The suite is a program of BUILD that is linked again with the new objects before the old ones, so that little is compiled.
"""

import argparse
import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# kind -> name of what is added, files that exist and may change, files that may be new outside the folder of the patch, the suite
# and its tests
KINDS = {
    "codec": ("trunc16", ["compressors/catalogue.cc", "tests/golden/codecs.txt"], 1, "compressors_test", "*trunc16*:*GoldenPayloads*:Spec.*"),
    "transport": ("handover", ["lib/builtins/builtins.cc"], 0, "transports_test", "*handover*"),
    "synchronizer": ("outer-sign", ["lib/sync/methods.cc"], 1, "synchronizers_test", "Synchronizer.*"),
    "algorithm": ("xor", ["collectives/catalogue.cc"], 1, "collectives_test", "Catalogue.*:*xor*"),
}
TRANSPORT_FOLDER = re.compile(r"transports/(\w+)/")
MAX_LINES = 3  # that a patch adds to a list or removes from it: a declaration or include, and the entry
CACHED = ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS", "CMAKE_CXX_FLAGS_DEBUG",
          "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "GOSS_CUDA")


def patch_of(root, kind):
    return os.path.join(root, "docs", "adding", kind + ".patch")


def files_of(patch):
    """File -> (whether it is new, the lines that are added or removed)."""
    files, last = {}, None
    with open(patch, encoding="utf-8") as text:
        for line in text:
            if line.startswith("--- "):
                new = line.startswith("--- /dev/null")
            elif line.startswith("+++ b/"):
                last = line[6:].strip()
                files[last] = [new, 0]
            elif line.startswith(("+", "-")) and last:
                files[last][1] += 1
    return files


def check_bounds(root, kind):
    """The sentences that say what is wrong with a patch."""
    _, lists, room = KINDS[kind][:3]
    files = files_of(patch_of(root, kind))
    new = [path for path, (is_new, _) in files.items() if is_new]
    folders = {match.group(1) for match in map(TRANSPORT_FOLDER.match, new) if match}
    outside = [path for path in new if not (kind == "transport" and TRANSPORT_FOLDER.match(path))]
    for path, (is_new, lines) in files.items():
        if not is_new and path not in lists:
            yield f"{kind}: changes {path}; a {kind} is its own file and a line in {lists[0]}"
        if not is_new and path == lists[0] and lines > MAX_LINES:
            yield f"{kind}: adds or removes {lines} lines of {path}, more than {MAX_LINES}"
    if len(outside) > room or len(folders) > 1:
        yield f"{kind}: has {len(new)} new files: {', '.join(new)}"
    print(f"{kind}: {len(files)} files, {len(new)} of them new")


def apply(patch, tree):
    subprocess.run(["patch", "-p1", "--silent", "--no-backup-if-mismatch", "-d", tree, "-i", patch], check=True)


def check(root):
    wrong = [sentence for kind in KINDS for sentence in check_bounds(root, kind)]
    with tempfile.TemporaryDirectory() as tree:
        for kind in KINDS:
            for path, (is_new, _) in files_of(patch_of(root, kind)).items():
                if not is_new:
                    os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
                    shutil.copy(os.path.join(root, path), os.path.join(tree, path))
            apply(patch_of(root, kind), tree)
    print("\n".join(wrong + [f"{len(KINDS)} patches, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def cache_of(build):
    """The variables of BUILD's CMake cache."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        return dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read(), re.M))


def make_copy(root, build, copy):
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copy, symlinks=True, ignore=lambda folder, names: [
        name for name in names if folder == root and name in ("build", "shared", ".git", ".cache")])
    for kind in KINDS:
        apply(patch_of(root, kind), copy)
    values = cache_of(build)
    options = [f"-D{name}={values[name]}" for name in CACHED if name in values]
    options += [f"-DGOSS_BUILD_{part}=OFF" for part in ("TESTS", "BENCH", "TRAINER")]
    subprocess.run(["cmake", "-S", copy, "-B", os.path.join(copy, "build"), "-G", "Ninja", *options], check=True,
                   stdout=subprocess.DEVNULL)
    return 0


def compile_changed(root, copy, kind):
    """The objects of all sources of the patch, compiled as the copy's CMake says."""
    with open(os.path.join(copy, "build", "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(entry["file"], copy): entry for entry in json.load(file)}
    objects = []
    for path in files_of(patch_of(root, kind)):
        if not path.endswith(".cc"):
            continue
        words = shlex.split(commands[path]["command"])
        objects.append(os.path.join(copy, "build", path.replace("/", "_") + ".o"))
        words[words.index("-o") + 1] = objects[-1]
        subprocess.run(words, cwd=commands[path]["directory"], check=True)
    return objects


def link_again(build, target, output, result, objects):
    """Links `output` of BUILD's `target` as `result`, with the objects before its own."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    place = re.compile(r" -o (\S*%s)(?= )" % re.escape(output))
    command = next(line for line in reversed(listed.stdout.splitlines()) if place.search(line) and " -c " not in line)
    command = place.sub(lambda _: f" -o {shlex.quote(result)} {' '.join(map(shlex.quote, objects))}", command)
    subprocess.run(command, shell=True, cwd=build, check=True)


def listed(program, tests, environment):
    """The number of tests that a filter picks."""
    command = [program, f"--gtest_filter={tests}", "--gtest_list_tests"]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return sum(line.startswith("  ") for line in output.splitlines())


def synchronizers(library):
    """The names that goss_sync_methods() of a library lists."""
    text = ctypes.c_char_p()
    if ctypes.CDLL(library).goss_sync_methods(ctypes.byref(text)) != 0:
        sys.exit(f"{library}: goss_sync_methods() fails")
    return {method["name"] for method in json.loads(text.value)}


def run_suite(root, build, copy, kind):
    name, _, _, program, tests = KINDS[kind]
    objects = compile_changed(root, copy, kind)
    environment = dict(os.environ, GOSS_TEST_QUICK="1")
    if kind == "synchronizer":  # the suite sees the C ABI alone
        folder = os.path.join(copy, "build", "linked")
        os.makedirs(folder, exist_ok=True)
        library = re.compile(r"libgossamer\.so\.[\d.]+$")
        versions = sorted((name for name in os.listdir(os.path.join(build, "lib")) if library.match(name)), key=len)
        link_again(build, "gossamer", versions[-1], os.path.join(folder, versions[0]), objects)
        environment["LD_LIBRARY_PATH"] = folder
        path = os.path.join(build, "bin", program)
        loaded = subprocess.run(["ldd", path], env=environment, capture_output=True, text=True, check=True).stdout
        if folder not in loaded:
            sys.exit(f"{program} does not load the library of {folder}")
        # Python cannot load a sanitized library, which needs the sanitizer's runtime before all others.
        if not cache_of(build).get("GOSS_SANITIZE") and name not in synchronizers(os.path.join(folder, versions[0])):
            sys.exit(f"{kind}: the library does not know {name}")
    else:
        path = os.path.join(copy, "build", program)
        link_again(build, program, program, path, objects)
    # The copy's golden files, where the program has the tree's in it.
    command = [path, f"--gtest_filter={tests}", "--gtest_brief=1"]
    environment["GOSS_TEST_GOLDEN"] = os.path.join(copy, "tests", "golden")
    if kind != "synchronizer" and not listed(path, f"*{name}*", environment):
        sys.exit(f"{kind}: {program} has no test of {name}")
    print(f"{kind}: {listed(path, tests, environment)} tests of {program}", flush=True)
    return subprocess.run(command, env=environment, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build")
    parser.add_argument("--copy")
    parser.add_argument("what", choices=["check", "copy", *KINDS])
    options = parser.parse_args()
    root = os.path.abspath(options.root)
    if options.what == "check":
        return check(root)
    build, copy = os.path.abspath(options.build), os.path.abspath(options.copy)
    return make_copy(root, build, copy) if options.what == "copy" else run_suite(root, build, copy, options.what)


if __name__ == "__main__":
    sys.exit(main())
