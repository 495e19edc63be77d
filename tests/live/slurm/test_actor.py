"""An intent becomes one action, and what went wrong becomes what the executor knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.live.intents import Action, Intent
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.slurm.actor import ClusterActor
from forestall.slurm.cluster.actions import Action as ClusterAction
from forestall.slurm.cluster.actions import ActionResult as Done
from forestall.slurm.cluster.actions import (
    DrainNode,
    Exclude,
    RebootNode,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Unreserve,
)
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.cluster.standing import Standing


class Cluster:
    """Says what it is told to."""

    def __init__(self, fault: WriteFault | LookFault | None = None) -> None:
        self.fault, self.done = fault, list[ClusterAction]()

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        raise LookError(LookFault.LATE, "queue", "no look")

    def act(self, action: ClusterAction) -> Done:
        if isinstance(self.fault, WriteFault):
            raise WriteError(self.fault, action.id, "no")
        self.done.append(action)
        return Done(action.id, False)

    def job_state(self, action: ClusterAction) -> str:
        raise LookError(LookFault.LATE, "queue", f"no look for {action.id}")

    def find(self, action: ClusterAction) -> Standing:
        if isinstance(self.fault, LookFault):
            raise LookError(self.fault, "queue", "no")
        if self.fault is not None:
            raise WriteError(self.fault, action.id, "no")
        return Standing.DONE


NUMBERS = {"restarts": 2.0, "start": 500.0, "time": 60.0, "avoid n3": 9.0, "avoid n1": 8.0}


def intent(action: Action, target: str, state: str = "s", numbers: object = None) -> Intent:
    told = NUMBERS if numbers is None else {}
    return Intent(action, target, 1, 2, state, "risk", told, size=4, promise="p1")


def carried_out(one: Intent) -> list[ClusterAction]:
    cluster = Cluster()
    ClusterActor(cluster, {"p1": "ann"}.__getitem__).carry_out(one)
    return cluster.done


@pytest.mark.parametrize(
    ("action", "target", "made"),
    [
        (Action.REQUEUE, "17", lambda name: Requeue(name, 17, 2, ("n1", "n3"))),
        (Action.START, "17", lambda name: StartNow(name, 17)),
        (Action.EXCLUDE, "17", lambda name: Exclude(name, 17, ("n1", "n3"))),
        (Action.SIGNAL, "17", lambda name: SignalJob(name, 17, "USR1")),
        (Action.RELEASE, "forestall_p1", lambda name: Unreserve(name, "p1")),
        (Action.DRAIN, "n1", lambda name: DrainNode(name, "n1", "risk")),
    ],
)
def test_each_intent_is_one_action_with_its_id(
    action: Action, target: str, made: Callable[[str], ClusterAction]
) -> None:
    one = intent(action, target)
    assert carried_out(one)[-1] == made(one.id)


def test_a_reservation_is_named_by_its_promise_and_is_its_owners() -> None:
    [made] = carried_out(intent(Action.RESERVE, "forestall_p1"))
    assert made == Reserve("p1", 500, 60, 4, users=("ann",))


def test_a_reservation_has_the_features_of_its_promise() -> None:
    cluster = Cluster()
    actor = ClusterActor(cluster, {"p1": "ann"}.__getitem__, features_of={"p1": "ib"}.__getitem__)
    actor.carry_out(intent(Action.RESERVE, "forestall_p1"))
    assert cluster.done == [Reserve("p1", 500, 60, 4, users=("ann",), features="ib")]


def test_what_is_undone_is_the_drain_that_the_state_names() -> None:
    for action, kind in ((Action.RESUME, ResumeNode), (Action.REBOOT, RebootNode)):
        [made] = carried_out(intent(action, "n1", "drained by=d1 boot=7"))
        assert isinstance(made, kind)
        assert made.of == "d1"


def test_a_start_keeps_off_risky_nodes_first() -> None:
    kinds = [type(one) for one in carried_out(intent(Action.START, "17"))]
    assert kinds == [Exclude, StartNow]


@pytest.mark.parametrize("fault", list(WriteFault))
def test_only_what_is_certain_is_called_not_carried_out(fault: WriteFault) -> None:
    actor = ClusterActor(Cluster(fault), lambda _: "ann")
    expected = WriteError if fault is WriteFault.AMBIGUOUS else NotCarriedOutError
    with pytest.raises(expected):
        actor.carry_out(intent(Action.REQUEUE, "17"))


def test_an_intent_without_its_figures_is_not_carried_out() -> None:
    with pytest.raises(NotCarriedOutError, match="restarts among them"):
        carried_out(intent(Action.REQUEUE, "17", numbers=()))


def test_effects() -> None:
    one = intent(Action.REQUEUE, "17")
    assert ClusterActor(Cluster(), str).effect_of(one) == Effect.DONE
    assert ClusterActor(Cluster(WriteFault.NOT_OURS), str).effect_of(one) == Effect.NOT_DONE
    with pytest.raises(LookError):
        ClusterActor(Cluster(LookFault.LATE), str).effect_of(one)
