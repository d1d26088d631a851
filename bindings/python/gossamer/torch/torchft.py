"""Gossamer under torchft (its package must be installed): replicas that die or join between steps.

    manager = torchft.Manager(pg=gossamer.torch.torchft.ProcessGroupGossamer(), ...)
"""

from datetime import timedelta
from typing import Any

from torchft.process_group import ProcessGroupWrapper

from ._group import GossamerGroup, meet

__all__ = ["ProcessGroupGossamer"]


class ProcessGroupGossamer(ProcessGroupWrapper):  # type: ignore[misc]
    """A process group that torchft configures anew for each quorum. ``settings`` are those of gossamer.init(), such as tls. An
    operation whose peer dies fails within the time in which Gossamer finds the loss, so torchft's next quorum goes on without it."""

    def __init__(self, timeout: timedelta = timedelta(seconds=60), **settings: Any) -> None:
        super().__init__(timeout)
        self._settings = settings

    def _create_pg(self, store: Any, rank: int, world_size: int) -> GossamerGroup:
        return GossamerGroup(meet(store, rank, world_size, self._timeout.total_seconds(), self._settings), store)

    def abort(self, errored: bool = True) -> None:
        """Ends the quorum's group on this replica. The other replicas learn that it has left."""
        group: Any = self._pg
        self._pg: Any = None
        if group is not None:
            group.shutdown()

    def shutdown(self) -> None:
        self.abort()

    def getBackendName(self) -> str:  # pylint: disable=invalid-name
        return "torchft-gossamer"
