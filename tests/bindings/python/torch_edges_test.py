"""torch.distributed over backend gossamer where programs err, wait within callbacks, or make groups again."""

import contextlib
import datetime
import gc
import os
import tempfile
import threading
import time
import unittest
import weakref

import ranks

try:
    import torch
    import torch.distributed as dist
except ImportError:
    torch = None

MOST = datetime.timedelta(seconds=15)


def refused(error, words, call):
    try:
        call()
    except error as refusal:
        assert words in str(refusal), refusal
    else:
        raise AssertionError(f"not refused: {words}")


class Bucket:
    """A bucket as DDP hands it to a hook."""

    def __init__(self, values, parameters):
        self.values, self.of = values, parameters

    def buffer(self):
        return self.values

    def parameters(self):
        return self.of


def check_hooks(comm):
    """Error feedback belongs to one hook and one model, and goes with the hook."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    values, models = torch.arange(1.0, 1001), [[torch.nn.Parameter(torch.zeros(1000))] for _ in range(3)]
    empty = len(comm.codec_state_export())
    one, other = gossamer.torch.hook("topk:ratio=0.1+ef"), gossamer.torch.hook("topk:ratio=0.1+ef")
    one(None, Bucket(values.clone(), models[0])).wait()
    for hook, model in ((other, models[1]), (one, models[2])):
        assert not hook(None, Bucket(torch.zeros(1000), model)).wait().any()
    assert one(None, Bucket(torch.zeros(1000), models[0])).wait().any()
    ids = tuple(map(id, models[0]))
    of = one.__closure__[[name for name in one.__code__.co_freevars].index("buckets")].cell_contents
    kept = next(iter(of.values()))._buckets
    kept[ids] = kept[ids]._replace(parameters=(weakref.ref(models[1][0]),))  # as if another parameter had come to lie there
    assert not one(None, Bucket(torch.zeros(1000), models[0])).wait().any()
    del one, other, hook, of, kept
    gc.collect()
    assert len(comm.codec_state_export()) < empty + 1000, (len(comm.codec_state_export()), empty)  # a residual has 4000 bytes


def check_buckets(size):
    """The losses of a codec follow their parameter into other buckets, so that later sums deliver all that was given."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    parameters = [torch.nn.Parameter(torch.zeros(count)) for count in (300, 500, 200)]
    given, hook = torch.arange(1.0, 1001), gossamer.torch.hook("topk:ratio=0.1+ef")
    got = [one.clone() for one in hook(None, Bucket(given.clone(), parameters)).wait().split((300, 500, 200))]
    for _ in range(60):
        for part, places in (((2, 0), None), ((1,), None)):
            of = [parameters[index] for index in part]
            sizes = [one.numel() for one in of]
            for index, one in zip(part, hook(None, Bucket(torch.zeros(sum(sizes)), of)).wait().split(sizes)):
                got[index] += one
    # The owner of a half has lost at most nine tenths of its elements when the buckets changed.
    late = (torch.cat(got) - given).abs() > 1e-3
    assert late.sum() <= 900 / size + 50 and torch.cat(got).sum() > 0.5 * given.sum(), (late.sum(), torch.cat(got).sum() / given.sum())


def check_futures(comm, size):
    """Callbacks wait for other futures, and errors of one harm no other."""
    later = dist.all_reduce(torch.ones(300_000), async_op=True).get_future()

    def nested(_):
        inner = torch.ones(100_000)
        dist.all_reduce(inner, async_op=True).get_future().wait()
        return inner[0].item()

    assert dist.all_reduce(torch.ones(300_000), async_op=True).get_future().then(nested).wait() == size
    from gossamer.torch import _hooks, _work  # pylint: disable=import-outside-toplevel

    group = _hooks.group_of()
    one, other = [group.recv([torch.zeros(1)], comm.rank, tag).get_future() for tag in (51, 52)]
    waiting = one.then(lambda _: other.wait()[0].item())  # for one that was made before
    for tag in (51, 52):
        comm.send(torch.full((1,), float(tag)), comm.rank, tag)
        time.sleep(0.05)
    assert waiting.wait() == 52
    later.wait()
    # what fails after the operation

    def fails():
        raise ValueError("copying failed")

    pending = _work.Pending([comm.all_reduce(torch.ones(500_000), async_op=True)], None, fails)
    refused(RuntimeError, "copying failed", lambda: group._completer.future(pending).wait())
    assert dist.all_reduce(torch.ones(200_000), async_op=True).get_future().wait() is not None
    refused(RuntimeError, "clone", lambda: dist.all_reduce(torch.zeros(1).expand(1000), async_op=True))
    for _ in range(20):  # whoever waits for the work collects what tells the thread of futures
        work, done = dist.all_reduce(torch.ones(1000), async_op=True), threading.Event()
        work.get_future().then(lambda _, done=done: done.set())
        work.wait()
        assert done.wait(10), "the future is forgotten"


def futures_threads():
    return [thread for thread in threading.enumerate() if thread.name == "gossamer-futures"]


def check_life(comm):
    """A group that is dropped goes, with its thread; the tensors of works that nobody waits for go."""
    from gossamer.torch import GossamerGroup, _hooks  # pylint: disable=import-outside-toplevel

    before = len(futures_threads())
    group = GossamerGroup(comm.dup())
    values = torch.ones(1_000_000)
    group.allreduce([values]).get_future().wait()
    gone = weakref.ref(group.comm)
    del group
    gc.collect()
    deadline = time.monotonic() + 5
    while (gone() is not None or len(futures_threads()) > before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone() is None and len(futures_threads()) == before, (gone(), futures_threads())
    # a future that waits when the group is shut down
    group = GossamerGroup(comm.dup())
    never = group.recv([torch.zeros(1)], comm.rank).get_future()
    group.shutdown()
    refused(RuntimeError, "closed", never.wait)

    tensors = []
    for _ in range(20):
        tensor = torch.ones(1000)
        tensors.append(weakref.ref(tensor))
        dist.all_reduce(tensor, async_op=True)
    del tensor
    for _ in range(20):
        dist.barrier()
    assert sum(one() is not None for one in tensors) < 3, [one() is not None for one in tensors]
    group = _hooks.group_of()
    work = group._work([comm.recv(torch.zeros(1), comm.rank, tag, async_op=True) for tag in (91, 92, 93)], [])
    began = time.monotonic()
    refused(RuntimeError, "0.3 s", lambda: work.wait(datetime.timedelta(seconds=0.3)))
    assert time.monotonic() - began < 0.55 and id(work) in group._completer._kept
    for tag in (91, 92, 93):
        comm.send(torch.zeros(1), comm.rank, tag)
    assert work.wait() and id(work) not in group._completer._kept


def check_shapes(rank, size):
    """Tensors that do not fit are refused on all ranks, before anything is sent."""
    assert size == 2
    ones, short = torch.ones, [torch.zeros(1)] * 2
    refused(ValueError, "divided", lambda: dist.all_to_all_single(torch.zeros(5), ones(5)))
    refused(ValueError, "divided", lambda: dist.all_to_all_single(torch.zeros(3, 2), ones(3, 2)))
    refused(ValueError, "add up", lambda: dist.all_to_all_single(torch.zeros(4), ones(4), [1, 1], [1, 1]))
    from gossamer.torch import _hooks  # pylint: disable=import-outside-toplevel

    group, options = _hooks.group_of(), type("Options", (), {"rootRank": rank, "timeout": None})
    # each rank as root: torch's own checks lie above
    refused(ValueError, "elements", lambda: group.scatter([torch.zeros(2)], [[ones(3), ones(1)]], options))
    refused(ValueError, "needed", lambda: group.scatter([torch.zeros(2)], [[ones(2)]], options))
    refused(ValueError, "needed", lambda: group.gather([[torch.zeros(2)]], [ones(2)], options))
    refused(ValueError, "elements", lambda: group.gather([[torch.zeros(3), torch.zeros(1)]], [ones(2)], options))
    refused(ValueError, "needed", lambda: group.alltoall([torch.zeros(1)], [ones(1)] * 2))
    refused(ValueError, "needed", lambda: group.allgather_into_tensor_coalesced([torch.zeros(2)], [ones(1)] * 2))
    refused(ValueError, "needed", lambda: group.allgather([short, short], [ones(1)]))
    refused(TypeError, "mixed", lambda: group._allgather_base(torch.zeros(2, dtype=torch.complex64), ones(2, dtype=torch.float64)))
    # nothing of a list starts when one of it cannot
    before = group.comm.counters().operations
    if hasattr(dist.ReduceOp.SUM, "__getstate__") and dist._make_nccl_premul_sum(0.5).__getstate__() is not None:
        value = ones(3)
        dist.all_reduce(value, dist._make_nccl_premul_sum(0.25 * (1 + rank)))
        assert (value == 0.75).all()
        before = group.comm.counters().operations
    else:
        refused(ValueError, "multiply", lambda: group.allreduce([ones(1)], type("Options", (), {"reduceOp": dist._make_nccl_premul_sum(0.5), "timeout": None})))
    refused(TypeError, "int16", lambda: group.allreduce([ones(3), ones(3, dtype=torch.int16)]))
    bits = type("Options", (), {"reduceOp": dist.ReduceOp.BAND, "timeout": None})
    refused(ValueError, "BAND", lambda: group.allreduce([ones(3, dtype=torch.int32), ones(3)], bits))
    assert group.comm.counters().operations == before
    # views whose memory holds other values
    turned = torch.tensor([1 + 2j]).conj()
    got = [torch.zeros(1, dtype=torch.complex64) for _ in range(size)]
    group.allgather([got], [turned]).wait()
    assert all(one.item() == 1 - 2j for one in got)
    negative = turned.imag
    assert negative.is_neg()
    got = [torch.zeros(1) for _ in range(size)]
    dist.all_gather(got, negative)
    assert all(one.item() == -2 for one in got)
    dist.all_reduce(negative)
    assert negative.item() == -2 * size
    refused(ValueError, "resolve_neg", lambda: group.comm.all_reduce(torch.tensor([1 + 2j]).conj().imag))


def check_overlaps(rank, size):
    """An output may lie anywhere in the input, and an input in the output."""
    is_new = hasattr(dist, "reduce_scatter_tensor") and hasattr(dist, "_coalescing_manager")
    scatter = getattr(dist, "reduce_scatter_tensor", dist._reduce_scatter_base)
    gather = getattr(dist, "all_gather_into_tensor", dist._all_gather_base)
    for first in (0, 1, 2, 3):
        for manager in (contextlib.nullcontext, dist._coalescing_manager) if is_new else (contextlib.nullcontext,):
            whole, moved = torch.arange(2.0 * size + 2), torch.arange(2.0 * size + 2) + 10 * rank
            with manager():
                scatter(whole[first:first + 2], whole[:2 * size])
            with manager():
                gather(moved[:2 * size], moved[first:first + 2])
            assert whole[first:first + 2].tolist() == [size * (2 * rank), size * (2 * rank + 1)], (first, whole)
            assert moved[:2 * size].tolist() == [10 * source + first + place for source in range(size) for place in (0, 1)], (first, moved)


def check_inference(rank, size):
    """Tensors that were made in inference mode receive, whoever completes the work; so do others, which autograd knows."""
    def gathered(make):
        return [make(2) for _ in range(size)], make(3, 2)[:, 0]

    with torch.inference_mode():
        made = [gathered(torch.zeros) for _ in range(3)]
        works = [(dist.all_gather(whole, torch.full((2,), float(rank)), async_op=True), dist.all_reduce(column.add_(1), async_op=True))
                 for whole, column in made]
        for work in works[0]:
            work.get_future().wait()
    for work in works[1]:
        work.wait()
    third = threading.Thread(target=lambda: [work.wait() for work in works[2]])
    third.start()
    third.join()
    for whole, column in made:
        assert [one.tolist() for one in whole] == [[float(source)] * 2 for source in range(size)], whole
        assert column.tolist() == [size] * 3, column
    whole, column = gathered(torch.zeros)
    leaf = torch.zeros(2, requires_grad=True)
    versions = [one._version for one in whole]
    dist.all_gather(whole, torch.full((2,), float(rank)))
    dist.all_gather([leaf] + [torch.zeros(2) for _ in range(size - 1)], torch.ones(2))
    assert all(one._version > version and not one.is_inference() for one, version in zip(whole, versions))
    (leaf * whole[-1]).sum().backward()
    assert leaf.tolist() == [1, 1] and leaf.grad.tolist() == [size - 1] * 2


def check_buffers():
    """A tensor's memory is kept, also when the tensor gets another one."""
    from gossamer import _buffers  # pylint: disable=import-outside-toplevel

    parameter = torch.nn.Parameter(torch.zeros(10))
    buffer = _buffers.resolve(parameter, "it")
    parameter.data = torch.ones(10)
    assert buffer.keep.data_ptr() == buffer.address != parameter.data_ptr()


def check_mixed(store, rank, size):
    """A group of several backends; newer torch alone has them."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel
    from gossamer import InvalidArgument  # pylint: disable=import-outside-toplevel
    from gossamer.torch import GossamerGroup, _older  # pylint: disable=import-outside-toplevel

    if not _older.HAS_BACKENDS:
        return
    for name, is_ours in (("cpu:gossamer,cuda:gloo", False), ("cpu:gossamer", True)):
        dist.init_process_group(name, store=dist.PrefixStore(name, store), rank=rank, world_size=size, timeout=MOST)
        value = torch.ones(3)
        work = dist.all_reduce(value, async_op=True)
        work.wait()
        assert (value == size).all() and isinstance(dist.group.WORLD, GossamerGroup) == is_ours
        assert work.is_completed() == is_ours  # torch's own works do not tell
        assert (gossamer.torch.communicator().rank, gossamer.torch.communicator().size) == (rank, size)
        got = torch.zeros(3)
        messages = [dist.P2POp(dist.irecv, got, (rank - 1) % size), dist.P2POp(dist.isend, value + rank, (rank + 1) % size)]
        for work in dist.batch_isend_irecv(messages):
            work.wait()
        assert (got == size + (rank - 1) % size).all()
        dist.group.WORLD._start_coalescing(torch.device("cpu"))
        dist.all_reduce(got)
        dist.group.WORLD._end_coalescing(torch.device("cpu")).wait()
        assert (got == sum(size + other for other in range(size))).all()
        if not is_ours:
            refused((RuntimeError, InvalidArgument), "split", lambda: dist.split_group(split_ranks=[list(range(size))]))
        dist.barrier()
        dist.destroy_process_group()


def check_batches(rank):
    """A batch that an error keeps from ending: no receive of it, or behind it, returns without data."""
    from gossamer import InvalidArgument  # pylint: disable=import-outside-toplevel

    group, peer = dist.group.WORLD, 1 - rank
    group._start_coalescing()
    late = dist.irecv(torch.zeros(2), peer)
    assert not late.is_completed()
    refused(InvalidArgument, "has not started", late.wait)
    exchange(rank)
    group._start_coalescing()
    refused(InvalidArgument, "has not started", lambda: dist.recv(torch.zeros(2), peer))
    exchange(rank)
    group._start_coalescing()
    dist.irecv(torch.zeros(1).expand(2), peer)
    refused(InvalidArgument, "share their memory", group._end_coalescing)
    assert not group._is_coalescing()
    exchange(rank)


def exchange(rank):
    """A message to the other one of two ranks, and one from it."""
    sent, got = dist.isend(torch.full((2,), rank + 1.0), 1 - rank), torch.zeros(2)
    dist.recv(got, 1 - rank)
    assert (got == 2 - rank).all(), got
    sent.wait()


def check_kept_works(comm):
    """Another thread may look at works that nobody has waited for, while this one does."""
    from gossamer.torch._work import Completer, GroupWork, Pending  # pylint: disable=import-outside-toplevel

    class Seen(Pending):
        def poll(self):
            completer._full.clear()  # as if the other thread had looked at all of them meanwhile
            return True

    completer = Completer(comm)
    held = [GroupWork(completer, Seen([], [], None)) for _ in range(3)]
    held.clear()
    GroupWork(completer, Seen([], [], None))
    assert len(completer._full) == 1  # poll() was called, and the new work alone is there


def check_options(store, rank, size):
    """Groups for which nobody gives options connect as the default group does."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    def transport(group=None):
        return gossamer.torch.communicator(group).transport(1 - rank)

    options = gossamer.torch.Options(transport="tcp")
    dist.init_process_group("gossamer", store=store, rank=rank, world_size=size, timeout=MOST, pg_options=options)
    assert (transport(), transport(dist.new_group([0, 1]))) == ("tcp", "tcp")
    assert transport(dist.new_group([0, 1], pg_options=gossamer.torch.Options())) == "shm"
    if hasattr(dist, "init_device_mesh"):
        mesh = dist.init_device_mesh("cpu", (1, size), mesh_dim_names=("one", "all"))
        assert transport(mesh.get_group("all")) == "tcp"
    gossamer.torch.shrink()
    assert (transport(), transport(dist.new_group([0, 1]))) == ("tcp", "tcp")
    dist.barrier()
    dist.destroy_process_group()


def check_meeting(store, rank, size):
    """Ranks that have met over a store may do so again, after an error too. (torch's own barrier in 1.13 may not: so no groups.)"""
    from gossamer import Error  # pylint: disable=import-outside-toplevel
    from gossamer.torch import _group  # pylint: disable=import-outside-toplevel

    for settings in ({}, {"transport": "pigeon"}, {}):
        try:
            with _group.meet(store, rank, size, MOST.total_seconds(), settings) as comm:
                value = torch.ones(1)
                comm.all_reduce(value)
                assert value.item() == size and not settings
        except Error as error:
            assert settings, error


def edges():
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.FileStore(os.environ["GOSSAMER_TEST_STORE"], size)
    dist.init_process_group("gossamer", store=store, rank=rank, world_size=size, timeout=MOST)
    comm = gossamer.torch.communicator()
    check_hooks(comm)
    check_buckets(size)
    check_futures(comm, size)
    check_life(comm)
    check_shapes(rank, size)
    check_overlaps(rank, size)
    check_inference(rank, size)
    check_buffers()
    check_batches(rank)
    check_kept_works(comm)
    dist.barrier()
    dist.destroy_process_group()
    check_options(dist.PrefixStore("options", store), rank, size)
    check_meeting(dist.PrefixStore("again", store), rank, size)
    check_mixed(dist.PrefixStore("mixed", store), rank, size)


@unittest.skipIf(torch is None, "torch is not installed (scripts/install-deps --torch)")
class Edges(unittest.TestCase):
    def test_errors_callbacks_and_groups_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks.finish(ranks.body(2, "torch_edges_test", "edges", {"GOSSAMER_TEST_STORE": os.path.join(folder, "store")}))


if __name__ == "__main__":
    unittest.main()
