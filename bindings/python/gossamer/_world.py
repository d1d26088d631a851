"""How ranks meet."""

import ctypes
from typing import Any, Optional, Union

from . import _abi, _waiting
from ._comm import Comm
from ._errors import InvalidArgument, check
from ._library import library
from ._options import milliseconds

__all__ = ["UniqueId", "init", "check_settings"]

_SECONDS = ("timeout", "bootstrap_timeout", "silence")
_FIELDS = {name: kind for name, kind in _abi.goss_config._fields_ if name not in ("size", "rank", "ranks", "unique_id")}
SETTINGS = tuple(name[:-len("_ms")] if name.endswith("_ms") else name for name in _FIELDS)


class UniqueId:
    """128 bytes by which ranks find each other: ``bytes(id)`` goes to the other ranks by the program's own means, which make
    ``UniqueId(those_bytes)`` of them. ``UniqueId()`` makes a new one and opens a port that the others will call; the process that
    makes it must become rank 0 and live until init() has returned."""

    def __init__(self, content: Optional[bytes] = None, **settings: Any) -> None:
        self._struct = _abi.goss_unique_id()
        if content is None:
            check(library.goss_unique_id_create_with(_config(settings), self._struct))
        elif len(content) != ctypes.sizeof(self._struct):
            raise InvalidArgument(f"UniqueId: {len(content)} bytes given; an id has {ctypes.sizeof(self._struct)}")
        else:
            ctypes.memmove(ctypes.addressof(self._struct), content, len(content))

    def __bytes__(self) -> bytes:
        return ctypes.string_at(ctypes.addressof(self._struct), ctypes.sizeof(self._struct))

    def destroy(self) -> None:
        """Local: closes the port of an id that this process has made and that will not be used."""
        check(library.goss_unique_id_destroy(self._struct))


def _config(settings: "dict[str, Any]") -> _abi.goss_config:
    """A goss_config of the environment's values and these."""
    config = _abi.goss_config()
    check(library.goss_config_init_sized(config, ctypes.sizeof(config)))
    for name, value in settings.items():
        if value is None:
            continue
        if name in _SECONDS:
            setattr(config, name + "_ms", milliseconds(value) if value else 0)
        elif name not in SETTINGS:
            raise TypeError(f"unknown setting '{name}'; there are {', '.join(SETTINGS)}")
        else:
            setattr(config, name, value.encode() if isinstance(value, str) else value)
    return config


def init(rank: Optional[int] = None, ranks: Optional[int] = None, unique_id: Union[UniqueId, bytes, None] = None,
         **settings: Any) -> Comm:
    """Collective over all ``ranks`` processes or threads: meets the others, connects, and gives the communicator of all.

    Without arguments the launcher says who this process is and where the ranks meet: mpirun, mpiexec, srun, torchrun
    (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). A lone process becomes rank 0 of 1. With ``unique_id`` the program says it.

    ``settings`` are the fields of ``goss_config`` (docs/environment.md), such as ``transport="tcp"``, ``tls="psk:FILE"``,
    ``codec="fp16"``; timeout, bootstrap_timeout and silence are in seconds. What is not given comes from the environment.

    Raises Bootstrap naming the ranks that are missing, InvalidArgument naming a wrong setting.
    """
    config = _config(settings)
    config.rank = -1 if rank is None else rank
    config.ranks = -1 if ranks is None else ranks
    if isinstance(unique_id, (bytes, bytearray)):
        unique_id = UniqueId(bytes(unique_id))
    if unique_id is not None:
        config.unique_id = ctypes.pointer(unique_id._struct)
    made = ctypes.c_void_p()
    _waiting.apart(lambda: check(library.goss_comm_create(config, made)), lambda _: library.goss_comm_destroy(made))
    assert made.value is not None
    return Comm(made.value, config.timeout_ms / 1000)


def check_settings(**settings: Any) -> None:
    """Raises InvalidArgument, naming field, value and what is accepted, for settings that init() would refuse."""
    check(library.goss_config_check(_config(settings)))
