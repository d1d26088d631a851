"""CUDA graphs with collectives and messages, as torch captures and replays them. Each function without an underscore is a check; all ranks
call them in order."""

import torch
import torch.distributed as dist

from rig import numbers, on_device, room, same


def _captured(body):
    """The first calls make communicators, which no graph holds. Torch's watchdog asks for events meanwhile, which a global capture forbids."""
    body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        body()
    return graph


def a_graph_is_replayed(rank):
    """Each replay reads what its input holds by then, also between calls that are no part of a graph."""
    data, beside = room(1000), room(10)
    graph = _captured(lambda: dist.all_reduce(data))
    for turn in range(10):
        data.copy_(numbers(rank.number + turn))
        beside.copy_(numbers(rank.number, 10))
        graph.replay()
        dist.all_reduce(beside)
        same(data, sum(numbers(other + turn) for other in range(rank.size)))
        same(beside, rank.expected(10))


def a_graph_of_several_calls(rank):
    data, every, part = room(4 * rank.size), room(4 * rank.size * rank.size), room(4)

    def body():
        works = [dist.all_gather_into_tensor(every, data, async_op=True)]
        works.append(dist.reduce_scatter_tensor(part, data, async_op=True))
        for work in works:
            work.wait()
        dist.all_reduce(data)

    graph = _captured(body)
    for turn in range(3):
        given = [numbers(other + turn, 4 * rank.size) for other in range(rank.size)]
        data.copy_(given[rank.number])
        graph.replay()
        same(every, torch.cat(given))
        same(part, sum(given)[4 * rank.number:4 * rank.number + 4])
        same(data, sum(given))


def a_graph_of_messages(rank):
    to, source = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    given, got = room(100), room(100)

    def body():
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, given, to), dist.P2POp(dist.irecv, got, source)])
        for work in works:
            work.wait()

    graph = _captured(body)
    for turn in range(3):
        given.copy_(numbers(rank.number + turn, 100))
        graph.replay()
        same(got, numbers(source + turn, 100))


def graphs_of_two_groups(rank):
    groups = [dist.new_group() for _ in range(2)]
    every = [on_device(numbers(rank.number)) for _ in groups]
    graphs = [_captured(lambda data=data, group=group: dist.all_reduce(data, group=group)) for data, group in zip(every, groups, strict=True)]
    for turn in range(3):
        for data in every:
            data.copy_(numbers(rank.number + turn))
        for graph in graphs:
            graph.replay()
        for data in every:
            same(data, sum(numbers(other + turn) for other in range(rank.size)))
