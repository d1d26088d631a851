"""ReduceOps of torch, as keywords of Gossamer's calls."""
from typing import Any, Dict

import torch
import torch.distributed as dist
from torch import Tensor

from .._errors import InvalidArgument

_OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max", "AVG": "avg", "BAND": "band", "BOR": "bor", "BXOR": "bxor"}
_PREMUL_SUM = "premul_sum"
_NARROW = tuple(getattr(torch, name) for name in ("float16", "float8_e4m3fn", "float8_e5m2") if hasattr(torch, name))
_BITWISE = ("band", "bor", "bxor")
_BOOL_OPS = {"sum": "lor", "prod": "land", "band": "land", "bor": "lor", "bxor": "lxor"}


def _op_of(reduce_op: Any, dtype: torch.dtype) -> str:
    """Gossamer's name of a ReduceOp for elements of a type."""
    for name, op in _OPS.items():
        if hasattr(dist.ReduceOp, name) and reduce_op == getattr(dist.ReduceOp, name):
            if (op == "avg" and dtype == torch.bool) or (op in _BITWISE and dtype.is_floating_point):
                raise InvalidArgument(f"ReduceOp {name} is not offered for elements of type {dtype}")
            return _BOOL_OPS.get(op, op) if dtype == torch.bool else op
    if hasattr(dist.ReduceOp, "PREMUL_SUM") and reduce_op == dist.ReduceOp.PREMUL_SUM:
        return _PREMUL_SUM
    raise InvalidArgument(f"ReduceOp {reduce_op} is not offered by backend gossamer; it has {', '.join(_OPS)}, PREMUL_SUM")


def _scale_of(reduce_op: Any) -> Dict[str, float]:
    """The factor of PREMUL_SUM as a keyword of the call; none for other reductions."""
    if not hasattr(dist.ReduceOp, "PREMUL_SUM") or reduce_op != dist.ReduceOp.PREMUL_SUM:
        return {}
    state = reduce_op.__getstate__() if hasattr(reduce_op, "__getstate__") else None  # older torch does not tell the factor
    if state is None or (isinstance(state[1], Tensor) and state[1].numel() != 1):
        raise InvalidArgument("ReduceOp PREMUL_SUM needs one factor, and torch 2.0 or later; multiply the tensor before the call, and give SUM")
    return {"scale": float(state[1])}


def average(dtype: torch.dtype, size: int) -> Dict[str, Any]:
    """The keywords of an average over ``size`` ranks. Types whose sums overflow where averages do not are divided before they are
    added, as NCCL does."""
    return {"op": _PREMUL_SUM, "scale": 1.0 / size} if dtype in _NARROW else {"op": "avg"}


def reduction(reduce_op: Any, dtype: torch.dtype, size: int) -> Dict[str, Any]:
    """The keywords of a ReduceOp for elements of a type, over ``size`` ranks."""
    op = _op_of(reduce_op, dtype)
    return average(dtype, size) if op == "avg" else {"op": op, **_scale_of(reduce_op)}
