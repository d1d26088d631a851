"""Finds and loads libgossamer.so."""

import ctypes
import json
import os
from ctypes import CDLL
from typing import Any, List

from . import _abi

__all__ = ["library", "path"]

VARIABLE = "GOSSAMER_LIBRARY"


def _candidates() -> List[str]:
    """Where the library may be: named by the user, carried by the wheel, or installed on the system."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    return [os.path.join(os.path.dirname(os.path.abspath(__file__)), "libgossamer.so.0"), "libgossamer.so.0"]


def _load() -> CDLL:
    reasons = []
    for candidate in _candidates():
        try:
            return _abi.declare(CDLL(candidate))
        except (OSError, AttributeError) as error:
            reasons.append(f"{candidate}: {error}")
    raise ImportError(f"gossamer cannot load libgossamer.so.0 ({'; '.join(reasons)}); install the wheel that scripts/wheel "
                      f"builds, or set {VARIABLE} to the path of the library")


library = _load()


def path() -> str:
    """The file that was loaded."""
    return library._name


def take_text(text: "ctypes.c_char_p") -> str:
    """The text that the library has allocated, which is freed."""
    value = text.value or b""
    library.goss_free(text)
    return value.decode()


def take_json(text: "ctypes.c_char_p") -> Any:
    """What JSON text says that the library has allocated, which is freed."""
    return json.loads(take_text(text))


def take_bytes(memory: "ctypes.c_void_p", size: int) -> bytes:
    """A copy of the bytes that the library has allocated, which are freed."""
    value = ctypes.string_at(memory, size) if size else b""
    library.goss_free(memory)
    return value
