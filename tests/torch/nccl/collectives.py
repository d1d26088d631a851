"""What torch's NCCL backends do on one group of all ranks. Each function without an underscore is a check; all ranks call them in order."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from rig import IS_OLD, LeftOut, device, numbers, on_device, room, same

LARGE = (1 << 20) + 3  # elements: several fragments, and no multiple of anything


def _sum_of(rank, dtype, count=1000):
    data = on_device(numbers(rank.number, count, dtype), dtype)
    dist.all_reduce(data)
    same(data, rank.expected(count, dtype))


def all_reduce_float32(rank):
    _sum_of(rank, torch.float32)


def all_reduce_float64(rank):
    _sum_of(rank, torch.float64)


def all_reduce_float16(rank):
    _sum_of(rank, torch.float16)


def all_reduce_bfloat16(rank):
    _sum_of(rank, torch.bfloat16)


def all_reduce_integers(rank):
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        _sum_of(rank, dtype)


def all_reduce_bool_is_any(rank):
    data = on_device([rank.number == 0, False, True], torch.bool)
    dist.all_reduce(data)
    same(data, [True, False, True])


def all_reduce_complex(rank):
    data = on_device(torch.tensor([1 + 2j, 3j]) * (rank.number + 1), torch.complex64)
    dist.all_reduce(data)
    factor = sum(range(1, rank.size + 1))
    same(torch.view_as_real(data.cpu()), torch.view_as_real(torch.tensor([1 + 2j, 3j]) * factor))


def all_reduce_large(rank):
    _sum_of(rank, torch.float32, LARGE)


def all_reduce_one_and_none(rank):
    _sum_of(rank, torch.float32, 1)
    dist.all_reduce(room(0))


def all_reduce_max_min_product(rank):
    every = [numbers(other) for other in range(rank.size)]
    for op, expected in ((dist.ReduceOp.MAX, torch.stack(every).amax(0)), (dist.ReduceOp.MIN, torch.stack(every).amin(0)),
                         (dist.ReduceOp.PRODUCT, torch.stack(every).prod(0))):
        data = on_device(numbers(rank.number))
        dist.all_reduce(data, op=op)
        same(data, expected)


def all_reduce_mean(rank):
    data = on_device(numbers(rank.number) * rank.size)
    dist.all_reduce(data, op=dist.ReduceOp.AVG)
    same(data, rank.expected())


def all_reduce_premultiplied_by_a_number(rank):
    data = on_device(numbers(rank.number))
    dist.all_reduce(data, op=dist._make_nccl_premul_sum(0.5))
    same(data, rank.expected() * 0.5)


def all_reduce_premultiplied_by_a_tensor_on_the_device(rank):
    data = on_device(numbers(rank.number))
    dist.all_reduce(data, op=dist._make_nccl_premul_sum(on_device([0.25])))
    same(data, rank.expected() * 0.25)


def all_reduces_in_a_row_keep_their_order(rank):
    data = on_device(torch.ones(64))
    for _ in range(20):
        dist.all_reduce(data)
    same(data, [float(rank.size) ** 20] * 64)


def all_reduces_at_once(rank):
    every = [on_device(numbers(rank.number, 10 * turn + 1)) for turn in range(30)]
    works = [dist.all_reduce(data, async_op=True) for data in every]
    for turn, (work, data) in enumerate(zip(works, every, strict=True)):
        work.wait()
        same(data, rank.expected(10 * turn + 1))


def asynchronous_work_completes(rank):
    data = on_device(numbers(rank.number, LARGE))
    work = dist.all_reduce(data, async_op=True)
    work.wait()
    torch.cuda.synchronize()
    assert work.is_completed()
    assert IS_OLD or work.exception() is None  # which older torch does not give to Python
    same(data, rank.expected(LARGE))


def future_of_a_work(rank):
    data = on_device(numbers(rank.number))
    work = dist.all_reduce(data, async_op=True)
    same(work.get_future().wait()[0], rank.expected())


def streams_keep_their_order(rank):
    """No host waits between the copy in, the all-reduce and the copy out."""
    given, taken = numbers(rank.number, LARGE).pin_memory(), torch.empty(LARGE).pin_memory()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        data = room(LARGE)
        data.copy_(given, non_blocking=True)
        dist.all_reduce(data)
        taken.copy_(data, non_blocking=True)
    stream.synchronize()
    same(taken, rank.expected(LARGE))


def two_streams_share_a_group(rank):
    streams = [torch.cuda.Stream() for _ in range(2)]
    every = []
    for turn in range(10):
        with torch.cuda.stream(streams[turn % 2]):
            every.append(on_device(numbers(rank.number, 100 + turn)))
            dist.all_reduce(every[-1])
    for stream in streams:
        stream.synchronize()
    for turn, data in enumerate(every):
        same(data, rank.expected(100 + turn))


def memory_goes_back_to_the_allocator(rank):
    """Tensors are dropped while their collectives run, and their memory is used again."""
    for turn in range(20):
        data = on_device(numbers(rank.number, 4096 + turn))
        dist.all_reduce(data)
        copy = data.clone()
        del data
        same(copy, rank.expected(4096 + turn))


def broadcast_from_each_rank(rank):
    for root in range(rank.size):
        data = on_device(numbers(rank.number))
        dist.broadcast(data, root)
        same(data, numbers(root))


def reduce_to_each_rank(rank):
    for root in range(rank.size):
        data = on_device(numbers(rank.number))
        dist.reduce(data, root)
        if rank.number == root:
            same(data, rank.expected())


def all_gather_lists(rank):
    every = [room(10) for _ in range(rank.size)]
    dist.all_gather(every, on_device(numbers(rank.number, 10)))
    for other, data in enumerate(every):
        same(data, numbers(other, 10))


def all_gather_of_other_sizes(rank):
    every = [room(3 + other) for other in range(rank.size)]
    dist.all_gather(every, on_device(numbers(rank.number, 3 + rank.number)))
    for other, data in enumerate(every):
        same(data, numbers(other, 3 + other))


def all_gather_into_a_tensor(rank):
    gathered = room(rank.size, 1000)
    dist.all_gather_into_tensor(gathered, on_device(numbers(rank.number)))
    same(gathered, torch.stack([numbers(other) for other in range(rank.size)]))


def all_gather_in_place(rank):
    gathered = room(rank.size, 1000)
    own = gathered[rank.number]
    own.copy_(numbers(rank.number))
    dist.all_gather_into_tensor(gathered, own)
    same(gathered, torch.stack([numbers(other) for other in range(rank.size)]))


def reduce_scatter_lists(rank):
    part = room(10)
    dist.reduce_scatter(part, [on_device(numbers(rank.number + other, 10)) for other in range(rank.size)])
    same(part, sum(numbers(rank.number + other, 10) for other in range(rank.size)))


def reduce_scatter_of_a_tensor(rank):
    part = room(1000)
    dist.reduce_scatter_tensor(part, on_device(torch.cat([numbers(rank.number + other) for other in range(rank.size)])))
    same(part, sum(numbers(rank.number + other) for other in range(rank.size)))


def all_to_all_equal(rank):
    got = room(rank.size, 7)
    dist.all_to_all_single(got, on_device(torch.stack([numbers(10 * rank.number + other, 7) for other in range(rank.size)])))
    same(got, torch.stack([numbers(10 * other + rank.number, 7) for other in range(rank.size)]))


def all_to_all_with_splits(rank):
    """Rank r gives o + 1 elements to rank o, and nothing to itself."""
    given = [other + 1 if other != rank.number else 0 for other in range(rank.size)]
    taken = [rank.number + 1 if other != rank.number else 0 for other in range(rank.size)]
    got = room(sum(taken))
    dist.all_to_all_single(got, on_device(torch.full((sum(given),), float(rank.number))), taken, given)
    same(got, [float(other) for other in range(rank.size) for _ in range(taken[other])])


def all_to_all_lists(rank):
    got = [room(5) for _ in range(rank.size)]
    dist.all_to_all(got, [on_device(numbers(10 * rank.number + other, 5)) for other in range(rank.size)])
    for other, data in enumerate(got):
        same(data, numbers(10 * other + rank.number, 5))


def gather_to_each_rank(rank):
    for root in range(rank.size):
        every = [room(6) for _ in range(rank.size)] if rank.number == root else None
        dist.gather(on_device(numbers(rank.number, 6)), every, root)
        for other, data in enumerate(every or []):
            same(data, numbers(other, 6))


def scatter_from_each_rank(rank):
    for root in range(rank.size):
        part = room(6)
        dist.scatter(part, [on_device(numbers(other + root, 6)) for other in range(rank.size)] if rank.number == root else None, root)
        same(part, numbers(rank.number + root, 6))


def send_and_receive(rank):
    for count in (0, 1, 1000, LARGE):
        if rank.number == 0:
            dist.send(on_device(numbers(3, count)), 1)
        elif rank.number == 1:
            got = room(count)
            dist.recv(got, 0)
            same(got, numbers(3, count))


def send_and_receive_asynchronously(rank):
    to, source = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    got = room(100)
    given = on_device(numbers(rank.number, 100))
    # A message and its answer would wait for each other in the one communicator of a group: even ranks send first.
    calls = [lambda: dist.isend(given, to), lambda: dist.irecv(got, source)]
    if rank.size % 2 == 0:
        works = [call() for call in (calls if rank.number % 2 == 0 else calls[::-1])]
        for work in works:
            work.wait()
        same(got, numbers(source, 100))


def messages_in_a_batch(rank):
    to, source = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    got = room(LARGE)
    operations = [dist.P2POp(dist.isend, on_device(numbers(rank.number, LARGE)), to), dist.P2POp(dist.irecv, got, source)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    same(got, numbers(source, LARGE))


def messages_of_a_pair_in_a_batch_keep_their_order(rank):
    if rank.number > 1:
        return
    other = 1 - rank.number
    got = [room(10 + turn) for turn in range(5)]
    operations = [dist.P2POp(dist.isend, on_device(numbers(rank.number + turn, 10 + turn)), other) for turn in range(5)]
    operations += [dist.P2POp(dist.irecv, data, other) for data in got]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    for turn, data in enumerate(got):
        same(data, numbers(other + turn, 10 + turn))


def a_batch_of_all_with_all(rank):
    world = dist.group.WORLD
    if rank.one_queue and world._get_backend(device()) is world:
        raise LeftOut("torch before 2.14 starts the messages of a batch one by one, and the receives are first here")
    others = [other for other in range(rank.size) if other != rank.number]
    got = {other: room(50) for other in others}
    operations = [dist.P2POp(dist.irecv, got[other], other) for other in others]
    operations += [dist.P2POp(dist.isend, on_device(numbers(10 * rank.number + other, 50)), other) for other in others]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    for other in others:
        same(got[other], numbers(10 * other + rank.number, 50))


def coalesced_all_reduces(rank):
    every = [on_device(numbers(rank.number, 10 + turn)) for turn in range(4)]
    with dist._coalescing_manager(device=device()):
        for data in every:
            dist.all_reduce(data)
    for turn, data in enumerate(every):
        same(data, rank.expected(10 + turn))


def coalesced_asynchronously(rank):
    every = [on_device(numbers(rank.number, 10 + turn)) for turn in range(4)]
    with dist._coalescing_manager(device=device(), async_ops=True) as manager:
        for data in every:
            dist.all_reduce(data)
    manager.wait()
    for turn, data in enumerate(every):
        same(data, rank.expected(10 + turn))


def coalesced_all_gathers(rank):
    every = [room(rank.size, 10 + turn) for turn in range(3)]
    with dist._coalescing_manager(device=device()):
        for turn, data in enumerate(every):
            dist.all_gather_into_tensor(data, on_device(numbers(rank.number, 10 + turn)))
    for turn, data in enumerate(every):
        same(data, torch.stack([numbers(other, 10 + turn) for other in range(rank.size)]))


def coalesced_reduce_scatters(rank):
    every = [room(10) for _ in range(3)]
    with dist._coalescing_manager(device=device()):
        for data in every:
            dist.reduce_scatter_tensor(data, on_device(numbers(rank.number, 10).repeat(rank.size)))
    for data in every:
        same(data, rank.expected(10))


def functional_collectives(rank):
    world = dist.group.WORLD
    gather = getattr(functional, "all_gather_single", None) or functional.all_gather_tensor  # their names before torch 2.13
    reduce_scatter = getattr(functional, "reduce_scatter_single", None) or functional.reduce_scatter_tensor
    same(functional.all_reduce(on_device(numbers(rank.number)), "sum", world), rank.expected())
    same(gather(on_device(numbers(rank.number, 8)), 0, world), torch.cat([numbers(other, 8) for other in range(rank.size)]))
    same(reduce_scatter(on_device(numbers(rank.number, 8).repeat(rank.size)), "sum", 0, world), rank.expected(8))


def barriers(rank):
    dist.barrier()
    dist.barrier(device_ids=[torch.cuda.current_device()])
    dist.barrier(async_op=True).wait()


def a_barrier_waits_for_all(rank):
    import time  # pylint: disable=import-outside-toplevel

    if rank.number == 0:
        time.sleep(0.3)
        rank.store.set("rank 0 has come", "yes")
    dist.barrier()
    torch.cuda.synchronize()
    assert rank.store.check(["rank 0 has come"])
    dist.barrier()
    rank.store.delete_key("rank 0 has come")


def memory_of_the_library(rank):
    """ncclMemAlloc through torch's memory pool."""
    backend = dist.group.WORLD._get_backend(device())
    try:
        allocator = backend.mem_allocator
    except (AttributeError, RuntimeError) as error:  # nccl-legacy, which was nccl before torch 2.15, asks the device for multicast
        raise LeftOut(error) from error
    pool = torch.cuda.MemPool(allocator)
    with torch.cuda.use_mem_pool(pool):
        data = on_device(numbers(rank.number))
    backend.register_mem_pool(pool)
    dist.all_reduce(data)
    same(data, rank.expected())
    backend.deregister_mem_pool(pool)

