"""Expedited requeues of the modelled cluster, as Slurm 25.11 has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.slurm.cluster.actions import Hold, Requeue, StartNow, Submit
from forestall.slurm.simulation.cluster import Killed, ModelCluster
from forestall.slurm.simulation.settings import Mishaps, WorldSettings
from forestall.slurm.simulation.world import SlurmWorld

QUIET = WorldSettings(nodes=4, load=0, failure=0, detect=10)


def begun(nodes: int, requeue: str = "expedite", **changed: float) -> tuple[SlurmWorld, int]:
    """Return a world with a job that runs on its first nodes."""
    world = SlurmWorld(replace(QUIET, **changed), 1)  # type: ignore[arg-type]
    job = world.apply(Submit("p1", "#!/bin/sh\n", nodes, 36_000, requeue=requeue))
    assert world.state.jobs[job].state == "RUNNING"
    return world, job


def lose(world: SlurmWorld, name: str, seconds: int = 11) -> None:
    world._failure(name)
    world.advance(world.state.now + seconds)
    assert world.problems() == []


def test_it_starts_again_at_once_on_the_nodes_that_are_left() -> None:
    world, job = begun(2)
    lose(world, "n1")
    told = world.state.jobs[job]
    assert (told.state, told.restarts) == ("RUNNING", 1)
    assert "n2" in told.nodes
    assert "n1" not in told.nodes
    assert world.state.happened["restarted at once"] == 1


def test_without_it_slurm_waits_for_credentials() -> None:
    world, job = begun(2, "yes")
    lose(world, "n1")
    assert world.state.jobs[job].reason == "BeginTime"
    world.advance(world.state.now + 120)
    assert world.state.jobs[job].state == "RUNNING"


def test_its_nodes_are_kept_from_others_until_it_can_start() -> None:
    world, job = begun(4)
    lose(world, "n1")
    told = world.state.jobs[job]
    assert (told.state, told.flags, told.nodes) == ("PENDING", ("EXPEDITING",), ("n2", "n3", "n4"))
    other = world.apply(Submit("p2", "#!/bin/sh\n", 1, 600))
    lose(world, "n2")
    assert world.state.jobs[job].nodes == ("n3", "n4")
    assert world.state.jobs[other].state == "PENDING"
    for name in ("n1", "n2"):
        world._return(name)
    world.advance(world.state.now + 1)
    assert world.state.jobs[job].state == "RUNNING"
    assert world.problems() == []


def test_held_back_it_keeps_no_nodes() -> None:
    world, job = begun(4)
    lose(world, "n1")
    other = world.apply(Submit("p2", "#!/bin/sh\n", 1, 600))
    world.apply(Hold("h1", job))
    assert world.state.jobs[other].state == "RUNNING"
    assert world.problems() == []


def test_what_fails_while_the_controller_is_away_is_queued_again_when_it_is_back() -> None:
    world, job = begun(2)
    world.state.answers = False
    lose(world, "n1", 400)
    assert world.state.jobs[job].state == "RUNNING"  # as it was when somebody last knew
    world._again(None)
    world.advance(world.state.now + 11)
    assert world.state.jobs[job].restarts == 1
    assert world.state.jobs[job].state == "RUNNING"


def test_a_node_that_was_down_and_up_again_meanwhile_has_lost_its_job() -> None:
    world, job = begun(1)
    world.state.answers = False
    world._failure("n1")
    world._return("n1")
    assert "n1" in world.state.dead  # nobody is there whom it could tell
    world.state.answers = True
    world._return("n1")
    world.advance(world.state.now + 1)
    assert world.state.jobs[job].restarts == 1
    assert world.problems() == []


@pytest.mark.parametrize("requeue", ["yes", "expedite"])
def test_a_script_that_fails(requeue: str) -> None:
    """With an Epilog that finds nothing the job is held; with one that does, it starts elsewhere;
    and without --requeue=expedite it has failed."""
    found = set()
    for seed in range(12):
        world = SlurmWorld(replace(QUIET, hole=1), seed)
        job = world.apply(Submit("p1", "#!/bin/sh\n", 1, 36_000, requeue=requeue))
        world.advance(world.state.now + 5)
        told = world.state.jobs[job]
        found.add((told.state, told.reason, world.state.nodes["n1"].reason))
        assert world.problems() == []
    held, elsewhere = ("PENDING", "JobHeldUser", ""), ("RUNNING", "None", "Epilog error")
    assert found == ({held, elsewhere} if requeue == "expedite" else {("FAILED", "None", "")})


def test_a_requeue_elsewhere_that_was_left_half_way_goes_on() -> None:
    """Who sends a job elsewhere dies with it held: asked again, or told to start, it goes."""
    for again in (Requeue("r1", 1, 0, ("n1",)), StartNow("s1", 1)):
        world, job = begun(1, "yes", delay=0)
        assert world.state.jobs[job].nodes == ("n1",)
        world.apply(Requeue("r1", job, 0), held=True)
        assert world.state.jobs[job].mark.hold == "r1"
        world.advance(world.state.now + 600)
        assert world.state.jobs[job].state == "PENDING"
        assert not ModelCluster(world).act(again).already
        assert world.state.jobs[job].state == "RUNNING"
        assert world.state.jobs[job].mark.hold == ""


def test_a_third_of_deaths_leave_it_so() -> None:
    held = 0
    for seed in range(12):
        world = SlurmWorld(QUIET, seed)
        job = world.apply(Submit("p1", "#!/bin/sh\n", 1, 36_000))
        cluster = ModelCluster(world, Mishaps(killed=1.0))
        with pytest.raises(Killed):
            cluster.act(Requeue("r1", job, 0, world.state.jobs[job].nodes))
        held += world.state.jobs[job].held
    assert 0 < held < 12
