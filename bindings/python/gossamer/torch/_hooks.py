"""Communication hooks of DistributedDataParallel."""

import contextlib
import weakref
from typing import Any, Callable, Dict, NamedTuple, Sequence, Tuple

import torch
import torch.distributed as dist

from .._comm import Comm
from .._errors import Error, InvalidArgument
from ._group import Collectives
from ._older import DEVICES

COMPRESSED = (torch.float32, torch.float16, torch.bfloat16)


def group_of(group: Any = None) -> Collectives:
    """Gossamer's half of a group of torch.distributed; None: the default group."""
    if group is None:
        group = dist.group.WORLD
    if not isinstance(group, Collectives) and hasattr(group, "_get_backend"):
        whole = group
        for device in DEVICES:
            with contextlib.suppress(RuntimeError):  # the group has no backend for such tensors
                found = whole._get_backend(torch.device(device))
                if isinstance(found, Collectives):
                    group = found
                    break
    if not isinstance(group, Collectives):
        raise InvalidArgument("the group is not of backend gossamer; make it by init_process_group('gossamer')")
    return group


class _Bucket(NamedTuple):
    """A bucket that has been compressed: the number under which the group keeps its error feedback, and its parameters."""

    number: int
    parameters: "Tuple[weakref.ref[Any], ...]"  # which tell whether ids still are of the same parameters
    sizes: Tuple[int, ...]  # elements of each, in the order of the buffer


class _Buckets:
    """Error feedback of one hook, by parameters: DDP makes other buckets after the first step."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self._buckets: Dict[Tuple[int, ...], _Bucket] = {}  # by the ids of their parameters
        self._carried: Dict[int, Tuple[Any, torch.Tensor]] = {}  # by id: a parameter, and what was lost of it in a bucket that is gone

    def number(self, group: Collectives, bucket: Any) -> int:
        """The number of a bucket, by its parameters. Buckets come in the same order on all ranks, so numbers agree. What was lost of
        the parameters in other buckets is added to the buffer."""
        parameters = bucket.parameters()
        key = tuple(map(id, parameters))
        found = self._buckets.get(key)
        if found is not None and all(one() is parameter for one, parameter in zip(found.parameters, parameters)):
            return found.number
        for others in [others for others in self._buckets if not set(others).isdisjoint(key)]:
            self._dissolve(self._buckets.pop(others))
        made = _Bucket(next(group._numbers), tuple(map(weakref.ref, parameters)), tuple(one.numel() for one in parameters))
        self._buckets[key] = made
        self._add_carried(parameters, made.sizes, bucket.buffer())
        return made.number

    def _dissolve(self, bucket: _Bucket) -> None:
        lost = torch.empty(sum(bucket.sizes))
        self._comm.codec_state_read(bucket.number, lost)
        self._comm.codec_state_reset(bucket.number)
        for parameter, part in zip(bucket.parameters, lost.split(bucket.sizes)):
            if parameter() is not None:
                self._carried[id(parameter())] = parameter, part

    def _add_carried(self, parameters: Sequence[Any], sizes: Sequence[int], buffer: torch.Tensor) -> None:
        if not self._carried or sum(sizes) != buffer.numel():
            return
        for parameter, place in zip(parameters, buffer.split(list(sizes))):
            of, lost = self._carried.pop(id(parameter), (None, None))
            if of is not None and of() is parameter:
                place += lost.to(place.device)

    def __del__(self) -> None:
        """Resets the error feedback of a hook that is gone, as a rule with its model."""
        for bucket in self._buckets.values():
            try:
                self._comm.codec_state_reset(bucket.number)
            except Error:
                pass  # closed, failed, or still at work on it


def hook(codec: str, group: Any = None) -> Callable[[Any, Any], Any]:
    """A hook that averages gradients compressed with a codec (docs/compressors.md).

        model.register_comm_hook(None, gossamer.torch.hook("int8:block=256+ef"))

    Error feedback is kept by parameter, also when DDP makes other buckets; the losses of a part's owner, who encodes the sum,
    are forgotten then. The first argument of register_comm_hook, or ``group``, may be the process
    group; it must be of backend gossamer. Gradients of float64 go uncompressed.
    """
    buckets: "weakref.WeakKeyDictionary[Collectives, _Buckets]" = weakref.WeakKeyDictionary()

    def run(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        used = group_of(state if state is not None else group)
        buffer = bucket.buffer()
        options: Dict[str, Any] = {}
        if buffer.dtype in COMPRESSED:
            if used not in buckets:
                buckets[used] = _Buckets(used.comm)
            options = {"codec": codec, "tensor": buckets[used].number(used, bucket)}
        return used._average(buffer, **options).get_future()

    run.__name__ = run.__qualname__ = f"gossamer_{codec}"
    return run
