"""What is Gossamer's own in gossamer.torch on CUDA tensors. Each function without an underscore is a check; all ranks call them in order."""

import datetime
import types

import torch
import torch.distributed as dist

from rig import device, numbers, on_device, room, same


def everything_is_on_the_groups_own_streams(rank):
    """A work that waits for rank 0 holds neither the host nor the program's stream, until wait() makes the stream wait."""
    import gossamer  # pylint: disable=import-outside-toplevel

    if rank.one_queue:
        return  # all streams wait for each other there
    group = dist.new_group()
    data, other = on_device(numbers(rank.number)), on_device(numbers(rank.number))
    if rank.number == 0:
        rank.store.wait([f"{other} goes on" for other in range(1, rank.size)])
    work = dist.all_reduce(data, group=group, async_op=True)
    if rank.number != 0:
        same(other, numbers(rank.number))
        torch.cuda.current_stream().synchronize()
        assert not work.is_completed()
        try:
            work.wait(datetime.timedelta(seconds=0.05))
            raise AssertionError("it ended")
        except gossamer.Timeout as error:
            assert "goes on" in str(error), error
        rank.store.set(f"{rank.number} goes on", "yes")
    work.wait()
    same(data, rank.expected())
    torch.cuda.synchronize()
    assert work.is_completed() and work.is_success() and work.exception() is None
    dist.barrier()
    rank.store.delete_key(f"{rank.number} goes on")
    dist.destroy_process_group(group)


def another_stream_waits(rank):
    """wait() counts for the stream that is current then."""
    stream = torch.cuda.Stream()
    data = on_device(numbers(rank.number, 1 << 20))
    work = dist.all_reduce(data, async_op=True)
    taken = torch.empty(1 << 20).pin_memory()
    with torch.cuda.stream(stream):
        work.wait()
        taken.copy_(data, non_blocking=True)
    stream.synchronize()
    same(taken, rank.expected(1 << 20))


def ranks_that_all_receive_first(rank):
    if rank.one_queue:
        return  # the streams of sends and receives are one there
    to, source = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    got, given = room(100), on_device(numbers(rank.number, 100))
    works = [dist.irecv(got, source), dist.isend(given, to)]
    for work in works:
        work.wait()
    same(got, numbers(source, 100))


def a_receive_that_is_asked_for_early(rank):
    """It does not hold up one from another rank, which must come before."""
    if rank.one_queue or rank.size < 3:
        return
    if rank.number == 0:
        early, soon = room(100), room(100)
        works = [dist.irecv(early, 1), dist.irecv(soon, 2)]
        works[1].wait()
        same(soon, numbers(2, 100))
        rank.store.set("soon", "yes")
        works[0].wait()
        same(early, numbers(1, 100))
    elif rank.number < 3:
        if rank.number == 1:
            rank.store.wait(["soon"])
        dist.send(on_device(numbers(rank.number, 100)), 0)
    dist.barrier()
    rank.store.delete_key("soon")


def receives_from_any_rank_name_it(rank):
    if rank.number == 0:
        for _ in range(1, rank.size):
            got = room(50)
            source = dist.recv(got)
            same(got, numbers(source, 50))
    else:
        dist.send(on_device(numbers(rank.number, 50)), 0)


def objects(rank):
    every = [None] * rank.size
    dist.all_gather_object(every, {"rank": rank.number})
    assert every == [{"rank": other} for other in range(rank.size)], every


def tensors_of_two_devices_are_refused(rank):
    import gossamer  # pylint: disable=import-outside-toplevel

    for call in (lambda: dist.all_gather([torch.empty(3)] * rank.size, on_device([1, 2, 3])),
                 lambda: dist.all_gather_into_tensor(torch.empty(3 * rank.size), on_device([1, 2, 3]))):
        try:
            call()
            raise AssertionError("it was taken")
        except gossamer.InvalidArgument as error:
            assert "one device" in str(error), error


def tensors_of_the_host_go_too(rank):
    data = numbers(rank.number)
    dist.all_reduce(data)
    same(data, rank.expected())


class _Bucket:
    """What DistributedDataParallel gives a hook."""

    def __init__(self, values, parameter):
        self.values, self.parameter = values, parameter

    def buffer(self):
        return self.values

    def parameters(self):
        return [self.parameter]


def hooks_compress(rank):
    """The values are multiples of an eighth up to 1, of which int8 with blocks of 256 gives every rank the same mean, near the true one."""
    import gossamer.torch  # pylint: disable=import-outside-toplevel

    run = gossamer.torch.hook("int8:block=256+ef")
    parameter = torch.nn.Parameter(torch.zeros(1024))
    for step in range(3):
        values = [numbers(other + step, 1024) / 8 for other in range(rank.size)]
        future = run(None, _Bucket(on_device(values[rank.number]), parameter))
        got = future.wait().cpu()
        mean = sum(values) / rank.size
        # Each of two encodings errs by half a step of 2 / 127 of the largest value at most; the feedback of a step before by as much.
        most = 2 * 2 * max(value.abs().max().item() for value in values) / 127
        assert (got - mean).abs().max() <= most, (got - mean).abs().max()
        every = [torch.empty(1024) for _ in range(rank.size)]
        dist.all_gather(every, got)
        for other in every:
            same(other, got)


def synchronizers(rank):
    """DiLoCo and data parallel on the device have the bits of the host's."""
    import gossamer  # pylint: disable=import-outside-toplevel

    for spec in ("ddp", "diloco:h=2,lr=0.7,momentum=0.9"):
        results = []
        for place in (torch.device("cpu"), device()):
            parameter = torch.nn.Parameter(numbers(rank.number, 3000).to(place))
            optimizer = types.SimpleNamespace(param_groups=[{"lr": 0.5}], step=None)
            gradient = numbers(rank.number + 1, 3000)

            def step(parameter=parameter):
                """Plain descent by the mean gradient, on the host: kernels do not run."""
                parameter.data.copy_(parameter.detach().cpu() - 0.5 * parameter.grad.cpu())

            optimizer.step = step
            sync = gossamer.Synchronizer([("weight", parameter)], spec, optimizer=optimizer)
            same(parameter, numbers(0, 3000))
            for _ in range(4):
                parameter.grad = gradient.to(place)
                optimizer.step()
            sync.finish()
            results.append(parameter.detach().cpu())
            sync.close()
        same(results[1], results[0])
        assert not torch.equal(results[0], numbers(0, 3000))
