"""Runs functions of a test module on several processes, each with a communicator.

    ranks.run(4, "collectives_test", "matrix")     calls collectives_test.matrix(comm) on each of 4 ranks

A function that takes no argument is called without a communicator, because it makes its own.

A rank that raises or exits otherwise than with 0 fails the caller, with what the ranks have written.
"""

import importlib
import inspect
import os
import random
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    """A port that nobody listens on, below the range that the system hands out."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples", "torch")


def start(ranks, *arguments, variables=None):
    """Processes of Python, started with torchrun's variables."""
    port = str(free_port())
    processes = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=port, OMP_NUM_THREADS="1", **(variables or {}))
        processes.append(subprocess.Popen([sys.executable, "-B", *arguments], env=environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True))
    return processes


def finish(processes, timeout=60, codes=None):
    """What each process wrote. `codes`: the exit status expected of each; None: 0 of all."""
    deadline = time.monotonic() + timeout
    outputs = []
    try:
        for process in processes:
            outputs.append(process.communicate(timeout=max(1, deadline - time.monotonic()))[0])
    except subprocess.TimeoutExpired as error:
        for process in processes:
            process.kill()
        outputs += [process.communicate()[0] for process in processes[len(outputs):]]
        raise AssertionError(f"not done after {timeout} s: {outputs}") from error
    got = [process.returncode for process in processes]
    if got != (codes or [0] * len(processes)):
        raise AssertionError(f"exit status {got}\n" + "\n".join(f"-- rank {rank}\n{text}" for rank, text in enumerate(outputs)))
    return outputs


def body(ranks, module, function, variables=None):
    """Processes that call a function of a test module."""
    return start(ranks, os.path.join(HERE, "ranks.py"), module, function, variables=variables)


def run(ranks, module, function, timeout=60):
    return finish(body(ranks, module, function), timeout)


def program(ranks, example, *arguments, timeout=100):
    """What the processes of an example write."""
    return finish(start(ranks, os.path.join(EXAMPLES, example), *arguments), timeout)


def main():
    sys.path.insert(0, HERE)
    function = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
    if not inspect.signature(function).parameters:
        function()
        return
    import gossamer  # pylint: disable=import-outside-toplevel

    with gossamer.init() as comm:
        function(comm)


if __name__ == "__main__":
    main()
