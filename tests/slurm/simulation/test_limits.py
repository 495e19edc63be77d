"""The partition of the modelled cluster: jobs that break its limits wait, or are refused."""

from __future__ import annotations

import pytest

from forestall.core.model.faults import WriteError, WriteFault
from forestall.slurm.cluster.actions import Submit
from forestall.slurm.cluster.nouns import ClusterPartition
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.limits import DOWN, NODES, TIME, broken_limit
from forestall.slurm.simulation.settings import WorldSettings, rough
from forestall.slurm.simulation.world import SlurmWorld

OPEN = ClusterPartition("main", default=True)
QUIET = WorldSettings(nodes=4, load=0, failure=0)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (OPEN, ""),
        (OPEN._replace(longest=600, most=2, least=2), ""),
        (OPEN._replace(longest=599), TIME),
        (OPEN._replace(most=1), NODES),
        (OPEN._replace(least=3), NODES),
        (OPEN._replace(is_up=False), DOWN),
    ],
)
def test_what_stops_a_job(part: ClusterPartition, reason: str) -> None:
    assert broken_limit(part, 2, 600) == reason
    world = SlurmWorld(QUIET, 1)
    world.state.partition = part
    job = world.apply(Submit("p1", "#!/bin/sh\n", 2, 600))
    told = world.state.jobs[job]
    assert (told.state, told.reason) == (("PENDING", reason) if reason else ("RUNNING", "None"))
    world.state.partition = OPEN._replace(most=2)
    world.advance(world.state.now + 1)
    assert world.state.jobs[job].state == "RUNNING"


def test_jobs_that_run_go_on_and_the_next_ones_wait() -> None:
    world = SlurmWorld(QUIET, 1)
    first = world.apply(Submit("p1", "#!/bin/sh\n", 1, 600))
    world.state.partition = OPEN._replace(is_up=False)
    second = world.apply(Submit("p2", "#!/bin/sh\n", 1, 600))
    world.advance(world.state.now + 10)
    assert world.state.jobs[first].state == "RUNNING"
    assert world.state.jobs[second].reason == DOWN


def test_where_limits_are_enforced_jobs_are_refused_and_one_that_is_down_takes_them() -> None:
    world = SlurmWorld(WorldSettings(nodes=4, load=0, failure=0, refuses=True), 1)
    world.state.partition = OPEN._replace(most=1)
    with pytest.raises(WriteError) as raised:
        world.apply(Submit("p1", "#!/bin/sh\n", 2, 600))
    assert raised.value.fault is WriteFault.REFUSED
    world.state.partition = OPEN._replace(is_up=False)
    assert world.apply(Submit("p2", "#!/bin/sh\n", 2, 600))


def test_operators_change_limits_and_looks_show_them() -> None:
    settings = WorldSettings(nodes=4, limits=600.0)
    world = SlurmWorld(settings, 3)
    cluster, seen = ModelCluster(world), set[ClusterPartition]()
    for _ in range(200):
        world.advance(world.state.now + 60)
        part = cluster.look().partitions["main"]
        assert part == world.state.partition
        for job in world.state.jobs.values():
            stopped = broken_limit(part, job.node_count, job.limit)
            assert not job.waits or not stopped or job.reason == stopped
        seen.add(part)
    assert OPEN in seen
    assert {True, False} == {one.is_up for one in seen}
    assert any(one.longest for one in seen)
    assert any(one.most for one in seen)
    assert any(one.least for one in seen)
    assert rough(settings).limits == 600.0
