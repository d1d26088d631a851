"""Groups beside the one of all ranks: made, split, divided, ended. Each function without an underscore is a check."""

import torch
import torch.distributed as dist

from rig import LeftOut, device, numbers, on_device, room, same


def _sum_in(group, rank, members, count=100):
    data = on_device(numbers(rank.number, count))
    dist.all_reduce(data, group=group)
    same(data, sum(numbers(other, count) for other in members))


def a_group_of_all(rank):
    _sum_in(dist.new_group(), rank, range(rank.size))


def a_group_of_some(rank):
    members = [0, rank.size - 1]
    group = dist.new_group(members)
    if rank.number in members:
        _sum_in(group, rank, members)
    dist.barrier()


def a_group_of_one(rank):
    group = dist.new_group([1])
    if rank.number == 1:
        _sum_in(group, rank, [1])
    dist.barrier()


def subgroups_side_by_side(rank):
    group, _ = dist.new_subgroups_by_enumeration([[0], list(range(1, rank.size))])
    _sum_in(group, rank, [0] if rank.number == 0 else range(1, rank.size))


def groups_with_the_same_ranks_do_not_mix(rank):
    groups = [dist.new_group() for _ in range(3)]
    every = [on_device(numbers(rank.number + turn)) for turn in range(3)]
    works = [dist.all_reduce(data, group=group, async_op=True) for data, group in zip(every, groups, strict=True)]
    for turn, work in enumerate(works):
        work.wait()
        same(every[turn], sum(numbers(other + turn) for other in range(rank.size)))


def groups_on_their_own_streams(rank):
    groups = [dist.new_group() for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in groups]
    every = []
    for turn in range(10):
        with torch.cuda.stream(streams[turn % 2]):
            every.append(on_device(numbers(rank.number, 100 + turn)))
            dist.all_reduce(every[-1], group=groups[turn % 2])
    torch.cuda.synchronize()
    for turn, data in enumerate(every):
        same(data, rank.expected(100 + turn))


def a_group_ends_before_the_others(rank):
    for _ in range(3):
        group = dist.new_group()
        _sum_in(group, rank, range(rank.size))
        dist.destroy_process_group(group)
    _sum_in(None, rank, range(rank.size))


def messages_inside_of_a_group(rank):
    members = [rank.size - 1, 0]
    group = dist.new_group(members)
    if rank.number == 0:
        dist.send(on_device(numbers(7, 20)), rank.size - 1, group=group)
    elif rank.number == rank.size - 1:
        got = room(20)
        dist.recv(got, 0, group=group)
        same(got, numbers(7, 20))
    dist.barrier()


def a_device_mesh(rank):
    mesh = dist.device_mesh.init_device_mesh("cuda", (1, rank.size), mesh_dim_names=("outer", "inner"))
    _sum_in(mesh["inner"].get_group(), rank, range(rank.size))
    _sum_in(mesh["outer"].get_group(), rank, [rank.number])


def _split(rank, parts, parent=None):
    if not rank.is_eager and hasattr(dist.distributed_c10d, "_is_safe_to_split"):
        raise LeftOut("torch before 2.15 splits no group without a device_id")
    return dist.split_group(parent, split_ranks=parts)


def split_into_all(rank):
    group = _split(rank, [list(range(rank.size))])
    _sum_in(group, rank, range(rank.size))


def split_into_parts(rank):
    parts = [[0], list(range(1, rank.size))]
    group = _split(rank, parts)
    _sum_in(group, rank, parts[0] if rank.number == 0 else parts[1])
    dist.barrier()


def split_leaves_a_rank_out(rank):
    members = list(range(rank.size - 1))
    group = _split(rank, [members])
    if rank.number in members:
        _sum_in(group, rank, members)
    dist.barrier()


def split_of_a_split(rank):
    first = _split(rank, [list(range(rank.size))])
    second = _split(rank, [list(range(rank.size))], first)
    _sum_in(second, rank, range(rank.size))
    _sum_in(first, rank, range(rank.size))
    dist.destroy_process_group(second)
    _sum_in(first, rank, range(rank.size))


def a_group_is_aborted_and_the_others_go_on(rank):
    """Rank 0 waits in a group for ranks that do not come, and aborts it: the result is no number, old or new."""
    group = dist.new_group()
    _sum_in(group, rank, range(rank.size))
    data = on_device(numbers(rank.number))
    if rank.number == 0:
        dist.all_reduce(data, group=group, async_op=True)
        rank.store.set("rank 0 waits", "yes")
    rank.store.wait(["rank 0 waits"])
    group._get_backend(device()).abort()
    torch.cuda.synchronize()
    if rank.number == 0:
        assert data.cpu().isnan().all(), data
    _sum_in(None, rank, range(rank.size))
