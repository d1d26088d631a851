"""Collectives among the neighbours of a round of gossip."""

from typing import Any, Optional, Sequence, Tuple

from . import _buffers
from ._errors import InvalidArgument
from ._options import OptionValue
from ._request import Request
from ._topology import Neighborhood

__all__ = ["NeighborCollectives"]


class NeighborCollectives:
    """The part of Comm that talks to neighbours. All ranks call, each with its own Neighborhood, such as
    Topology.neighbors(round, rank) gives; keywords are those of Comm's collectives."""

    def _start(self, function: str, buffers: Tuple[_buffers.Buffer, ...], arguments: Tuple[Any, ...],
               keywords: "dict[str, Any]") -> Request:
        raise NotImplementedError

    def _pair(self, send: Any, recv: Any) -> Tuple[_buffers.Buffer, _buffers.Buffer]:
        raise NotImplementedError

    def neighbor_all_reduce(self, send: Any, recv: Any = None, *, neighborhood: Neighborhood, **options: OptionValue) -> Request:
        """recv = self_weight * send + the sum over the sources of weight * what they send. ``recv`` None: in place."""
        source, target = self._pair(send, recv)
        struct, _lists = neighborhood.struct()
        return self._start("goss_neighbor_all_reduce", (source, target),
                           (source.address, target.address, source.elements, source.dtype, struct), options)

    def neighbor_all_gather(self, send: Any, recv: Any, *, neighborhood: Neighborhood, **options: OptionValue) -> Request:
        """Block k of ``recv`` = the ``send`` of source k."""
        source, target = _apart(send, recv)
        _check(target.elements == source.elements * len(neighborhood.sources), "recv needs as many elements as send for each source")
        struct, _lists = neighborhood.struct()
        return self._start("goss_neighbor_all_gather", (source, target),
                           (source.address, target.address, source.elements, source.dtype, struct), options)

    def neighbor_all_gatherv(self, send: Any, recv: Any, recv_counts: Sequence[int], recv_displs: Optional[Sequence[int]] = None, *,
                             neighborhood: Neighborhood, **options: OptionValue) -> Request:
        """As neighbor_all_gather with recv_counts[k] elements of source k at recv_displs[k] (None: packed)."""
        source, target = _apart(send, recv)
        received = _sizes(recv_counts, recv_displs, len(neighborhood.sources), target)
        struct, _lists = neighborhood.struct()
        return self._start("goss_neighbor_all_gatherv", (source, target),
                           (source.address, source.elements, target.address, *received, source.dtype, struct), options)

    def neighbor_all_to_all(self, send: Any, recv: Any, *, neighborhood: Neighborhood, **options: OptionValue) -> Request:
        """Block k of ``send`` goes to destination k, block k of ``recv`` comes from source k; all blocks are equally long."""
        source, target = _apart(send, recv)
        count = source.elements // max(1, len(neighborhood.destinations)) or target.elements // max(1, len(neighborhood.sources))
        _check(source.elements == count * len(neighborhood.destinations) and target.elements == count * len(neighborhood.sources),
               "both need equal blocks for each neighbour")
        struct, _lists = neighborhood.struct()
        return self._start("goss_neighbor_all_to_all", (source, target),
                           (source.address, target.address, count, source.dtype, struct), options)

    def neighbor_all_to_allv(self, send: Any, recv: Any, send_counts: Sequence[int], recv_counts: Sequence[int],
                             send_displs: Optional[Sequence[int]] = None, recv_displs: Optional[Sequence[int]] = None, *,
                             neighborhood: Neighborhood, **options: OptionValue) -> Request:
        """As neighbor_all_to_all with counts and displacements (None: packed) for each neighbour."""
        source, target = _apart(send, recv)
        sent = _sizes(send_counts, send_displs, len(neighborhood.destinations), source)
        received = _sizes(recv_counts, recv_displs, len(neighborhood.sources), target)
        struct, _lists = neighborhood.struct()
        return self._start("goss_neighbor_all_to_allv", (source, target),
                           (source.address, *sent, target.address, *received, source.dtype, struct), options)


def _check(fits: bool, rule: str) -> None:
    if not fits:
        raise InvalidArgument(f"the buffers do not fit the neighbours: {rule}")


def _apart(send: Any, recv: Any) -> Tuple[_buffers.Buffer, _buffers.Buffer]:
    source, target = _buffers.readable(send), _buffers.writable(recv)
    _check(source.dtype == target.dtype, "both need the same type")
    return source, target


def _sizes(counts: Sequence[int], displs: Optional[Sequence[int]], neighbors: int, whole: _buffers.Buffer) -> Tuple[Any, Any]:
    places = [sum(counts[:k]) for k in range(neighbors)] if displs is None else displs
    end = max((place + count for place, count in zip(places, counts)), default=0)
    _check(min([*counts, *places], default=0) >= 0 and end <= whole.elements, f"blocks end at element {end} of {whole.elements}")
    return _buffers.sizes(counts, neighbors, "counts"), _buffers.sizes(displs, neighbors, "displs")
