"""What torch lacks that is older than 2.14: backends that are written in Python."""

from typing import Any

import torch
from torch._C import _distributed_c10d as c10d

DEVICES = ("cpu", "cuda")  # whose tensors the backend takes


def _is_constructible(base: Any) -> bool:
    """Whether Python classes may derive from it."""
    try:
        type("Probe", (base,), {})(0, 1)
        return True
    except TypeError:
        return False


Group: Any = c10d.ProcessGroup
Backend: Any = getattr(c10d, "Backend", None)
HAS_BACKENDS = Backend is not None and _is_constructible(Backend)  # torch 2.14 and later


class OlderGroup(Group):  # type: ignore[misc]
    """A group without a backend within it. The group itself answers what torch asks of its backends, and keeps what torch keeps in them:
    the name and the description of the group."""

    supports_splitting = True  # the group has split_group() of ours
    supports_coalescing = True
    supports_shrinking = False
    supports_time_estimate = False
    options = None  # torch passes them on to split_group()

    _given_store: Any = None
    _name = _description = ""

    # torch's C++ half calls these four by these names.
    def getGroupName(self) -> str:  # pylint: disable=invalid-name
        return self._name

    def setGroupName(self, name: str) -> None:  # pylint: disable=invalid-name
        self._name = name

    def getGroupDesc(self) -> str:  # pylint: disable=invalid-name
        return self._description

    def setGroupDesc(self, description: str) -> None:  # pylint: disable=invalid-name
        self._description = description

    def get_group_store(self) -> Any:
        return self._given_store

    @property
    def _device_types(self) -> Any:
        return [torch.device(name) for name in DEVICES]

    def _get_backend(self, device: Any) -> Any:
        if torch.device(device).type not in DEVICES:
            raise RuntimeError(f"No backend type associated with device type {torch.device(device).type}")  # as torch says it
        return self

    def supports_tensor_alloc(self, device: Any) -> bool:  # pylint: disable=unused-argument
        return False

    def eager_connect_single_device(self, device: Any) -> None:
        """torch calls this where init_process_group() was given a device_id, and has told it to the group that this one replaces."""
        self.bound_device_id = device

    def perform_nocolor_split(self, device: Any) -> None:
        """torch calls this on a rank outside of all new groups. Nothing is done: the groups connect without it."""

    def _set_sequence_number_for_group(self) -> None:
        """torch calls this on the parts of a group. Nothing is done: Gossamer numbers its operations itself."""
