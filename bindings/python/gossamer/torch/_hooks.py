"""Communication hooks of DistributedDataParallel."""

import weakref
from typing import Any, Callable, Dict, Tuple

import torch
import torch.distributed as dist

from .._comm import Comm
from .._errors import Error, InvalidArgument
from ._group import Collectives
from ._work import Pending

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def group_of(group: Any = None) -> Collectives:
    """Gossamer's half of a group of torch.distributed; None: the default group."""
    if group is None:
        group = dist.group.WORLD
    if not isinstance(group, Collectives) and hasattr(group, "_get_backend"):
        group = group._get_backend(torch.device("cpu"))
    if not isinstance(group, Collectives):
        raise InvalidArgument("the group is not of backend gossamer; make it by init_process_group('gossamer')")
    return group


class _Buckets:
    """The numbers under which a group keeps error feedback for the buckets of one hook."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        # by the ids of a bucket's parameters; the references tell whether these still are the same parameters
        self._numbers: "Dict[Tuple[int, ...], Tuple[int, Tuple[weakref.ref[Any], ...]]]" = {}

    def number(self, group: Collectives, bucket: Any) -> int:
        """The number of a bucket, by its parameters. Buckets come in the same order on all ranks, so numbers agree.

        DDP makes other buckets after the first step; what was kept for the first ones is forgotten then.
        """
        parameters = bucket.parameters()
        key = tuple(map(id, parameters))
        found = self._numbers.get(key)
        if found is not None and all(one() is parameter for one, parameter in zip(found[1], parameters)):
            return found[0]
        for others in [others for others in self._numbers if not set(others).isdisjoint(key)]:
            self._comm.codec_state_reset(self._numbers.pop(others)[0])
        number = next(group._numbers)
        self._numbers[key] = number, tuple(map(weakref.ref, parameters))
        return number

    def __del__(self) -> None:
        """The hook is gone, as a rule with its model."""
        for number, _ in self._numbers.values():
            try:
                self._comm.codec_state_reset(number)
            except Error:
                pass  # closed, failed, or still at work on it


def hook(codec: str, group: Any = None) -> Callable[[Any, Any], Any]:
    """A hook that averages gradients compressed with a codec (docs/compressors.md).

        model.register_comm_hook(None, gossamer.torch.hook("int8:block=256+ef"))

    Error feedback is kept for each bucket of parameters. The first argument of register_comm_hook, or ``group``, may be the process
    group; it must be of backend gossamer. Gradients of float64 go uncompressed.
    """
    buckets: "weakref.WeakKeyDictionary[Collectives, _Buckets]" = weakref.WeakKeyDictionary()

    def run(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        used = group_of(state if state is not None else group)
        buffer = bucket.buffer()
        options: Dict[str, Any] = {}
        if buffer.dtype in _FLOATS:
            if used not in buckets:
                buckets[used] = _Buckets(used.comm)
            options = {"codec": codec, "tensor": buckets[used].number(used, bucket)}
        request = used.comm.all_reduce(buffer, op="avg", async_op=True, **options)
        return used._completer.future(Pending([request], buffer, None))

    run.__name__ = run.__qualname__ = f"gossamer_{codec}"
    return run
