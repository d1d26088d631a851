"""What calls are told beside their buffers: reductions, and the keywords that every operation takes."""

import ctypes
from typing import Any, Dict, NamedTuple, Optional, Union

from . import _abi
from ._errors import InvalidArgument, check
from ._library import library

OPS: Dict[str, int] = {
    "sum": _abi.GOSS_SUM, "prod": _abi.GOSS_PROD, "min": _abi.GOSS_MIN, "max": _abi.GOSS_MAX, "avg": _abi.GOSS_AVG,
    "premul_sum": _abi.GOSS_PREMUL_SUM, "band": _abi.GOSS_BAND, "bor": _abi.GOSS_BOR, "bxor": _abi.GOSS_BXOR,
    "land": _abi.GOSS_LAND, "lor": _abi.GOSS_LOR, "lxor": _abi.GOSS_LXOR,
}

OptionValue = Union[None, bool, int, float, str]


def number_of(name: str) -> int:
    """The C ABI's number of a reduction."""
    try:
        return OPS[name]
    except KeyError:
        raise InvalidArgument(f"op '{name}' is unknown; there are {', '.join(OPS)}") from None


def int32(value: int, name: str) -> int:
    """Refuses a number that does not fit, because ctypes would cut it off silently."""
    if not -(2**31) <= value < 2**31:
        raise InvalidArgument(f"{name} {value} is too large; ranks and tags are below 2^31")
    return value


def milliseconds(seconds: Optional[float]) -> int:
    """Seconds as milliseconds of the C ABI, in which 0 means the default."""
    return 0 if seconds is None else max(1, round(seconds * 1000))


class Options(NamedTuple):
    """Keywords of a call."""

    struct: Optional[_abi.goss_options]
    is_async: bool
    is_persistent: bool


_NO_OPTIONS = Options(None, False, False)
_TEXTS = ("codec", "return_codec", "algorithm")


def read(keywords: "dict[str, Any]", stream: Optional[int] = None) -> Options:
    """Reads the keywords that all operations take. `stream`: the CUDA stream that the call is a part of."""
    if not keywords and stream is None:
        return _NO_OPTIONS
    is_async = bool(keywords.pop("async_op", False))
    is_persistent = bool(keywords.pop("persistent", False))
    if not keywords and not is_persistent and stream is None:
        return Options(None, is_async, False)
    struct = _abi.goss_options()
    check(library.goss_options_init(struct, ctypes.sizeof(struct)))
    struct.flags = _abi.GOSS_PERSISTENT if is_persistent else 0
    struct.timeout_ms = milliseconds(keywords.pop("timeout", None))
    struct.scale = keywords.pop("scale", 1.0)
    struct.tensor = keywords.pop("tensor", 0)
    struct.stream = stream
    for name in _TEXTS:
        text = keywords.pop(name, None)
        setattr(struct, name, None if text is None else text.encode())
    if keywords:
        raise TypeError(f"unknown keyword '{next(iter(keywords))}'; operations take async_op, persistent, timeout, algorithm, "
                        f"codec, return_codec, tensor and scale")
    return Options(struct, is_async, is_persistent)
