"""Compressed collectives for FSDP2 (torch.distributed.fsdp.fully_shard)."""

from typing import Any, Dict, Optional, Sequence

import torch
import torch.distributed as dist

from .._errors import InvalidArgument
from ._hooks import COMPRESSED, group_of


class _Compressed:
    """The communication object that FSDP2 calls for one module. A tensor number for each group keeps error feedback apart."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._numbers: Dict[Any, int] = {}  # a tensor number for each communicator

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def _options(self, used: Any, dtype: torch.dtype) -> Dict[str, Any]:
        if dtype not in COMPRESSED:
            return {}
        if used.comm not in self._numbers:
            self._numbers[used.comm] = next(used._numbers)
        return {"codec": self._codec, "tensor": self._numbers[used.comm]}


class _AllGather(_Compressed):
    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, async_op: bool = False) -> Any:
        used = group_of(group)
        work = used._allgather_base(output_tensor, input_tensor, None, **self._options(used, output_tensor.dtype))
        return work if async_op else work.wait() and None


class _ReduceScatter(_Compressed):
    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any, async_op: bool = False) -> Any:
        used, options = group_of(group), dist.ReduceScatterOptions()
        options.reduceOp = op
        work = used._reduce_scatter_base(output_tensor, input_tensor, options, **self._options(used, input_tensor.dtype))
        return work if async_op else work.wait() and None


def compress_fsdp(model: Any, all_gather: Optional[str] = None, reduce_scatter: Optional[str] = None) -> None:
    """Compresses what fully_shard() exchanges for a model and its modules, whose groups must be of backend gossamer.

        gossamer.torch.compress_fsdp(model, all_gather="int8:block=256", reduce_scatter="int4:block=64+ef")

    ``all_gather``, ``reduce_scatter``: codecs (docs/compressors.md) of parameters and of gradients; None: as they are. QSDP
    (arXiv:2302.02390) does both with 8 bits, ZeRO++ (arXiv:2306.10209) gathers int8 and reduces int4. All ranks gather the same bits, so
    replicas agree; each rank's shard keeps full precision. Values of other types than float32, float16 and bfloat16 go uncompressed.
    """
    from torch.distributed.fsdp import FSDPModule  # pylint: disable=import-outside-toplevel

    found = [module for module in model.modules() if isinstance(module, FSDPModule)]
    if not found:
        raise InvalidArgument("compress_fsdp: no module of the model is sharded; call fully_shard() before")
    for module in found:
        if all_gather is not None:
            module.set_custom_all_gather(_AllGather(all_gather))
        if reduce_scatter is not None:
            module.set_custom_reduce_scatter(_ReduceScatter(reduce_scatter))
