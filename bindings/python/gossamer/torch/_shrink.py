"""Going on after ranks were lost."""

import datetime
import socket
from typing import Any, List, Optional

import torch
import torch.distributed as dist

from .._comm import Comm
from ._hooks import group_of
from ._work import seconds

prepared: List[Comm] = []  # the communicator of the default group that shrink() is about to make


def _store(comm: Comm, timeout: datetime.timedelta) -> Any:
    """A store of the ranks of `comm`: the old one may have gone with its rank."""
    host = socket.gethostname()
    hosts = torch.zeros((comm.size, 256), dtype=torch.uint8)
    hosts[comm.rank, :len(host.encode())] = torch.tensor(list(host.encode()), dtype=torch.uint8)
    comm.all_gather(None, hosts)
    is_one_host = bool((hosts == hosts[0]).all())
    place = torch.zeros(257, dtype=torch.int64)  # port, address
    store = None
    if comm.rank == 0:
        address = "127.0.0.1" if is_one_host else socket.gethostbyname(host)
        store = dist.TCPStore(address, 0, comm.size, True, timeout, wait_for_workers=False)
        place[0] = store.port
        place[1:1 + len(address)] = torch.tensor(list(address.encode()))
    comm.broadcast(place)
    if store is None:
        address = bytes(value for value in place[1:].tolist() if value).decode()
        store = dist.TCPStore(address, int(place[0]), comm.size, False, timeout, wait_for_workers=False)
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
    prepared.append(comm)
    try:
        dist.init_process_group("gossamer", store=store, rank=comm.rank, world_size=comm.size, timeout=limit)
    finally:
        prepared.clear()
