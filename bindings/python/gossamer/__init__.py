"""Gossamer: collective communication for training models over any network.

    import gossamer, numpy
    comm = gossamer.init()                 # mpirun, torchrun or srun says who this process is
    gradient = numpy.ones(1000, "float32")
    comm.all_reduce(gradient, op="avg")    # in place, the same bits on all ranks

``gossamer.Comm`` has the collectives and messages, ``gossamer.Synchronizer`` DiLoCo and its kin, ``gossamer.torch`` the backend for
torch.distributed. docs/python.md is the guide.
"""

from ._buffers import DTYPES as _DTYPES
from ._buffers import as_dtype
from ._comm import ANY_SOURCE, ANY_TAG, Comm
from ._counters import Counters
from ._errors import (Aborted, Bootstrap, DeviceFailed, Error, Internal, InvalidArgument, Mismatch, PeerLost, Protocol, Resource,
                      Timeout, Truncated, Unsupported)
from ._information import codecs, explain, sync_methods, version
from ._request import Message, Request, group, wait_all, wait_any
from ._synchronizer import SyncCounters, Synchronizer
from ._topology import Neighborhood, Topology
from ._world import UniqueId, check_settings, init

__version__ = version()
DTYPES = tuple(_DTYPES)  #: names of the element types

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "Aborted", "Bootstrap", "Comm", "Counters", "DTYPES", "DeviceFailed", "Error", "Internal",
    "InvalidArgument", "Message", "Mismatch", "Neighborhood", "PeerLost", "Protocol", "Request", "Resource", "SyncCounters", "Synchronizer", "Timeout",
    "Topology", "Truncated", "UniqueId", "Unsupported", "as_dtype", "check_settings", "codecs", "explain", "group", "init", "sync_methods",
    "version", "wait_all", "wait_any",
]
