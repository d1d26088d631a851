#!/usr/bin/env python3
"""Lets the CUDA build of torch run on CPUs without NVIDIA's libraries, which are ten times its size.

    scripts/torch_stubs.py FOLDER      site-packages/torch/lib of the installation

Writes libnvidia_stubs.so there, in which every function that torch would import from a missing library gives error 100
(cudaErrorNoDevice), and a link of each missing library's name to it. torch then finds no device. Needs readelf and a C compiler.
"""

import collections
import glob
import os
import re
import subprocess
import sys

STUBS = "libnvidia_stubs.so"
# Names of NVIDIA's functions that carry no version; all others tell their library by it.
PREFIXES = re.compile(r"(nccl|cuFile|cusolver|cusparseLt|nvshmem|cu[A-Z]|nvrtc|cupti)")
TEXTS = re.compile(r"(String|ErrorName|GetLastError)$")  # functions whose result is a text


def readelf(option, path):
    return subprocess.run(["readelf", option, "-W", path], check=True, capture_output=True, text=True).stdout


def missing_libraries(folder, paths):
    """NVIDIA's libraries that are asked for. Those of the system are left aside: they may be of another version."""
    asked = set()
    for path in paths:
        asked.update(re.findall(r"\(NEEDED\).*\[(lib(?:cu|nv|nccl).*)\]", readelf("-d", path)))
    return sorted(name for name in asked if os.path.islink(os.path.join(folder, name)) or not os.path.exists(os.path.join(folder, name)))


def missing_functions(paths, libraries):
    """{version: names} of what these libraries would have; version "" for names without one."""
    found, defined = collections.defaultdict(set), set()
    for path in paths:
        versions = set()
        for part in readelf("-V", path).split(" File: ")[1:]:
            if part.split()[0] in libraries:
                versions.update(re.findall(r"Name: (\S+)", part))
        for line in readelf("--dyn-syms", path).splitlines():
            words = line.split()
            if len(words) < 8 or words[4] not in ("GLOBAL", "WEAK"):
                continue
            name, _, version = words[7].partition("@")
            if words[6] != "UND":
                defined.add(name)
            elif version in versions or (not version and PREFIXES.match(name)):
                found[version].add(name)
    found[""] -= defined
    return found


def source(functions):
    names = sorted(set().union(*functions.values()))
    return "\n".join(f'const char* {name}(void) {{ return "no NVIDIA library is installed"; }}' if TEXTS.search(name) else
                     f"long {name}(void) {{ return 100; }}" for name in names) + "\n"


def version_script(functions):
    nodes = [f"{version} {{ {' '.join(name + ';' for name in sorted(names))} }};" for version, names in functions.items() if version]
    return "\n".join(nodes) + "\n"


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    folder = sys.argv[1]
    paths = [path for path in glob.glob(os.path.join(folder, "*.so")) if not os.path.islink(path) and not path.endswith(STUBS)]
    libraries = missing_libraries(folder, paths)
    if not libraries:
        return
    functions = missing_functions(paths, libraries)
    stem = os.path.join(folder, STUBS[:-3])
    for suffix, text in ((".c", source(functions)), (".map", version_script(functions))):
        with open(stem + suffix, "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-w", f"-Wl,--version-script={stem}.map", "-o", stem + ".so",
                    stem + ".c"], check=True)
    for name in libraries:
        link = os.path.join(folder, name)
        if os.path.islink(link):
            os.remove(link)
        os.symlink(STUBS, link)
    print(f"torch_stubs: {sum(map(len, functions.values()))} functions of {', '.join(libraries)}")


if __name__ == "__main__":
    main()
