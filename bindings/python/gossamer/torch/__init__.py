"""Gossamer under torch.distributed, for tensors on the CPU and on CUDA devices.

    import torch.distributed as dist
    import gossamer.torch                      # torch 2.14 and later find the backend by themselves
    dist.init_process_group("gossamer")        # torchrun says who this process is

docs/python.md is the guide.
"""

import inspect
from typing import Any, Dict

import torch.distributed as dist

from .._comm import Comm
from .._errors import InvalidArgument
from ._fsdp import compress_fsdp
from ._group import Collectives, GossamerBackend, GossamerGroup, meet
from ._hooks import group_of, hook
from ._older import DEVICES, HAS_BACKENDS
from ._options import Options
from ._shrink import prepared, shrink
from ._work import seconds

__all__ = ["GossamerGroup", "Options", "communicator", "compress_fsdp", "hook", "monitored_barrier", "register", "shrink"]


def communicator(group: Any = None) -> Comm:
    """The gossamer.Comm of a process group; None: of the default one. It belongs to the group."""
    return group_of(group).comm


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """torch.distributed.monitored_barrier, which older torch keeps for Gloo: raises gossamer.Timeout naming the ranks that have
    not come within ``timeout`` (a timedelta). The group stays usable."""
    group_of(group).monitored_barrier(timeout, wait_all_ranks)


def _create(options: Any, pg_options: Any = None) -> Collectives:
    """Makes a group, when torch.distributed calls it."""
    if pg_options is not None and not isinstance(pg_options, Options):
        raise TypeError("pg_options of backend gossamer is a gossamer.torch.Options")
    if prepared:
        comm, settings = prepared.pop()
    else:
        settings = pg_options.settings if pg_options is not None else _inherited()
        comm = meet(options.store, options.group_rank, options.group_size, seconds(options.timeout), settings)
    # A group of several backends takes its name from another one than this.
    is_part = HAS_BACKENDS and options.process_group.name() != "custom"
    made = GossamerBackend(comm) if is_part else GossamerGroup(comm, options.store)
    if HAS_BACKENDS and isinstance(made, GossamerGroup):
        made.bound_device_id = options.process_group.bound_device_id
    made.settings = settings
    return made


def _inherited() -> Dict[str, Any]:
    """How the default group connects: torch gives no options for groups that it makes by itself, as those of a device mesh.
    Such a group has a timeout of its own, and compresses nothing."""
    if not dist.is_initialized():
        return {}
    own = ("timeout", "bootstrap_timeout", "codec", "algorithm")
    try:
        return {name: value for name, value in group_of().settings.items() if name not in own}
    except InvalidArgument:  # the default group is of another backend
        return {}


def register() -> None:
    """Makes backend "gossamer" known to torch.distributed; importing this module does it, and so does torch's entry point."""
    if not hasattr(dist.Backend, "GOSSAMER"):
        takes_devices = "devices" in inspect.signature(dist.Backend.register_backend).parameters
        dist.Backend.register_backend("gossamer", _create, extended_api=True, **({"devices": list(DEVICES)} if takes_devices else {}))


register()
