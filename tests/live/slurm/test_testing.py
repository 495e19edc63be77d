"""A test job before a node returns, on modelled clusters: it ends well, badly, never; and we die at
each of its steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.live.intents import Action, Intent
from forestall.core.model.marks import reservation_name
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.rules.rules import rule_of
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.testing import MARGIN, CheckedReturns, NodeTest
from forestall.slurm.cluster.actions import DrainNode, ReserveNode, ResumeNode, Submit
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld
from live.rules.world import Ruled, SaidHealth

QUIET = WorldSettings(nodes=8, load=0.0, failure=0.0)
TEST = NodeTest("#!/bin/sh\nexec ./well\n", 300, "forestall")


def test_a_node_returns_only_after_its_test_ended_well() -> None:
    health = SaidHealth({"n3": "no fan"})
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=0), health=health, test=TEST)
    one.play(600)
    assert one.deeds(DrainNode) == ["n3"]
    health.said = {"n3": "ok"}
    one.play(2400)
    assert one.deeds(ResumeNode) == ["n3"]
    [run] = [run for run in one.world.state.runs if run.nodes == ("n3",)]
    assert run.state == "COMPLETED"
    assert one.world.state.nodes["n3"].in_service
    assert one.world.state.reservations == {}
    assert one.controller.executor.waiting() == one.controller.executor.half_way() == []


def test_one_that_fails_is_drained_again_and_left_to_people() -> None:
    health = SaidHealth({"n3": "no fan"})
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=0), health=health, test=TEST)
    one.play(600)
    one.world.state.holes.add("n3")
    health.said = {"n3": "ok"}
    one.play(7200)
    node = one.world.state.nodes["n3"]
    assert node.reason.startswith("forestall: test: the job ended ")
    assert rule_of(node.reason) == ""
    assert one.deeds(ResumeNode) == ["n3"]  # once
    assert one.world.state.reservations == {}


def test_one_that_works_still_is_not_tested() -> None:
    health = SaidHealth()
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=0), health=health, test=TEST)
    one.cluster.act(Submit("own", "#!/bin/sh\n", 8, 7200, user="ann"))
    one.play(120)
    health.said = {"n3": "no fan"}
    one.play(120)
    health.said = {"n3": "ok"}
    [job] = one.world.state.jobs.values()
    while one.world.state.jobs.get(job.id, job).state == "RUNNING":
        assert one.deeds(ResumeNode) == []
        one.play(60)
    one.play(1200)
    assert one.deeds(ResumeNode) == ["n3"]
    assert one.world.state.nodes["n3"].in_service


class Drained:
    """A node that we drained, and the intent to bring it back."""

    def __init__(self, time: int = 300) -> None:
        self.world = SlurmWorld(QUIET, 1)
        self.cluster = ModelCluster(self.world)
        now = self.world.state.now
        self.cluster.act(DrainNode("d1", "n3", "health: no fan"))
        state = f"drained by=d1 boot={self.world.state.nodes['n3'].booted or 0}"
        self.intent = Intent(Action.RESUME, "n3", now, now + 60, state, "health: it has rested")
        self.returns = CheckedReturns(
            self.cluster, replace(TEST, time=time), lambda: self.world.state.now
        )
        self.actor = ClusterActor(self.cluster, lambda _: "", returns=self.returns)

    @property
    def kept(self) -> bool:
        return reservation_name(self.intent.id) in self.world.state.reservations

    def steps(self) -> list[ReserveNode | ResumeNode | Submit]:
        back = ResumeNode(self.intent.id, "n3", "d1")
        now = self.world.state.now
        return [
            ReserveNode(self.intent.id, "n3", now, 900, ("forestall",)), back,
            self.returns._job(self.intent),
        ]  # fmt: skip


def test_until_it_has_ended_nobody_knows() -> None:
    one = Drained()
    assert one.actor.effect_of(one.intent) == Effect.NOT_DONE
    one.actor.carry_out(one.intent)
    assert one.actor.effect_of(one.intent) == Effect.UNKNOWN
    assert one.kept
    one.world.advance(one.world.state.now + 400)
    assert one.actor.effect_of(one.intent) == Effect.DONE
    assert not one.kept
    assert one.actor.effect_of(one.intent) == Effect.DONE  # and again


@pytest.mark.parametrize("done", [1, 2])
def test_after_a_death_half_way_the_node_stays_out(done: int) -> None:
    one = Drained()
    for step in one.steps()[:done]:
        one.cluster.act(step)
    assert one.actor.effect_of(one.intent) == Effect.NOT_DONE
    assert not one.kept
    node = one.world.state.nodes["n3"]
    assert not node.in_service
    assert rule_of(node.reason) == "health"  # which goes on with it
    assert one.actor.effect_of(one.intent) == Effect.NOT_DONE


def test_after_a_death_at_the_end_the_test_goes_on() -> None:
    one = Drained()
    for step in one.steps():
        one.cluster.act(step)
    assert one.actor.effect_of(one.intent) == Effect.UNKNOWN
    one.world.advance(one.world.state.now + 400)
    assert one.actor.effect_of(one.intent) == Effect.DONE


def test_a_job_that_never_begins_is_not_waited_for_longer() -> None:
    one = Drained()
    one.actor.carry_out(one.intent)
    [job] = [job for job in one.world.state.jobs.values() if job.name == "forestall-test"]
    one.world.state.job(job._replace(state="PENDING", priority=0))
    one.returns._clock = lambda: one.intent.decided + 300 + MARGIN
    assert one.actor.effect_of(one.intent) == Effect.NOT_DONE
    assert one.world.state.nodes["n3"].reason.startswith("forestall: test: the job did not end")


def test_a_node_that_somebody_keeps_is_not_tested() -> None:
    one = Drained()
    one.cluster.act(ReserveNode("other", "n3", one.world.state.now, 900, ("ann",)))
    with pytest.raises(NotCarriedOutError, match="busy"):
        one.actor.carry_out(one.intent)
    assert not one.world.state.nodes["n3"].in_service


def test_what_is_done_half_is_not_said_to_be_refused() -> None:
    one = Drained()
    act = one.cluster.act

    def refuses(action: object) -> object:
        if isinstance(action, Submit):
            raise WriteError(WriteFault.REFUSED, action.id, "no such account")
        return act(action)  # type: ignore[arg-type]

    one.cluster.act = refuses  # type: ignore[method-assign, assignment]
    with pytest.raises(WriteError, match="no such account") as told:
        one.actor.carry_out(one.intent)
    assert told.value.fault is WriteFault.AMBIGUOUS
    assert one.actor.effect_of(one.intent) == Effect.NOT_DONE
    assert not one.world.state.nodes["n3"].in_service
