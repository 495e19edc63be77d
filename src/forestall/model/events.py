"""What happens: kinds of events, in the order in which those of one second are taken in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class EventKind(IntEnum):
    """The value is the rank among events of the same second (spec of the promise scheduler,
    "Running").

    Ties within a kind go by job order (submit order, then position in the log) or node number. PASS
    is the end of a second, at which the classic policies schedule once for all that happened in it.
    """

    FINISHED = 0
    CHECKPOINT_FINISHED = 1
    NODE_RECOVERED = 2
    NODE_FAILED = 3
    CHECKPOINT_REQUESTED = 4
    START_DUE = 5
    SUBMITTED = 6
    PASS = 7

    @property
    def about_node(self) -> bool:
        """Whether the event's key is a node number rather than a job."""
        return self in (EventKind.NODE_FAILED, EventKind.NODE_RECOVERED)


@dataclass(frozen=True)
class Event:
    """One event: `key` is a job's position (or a node number), `until` a failed node's known
    recovery."""

    time: int
    kind: EventKind
    key: int
    until: int = -1
