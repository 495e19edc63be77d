"""Whether an action took effect, and whether it may: from what is seen alone."""

from __future__ import annotations

from typing import Any

import pytest

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.slurm.cluster.actions import (
    Action,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Release,
    Requeue,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
)
from forestall.slurm.cluster.nouns import ClusterRun, ClusterView
from forestall.slurm.cluster.standing import Standing, perform, standing
from forestall.slurm.simulation.moves import drained, fresh, waiting
from forestall.slurm.simulation.state import SlurmState

OURS = "forestall:p1"
RUNS = {"state": "RUNNING", "nodes": ("n1",)}


def view(node: dict[str, Any] | None = None, **job: Any) -> ClusterView:
    """Return job 1 of ours and node n1, with what is told of them."""
    one = waiting(SlurmState(1000), "ada", "x", 1, 60)._replace(comment=OURS)._replace(**job)
    return ClusterView({1: one}, {"n1": fresh("n1", 0)._replace(**(node or {}))}, {})


def drain(reason: str) -> dict[str, Any]:
    return {"reason": reason, "flags": ("DRAIN",)}


OPEN, DONE, UNKNOWN = Standing.OPEN, Standing.DONE, Standing.UNKNOWN
UNDER_WAY = Standing.UNDER_WAY
REBOOT = RebootNode("b1", "n1", "d1", "x")
REFUSED, NOT_OURS = WriteFault.REFUSED, WriteFault.NOT_OURS

CASES: list[tuple[Action, ClusterView, Standing | WriteFault]] = [
    (Submit("p1", "#!", 1, 1), view(), DONE),
    (Submit("p", "#!", 1, 1), view(), OPEN),
    (Submit("p1", "#!", 1, 1), view(comment="mine forestall:p1"), OPEN),
    (Requeue("q1", 1, 0), view(**RUNS), OPEN),
    (Requeue("q1", 1, 0), view(restarts=1, **RUNS), DONE),
    (Requeue("q1", 1, 1), view(restarts=1), REFUSED),
    (Requeue("q1", 1, 0), view(comment="", **RUNS), NOT_OURS),
    (Requeue("q1", 1, 0), view(array=1, **RUNS), REFUSED),
    (Requeue("q1", 2, 0), view(), WriteFault.UNKNOWN_ID),
    (StartNow("w1", 1), view(restarts=1, reason="BeginTime"), OPEN),
    (StartNow("w1", 1), view(reason="BeginTime"), DONE),  # the owner's own wish
    (StartNow("w1", 1), view(restarts=1, **RUNS), DONE),
    (Hold("h1", 1), view(), OPEN),
    (Hold("h1", 1), view(priority=0, note="forestall:hold=h1 forestall:act=h1"), DONE),
    (Hold("h1", 1), view(priority=0), NOT_OURS),
    (Hold("h1", 1), view(priority=0, note="forestall:hold=h2 forestall:act=h2"), NOT_OURS),
    (Hold("h1", 1), view(**RUNS), REFUSED),
    (Release("r1", 1, "h1"), view(), DONE),
    (Release("r1", 1, "h1"), view(priority=0, note="forestall:hold=h1 forestall:act=e1"), OPEN),
    (Release("r1", 1, "h1"), view(priority=0, note="forestall:act=r1?"), OPEN),
    (Release("r1", 1, "h1"), view(priority=0, note="forestall:act=r1"), NOT_OURS),
    (Release("r1", 1, "h1"), view(reason="JobHeldUser"), NOT_OURS),
    (SignalJob("s1", 1, "USR1"), view(**RUNS), OPEN),
    (SignalJob("s1", 1, "USR1"), view(note="forestall:act=s1", **RUNS), DONE),
    (SignalJob("s1", 1, "USR1"), view(note="forestall:act=s1?", **RUNS), UNKNOWN),
    (SignalJob("s1", 1, "USR1"), view(), REFUSED),
    (Exclude("e1", 1, ("n1",)), view(), OPEN),
    (Exclude("e1", 1, ("n1",)), view(excluded=("n2", "n1")), DONE),
    (Exclude("e1", 1, ("n1",)), view(**RUNS), REFUSED),
    (DrainNode("d1", "n1", "x"), view(), OPEN),
    (DrainNode("d1", "n1", "x"), view(drain("forestall: x [d1]")), DONE),
    (DrainNode("d1", "n1", "x"), view(drain("forestall: x [d2]")), NOT_OURS),
    (DrainNode("d1", "n1", "x"), view(drain("bad fan")), NOT_OURS),
    (DrainNode("d1", "n1", "x"), view({"state": "DOWN"}), NOT_OURS),
    (DrainNode("d1", "n1", "x"), view({"reason": "watch this one"}), NOT_OURS),
    (DrainNode("d1", "n2", "x"), view(), WriteFault.UNKNOWN_ID),
    (ResumeNode("r1", "n1", "d1"), view(drain("forestall: x [d1]")), OPEN),
    (ResumeNode("r1", "n1", "d1"), view(drain("forestall: x [d1] : reboot complete")), OPEN),
    (ResumeNode("r1", "n1", "d1"), view(drain("forestall: x [d1] RT 4711")), NOT_OURS),
    (ResumeNode("r1", "n1", "d1"), view({"flags": ("DRAIN",)}), NOT_OURS),
    (ResumeNode("r1", "n1", "d1"), view(), DONE),
    (RebootNode("b1", "n1", "d1", "x"), view(drain("forestall: x [d1]")), OPEN),
    (
        RebootNode("b1", "n1", "d1", "x"),
        view(drain("forestall: x [b1] : reboot issued")),
        UNDER_WAY,
    ),
    (
        RebootNode("b1", "n1", "d1", "x"),
        view(drain("forestall: x [b1] : reboot timed out")),
        REFUSED,
    ),
    (RebootNode("b1", "n1", "d1", "x"), view(drain("Not responding")), NOT_OURS),
    (RebootNode("b1", "n1", "d1", "x"), view(), DONE),
    (RebootNode("b1", "n1", "d1", "x", 100), view({"booted": 101}), DONE),
    (RebootNode("b1", "n1", "d1", "x", 100), view({"booted": 100}), REFUSED),
    (RebootNode("b1", "n1", "d1", "x", 100), view({"booted": None}), REFUSED),
    (Requeue("q1", 1, 0, ("n1",)), view(restarts=1), DONE),
    (Requeue("q1", 1, 0, ("n1",)), view(restarts=1, note="forestall:act=q1"), DONE),
    (
        Requeue("q1", 1, 0, ("n1",)),
        view(restarts=1, note="forestall:hold=q1 forestall:act=q1?"),
        REFUSED,
    ),
    (
        Requeue("q1", 1, 0, ("n1",)),
        view(restarts=1, priority=0, note="forestall:hold=q1 forestall:act=q1?"),
        OPEN,
    ),
    (
        StartNow("s1", 1),
        view(restarts=1, priority=0, note="forestall:hold=q1 forestall:act=q1?"),
        OPEN,
    ),
]


@pytest.mark.parametrize(("action", "seen", "outcome"), CASES)
def test_how_it_stands(action: Action, seen: ClusterView, outcome: Standing | WriteFault) -> None:
    if isinstance(outcome, Standing):
        assert standing(action, seen) is outcome
        return
    with pytest.raises(WriteError) as raised:
        standing(action, seen)
    assert raised.value.fault is outcome


def test_a_job_that_ended_is_found_in_the_books() -> None:
    run = ClusterRun(9, "ada", "COMPLETED", 1, 2, 3, ("n1",), "forestall:p9 words")
    seen = ClusterView({}, {}, {}, (run,))
    assert standing(Submit("p9", "#!", 1, 1), seen) is DONE
    assert perform(Submit("p9", "#!", 1, 1), lambda _: seen, lambda *_: 77).job == 9


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (LookFault.UNREACHABLE, WriteFault.UNREACHABLE),
        (LookFault.CUT, WriteFault.UNREACHABLE),
        (LookFault.NOT_PERMITTED, WriteFault.NOT_PERMITTED),
        (LookFault.UNAVAILABLE, WriteFault.UNSUPPORTED),
    ],
)
def test_nothing_is_done_on_a_look_that_failed(fault: LookFault, kind: WriteFault) -> None:
    def fail(_: Action) -> ClusterView:
        raise LookError(fault, "queue", "x")

    def never(*_: object) -> int:
        raise AssertionError

    with pytest.raises(WriteError) as raised:
        perform(Hold("h1", 1), fail, never)
    assert raised.value.fault is kind


def test_a_persons_drain_after_ours_is_theirs() -> None:
    node = drained(fresh("n1", 0), "forestall: x [d1]", "forestall", 5)
    theirs = drained(node, "bad fan", "root", 6)
    seen = ClusterView({}, {"n1": theirs}, {})
    with pytest.raises(WriteError, match="IDLE\\+DRAIN with the reason 'bad fan'"):
        standing(ResumeNode("r1", "n1", "d1"), seen)
