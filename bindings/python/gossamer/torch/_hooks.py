"""Communication hooks of DistributedDataParallel."""

from typing import Any, Callable, Dict, Tuple

import torch
import torch.distributed as dist

from .._errors import InvalidArgument
from ._group import Collectives
from ._work import Pending

_FIRST_TENSOR = 1 << 62  # apart from those that the program names itself
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


class _Tensors:
    """Numbers for what a hook compresses."""

    def __init__(self) -> None:
        self._tensors: Dict[Tuple[int, ...], int] = {}
        self._next = _FIRST_TENSOR

    def number(self, group: Collectives, bucket: Any) -> int:
        """The number of a bucket, by its parameters. Buckets come in the same order on all ranks, so numbers agree.

        DDP makes other buckets after the first step; what was kept for the first ones is forgotten then.
        """
        parameters = tuple(id(parameter) for parameter in bucket.parameters())
        if parameters not in self._tensors:
            for others in [others for others in self._tensors if not set(others).isdisjoint(parameters)]:
                group.comm.codec_state_reset(self._tensors.pop(others))
            self._tensors[parameters] = self._next
            self._next += 1
        return self._tensors[parameters]


def hook(codec: str, group: Any = None) -> Callable[[Any, Any], Any]:
    """A hook that averages gradients compressed with a codec (docs/compressors.md).

        model.register_comm_hook(None, gossamer.torch.hook("int8:block=256+ef"))

    Error feedback is kept for each bucket of parameters. The first argument of register_comm_hook, or ``group``, may be the process
    group; it must be of backend gossamer. Gradients of float64 go uncompressed.
    """
    tensors = _Tensors()

    def run(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        used = group_of(state if state is not None else group)
        buffer = bucket.buffer()
        options: Dict[str, Any] = {}
        if buffer.dtype in _FLOATS:
            options = {"codec": codec, "tensor": tensors.number(used, bucket)}
        request = used.comm.all_reduce(buffer, op="avg", async_op=True, **options)
        return used._completer.future(Pending([request], buffer, None))

    run.__name__ = run.__qualname__ = f"gossamer_{codec}"
    return run
