"""Backend gossamer of torchcomms, called as torchcomms calls it.

torchcomms is not on the package index. Where it is not installed, a stand-in for its Python side takes its place, which passes arguments on
as TorchCommBackendPy.cpp of torchcomms does (commit 59426ba4b of August 2026); the program and its checks are the same.
"""

import datetime
import enum
import os
import sys
import types
import unittest

import ranks

try:
    import torch
    import torch.distributed as dist
except ImportError:
    torch = None


class StandIn(types.ModuleType):
    """What programs and backends see of torchcomms."""

    class RedOpType(enum.Enum):
        SUM, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, AVG = range(9)

    class ReduceOp:
        def __init__(self, op_type):
            self.type = op_type

    class TorchCommBackend:
        def __init__(self):
            pass

    def __init__(self):
        super().__init__("torchcomms")
        self.backends = {}
        for one in self.RedOpType:
            setattr(self.ReduceOp, one.name, self.ReduceOp(one))
        self.ReduceOp.PREMUL_SUM = lambda factor: self.ReduceOp(self.RedOpType.PREMUL_SUM)  # backends see no factor

    def register_backend(self, name, backend_class):
        self.backends.setdefault(name, backend_class)

    def new_comm(self, backend, device, name, timeout=datetime.timedelta(seconds=600), store=None, hints=None):
        made = self.backends[backend]()
        made.init(device, name, types.SimpleNamespace(timeout=timeout, store=store, hints=hints or {}))
        return StandInComm(made)


class StandInComm:
    """A communicator of the program: options stay with torchcomms, and None is a work that has completed."""

    def __init__(self, backend):
        self.backend = backend

    def split(self, members, name, hints=None, timeout=datetime.timedelta(seconds=600)):
        part = self.backend.split(members, name, types.SimpleNamespace(hints=hints or {}, timeout=timeout))
        return StandInComm(part) if part is not None else None

    def __getattr__(self, name):
        return getattr(self.backend, {"get_name": "get_comm_name", "get_backend": "get_backend_name"}.get(name, name))


def loaded():
    """torchcomms, with our backend as its entry point loads it."""
    try:
        import torchcomms  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError as missing:
        if missing.name != "torchcomms":
            raise
        torchcomms = sys.modules["torchcomms"] = StandIn()
    import gossamer.torch.comms  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import

    return torchcomms


def refused(words, call):
    try:
        call()
    except Exception as refusal:  # torchcomms hands on what Python raises
        assert words in str(refusal), refusal
    else:
        raise AssertionError(f"not refused: {words}")


def reductions(torchcomms, comm, rank, size):
    ops, total = torchcomms.ReduceOp, size * (size + 1) / 2
    for op, expected in ((ops.SUM, total), (ops.MAX, size), (ops.MIN, 1), (ops.AVG, total / size)):
        tensor = torch.full((5,), rank + 1.0)
        comm.all_reduce(tensor, op, False)
        assert tensor.tolist() == [expected] * 5, (op, tensor)
    tensor = torch.full((2, 3), rank + 1.0).t()  # not contiguous
    work = comm.all_reduce(tensor, ops.SUM, True)
    work.wait()
    assert tensor.tolist() == [[total] * 2] * 3
    tensor = torch.full((4,), rank + 1)
    comm.reduce(tensor, size - 1, ops.SUM, False)
    assert rank != size - 1 or tensor.tolist() == [total] * 4
    output = torch.zeros(2)
    comm.reduce_scatter(output, [torch.full((2,), float(to)) for to in range(size)], ops.SUM, False)
    assert output.tolist() == [float(size * rank)] * 2
    comm.reduce_scatter_single(output, torch.arange(2.0 * size), ops.SUM, False)
    assert output.tolist() == [size * 2.0 * rank, size * (2.0 * rank + 1)]
    uneven = torch.zeros(rank + 1)
    comm.reduce_scatter_v(uneven, [torch.full((to + 1,), float(to)) for to in range(size)], ops.SUM, False)
    assert uneven.tolist() == [float(size * rank)] * (rank + 1)


def moves(comm, rank, size):
    tensor = torch.full((3,), rank)
    comm.broadcast(tensor, size - 1, False)
    assert tensor.tolist() == [size - 1] * 3
    parts = [torch.zeros(2, dtype=torch.int64) for _ in range(size)]
    comm.all_gather(parts, torch.full((2,), rank), False)
    assert [part.tolist() for part in parts] == [[each] * 2 for each in range(size)]
    uneven = [torch.zeros(each + 1) for each in range(size)]
    comm.all_gather_v(uneven, torch.full((rank + 1,), float(rank)), False)
    assert [part.tolist() for part in uneven] == [[float(each)] * (each + 1) for each in range(size)]
    whole = torch.zeros(2 * size, dtype=torch.int64)
    comm.all_gather_single(whole, torch.full((2,), rank), False)
    assert whole.tolist() == [each for each in range(size) for _ in range(2)]
    output = torch.zeros(size, dtype=torch.int64)
    comm.all_to_all_single(output, torch.arange(size) + size * rank, False)
    assert output.tolist() == [size * each + rank for each in range(size)]
    rows = torch.zeros(sum(range(1, size + 1)), 2)
    comm.all_to_all_v_single(rows, torch.full((size * (rank + 1), 2), float(rank)), list(range(1, size + 1)), [rank + 1] * size, False)
    assert rows.tolist() == [[float(each)] * 2 for each in range(size) for _ in range(each + 1)]
    got = [torch.zeros(1) for _ in range(size)]
    comm.all_to_all(got, [torch.full((1,), float(10 * rank + to)) for to in range(size)], False)
    assert [one.item() for one in got] == [float(10 * each + rank) for each in range(size)]
    mine = torch.zeros(2)
    comm.scatter(mine, [torch.full((2,), float(to)) for to in range(size)] if rank == 0 else [], 0, False)
    assert mine.tolist() == [float(rank)] * 2
    gathered = [torch.zeros(2) for _ in range(size)] if rank == 0 else []
    comm.gather(gathered, mine, 0, False)
    assert [one.tolist() for one in gathered] == ([[float(each)] * 2 for each in range(size)] if rank == 0 else [])
    comm.barrier(False)


def messages(comm, rank, size):
    got = torch.zeros(3)
    sending = comm.send(torch.full((3,), float(rank)), (rank + 1) % size, True)
    comm.recv(got, (rank - 1) % size, False)
    sending.wait()
    assert got.tolist() == [float((rank - 1) % size)] * 3


def parts(torchcomms, comm, rank, size):
    half = comm.split(list(range(size // 2)) if rank < size // 2 else [], "half")
    assert (half is not None) == (rank < size // 2)
    if half is not None:
        tensor = torch.ones(1)
        half.all_reduce(tensor, torchcomms.ReduceOp.SUM, False)
        assert (half.get_rank(), half.get_size(), tensor.item()) == (rank, size // 2, size // 2)
        half.finalize()
    refused("this one", lambda: comm.split([(rank + 1) % size], "others"))


def stores(torchcomms, size):
    """Two communicators meet in one store."""
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), size, os.environ["RANK"] == "0", datetime.timedelta(seconds=60))
    for name in ("one", "other"):
        comm = torchcomms.new_comm("gossamer", torch.device("cpu"), name, store=store)
        tensor = torch.ones(2)
        comm.all_reduce(tensor, torchcomms.ReduceOp.SUM, False)
        assert tensor.tolist() == [float(size)] * 2
        comm.finalize()


def program():
    """On each rank: without a store, as gossamer.init() meets, and with one."""
    torchcomms = loaded()
    comm = torchcomms.new_comm("gossamer", torch.device("cpu"), "main", hints={"codec": "none", "silence": "30"})
    rank, size = comm.get_rank(), comm.get_size()
    assert comm.get_backend() == "gossamer"
    reductions(torchcomms, comm, rank, size)
    moves(comm, rank, size)
    messages(comm, rank, size)
    parts(torchcomms, comm, rank, size)
    refused("give SUM", lambda: comm.all_reduce(torch.ones(1), torchcomms.ReduceOp.PREMUL_SUM(2.0), False))
    refused("colour", lambda: torchcomms.new_comm("gossamer", torch.device("cpu"), "wrong", hints={"colour": "red"}))
    refused("elements", lambda: comm.all_gather_single(torch.zeros(1), torch.zeros(1), False))
    comm.finalize()
    stores(torchcomms, size)


@unittest.skipUnless(torch, "torch is not installed")
class Torchcomms(unittest.TestCase):
    def test_every_call(self):
        ranks.run(4, "torchcomms_test", "program")


if __name__ == "__main__":
    unittest.main()
