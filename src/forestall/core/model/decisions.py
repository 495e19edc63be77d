"""What should be done: kinds of decisions, each with a reason that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from forestall.core.model.nodes import NodeSet


class DecisionKind(IntEnum):
    """What the engine asks its driver to do, or to know: HOLD, a job cannot be placed yet; EXTEND,
    a run past its reservation is reckoned to last longer."""

    RESERVE = 0
    START = 1
    CHECKPOINT = 2
    SKIP = 3
    REQUEUE = 4
    REJECT = 5
    HOLD = 6
    EXTEND = 7


class Reason(IntEnum):
    """Why. The text's placeholders are fields of the decision."""

    FREE_NOW = 0
    WAITS_FOR_NODES = 1
    WAITS_FOR_SAFETY = 2
    BEST_OFFER = 3
    NODE_DOWN_AT_START = 4
    NODE_FAILED = 5
    RESERVED_START = 6
    HEAD_OF_QUEUE = 7
    ENDS_BEFORE_SHADOW = 8
    FITS_EXTRA_NODES = 9
    MOVED_EARLIER = 10
    REBUILT_AFTER_FAILURE = 11
    RISK_WORTH_IT = 12
    RISK_TOO_LOW = 13
    DEADLINE_FIRST = 14
    ALWAYS = 15
    TOO_LARGE = 16
    OWN_POLICY = 17
    NODE_BUSY_AT_START = 18
    NODE_TAKEN = 19
    NODE_AWAY = 20
    SAFER_NODES = 21
    TOO_FEW_NODES = 22
    NODES_BACK = 23
    RUNS_ON = 24
    REQUEUED = 25
    START_REFUSED = 26
    CHECKPOINT_LOST = 27


_TEXT = {
    Reason.FREE_NOW: "enough nodes are free at once",
    Reason.WAITS_FOR_NODES: "first time at which {size} nodes are free for {length}",
    Reason.WAITS_FOR_SAFETY: "{count} earlier offers refused for their risk; first free at {at}",
    Reason.BEST_OFFER: "no start reaches the wanted probability; this one comes closest",
    Reason.NODE_DOWN_AT_START: "node {node} is down at the reserved start",
    Reason.NODE_FAILED: "node {node} failed; {count} node-seconds are lost",
    Reason.RESERVED_START: "the reserved start has come",
    Reason.HEAD_OF_QUEUE: "first in the queue, and its nodes are free",
    Reason.ENDS_BEFORE_SHADOW: "backfilled: ends before the head of the queue can start at {at}",
    Reason.FITS_EXTRA_NODES: "backfilled: fits into the {count} nodes that the head leaves over",
    Reason.MOVED_EARLIER: "moved earlier from {at}",
    Reason.REBUILT_AFTER_FAILURE: "placed anew after a failure",
    Reason.RISK_WORTH_IT: "risk {probability:.3f} times {count} intervals is worth the overhead",
    Reason.RISK_TOO_LOW: "risk {probability:.3f} times {count} intervals is not worth the overhead",
    Reason.DEADLINE_FIRST: "the checkpoint would make the job miss its deadline at {deadline}",
    Reason.ALWAYS: "every request is performed",
    Reason.TOO_LARGE: "{size} nodes asked for, {count} there",
    Reason.OWN_POLICY: "chosen by a policy in Python",
    Reason.NODE_BUSY_AT_START: "node {node} still has another job at the reserved start",
    Reason.NODE_TAKEN: "node {node} of its reservation has another job for longer than reserved",
    Reason.NODE_AWAY: "node {node} of its reservation is away, until when is not known",
    Reason.SAFER_NODES: "the prediction for node {node} has changed; other nodes are safer",
    Reason.TOO_FEW_NODES: "{count} nodes are up or known to return; it asks for more",
    Reason.NODES_BACK: "enough nodes are back",
    Reason.RUNS_ON: "it runs past the end of its reservation, which was {at}",
    Reason.REQUEUED: "it was sent back to the queue",
    Reason.START_REFUSED: "its last start was refused",
    Reason.CHECKPOINT_LOST: "its last checkpoint cannot be read; it goes back to one that can",
}


class Wording(NamedTuple):
    """How a reason tells moments and spans of time, s, and nodes, by number."""

    moment: Callable[[int], str] = str
    span: Callable[[int], str] = "{} s".format
    node: Callable[[int], str] = str


@dataclass(frozen=True)
class Decision:
    """One decision with the figures it was made from.

    Attributes
    ----------
    time : when it was taken, s
    kind, reason : what and why
    job : position of the job
    node : the node that it is about, or -1
    start, end : the reservation or the run [start, end), s; -1 where there is none
    deadline, probability : what is promised (-1 and 0 where nothing is), or the risk that decided
    count, at : a number and a time that go with the reason
    left_out, left_out_at : a free node that was not taken, and when it is predicted to fail (-1:
    none) nodes : the nodes of the reservation or run
    """

    time: int
    kind: DecisionKind
    reason: Reason
    job: int
    node: int = -1
    start: int = -1
    end: int = -1
    deadline: int = -1
    probability: float = 0.0
    count: int = 0
    at: int = -1
    left_out: int = -1
    left_out_at: int = -1
    nodes: NodeSet = field(default_factory=NodeSet)

    @property
    def why(self) -> str:
        """The reason in words: nodes by number, times as they are in the log."""
        return self.said(Wording())

    def said(self, how: Wording) -> str:
        """Return the reason in words."""
        text = _TEXT[self.reason].format(
            size=len(self.nodes),
            length=how.span(self.end - self.start),
            count=self.count,
            at=how.moment(self.at),
            node=how.node(self.node),
            probability=self.probability,
            deadline=how.moment(self.deadline),
        )
        if self.left_out >= 0:
            when = how.moment(self.left_out_at)
            why = f"predicted to fail at {when}" if self.left_out_at >= 0 else "riskier"
            text += f"; node {how.node(self.left_out)} left out: {why}"
        return text
