"""What a failure under torch leaves. Each function without an underscore is the body of the ranks of a scenario; run.py looks at what
they said. The culprit is rank 1, and is told in torch's own message, but where torch gives up before Gossamer does."""

import os
import signal
import threading
import time

import torch
import torch.distributed as dist

from rig import numbers, on_device, room, same

CULPRIT = 1


def _begin(rank, seconds=60):
    """An all-reduce that works, and the data for the next one."""
    rank.begin(rank.backend, True, seconds)
    data = on_device(numbers(rank.number))
    dist.all_reduce(data)
    same(data, rank.expected())
    rank.note("began")
    return on_device(numbers(rank.number))


def _look(rank, data):
    """What the program sees of an all-reduce that fails. Torch may end the process meanwhile."""
    try:
        dist.all_reduce(data)
        seen = data.cpu()
        rank.note("read", "NaN" if seen.isnan().all() else f"{seen[:4].tolist()}")
        if rank.backend == "gossamer":  # which raises from the next call on
            dist.all_reduce(data)
    except Exception as error:
        rank.note("raised", str(error))
        raise
    time.sleep(100)  # torch ends the process


def killed(rank):
    data = _begin(rank)
    if rank.number == CULPRIT:
        os.kill(os.getpid(), signal.SIGKILL)
    _look(rank, data)


def stopped(rank):
    data = _begin(rank)
    if rank.number == CULPRIT:
        os.kill(os.getpid(), signal.SIGSTOP)
    _look(rank, data)


def mismatched(rank):
    data = _begin(rank)
    _look(rank, room(2000) if rank.number == CULPRIT else data)


def absent(rank):
    """The culprit never calls, and GOSS_TIMEOUT_MS is shorter than torch's limit."""
    data = _begin(rank)
    if rank.number != CULPRIT:
        _look(rank, data)
    time.sleep(100)


def absent_to_the_watchdog(rank):
    """Torch's limit is shorter."""
    data = _begin(rank, 4)
    if rank.number != CULPRIT:
        _look(rank, data)
    time.sleep(100)


def device_lost(rank):
    """CUDA_STANDIN_FAIL_AT makes the culprit's device fail."""
    data = _begin(rank)
    try:
        for turn in range(100000):
            data.copy_(numbers(rank.number))
            dist.all_reduce(data)
            seen = data.cpu()
            if not torch.equal(seen, rank.expected()):
                rank.note("read", "NaN" if seen.isnan().all() else f"{seen[:4].tolist()} in turn {turn}")
                break
        if rank.backend == "gossamer":
            dist.all_reduce(data)
    except Exception as error:
        rank.note("raised", str(error))
        raise
    time.sleep(100)  # torch ends the process


def without_gates(rank):
    """CUDA_STANDIN_MEMOPS=0 and CUDA_STANDIN_KERNELS=0: streams cannot wait for the host, and no rank is to blame."""
    rank.begin(rank.backend, True)
    _look(rank, on_device(numbers(rank.number)))


def recovered(rank):
    """The program aborts the group itself, as TorchFT does, and those that are left go on in another one."""
    data = _begin(rank)
    if rank.number == CULPRIT:
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Timer(2, lambda: dist.distributed_c10d._abort_process_group(None)).start()
    try:
        dist.all_reduce(data)
        rank.note("read", "NaN" if data.cpu().isnan().all() else "something else")
        if rank.backend == "gossamer":
            dist.all_reduce(data)
    except Exception as error:
        rank.note("raised", str(error))
    while dist.is_initialized():
        time.sleep(0.01)
    rank.number, rank.size, rank.store = rank.number // 2, rank.size - 1, rank.stores("second")
    _begin(rank)
    rank.note("recovered")
    dist.destroy_process_group()


def shrunk(rank):
    """Torch itself makes a group of those that are left."""
    data = _begin(rank)
    if rank.number == CULPRIT:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(data, async_op=True)
    time.sleep(0.5)
    dist.shrink_group([CULPRIT], shrink_flags=1)
    rank.note("read", "NaN" if data.cpu().isnan().all() else "something else")
    after = on_device(numbers(rank.number))
    dist.all_reduce(after)
    same(after, numbers(0) + numbers(2))
    rank.note("recovered")
    dist.destroy_process_group()
