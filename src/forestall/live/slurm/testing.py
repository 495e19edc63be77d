"""A test job before a node returns to service: the node is kept for us, brought back, and given the
job; only where that ends well does it stay in service.

The steps are found again by what stands in Slurm, each by the id of the intent: the reservation
says that a test is not settled, the job how it went. A step that is done is not done again.

Source: page "Live", Acting on nodes (return to service after a check).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.live.intents import Intent
from forestall.core.model.marks import reservation_name
from forestall.live.act.actor import Effect
from forestall.slurm.cluster.actions import (
    Action,
    DrainNode,
    ReserveNode,
    ResumeNode,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.cluster.standing import Standing

MARGIN: Final = 1200
"""s beyond a test's time for which it is waited for: a job on the node may have to end first."""
KEPT: Final = 86_400
"""s beyond a test's time for which the node is kept, should nobody come back to settle it."""
FAILED: Final = "test"
"""The reason of a node whose test did not end well begins so: no rule brings it back."""
_ON_THE_WAY: Final = frozenset({"PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED"})


@dataclass(frozen=True)
class NodeTest:
    """What is run on a node before it returns.

    Attributes
    ----------
    script : of the job; it ends with 0 where the node is well
    time : s that it may take
    user : as whom this process submits
    """

    script: str
    time: int
    user: str


class CheckedReturns:
    """Brings nodes back by way of a test; the intent is that of a return to service."""

    def __init__(self, cluster: LiveCluster, test: NodeTest, clock: Callable[[], int]) -> None:
        self._cluster, self._test, self._clock = cluster, test, clock

    def begin(self, intent: Intent, back: ResumeNode) -> None:
        """Keep the node, bring it back, and submit the test. Raises WriteError; after AMBIGUOUS
        `effect` takes back what was done."""
        keep = ReserveNode(
            intent.id, intent.target, self._clock(), self._test.time + KEPT, (self._test.user,)
        )
        self._cluster.act(keep)
        try:
            self._cluster.act(back)
            self._cluster.act(self._job(intent))
        except WriteError as error:  # something was done: whether it stays, `effect` finds out
            raise WriteError(WriteFault.AMBIGUOUS, intent.id, str(error)) from None

    def effect(self, intent: Intent, back: ResumeNode) -> Effect:
        """Return whether the node is back and its test ended well; settle a test that has ended.
        Raises LookError and WriteError."""
        state = self._cluster.job_state(self._job(intent))
        kept = self._is_kept(intent)
        if not kept:
            over = self._cluster.find(back) is Standing.DONE
            return Effect.DONE if over and state in ("", "COMPLETED") else Effect.NOT_DONE
        if state == "COMPLETED":
            self._cluster.act(self._let_go(intent))
            return Effect.DONE
        late = self._clock() >= intent.decided + self._test.time + MARGIN
        if state in _ON_THE_WAY and not late:
            return Effect.UNKNOWN
        words = f"{FAILED}: the job ended {state}" if state else intent.reason
        if state in _ON_THE_WAY:
            words = f"{FAILED}: the job did not end in time"
        self._take_out(DrainNode(intent.id, intent.target, words), back)
        self._cluster.act(self._let_go(intent))
        return Effect.NOT_DONE

    def _take_out(self, drain: DrainNode, back: ResumeNode) -> None:
        """Drain a node again, unless it was not brought back yet."""
        if self._cluster.find(back) is Standing.DONE:
            self._cluster.act(drain)

    def _is_kept(self, intent: Intent) -> bool:
        keep = ReserveNode(intent.id, intent.target, 1, 1, (self._test.user,))
        return self._cluster.find(keep) is Standing.DONE

    def _let_go(self, intent: Intent) -> Action:
        return Unreserve(intent.id, intent.id)

    def _job(self, intent: Intent) -> Submit:
        return Submit(
            intent.id, self._test.script, 1, self._test.time, "forestall-test",
            since=intent.decided, reservation=reservation_name(intent.id), requeue="no",
            output="/dev/null",
        )  # fmt: skip
