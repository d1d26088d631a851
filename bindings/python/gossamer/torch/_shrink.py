"""Going on after ranks were lost."""

import datetime
import fcntl
import os
import socket
import struct
from typing import Any, Dict, List, Optional, Tuple

import torch.distributed as dist

from .._comm import Comm
from .._errors import Bootstrap
from ._hooks import group_of
from ._work import seconds

_SIOCGIFADDR = 0x8915  # Linux's request for the IPv4 address of an interface
_GLOBAL_SCOPE = "00"  # in /proc/net/if_inet6
_PATIENCE_S = 2.0  # wait for an address that may not be reachable
_MOST_BYTES = 4096

prepared: List[Tuple[Comm, Dict[str, Any]]] = []  # communicator and settings of the default group that shrink() is about to make


def _addresses() -> List[str]:
    """IPv4 and IPv6 addresses of this host's interfaces by which other hosts may reach it."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # it has none
            found.append(socket.inet_ntoa(answer[20:24]))
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as table:
            rows = [row.split() for row in table]
        found += [socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0])) for row in rows if row[3] == _GLOBAL_SCOPE]
    except OSError:
        pass  # no IPv6
    return [address for address in found if not address.startswith("127.")]


def _join(address: str, port: int, size: int, token: bytes, timeout: datetime.timedelta) -> Any:
    """The store at an address, or None where none answers, or another one."""
    try:
        with socket.create_connection((address, port), _PATIENCE_S):
            pass
        store = dist.TCPStore(address, port, size, False, datetime.timedelta(seconds=_PATIENCE_S), wait_for_workers=False)
        if store.get("token") != token:
            return None
    except (OSError, RuntimeError):
        return None
    store.set_timeout(timeout)
    return store


def _store(comm: Comm, timeout: datetime.timedelta) -> Any:
    """A store of the ranks of `comm`: the old one may have gone with its rank. Host names do not tell how rank 0 is reached (on
    Debian a host's own is 127.0.1.1), so the others try all addresses that it has."""
    content = bytearray(_MOST_BYTES)
    store = None
    if comm.rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, comm.size, True, timeout, wait_for_workers=False)
        token = os.urandom(16).hex()
        store.set("token", token)
        text = " ".join([str(store.port), token, *_addresses()]).encode()[:_MOST_BYTES]
        content[:len(text)] = text
    comm.broadcast(content)
    if store is None:
        port, token, *addresses = content.rstrip(b"\0").decode().split()
        is_same_host = comm.transport(0) in ("shm", "loopback")
        for address in ["127.0.0.1", *addresses] if is_same_host else [*addresses, "127.0.0.1"]:
            store = _join(address, int(port), comm.size, token.encode(), timeout)
            if store is not None:
                break
    is_joined = bytearray([store is not None])
    comm.all_reduce(is_joined, op="min")
    if not is_joined[0]:
        raise Bootstrap("shrink: a rank reaches the store of the new rank 0 at none of its addresses")
    return store


def shrink(timeout: Optional[datetime.timedelta] = None) -> None:
    """Collective over the ranks that are left after others were lost: makes a new default group of these, in the old order.

    All other groups are gone, as after destroy_process_group(); wrap models in DistributedDataParallel again. Their parameters
    may differ between ranks where a step was cut short: DistributedDataParallel broadcasts rank 0's. Raises gossamer.PeerLost when
    the others have gone on without this rank.
    """
    old = group_of()
    limit = datetime.timedelta(seconds=old.comm._timeout or 300)
    comm = old.comm.shrink(seconds(timeout))
    dist.destroy_process_group()
    old.shutdown()
    store = _store(comm, limit)
    prepared.append((comm, old.settings))
    try:
        dist.init_process_group("gossamer", store=store, rank=comm.rank, world_size=comm.size, timeout=limit)
    finally:
        prepared.clear()
