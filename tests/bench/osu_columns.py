#!/usr/bin/env python3
"""goss-bench prints what the OSU micro-benchmarks 7.4 print.

usage: osu_columns.py check GOLDEN GOSS_BENCH    runs goss-bench with each of OSU's command lines in GOLDEN, and compares lines, columns,
                                                 sizes and widths with what OSU printed
       osu_columns.py record GOLDEN FOLDER       writes GOLDEN anew by running osu_allreduce and the others in FOLDER with mpirun
Numbers that are measured are written as 0. Names of types are translated; the program's own name is left out, and so is case in titles,
of which OSU has two ways ("Non-blocking Allreduce", "Non-Blocking Broadcast").
"""
import re
import subprocess
import sys

# Benchmark, and options that both have. Non-blocking ones are programs of their own with OSU, and an option with us.
LINES = [
    *(f"{name} -m 4:64 -i 2 -x 1" for name in ("allreduce", "reduce", "bcast", "allgather", "allgatherv", "reduce_scatter", "alltoall",
                                               "alltoallv", "gather", "scatter")),
    "allreduce -m 8:32 -i 2 -x 1 -f",
    "allreduce -m 4:8 -i 4 -x 1 -f -c -z",
    "allreduce -m 4:64 -i 4 -x 1 -z",
    "allreduce -m 3:64 -i 2 -x 1 -T mpi_float",
    "allreduce -m 4:64 -i 2 -x 1 -T mpi_int -l",
    "bcast -m 0:4 -i 2 -x 1 -f",
    "barrier -i 2 -x 1",
    "barrier -i 2 -x 1 -f",
    "iallreduce -m 4:16 -i 2 -x 1",
    "iallreduce -m 4:16 -i 2 -x 1 -f",
    "iallreduce -m 4:8 -i 4 -x 1 -c -z -t 3",
    "ibcast -m 4:16 -i 2 -x 1",
    "ibarrier -i 2 -x 1",
    "latency -m 1:16 -i 2 -x 1",
    "latency -m 1:4 -i 4 -x 1 -c -z",
    "bw -m 1:16 -i 2 -x 1 -W 4",
    "bw -m 1:16 -i 4 -x 1 -c -z",
    "bibw -m 1:16 -i 2 -x 1 -c",
    "mbw_mr -m 1:16 -i 2 -x 1",
    "mbw_mr -m 1:16 -i 2 -x 1 -c",
]
NAMES = {"MPI_CHAR": "int8", "MPI_INT": "int32", "MPI_FLOAT": "float32"}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout.strip("\n").split("\n")


def plain(line):
    """The line with each measured number as 0 that ends where the number ended."""
    if line.startswith("#"):
        line = re.sub(r"^# (OSU MPI|Gossamer) (.*) v[0-9.]+$", lambda title: "# " + title[2].lower(), line)
        return re.sub(r"Datatype: (\w+)", lambda name: "Datatype: " + NAMES.get(name[1], name[1]), line)
    return re.sub(r" +[0-9]+\.[0-9]+", lambda number: "0".rjust(len(number[0])), line)


def ours(line, program):
    name, *options = line.split()
    if name[0] == "i":
        name, options = name[1:], [*options, "--nonblocking"]
    if "-T" not in options and name not in ("latency", "bw", "bibw", "mbw_mr", "barrier"):
        options += ["-T", "mpi_char"]
    return run([program, name, "--threads", "2", *options])


def main():
    verb, golden, where = sys.argv[1:]
    if verb == "record":
        mpirun = ["mpirun", "--oversubscribe", "-np", "2"]
        with open(golden, "w", encoding="utf-8") as file:
            for line in LINES:
                name, *options = line.split()
                file.write("\n".join([f"$ {line}", *map(plain, run([*mpirun, f"{where}/osu_{name}", *options]))]) + "\n")
        return
    with open(golden, encoding="utf-8") as file:
        cases = [case.rstrip("\n").split("\n") for case in re.split(r"^\$ ", file.read(), flags=re.M)[1:]]
    if [case[0] for case in cases] != LINES:
        sys.exit(f"{golden} is not about the same command lines; record it anew")
    wrong = 0
    for line, *expected in cases:
        printed = [plain(text) for text in ours(line, where)]
        if printed != expected:
            wrong += 1
            print(f"goss-bench {line}: OSU prints", *expected, "and goss-bench", *printed, sep="\n")
    sys.exit(f"{wrong} of {len(cases)} command lines differ" if wrong else 0)


main()
