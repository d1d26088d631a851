"""What a communicator counts."""

from typing import NamedTuple

__all__ = ["Counters"]


class Counters(NamedTuple):
    """Running totals of a communicator on this rank; gossamer.h says what each counts."""

    operations: int
    failures: int
    payload_bytes: int
    wire_bytes_sent: int
    wire_bytes_received: int
    busy_ns: int
    placed_bytes: int
