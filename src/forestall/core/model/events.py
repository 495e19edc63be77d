"""What happens: kinds of events, in the order in which those of one second are taken in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, Self

from forestall.core.model.errors import ParameterError
from forestall.core.model.nodes import NodeSet


class EventKind(IntEnum):
    """What an engine is told. Kinds up to PASS are those of a simulated run, and their values their
    ranks among events of the same second (spec of the promise scheduler, "Running"); the others
    come from a real cluster, or, CHECKPOINT_LOST, from a simulated vault, and take their places by
    `rank`.

    Ties within a kind go by job order (submit order, then position in the log) or node number. PASS
    is the end of a second, at which the classic policies schedule once for all that happened in it.

    Of a real cluster: FAILED, a job ended by a fault of its own; CANCELLED, somebody took it back;
    REQUEUED, somebody sent it back to the queue; START_REFUSED, a start that was asked for did not
    come off; STARTED, a job is seen to run, asked for or not; NODE_DRAINED, a node takes no new
    jobs; PREDICTION_CHANGED, another failure of a node is foreseen than before, or it has another
    hazard; OVERRUN, a job runs
    past the end of its reservation. A node that is back, repaired or returned by whoever drained
    it, is NODE_RECOVERED. CHECKPOINT_LOST: a job that is about to start, or has just started, finds
    that its last checkpoint cannot be had, and goes back to the last one that can.
    """

    FINISHED = 0
    CHECKPOINT_FINISHED = 1
    NODE_RECOVERED = 2
    NODE_FAILED = 3
    CHECKPOINT_REQUESTED = 4
    START_DUE = 5
    SUBMITTED = 6
    PASS = 7
    FAILED = 8
    CANCELLED = 9
    REQUEUED = 10
    START_REFUSED = 11
    STARTED = 12
    NODE_DRAINED = 13
    PREDICTION_CHANGED = 14
    OVERRUN = 15
    CHECKPOINT_LOST = 16

    @property
    def about_node(self) -> bool:
        """Whether the event's key is a node number rather than a job."""
        return self in _ABOUT_NODES

    @property
    def rank(self) -> int:
        """The place among events of the same second: what frees nodes first, what takes them last.
        Kinds of simulated runs stand in order of their values."""
        return _RANKS[self]


_ABOUT_NODES: Final = frozenset(
    {
        EventKind.NODE_FAILED,
        EventKind.NODE_RECOVERED,
        EventKind.NODE_DRAINED,
        EventKind.PREDICTION_CHANGED,
    }
)
_RANKS: Final = {
    kind: rank
    for rank, kind in enumerate(
        (
            EventKind.FINISHED,
            EventKind.FAILED,
            EventKind.CANCELLED,
            EventKind.CHECKPOINT_FINISHED,
            EventKind.REQUEUED,
            EventKind.START_REFUSED,
            EventKind.NODE_RECOVERED,
            EventKind.STARTED,
            EventKind.NODE_DRAINED,
            EventKind.PREDICTION_CHANGED,
            EventKind.OVERRUN,
            EventKind.NODE_FAILED,
            EventKind.CHECKPOINT_REQUESTED,
            EventKind.CHECKPOINT_LOST,
            EventKind.START_DUE,
            EventKind.SUBMITTED,
            EventKind.PASS,
        )
    )
}
_FIGURES: Final = {
    "until": frozenset(
        {
            EventKind.NODE_FAILED,
            EventKind.NODE_DRAINED,
            EventKind.STARTED,
            EventKind.START_REFUSED,
            EventKind.OVERRUN,
            EventKind.PREDICTION_CHANGED,
        }
    ),
    "at": frozenset({EventKind.PREDICTION_CHANGED, EventKind.CHECKPOINT_LOST}),
    "probability": frozenset({EventKind.PREDICTION_CHANGED}),
    "hazard": frozenset({EventKind.PREDICTION_CHANGED}),
    "nodes": frozenset({EventKind.STARTED}),
    "ours": frozenset({EventKind.NODE_DRAINED}),
}
"""Which kinds have a figure; with others it must be left as it is by default."""
_NOWHERE: Final = NodeSet()


@dataclass(frozen=True)
class Event:
    """One event. Raises ParameterError for figures that its kind does not have.

    Attributes
    ----------
    time : when the engine is told, s
    kind : what
    key : a job's position, or a node number; 0 of PASS
    until : when a failed or drained node is known to return (-1: not known, it returns by an event
        of its own); the expected end of a run that started or goes on (-1: not known); the first
        moment for another try of a start that was refused (-1: not known); when a node whose
        failure is foreseen would be back, s
    at : of PREDICTION_CHANGED, the time of the failure that is foreseen, s; -1: none any more; of
        CHECKPOINT_LOST, the work in the checkpoint that can be had, s; 0: none can
    probability : of PREDICTION_CHANGED, of that failure
    hazard : of PREDICTION_CHANGED, in place of a failure at a moment: the probabilities that the
        node fails within the first part of [at, until), the first two, ..., all; parts are equal.
        Failures that are foreseen at moments stay. A single 0: no hazard of it is known any more
    nodes : of STARTED, where the job runs; empty where that is as it was asked for
    ours : of NODE_DRAINED, whether we asked for it ourselves
    """

    time: int
    kind: EventKind
    key: int
    until: int = -1
    at: int = field(default=-1, repr=False)
    probability: float = field(default=0.0, repr=False)
    nodes: NodeSet = field(default=_NOWHERE, repr=False)
    ours: bool = field(default=False, repr=False)
    hazard: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.kind < EventKind.FAILED and self.kind not in _FIGURES["until"]:
            fine = self.at == -1 and not self.nodes and not self.ours and self.probability == 0.0
            fine = fine and not self.hazard
        else:
            fine = all(
                self.kind in kinds or getattr(self, name) == _DEFAULTS[name]
                for name, kinds in _FIGURES.items()
            )
        if self.hazard:
            steps = (0.0, *self.hazard, 1.0)
            fine = fine and 0 <= self.at < self.until and self.probability == 0.0
            fine = fine and all(one <= other for one, other in pairwise(steps))
        if not fine or not 0.0 <= self.probability <= 1.0:
            raise ParameterError("event", self, f"the figures of {self.kind.name}")

    def as_dict(self) -> dict[str, Any]:
        """Return the event as plain data; what is left as it is by default is not named."""
        plain = {"time": self.time, "kind": self.kind.name.lower(), "key": self.key}
        for name, default in _PLAIN_DEFAULTS.items():
            value = getattr(self, name)
            if name in _PLAINLY:
                value = _PLAINLY[name](value)
            if value != default:
                plain[name] = value
        return plain

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Return the event of plain data; ParameterError where it is none."""
        names = {"time", "kind", "key"} | set(_PLAIN_DEFAULTS)
        try:
            kind = EventKind[str(plain["kind"]).upper()]
            rest = {name: value for name, value in plain.items() if name != "kind"}
            rest["nodes"] = NodeSet.parse(str(rest.get("nodes", "")))
            rest["hazard"] = tuple(map(float, rest.get("hazard", ())))
            whole = all(type(rest[name]) is int for name in ("time", "key"))
        except (KeyError, TypeError, ValueError):
            whole = False
        if not whole or not set(plain) <= names:
            raise ParameterError("event", plain, "time, kind and key, and figures of that kind")
        return cls(kind=kind, **rest)


_DEFAULTS: Final = {
    "until": -1, "at": -1, "probability": 0.0, "nodes": _NOWHERE, "ours": False, "hazard": (),
}  # fmt: skip
_PLAIN_DEFAULTS: Final = {**_DEFAULTS, "nodes": "", "hazard": []}
_PLAINLY: Final[dict[str, Callable[[Any], Any]]] = {"nodes": str, "hazard": list}
