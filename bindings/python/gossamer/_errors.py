"""Errors of the library as exceptions."""

import re
from typing import Dict, NoReturn, Optional, Type

from . import _abi
from ._library import library

__all__ = ["Error", "InvalidArgument", "Unsupported", "Mismatch", "Timeout", "PeerLost", "Aborted", "Protocol", "Resource",
           "Bootstrap", "Truncated", "Internal", "DeviceFailed"]


class Error(RuntimeError):
    """A call of the library failed.

    ``status`` is the number of the C ABI (``goss_status``), ``text`` says who, what, and what to do next, and ``rank`` is the
    rank that the text blames, or None.
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
# These do not blame a rank, though they may name some.
_NOBODY = (_abi.GOSS_ERR_INVALID_ARGUMENT, _abi.GOSS_ERR_UNSUPPORTED, _abi.GOSS_ERR_RESOURCE, _abi.GOSS_ERR_INTERNAL)
_OWN_RANK = re.compile(r"\bon rank \d+: ")
_RANK = re.compile(r"\branks? (\d+)")


def _blamed(status: int, text: str) -> Optional[int]:
    """The first rank that the text names, after the words that say where the error was seen. The C ABI gives no number."""
    if status in _NOBODY:
        return None
    own = _OWN_RANK.search(text)
    found = _RANK.search(text, own.end() if own else 0)
    return int(found.group(1)) if found else None


def error_of(status: int, text: str) -> Error:
    """The exception of a status and its text."""
    return _KINDS.get(status, Internal)(text, _blamed(status, text))


def last_error(status: int) -> Error:
    """The exception of this thread's last failed call."""
    return error_of(status, (library.goss_last_error() or b"").decode(errors="replace"))


def check(status: int) -> None:
    """Raises the exception of a status that is not success."""
    if status:
        raise last_error(status)


def refuse_copy(self: object) -> NoReturn:
    """What copy and pickle call of objects that own something in the library."""
    raise TypeError(f"a {type(self).__name__} can neither be copied nor pickled; make another one")
