"""Errors of the library as exceptions."""

import ctypes
from typing import Dict, NoReturn, Optional, Type

from . import _abi
from ._library import library

__all__ = ["Error", "InvalidArgument", "Unsupported", "Mismatch", "Timeout", "PeerLost", "Aborted", "Protocol", "Resource",
           "Bootstrap", "Truncated", "Internal", "DeviceFailed"]


class Error(RuntimeError):
    """A call of the library failed.

    ``status`` is the number of the C ABI (``goss_status``), ``text`` says who, what, and what to do next, and ``rank`` is the
    rank of the communicator that is to blame (of gossamer.init()'s, where the call had none), or None.
    """

    status: int = _abi.GOSS_ERR_INTERNAL

    def __init__(self, text: str, rank: Optional[int] = None) -> None:
        super().__init__(text)
        self.text = text
        self.rank = rank


class InvalidArgument(Error, ValueError):
    """The call is wrong; nothing was sent and nothing changed."""

    status = _abi.GOSS_ERR_INVALID_ARGUMENT


class Unsupported(Error, NotImplementedError):
    """Legal, but not offered by this build or this version; nothing was sent."""

    status = _abi.GOSS_ERR_UNSUPPORTED


class Mismatch(Error):
    """The ranks' calls disagree; fix the program."""

    status = _abi.GOSS_ERR_MISMATCH


class Timeout(Error, TimeoutError):
    """The deadline passed."""

    status = _abi.GOSS_ERR_TIMEOUT


class PeerLost(Error, ConnectionError):
    """A rank died, left, or cannot be reached any more."""

    status = _abi.GOSS_ERR_PEER_LOST


class Aborted(Error):
    """The communicator was aborted or closed, here or by another rank."""

    status = _abi.GOSS_ERR_ABORTED


class Protocol(Error):
    """Bytes that are not of this protocol, version or format."""

    status = _abi.GOSS_ERR_PROTOCOL


class Resource(Error):
    """Memory, file descriptors, ports or disk ran out."""

    status = _abi.GOSS_ERR_RESOURCE


class Bootstrap(Error, ConnectionError):
    """The ranks could not find each other."""

    status = _abi.GOSS_ERR_BOOTSTRAP


class Truncated(Error):
    """A received message was longer than the receive buffer."""

    status = _abi.GOSS_ERR_TRUNCATED


class Internal(Error):
    """A bug in Gossamer; please report the text."""

    status = _abi.GOSS_ERR_INTERNAL


class DeviceFailed(Error):
    """A GPU or its driver failed; the text names the rank, the device and the reason."""

    status = _abi.GOSS_ERR_DEVICE


_KINDS: Dict[int, Type[Error]] = {
    kind.status: kind for kind in (InvalidArgument, Unsupported, Mismatch, Timeout, PeerLost, Aborted, Protocol, Resource,
                                   Bootstrap, Truncated, Internal, DeviceFailed)
}


def error_of(status: int, text: str, rank: int = -1) -> Error:
    """The exception of a status, its text, and the rank that the library blames (-1: none)."""
    return _KINDS.get(status, Internal)(text, rank if rank >= 0 else None)


def last_error(status: int, comm: Optional[int] = None) -> Error:
    """The exception of this thread's last failed call. ``rank`` counts in a communicator, or, where that is None, in the world."""
    text = (library.goss_last_error() or b"").decode(errors="replace")
    rank = ctypes.c_int32(-1)
    library.goss_last_error_rank(comm, rank)
    return error_of(status, text, rank.value)


def check(status: int, comm: Optional[int] = None) -> None:
    """Raises the exception of a status that is not success, as last_error() gives it."""
    if status:
        raise last_error(status, comm)


def refuse_copy(self: object) -> NoReturn:
    """Raises TypeError when copy or pickle is called on an object that owns a handle of the library."""
    raise TypeError(f"a {type(self).__name__} can neither be copied nor pickled; make another one")
