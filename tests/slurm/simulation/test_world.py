"""The model of Slurm: the same seed, the same world; nothing given twice, whatever goes wrong."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.marks import reservation_name
from forestall.slurm.cluster.actions import (
    Action,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.cluster.rights import Right
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.simulation.chance import Chance
from forestall.slurm.simulation.cluster import Killed, ModelCluster
from forestall.slurm.simulation.settings import CALM, ROUGH, Mishaps, WorldSettings, rough
from forestall.slurm.simulation.world import SlurmWorld

STEP = 30
QUIET = WorldSettings(nodes=4, load=0, failure=0)


class Monkey:
    """Acts at random on what it last saw: no controller, but one that tries everything."""

    def __init__(self, seed: int, mishaps: Mishaps = ROUGH, nodes: int = 8) -> None:
        settings = replace(rough(WorldSettings(nodes=nodes)), limits=3000.0, expedited=0.3)
        self.world = SlurmWorld(settings, seed)
        self.cluster = ModelCluster(self.world, mishaps)
        self.chance = Chance(seed, "monkey")
        self.before: ClusterSnapshot | None = None
        self.told: Counter[str] = Counter()

    def step(self, number: int) -> None:
        self.world.advance(self.world.state.now + STEP)
        try:
            self.before = self.cluster.look(self.before)
        except LookError as error:
            self.told[f"look {error.fault}"] += 1
            if error.fault in (LookFault.BACKWARDS, LookFault.CLOCKS):
                self.before = None
        if self.before is not None and number % 3 == 0:
            self.act(self.choice(f"m{number}", self.before))

    def act(self, action: Action) -> None:
        try:
            self.told[type(action).__name__] += not self.cluster.act(action).already
        except WriteError as error:
            self.told[f"act {error.fault}"] += 1
        except Killed:
            self.told["killed"] += 1
            self.before = None

    def choice(self, identity: str, seen: ClusterSnapshot) -> Action:
        now, chance = self.world.state.now, self.chance
        node = chance.one_of(list(seen.nodes.values()))
        acts: list[Action] = [
            Submit(
                identity,
                "#!/bin/sh\n",
                1 + chance.below(3),
                1800,
                requeue=chance.one_of(("yes", "expedite")),
            ),
            Reserve(identity, now + 600, 1800, 1 + chance.below(3), ("u",)),
            DrainNode(identity, node.name, "risk"),
        ]
        if node.ours:
            acts += 2 * [ResumeNode(identity, node.name, node.ours)]
            acts += [RebootNode(identity, node.name, node.ours, "sick")]
        for name in seen.reservations:
            if name.startswith("forestall_"):
                acts.append(Unreserve(identity, name.removeprefix("forestall_")))
                acts.append(Submit(identity, "#!/bin/sh\n", 1, 1800, reservation=name))
        ours = [job for job in seen.jobs.values() if job.mark.promise]
        if ours:
            job = chance.one_of(ours)
            acts += [
                Requeue(identity, job.id, job.restarts), Hold(identity, job.id),
                Release(identity, job.id, job.mark.hold or "none"), StartNow(identity, job.id),
                SignalJob(identity, job.id, "USR1"), Exclude(identity, job.id, (node.name,)),
            ]  # fmt: skip
        return chance.one_of(acts)


def play(seed: int, steps: int) -> Monkey:
    """Play a world and check it after each step; says the seed and its story where it breaks."""
    monkey = Monkey(seed, nodes=2 + seed % 9)
    for number in range(steps):
        monkey.step(number)
        found = monkey.world.problems()
        state = monkey.world.state
        assert not found, (seed, number, found, state.acts[-5:], state.deeds[-5:])
    return monkey


def test_nothing_is_given_twice_and_nobody_is_hurt() -> None:
    """Some hundred worlds of some hundred steps, and all mishaps in them."""
    told: Counter[str] = Counter()
    acts: Counter[str] = Counter()
    for seed in range(150):
        monkey = play(seed, 200)
        told += monkey.told
        acts.update(act.what for act in monkey.world.state.acts)
    faults = {f"look {one}" for one in LookFault} - {
        f"look {one}" for one in (
            LookFault.NOT_PERMITTED, LookFault.UNREADABLE, LookFault.TOO_LARGE,
            LookFault.UNAVAILABLE, LookFault.FAILED,
        )
    }  # fmt: skip
    kinds = {
        "Submit", "Reserve", "Unreserve", "Requeue", "StartNow", "Hold", "Release", "SignalJob",
        "Exclude", "DrainNode", "ResumeNode", "RebootNode", "killed",
    }  # fmt: skip
    assert not (faults | kinds) - set(+told)
    assert len(acts) == 10, acts


@pytest.mark.slow
def test_more_worlds() -> None:
    for seed in range(1000, 2500):
        play(seed, 200)


def test_no_action_takes_effect_twice() -> None:
    """Not even one that is asked for again and again while replies are lost."""
    for seed in range(40):
        monkey = Monkey(seed)
        asked: list[Action] = []
        for number in range(120):
            monkey.step(number)
            if monkey.before is not None and number % 5 == 0:
                asked.append(monkey.choice(f"again{number}", monkey.before))
            for action in asked[-3:]:
                monkey.act(action)
        done = Counter(deed.action.id for deed in monkey.world.state.deeds)
        lost = {act.what for act in monkey.world.state.acts}
        twice = {
            action.id for action in asked
            if done[action.id] > 1 and isinstance(action, Submit | SignalJob)
        }  # fmt: skip
        tags = Counter(
            job.mark.promise for job in monkey.world.state.jobs.values() if job.mark.promise
        )
        assert not {tag: n for tag, n in tags.items() if n > 1 and "again" in tag}, (seed, lost)
        restarts = monkey.world.settings.killed and monkey.world.settings.restart
        assert restarts or not twice


def story(seed: int) -> list[object]:
    monkey = Monkey(seed)
    for number in range(150):
        monkey.step(number)
    state = monkey.world.state
    return [state.jobs, state.nodes, state.reservations, state.runs, state.deeds, state.acts]


def test_the_same_seed_gives_the_same_world() -> None:
    assert story(7) == story(7)
    assert story(7) != story(8)


def test_looks_do_not_change_the_world() -> None:
    worlds = [SlurmWorld(rough(WorldSettings()), 3) for _ in range(2)]
    watched = ModelCluster(worlds[0], ROUGH)
    for _ in range(200):
        for world in worlds:
            world.advance(world.state.now + STEP)
        with suppress(LookError):
            watched.look()
    assert worlds[0].state.jobs == worlds[1].state.jobs
    assert worlds[0].state.runs == worlds[1].state.runs


def test_steps_of_any_length_give_the_same_world() -> None:
    worlds = [SlurmWorld(rough(WorldSettings()), 5) for _ in range(2)]
    end = worlds[0].state.now + 20_000
    for now in range(worlds[0].state.now, end + 1, 7):
        worlds[0].advance(now)
    worlds[0].advance(end)
    worlds[1].advance(end)
    assert worlds[0].state.jobs == worlds[1].state.jobs
    assert worlds[0].state.nodes == worlds[1].state.nodes
    assert worlds[0].state.runs == worlds[1].state.runs


# What happens to one thing -----------------------------------------------------------------------


def quiet(mishaps: Mishaps = CALM, **other: float) -> tuple[SlurmWorld, ModelCluster]:
    settings = WorldSettings(**{"nodes": 4, "load": 0, "failure": 0, **other})  # type: ignore[arg-type]
    world = SlurmWorld(settings, 1)
    return world, ModelCluster(world, mishaps)


def test_a_killed_controller_loses_the_last_jobs_and_gives_their_ids_again() -> None:
    world, cluster = quiet(unsaved=5)
    old = cluster.act(Submit("old", "#!/bin/sh\n", 1, 3600)).job
    world.advance(world.state.now + 60)
    lost = cluster.act(Submit("lost", "#!/bin/sh\n", 1, 3600)).job
    node = world.state.jobs[lost].nodes[0]
    world._lose(5)
    assert set(world.state.jobs) == {old}
    assert cluster.find(Submit("lost", "#!/bin/sh\n", 1, 3600)) is Standing.OPEN
    assert world.state.nodes[node].reason == "Duplicate jobid"
    assert not world.problems()
    assert cluster.act(Submit("new", "#!/bin/sh\n", 1, 3600)).job == lost


def test_a_dead_node_is_seen_after_a_while_and_its_job_queued_again() -> None:
    world, cluster = quiet(repair=100_000)
    number = cluster.act(Submit("p1", "#!/bin/sh\n", 1, 36_000)).job
    (name,) = world.state.jobs[number].nodes
    world._failure(name)
    world.advance(world.state.now + 9)
    assert cluster.look().nodes[name].in_service
    world.advance(world.state.now + 1)
    snapshot = cluster.look()
    job = snapshot.jobs[number]
    assert snapshot.nodes[name].reason == "Not responding"
    assert (job.state, job.reason, job.restarts) == ("PENDING", "BeginTime", 1)
    assert [run.state for run in snapshot.runs if run.job == number] == ["NODE_FAIL", "PENDING"]
    world.advance(world.state.now + 120)
    assert name not in cluster.look().jobs[number].nodes
    assert cluster.look().jobs[number].state == "RUNNING"


def test_a_checkpoint_saves_what_was_done() -> None:
    world, cluster = quiet()
    number = cluster.act(Submit("p1", "#!/bin/sh\n", 1, 36_000)).job
    needed = world.state.work[number].length
    world.advance(world.state.now + 100)
    cluster.act(SignalJob("s1", number, "USR1"))
    world.advance(world.state.now + 50)
    cluster.act(Requeue("q1", number, 0))
    assert world.state.work[number].length == max(needed - 100, 1)


def test_a_reservation_keeps_others_out_and_lets_its_job_in() -> None:
    world, cluster = quiet()
    now = world.state.now
    cluster.act(Reserve("r1", now + 600, 3600, 4, ("u",)))
    other = cluster.act(Submit("p1", "#!/bin/sh\n", 1, 1200)).job
    short = cluster.act(Submit("p2", "#!/bin/sh\n", 1, 600)).job
    inside = cluster.act(
        Submit("p3", "#!/bin/sh\n", 1, 1200, reservation=reservation_name("r1"))
    ).job
    states = {number: cluster.look().jobs[number].state for number in (other, short, inside)}
    assert states == {other: "PENDING", short: "RUNNING", inside: "RUNNING"}
    world.advance(now + 600 + 3601)
    assert not cluster.look().reservations
    assert not any(job.waits for job in cluster.look().jobs.values())


def test_no_job_is_delayed_by_one_that_is_backfilled() -> None:
    _, cluster = quiet()
    first = cluster.act(Submit("p1", "#!/bin/sh\n", 3, 3600)).job
    wide = cluster.act(Submit("p2", "#!/bin/sh\n", 4, 3600)).job
    long = cluster.act(Submit("p3", "#!/bin/sh\n", 1, 7200)).job
    short = cluster.act(Submit("p4", "#!/bin/sh\n", 1, 600)).job
    states = [cluster.look().jobs[number].state for number in (first, wide, long, short)]
    assert states == ["RUNNING", "PENDING", "PENDING", "RUNNING"]


def test_a_reboot_waits_for_the_job_and_brings_the_node_back() -> None:
    world, cluster = quiet(reboot=180)
    number = cluster.act(Submit("p1", "#!/bin/sh\n", 1, 600)).job
    (name,) = world.state.jobs[number].nodes
    cluster.act(DrainNode("d1", name, "sick"))
    cluster.act(RebootNode("b1", name, "d1", "sick"))
    world.advance(world.state.now + 30)
    assert cluster.look().jobs[number].state == "RUNNING"
    world.advance(world.state.now + 2000)
    node = cluster.look().nodes[name]
    assert node.in_service
    assert node.booted is not None
    assert node.booted > QUIET.origin


@pytest.mark.parametrize(
    ("mishaps", "fault"),
    [
        (Mishaps(look_late=1), LookFault.LATE), (Mishaps(look_cut=1), LookFault.CUT),
        (Mishaps(look_doubled=1), LookFault.DOUBLED),
        (Mishaps(look_fewer=1), LookFault.FEWER_NODES),
    ],
)  # fmt: skip
def test_looks_that_go_wrong(mishaps: Mishaps, fault: LookFault) -> None:
    world, calm = quiet()
    calm.act(Submit("p1", "#!/bin/sh\n", 1, 600))
    before = calm.look()
    with pytest.raises(LookError) as raised:
        ModelCluster(world, mishaps).look(before)
    assert raised.value.fault is fault


@pytest.mark.parametrize(
    ("mishaps", "after"),
    [(Mishaps(lost=1), Standing.DONE), (Mishaps(unheard=1), Standing.OPEN),
     (Mishaps(late=1), Standing.OPEN)],
)  # fmt: skip
def test_replies_that_do_not_come(mishaps: Mishaps, after: Standing) -> None:
    world, cluster = quiet(mishaps)
    action = Submit("p1", "#!/bin/sh\n", 1, 600)
    with pytest.raises(WriteError) as raised:
        cluster.act(action)
    assert raised.value.fault is WriteFault.AMBIGUOUS
    assert cluster.find(action) is after
    world.advance(world.state.now + 300)
    assert cluster.find(action) is (Standing.OPEN if mishaps.unheard else Standing.DONE)


def test_killed_half_way_through_a_signal() -> None:
    """Before it, half way or after it: what is known of it is true, and it is never repeated."""
    found = set()
    for seed in range(20):
        world = SlurmWorld(QUIET, seed)
        calm = ModelCluster(world)
        number = calm.act(Submit("p1", "#!/bin/sh\n", 1, 36_000)).job
        action = SignalJob("s1", number, "USR1")
        with pytest.raises(Killed):
            ModelCluster(world, Mishaps(killed=1)).act(action)
        found.add(stands := calm.find(action))
        if stands is Standing.UNKNOWN:
            with pytest.raises(WriteError) as raised:
                calm.act(action)
            assert raised.value.fault is WriteFault.AMBIGUOUS
    assert found == {Standing.OPEN, Standing.UNKNOWN, Standing.DONE}


@pytest.mark.parametrize("rights", [Right.USER, Right.OPERATOR])
def test_rights(rights: Right) -> None:
    world, _ = quiet()
    cluster = ModelCluster(world, CALM, rights)
    cluster.act(Submit("p1", "#!/bin/sh\n", 1, 600))
    reserve = Reserve("r1", world.state.now + 600, 600, 1, ("u",))
    for action, allowed in ((reserve, rights > Right.USER), (DrainNode("d1", "n1", "x"), False)):
        if allowed:
            cluster.act(action)
            continue
        with pytest.raises(WriteError) as raised:
            cluster.act(action)
        assert raised.value.fault is WriteFault.NOT_PERMITTED


def test_settings_that_cannot_be() -> None:
    for wrong in (lambda: WorldSettings(nodes=0), lambda: WorldSettings(run=-1),
                  lambda: Mishaps(lost=1.5)):  # fmt: skip
        with pytest.raises(ParameterError):
            wrong()


def test_memory_is_bounded() -> None:
    """What is kept does not grow with time: a month of a small cluster."""
    world = SlurmWorld(rough(WorldSettings(nodes=4)), 1)
    sizes = []
    for day in range(1, 31):
        world.advance(world.settings.origin + day * 86_400)
        state = world.state
        kept = (state.jobs, state.work, state.starts, state.runs, state.due, state.changes)
        sizes.append(sum(len(one) for one in kept))
    assert max(sizes[20:]) < 1.5 * max(sizes[8:20])
