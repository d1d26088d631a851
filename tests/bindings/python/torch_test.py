"""torch.distributed over backend gossamer."""

import datetime
import inspect
import os
import re
import signal
import socket
import time
import unittest

import ranks

try:
    import torch
    import torch.distributed as dist
except ImportError:
    torch = None

MOST = datetime.timedelta(seconds=30)


def begin(backend="gossamer", **options):
    import gossamer.torch  # pylint: disable=import-outside-toplevel,unused-import

    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(backend, timeout=MOST, **options)
    return dist.get_rank(), dist.get_world_size()


def parts(ranks_, shape, dtype):
    return [(torch.arange(int(torch.tensor(shape).prod())).reshape(shape) % 3 + rank).to(dtype) for rank in range(ranks_)]


def check_reductions(rank, size):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.int8):
        given = parts(size, (4, 6), dtype)
        for op, rule in ((dist.ReduceOp.SUM, lambda a, b: a + b), (dist.ReduceOp.PRODUCT, lambda a, b: a * b),
                         (dist.ReduceOp.MIN, torch.minimum), (dist.ReduceOp.MAX, torch.maximum)):
            wanted = given[0]
            for one in given[1:]:
                wanted = rule(wanted, one)
            tensor = given[rank].clone()
            dist.all_reduce(tensor, op)
            assert torch.equal(tensor, wanted), (dtype, op)
            turned = given[rank].t().contiguous().t()  # not contiguous
            dist.all_reduce(turned, op)
            assert torch.equal(turned, wanted) and not turned.is_contiguous()
            tensor = given[rank].clone()
            dist.reduce(tensor, 1, op)
            assert rank != 1 or torch.equal(tensor, wanted)
        if dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            tensor = given[rank].clone()
            dist.all_reduce(tensor, dist.ReduceOp.BXOR)
            wanted = given[0].clone()
            for one in given[1:]:
                wanted ^= one
            assert torch.equal(tensor, wanted)
    tensor = torch.full((3,), float(rank))
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    assert torch.equal(tensor, torch.full((3,), (size - 1) / 2))
    large = torch.full((3,), 40000.0, dtype=torch.float16)  # sums of it overflow
    dist.all_reduce(large, dist.ReduceOp.AVG)
    assert torch.allclose(large.float(), torch.full((3,), 40000.0), rtol=2e-3), large
    flags = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flags)
    assert flags.tolist() == [True, True, False]
    for output, tensors in ((torch.zeros(2), [torch.full((2,), float(rank * to)) for to in range(size)]),):
        dist.reduce_scatter(output, tensors)
        assert (output == rank * sum(range(size))).all()
    several = [torch.ones(3), torch.ones(2, 2)]
    dist.all_reduce_coalesced(several)
    assert all((one == size).all() for one in several)


def check_moves(rank, size):
    for dtype in (torch.float32, torch.int64, torch.bool, torch.int16, torch.bfloat16, torch.complex64):
        given = parts(size, (2, 3), dtype)
        tensor = given[rank].clone()
        dist.broadcast(tensor, 1)
        assert torch.equal(tensor, given[1])
        got = [torch.zeros(2, 3, dtype=dtype) for _ in range(size)]
        dist.all_gather(got, given[rank])
        assert all(map(torch.equal, got, given)), dtype
        whole = torch.zeros(2 * size, 3, dtype=dtype)
        dist._all_gather_base(whole, given[rank])
        assert torch.equal(whole, torch.cat(given))
        got = [torch.zeros(2, 3, dtype=dtype) for _ in range(size)] if rank == 0 else None
        dist.gather(given[rank], got, 0)
        assert rank or all(map(torch.equal, got, given))
        tensor = torch.zeros(2, 3, dtype=dtype)
        dist.scatter(tensor, given if rank == 1 else None, 1)
        assert torch.equal(tensor, given[rank])
        blocks = [torch.full((to + 1,), rank * 10 + to).to(dtype) for to in range(size)]
        got = [torch.zeros(rank + 1, dtype=dtype) for _ in range(size)]
        dist.all_to_all(got, blocks)
        assert all(torch.equal(one, torch.full((rank + 1,), source * 10 + rank).to(dtype)) for source, one in enumerate(got))
        whole = torch.zeros((rank + 1) * size, dtype=dtype)
        dist.all_to_all_single(whole, torch.cat(blocks), [rank + 1] * size, [to + 1 for to in range(size)])
        assert torch.equal(whole, torch.cat(got))
    got = [None] * size
    dist.all_gather_object(got, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in got] == list(range(size))
    box = [("from", rank)]
    dist.broadcast_object_list(box, 1)
    assert box == [("from", 1)]
    got = [None] * size if rank == 0 else None
    dist.gather_object(rank, got)
    assert rank or got == list(range(size))
    box = [None]
    dist.scatter_object_list(box, [f"to {to}" for to in range(size)] if rank == 0 else None)
    assert box == [f"to {rank}"]


def check_messages(rank, size):
    after, before = (rank + 1) % size, (rank - 1) % size
    got = torch.zeros(4)
    sending = dist.isend(torch.full((4,), float(rank)), after, tag=5)
    dist.recv(got, before, tag=5)
    sending.wait()
    assert (got == before).all()
    assert sending.is_completed()
    if rank == 0:
        seen = {dist.recv(got, tag=6) for _ in range(size - 1)}
        assert seen == set(range(1, size))
    else:
        dist.send(torch.ones(4), 0, tag=6)
    got = torch.zeros(2, 2).t()
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.eye(2) + rank, after), dist.P2POp(dist.irecv, got, before)])
    for work in works:
        work.wait()
    assert torch.equal(got, torch.eye(2) + before)


def check_works(rank, size):
    tensor = torch.ones(100_000)
    work = dist.all_reduce(tensor, async_op=True)
    future = work.get_future().then(lambda done: done.value()[0] * 2)
    assert (future.wait() == 2 * size).all() and work.wait()
    assert (work.is_completed() and work.is_success() and work.exception() is None)
    futures = [dist.all_reduce(torch.full((1000,), float(turn)), async_op=True).get_future() for turn in range(20)]
    assert [one.value()[0][0].item() for one in torch.futures.wait_all(futures) and futures] == [size * turn for turn in range(20)]
    dist.barrier()
    even = dist.new_group([0, 1])
    if rank < 2:
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=even)
        assert (tensor == 2).all()
    last = dist.new_group([size - 1])
    if rank == size - 1:
        dist.all_reduce(torch.ones(1), group=last)


def check_groups(rank, size):
    """Subgroups that the members alone make, and parts of a group, where torch has them; else what torch calls for parts."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    members = [size - 1, 0]
    if rank in members and "use_local_synchronization" in inspect.signature(dist.new_group).parameters:
        group = dist.new_group(members, use_local_synchronization=True)
        tensor = torch.full((3,), float(rank))
        dist.all_reduce(tensor, group=group)
        assert (tensor == size - 1).all()
    parts = [[0], list(range(size - 1, 0, -1))]
    if not hasattr(dist, "split_group") or hasattr(dist.distributed_c10d, "_is_safe_to_split"):  # torch before 2.15 splits CUDA's alone
        comm = gossamer.torch._group.part_of(gossamer.torch.communicator(), parts[rank > 0])
        assert (comm.rank, comm.size) == ((0, 1) if rank == 0 else (size - 1 - rank, size - 1))
        comm.close()
        return
    part = dist.split_group(split_ranks=parts, timeout=datetime.timedelta(seconds=7))
    for caller in (part, part._get_backend(torch.device("cpu"))):
        assert caller._keywords(None)["timeout"] == 7
    assert dist.get_process_group_ranks(part) == parts[rank > 0] and part.rank() == (0 if rank == 0 else size - 1 - rank)
    tensor = torch.full((3,), float(rank))
    dist.all_reduce(tensor, group=part)
    assert (tensor == (0 if rank == 0 else sum(range(size)))).all()
    left = dist.split_group(part, split_ranks=[[0]])
    assert (left is dist.GroupMember.NON_GROUP_MEMBER) == (part.rank() != 0)
    dist.barrier()


def check_refusals(rank, size):
    import gossamer  # pylint: disable=import-outside-toplevel

    for error, words, call in (
            (TypeError, "to_dense", lambda: dist.all_reduce(torch.eye(3).to_sparse())),
            (TypeError, "int16.*convert", lambda: dist.all_reduce(torch.ones(3, dtype=torch.int16))),
            (gossamer.InvalidArgument, "times as many|elements",
             lambda: dist._all_gather_base(torch.zeros(size + 1), torch.zeros(1)))):
        try:
            call()
        except error as refused:
            assert re.search(words, str(refused)), refused
        else:
            raise AssertionError(words)
    gossamer.torch.monitored_barrier(timeout=MOST)
    if gossamer.torch.HAS_BACKENDS:  # older torch keeps its own for Gloo
        dist.monitored_barrier(timeout=MOST)
    if rank != size - 1:
        try:
            gossamer.torch.monitored_barrier(timeout=datetime.timedelta(seconds=2))
            raise AssertionError("they came")
        except gossamer.Timeout as late:
            assert late.rank == size - 1, late
    dist.barrier()
    if rank == size - 1:  # comes late, and is answered by nobody
        try:
            gossamer.torch.monitored_barrier(timeout=datetime.timedelta(seconds=0.1))
        except gossamer.Timeout:
            pass
    dist.barrier()
    assert gossamer.torch.communicator().rank == rank


def collectives():
    rank, size = begin()
    for check in (check_reductions, check_moves, check_messages, check_works, check_groups, check_refusals):
        check(rank, size)
    dist.barrier()
    dist.destroy_process_group()


def train(model, steps, hook=None, **options):
    """The parameters of a model after some steps on this rank's own data."""
    model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.01, **options)
    if hook is not None:
        model.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    random = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(steps):
        points = torch.randn(16, 20, generator=random)
        loss = (model(points).squeeze(1) - points.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat([one.detach().reshape(-1) for one in model.parameters()]), loss.item()


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1))


def data_parallel():
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    rank, _ = begin(pg_options=gossamer.torch.Options(interface="lo"))
    gloo = dist.new_group(backend="gloo")
    wanted, _ = train(network(), 20, process_group=gloo)
    # Sums of four float32 in another order: three roundings of 2^-24 each, which 20 steps carry on.
    for options in ({}, {"static_graph": True}, {"find_unused_parameters": True}, {"gradient_as_bucket_view": True}):
        got, _ = train(network(), 20, **options)
        assert torch.allclose(got, wanted, rtol=1e-4, atol=1e-5), (got - wanted).abs().max()
    everyone = [torch.zeros_like(got) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, got)
    assert all(torch.equal(one, got) for one in everyone)
    for codec in ("bf16", "int8:block=256+ef", "int4:block=64+ef"):
        packed, loss = train(network(), 60, gossamer.torch.hook(codec))
        plain, wanted_loss = train(network(), 60)
        assert loss < 1.5 * wanted_loss + 0.1, (codec, loss, wanted_loss)
        assert 0 < (packed - plain).abs().max() < 0.5, codec
    with torch.nn.parallel.DistributedDataParallel(network()).join():  # uneven inputs
        pass
    if rank == 0:
        print("trained")
    dist.barrier()
    dist.destroy_process_group()


def loses_a_rank():
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    rank, size = begin(store=dist.FileStore(os.environ["GOSSAMER_TEST_STORE"], 4), rank=int(os.environ["RANK"]), world_size=4)
    model = torch.nn.parallel.DistributedDataParallel(network())
    if rank == 0:  # also where the store of torchrun would be
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    try:
        for _ in range(100):
            model(torch.randn(4, 20)).sum().backward()
        raise AssertionError("it went on")
    except RuntimeError as error:
        assert "rank 0" in str(error), error
        assert time.monotonic() - began < 2.5
    socket.gethostname = lambda: f"host{rank}"  # as on different hosts, whose names lead nowhere
    socket.gethostbyname = lambda _: "192.0.2.1"
    gossamer.torch.shrink(MOST)
    assert dist.get_world_size() == size - 1 and dist.get_rank() == rank - 1
    train(network(), 3)
    dist.all_reduce(torch.ones(1), group=dist.new_group([0, 2]))
    dist.barrier()
    dist.destroy_process_group()


def losses(*arguments):
    """What examples/torch/ddp.py prints as losses, on four processes."""
    return [float(loss) for loss in re.findall(r"loss ([0-9.]+)", ranks.program(4, "ddp.py", *arguments)[0])]


@unittest.skipIf(torch is None, "torch is not installed (scripts/install-deps --torch)")
class Torch(unittest.TestCase):
    def test_collectives(self):
        ranks.run(3, "torch_test", "collectives", timeout=100)

    def test_data_parallel_trains_as_over_gloo(self):
        self.assertIn("trained", ranks.run(4, "torch_test", "data_parallel", timeout=100)[0])

    def test_a_killed_rank_is_named_and_the_others_go_on(self):
        import tempfile  # pylint: disable=import-outside-toplevel

        with tempfile.TemporaryDirectory() as folder:
            started = ranks.body(4, "torch_test", "loses_a_rank", {"GOSSAMER_TEST_STORE": os.path.join(folder, "store")})
            ranks.finish(started, timeout=100, codes=[-signal.SIGKILL, 0, 0, 0])

    def test_the_example_has_the_losses_of_gloo(self):
        ours, theirs = losses("--backend", "gossamer"), losses("--backend", "gloo")
        self.assertEqual(len(ours), 5)
        # Both round each sum of four gradients at most three times, by 2^-24 of it each. 320 steps of descent at rate 0.1 with
        # momentum 0.9 (a factor of at most 10) carry on at most 320 x 0.1 x 10 x 3 x 2^-24 = 6e-5 of the gradients.
        for one, other in zip(ours, theirs):
            self.assertLess(abs(one - other), 1e-4 * max(one, 0.1))


if __name__ == "__main__":
    unittest.main()
