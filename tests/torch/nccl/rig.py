"""Ranks as forks of one process that has imported torch, so that none imports it again. What CUDA, torch and Gossamer read from the
environment they read in the fork."""

import datetime
import faulthandler
import json
import os
import signal
import tempfile
import time
import traceback

import torch
import torch._dynamo  # functional collectives import it, which takes seconds
import torch.distributed as dist

HOST = "127.0.0.1"
IS_OLD = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 15)  # and may lack what a check needs
LEFT_OUT = "left out: "  # how the note of such a check begins


def device():
    return torch.device("cuda", torch.cuda.current_device())


def on_device(values, dtype=torch.float32):
    """Kernels do not run, so that numbers are made on the host."""
    return torch.as_tensor(values).to(dtype).to(device())


def numbers(rank, count=1000, dtype=torch.float32):
    """What `rank` gives: small integers, whose sums are exact in every type."""
    return torch.arange(count).remainder(5).add(rank + 1).to(dtype)


def room(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device=device())


def same(got, expected):
    got = got.cpu()
    expected = torch.as_tensor(expected).to(got.dtype)
    assert torch.equal(got.double(), expected.double().reshape(got.shape)), f"{got.flatten()[:8].tolist()} instead of {expected.flatten()[:8].tolist()}"


def fork(body):
    """A process of its own, in which only `body` runs."""
    child = os.fork()
    if child == 0:
        try:
            body()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


class LeftOut(Exception):
    """Raised by a check that this torch, or this device, cannot do; says why."""


class Meeting:
    """A process with a store, which outlives every rank."""

    def __init__(self):
        reader, writer = os.pipe()

        def serve():
            store = dist.TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
            os.write(writer, str(store.port).encode())
            signal.pause()

        self.process = fork(serve)
        self.port = int(os.read(reader, 10))
        self.used = 0

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class Rank:
    """What the function of a rank is given."""

    def __init__(self, number, size, stores, results):
        self.number, self.size, self.stores, self.results = number, size, stores, results
        self.store = stores("first")
        self.is_eager = False
        self.one_queue = os.environ.get("CUDA_STANDIN_ONE_QUEUE") == "1"

    def begin(self, backend, eager, seconds=60):
        if backend == "gossamer":
            import gossamer.torch  # pylint: disable=import-outside-toplevel,unused-import

        self.is_eager = eager
        torch.set_num_threads(1)
        torch.cuda.set_device(self.number % torch.cuda.device_count())
        dist.init_process_group(backend, store=self.store, rank=self.number, world_size=self.size, timeout=datetime.timedelta(seconds=seconds),
                                device_id=device() if eager else None)

    def note(self, name, problem=""):
        """Writes at once, since the process may be killed."""
        os.write(self.results, (json.dumps([name, problem]) + "\n").encode())

    def check(self, function):
        try:
            function(self)
        except LeftOut as reason:
            self.note(function.__name__, f"{LEFT_OUT}{reason}")
        except Exception:
            self.note(function.__name__, traceback.format_exc(limit=-4))
        else:
            self.note(function.__name__)

    def expected(self, count=1000, dtype=torch.float32):
        """The sum of what all ranks give."""
        return sum(numbers(rank, count, torch.float64) for rank in range(self.size)).to(dtype)


class Ranks:
    """Running ranks."""

    def __init__(self, meeting, size, body, variables):
        self.folder = tempfile.TemporaryDirectory()
        meeting.used += 1
        name, port = f"meeting {meeting.used}", meeting.port

        def run(number):
            for stream, suffix in ((1, "log"), (2, "log"), (9, "results")):
                file = os.open(self.path(number, suffix), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(file, stream)
            own = variables(number) if callable(variables) else variables
            faulthandler.register(signal.SIGUSR1, file=1, all_threads=True)
            os.environ.update({"LOCAL_RANK": str(number), "GOSS_INTERFACE": "lo", **own})
            tcp = dist.TCPStore(HOST, port, is_master=False)
            body(Rank(number, size, lambda generation: dist.PrefixStore(f"{name} {generation}", tcp), 9))

        self.processes = [fork(lambda number=number: run(number)) for number in range(size)]
        self.codes = [None] * size

    def path(self, number, suffix):
        return os.path.join(self.folder.name, f"{number}.{suffix}")

    def wait(self, seconds, but=()):
        """Waits for all ranks, and ends those that are left. `but`: ranks that do not end by themselves. Whether the others did."""
        deadline = time.monotonic() + seconds
        waiting = [number for number in range(len(self.processes)) if number not in but]
        while waiting and time.monotonic() < deadline:
            for number in list(waiting):
                found, status = os.waitpid(self.processes[number], os.WNOHANG)
                if found:
                    self.codes[number] = os.waitstatus_to_exitcode(status)
                    waiting.remove(number)
            time.sleep(0.01)
        for number in waiting:  # where they are goes into their logs
            os.kill(self.processes[number], signal.SIGUSR1)
        time.sleep(0.5 if waiting else 0)
        for number in (*waiting, *but):
            os.kill(self.processes[number], signal.SIGKILL)
            os.waitpid(self.processes[number], 0)
        return not waiting

    def log(self, number):
        with open(self.path(number, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def results(self, number):
        """{check: problem}"""
        with open(self.path(number, "results"), encoding="utf-8") as file:
            return dict(json.loads(line) for line in file)
