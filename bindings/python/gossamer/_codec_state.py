"""What a communicator keeps for codecs with feedback."""

import ctypes
import threading
from typing import Any

from . import _abi, _buffers
from ._errors import check
from ._library import library, take_bytes

__all__ = ["CodecState"]


class CodecState:
    """The part of Comm that reads and replaces what a rank keeps for codecs with feedback."""

    _lock: threading.RLock

    def _open(self) -> int:
        raise NotImplementedError

    def codec_state_export(self) -> bytes:
        """Local. What this rank keeps for codecs with feedback, of all tensors, for a checkpoint."""
        memory, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._lock:
            check(library.goss_codec_state_export(self._open(), memory, size))
        return take_bytes(memory, size.value)

    def codec_state_import(self, state: bytes) -> None:
        """Local, on all ranks or none. Replaces that state by an exported one of the same rank."""
        with self._lock:
            check(library.goss_codec_state_import(self._open(), state, len(state)))

    def codec_state_read(self, tensor: int, values: Any) -> None:
        """Local. Copies what "+ef" keeps of this rank's contributions to a tensor into ``values`` (float32): what encodings of its first
        elements have lost so far, zeros where nothing is kept."""
        one = _buffers.on_host(_buffers.writable(values), "values")
        if one.dtype != _abi.GOSS_FLOAT32:
            raise TypeError(f"codec_state_read: values are of type {_buffers.NAMES[one.dtype]}; give an array of float32")
        with self._lock:
            check(library.goss_codec_state_read(self._open(), tensor, ctypes.cast(one.address, ctypes.POINTER(ctypes.c_float)), one.elements))

    def codec_state_reset(self, tensor: int = 0) -> None:
        """Local. Forgets what is kept for one tensor; 0: for all."""
        with self._lock:
            check(library.goss_codec_state_reset(self._open(), tensor))
