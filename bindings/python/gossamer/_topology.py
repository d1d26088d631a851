"""Who averages with whom: topologies of gossip, and the neighbours of a rank."""

import ctypes
from typing import Any, Dict, List, NamedTuple, Tuple

from . import _abi
from ._errors import check, refuse_copy
from ._library import library, take_json

__all__ = ["Neighborhood", "Topology"]

Weighted = List[Tuple[int, float]]


class Neighborhood(NamedTuple):
    """The neighbours of one rank in one round: lists of (rank, weight). A weighted sum multiplies what comes from a source, and
    what goes to a destination, by its weight, and the rank's own vector by self_weight."""

    self_weight: float = 1.0
    sources: Weighted = []
    destinations: Weighted = []

    def struct(self) -> Tuple[_abi.goss_neighborhood, Any]:
        """The C struct, and what it points to."""
        lists = [(_abi.goss_neighbor * len(pairs))(*(_abi.goss_neighbor(rank, 0, weight) for rank, weight in pairs))
                 for pairs in (self.sources, self.destinations)]
        made = _abi.goss_neighborhood(size=ctypes.sizeof(_abi.goss_neighborhood), self_weight=self.self_weight, sources=lists[0],
                                      source_count=len(self.sources), destinations=lists[1],
                                      destination_count=len(self.destinations))
        return made, lists


class Topology:
    """A topology of ``ranks`` ranks by its spec, such as "ring", "torus:4x4" or "base:k=1" (gossip.h lists all)."""

    def __init__(self, spec: str, ranks: int) -> None:
        self._handle = ctypes.c_void_p()
        check(library.goss_topology_create(spec.encode(), ranks, self._handle))

    __copy__ = __reduce__ = refuse_copy

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and library is not None:
            library.goss_topology_destroy(self._handle)

    @property
    def period(self) -> int:
        """The number of rounds after which the topology repeats."""
        period = ctypes.c_uint64()
        check(library.goss_topology_period(self._handle, period))
        return period.value

    def neighbors(self, round: int, rank: int) -> Neighborhood:
        """The neighbours of ``rank`` in a round."""
        struct = _abi.goss_neighborhood(size=ctypes.sizeof(_abi.goss_neighborhood))
        check(library.goss_topology_neighbors(self._handle, round, rank, struct))
        return Neighborhood(struct.self_weight, *([(one.rank, one.weight) for one in pointer[:count]] for pointer, count in (
            (struct.sources, struct.source_count), (struct.destinations, struct.destination_count))))

    def weight(self, round: int, to: int, source: int) -> float:
        """The factor of the vector of rank ``source`` in what rank ``to`` holds after a round."""
        weight = ctypes.c_double()
        check(library.goss_topology_weight(self._handle, round, to, source, weight))
        return weight.value

    def describe(self) -> Dict[str, Any]:
        """Degrees, sums of rows and columns, connectedness, spectral gap, rounds until exact (goss_topology_describe)."""
        text = ctypes.c_char_p()
        check(library.goss_topology_describe(self._handle, text))
        return take_json(text)  # type: ignore[no-any-return]
