"""What is seen becomes events: nothing lost, nothing invented, whatever the cluster does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forestall.core.model.events import EventKind
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.reconcile import (
    MOST_TASKS,
    UNLIMITED,
    Beliefs,
    Difference,
    reconcile,
    rounded,
)
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterReservation,
    ClusterRun,
    ClusterView,
)
from live.slurm.driving import Driven, driven

NOW = 1_800_000_000


def node(name: str, **changed: Any) -> ClusterNode:
    fresh = ClusterNode(
        name, "IDLE", (), "", "", None, NOW - 900, NOW - 900, 8, 16_000, ("batch",), (), ""
    )
    return fresh._replace(**changed)


def job(number: int, *nodes: str, **changed: Any) -> ClusterJob:
    state = "RUNNING" if nodes else "PENDING"
    fresh = ClusterJob(
        number, "ann", "job", "acct", "batch", "normal", state, (), "Resources" * (not nodes),
        NOW - 100, NOW - 100, NOW - 50 if nodes else None, None, 3600, max(len(nodes), 1), nodes,
        (), "", "", 100, 0, 0, "", "",
    )  # fmt: skip
    return fresh._replace(**changed)


def seen(*jobs: ClusterJob, nodes: tuple[ClusterNode, ...] = (), **more: Any) -> ClusterView:
    there = {f"n{k}": node(f"n{k}") for k in range(4)} | {one.name: one for one in nodes}
    return ClusterView({one.id: one for one in jobs}, there, more.pop("reservations", {}), **more)


def kinds(found: Difference) -> list[tuple[EventKind, int]]:
    return [(event.kind, event.key) for event in found.events]


def told(*looks: ClusterView) -> tuple[Driven, Difference]:
    """Return the engine after these looks, and what the last of them told."""
    first = Driven(looks[0], NOW)
    for k, look in enumerate(looks):
        found = first.tell(look, NOW + 30 * k)
    return first, found


def test_a_job_is_submitted_starts_and_ends() -> None:
    waits, runs, done = job(7), job(7, "n1"), job(7, "n1", state="COMPLETED")
    first, found = told(seen(waits))
    assert kinds(found) == [(EventKind.SUBMITTED, 0)]
    found = first.tell(seen(runs), NOW + 30)
    assert kinds(found) == [(EventKind.STARTED, 0)]
    assert found.events[0].until == NOW - 50 + 3600
    assert found.events[0].nodes.array().tolist() == [1]
    assert first.tell(seen(runs), NOW + 60).events == ()
    assert kinds(first.tell(seen(done), NOW + 90)) == [(EventKind.FINISHED, 0)]
    assert first.engine.job_state(0) == "DONE"


def test_a_job_that_was_queued_again_and_may_not_start_yet_is_not_cancelled() -> None:
    """Slurm lets it wait for two minutes; one that waits for a time that was named is gone."""
    again = {"restarts": 1, "reason": "BeginTime", "submit": NOW, "eligible": NOW + 121}
    first, found = told(seen(job(7, "n1")), seen(job(7, **again)))
    assert kinds(found) == [(EventKind.REQUEUED, 0)]
    assert first.engine.job_state(0) == "WAITING"
    assert kinds(first.tell(seen(job(7, "n2", restarts=1)), NOW + 60)) == [(EventKind.STARTED, 0)]
    _, found = told(seen(job(7, "n1")), seen(job(7, **again | {"eligible": NOW + 3600})))
    assert kinds(found) == [(EventKind.CANCELLED, 0)]
    _, found = told(seen(job(7)), seen(job(7, **again | {"restarts": 0})))
    assert kinds(found) == [(EventKind.CANCELLED, 0)]


@pytest.mark.parametrize("length", [1, 249, 250, 3600, 86_400, UNLIMITED])
def test_rounded_ends_are_later_by_two_percent_at_most(length: int) -> None:
    for time in (NOW, NOW + 1, NOW + 3599):
        assert 0 <= rounded(time, length) - time <= 0.02 * length
    assert rounded(NOW, UNLIMITED) == -(-NOW // 3600) * 3600


def test_a_large_cluster_s_jobs_share_the_moments_at_which_they_end() -> None:
    runs = [job(k, f"n{k}", start=NOW - 50 - k, limit=86_400) for k in range(3)]
    look = seen(*runs, job(3, limit=3601))
    found = reconcile(Beliefs.none(look, rounds=True), look, NOW)
    ends = {event.until for event in found.events if event.kind is EventKind.STARTED}
    assert ends == {-(-(NOW - 52 + 86_400) // 900) * 900}
    assert found.arrivals[3].estimate == 3660
    later = reconcile(found.beliefs, look, NOW + 30)
    assert later.events == ()
    assert later.beliefs.rounds
    mind = Mind(look, NOW, 0.5, rounds=True)
    mind.tell(look, NOW, (), {})
    place = mind.places_for(job(9, limit=3601), 3601, NOW)[0]
    assert place.deadline - place.start == 3660


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("COMPLETED", EventKind.FINISHED), ("FAILED", EventKind.FAILED),
        ("TIMEOUT", EventKind.FAILED), ("CANCELLED", EventKind.CANCELLED),
    ],
)  # fmt: skip
def test_accounting_tells_how_a_run_ended_that_the_queue_forgot(
    state: str, kind: EventKind
) -> None:
    run = ClusterRun(7, "ann", state, NOW - 100, NOW - 50, NOW + 10, ("n1",), "")
    assert kinds(told(seen(job(7, "n1")), seen(runs=(run,)))[1]) == [(kind, 0)]


def test_a_job_that_vanished_is_taken_back_and_its_number_may_be_anothers() -> None:
    assert kinds(told(seen(job(7)), seen())[1]) == [(EventKind.CANCELLED, 0)]
    found = told(seen(job(7)), seen(job(7, user="bob")))[1]
    assert kinds(found) == [(EventKind.CANCELLED, 0), (EventKind.SUBMITTED, 1)]


def test_a_job_that_is_held_or_depends_on_another_is_not_told() -> None:
    held = job(7, priority=0, reason="JobHeldUser")
    assert told(seen(held))[1].events == ()
    assert told(seen(job(8, reason="Dependency")))[1].events == ()
    assert kinds(told(seen(job(7)), seen(held))[1]) == [(EventKind.CANCELLED, 0)]


def test_a_job_that_went_back_and_started_elsewhere_between_two_looks() -> None:
    found = told(seen(job(7, "n1")), seen(job(7, "n2", restarts=1)))[1]
    assert kinds(found) == [(EventKind.REQUEUED, 0), (EventKind.STARTED, 0)]
    found = told(seen(job(7, "n1")), seen(job(7, "n1", restarts=1)))[1]
    assert kinds(found) == [(EventKind.REQUEUED, 0), (EventKind.STARTED, 0)]


def test_two_jobs_that_changed_places() -> None:
    before = seen(job(7, "n1"), job(8, "n2"))
    after = seen(job(7, "n2", restarts=1), job(8, "n1", restarts=1))
    first, _ = told(before, after)
    assert first.beliefs.jobs[7].nodes == ("n2",)


def test_nodes_go_and_come_back() -> None:
    down = node("n2", state="DOWN")
    ours = node("n3", flags=("DRAIN",), reason="forestall: risk [d1]")
    found = told(seen(), seen(nodes=(down, ours)))[1]
    assert kinds(found) == [(EventKind.NODE_FAILED, 2), (EventKind.NODE_DRAINED, 3)]
    assert [event.ours for event in found.events] == [False, True]
    assert {event.until for event in found.events} == {-1}
    back = told(seen(nodes=(down, ours)), seen())[1]
    assert kinds(back) == [(EventKind.NODE_RECOVERED, 2), (EventKind.NODE_RECOVERED, 3)]


def test_a_node_that_is_down_has_failed_once_its_job_is_off_it() -> None:
    down = node("n1", state="DOWN")
    first, found = told(seen(job(7, "n1")), seen(job(7, "n1"), nodes=(down,)))
    assert kinds(found) == [(EventKind.NODE_DRAINED, 1)]
    assert first.engine.job_state(0) == "RUNNING"
    found = first.tell(seen(job(7, restarts=1), nodes=(down,)), NOW + 90)
    assert kinds(found) == [(EventKind.REQUEUED, 0), (EventKind.NODE_FAILED, 1)]


def test_a_job_that_started_on_a_node_which_came_back_and_went_again() -> None:
    drained = node("n1", flags=("DRAIN",), reason="fan")
    found = told(seen(nodes=(drained,)), seen(job(7, "n1"), nodes=(drained,)))[1]
    assert [kind for kind, _ in kinds(found)] == [
        EventKind.STARTED, EventKind.NODE_RECOVERED, EventKind.NODE_DRAINED,
    ]  # fmt: skip


def test_nodes_that_jobs_share_are_away_until_the_last_of_them_ends() -> None:
    wide = job(9, "n2", "n3", limit=7200)
    first, found = told(seen(job(7, "n1"), job(8, "n1", limit=60_000), wide))
    away = {name: one.until for name, one in first.beliefs.away.items()}
    assert away == {"n1": NOW - 50 + 60_000}
    assert set(first.beliefs.jobs) == {9}
    other = seen(job(7, "n1"), job(8, "n1", limit=60_000), wide, job(10, "n3", limit=60))
    found = first.tell(other, NOW + 30)
    assert set(first.beliefs.away) == {"n1", "n2", "n3"}
    assert kinds(found)[0] == (EventKind.CANCELLED, 0)


def test_a_job_without_a_limit_is_reckoned_to_last_long() -> None:
    found = told(seen(job(7, "n1", limit=None)))[1]
    assert found.events[0].until == NOW - 50 + UNLIMITED


def test_somebodys_reservation_is_foreseen_with_certainty_and_ours_is_not() -> None:
    made = ClusterReservation(
        "upgrade", NOW + 9000, NOW + 12_000, ("n2",), 1, "", "", ("MAINT",), ("root",), ()
    )
    held = made._replace(name="forestall_p1", nodes=("n3",))
    look = seen(reservations={one.name: one for one in (made, held)})
    mind = Mind(look, NOW, 0.5)
    [event] = mind.tell(look, NOW, ["forestall_p1"], {}).events
    assert mind.beliefs.planned == {"n2": (NOW + 9000, NOW + 12_000)}
    assert (event.kind, event.key) == (EventKind.PREDICTION_CHANGED, 2)
    assert (event.at, event.until, event.probability) == (NOW + 9000, NOW + 12_000, 1.0)
    assert mind.tell(look, NOW + 30, ["forestall_p1"], {}).events == ()
    assert [event.at for event in mind.tell(seen(), NOW + 60, (), {}).events] == [-1]
    assert mind.beliefs.planned == {}


def test_strange_nodes_and_jobs_too_large_are_named_and_not_told() -> None:
    first = Driven(seen(), NOW)
    look = replace(seen(job(7, node_count=5)), nodes=seen(nodes=(node("x9"),)).nodes)
    found = first.tell(look, NOW)
    assert found.strange == ("x9", "job 7")
    assert found.events == ()


@pytest.mark.parametrize("seed", range(12))
def test_all_scenarios(seed: int) -> None:
    """Replies lost, late, cut, doubled, stale; restarts that lose jobs; people who interfere."""
    assert driven(seed, calm=seed % 4 == 0) > 3


@pytest.mark.parametrize(
    ("tasks", "at_once", "running", "planned"),
    [(97, 0, 2, 97), (900, 0, 0, MOST_TASKS), (900, 5, 2, 3), (900, 5, 5, 0), (3, 5, 1, 3),
     (1, 0, 0, 1)],
)  # fmt: skip
def test_an_array_is_planned_task_by_task_as_its_limit_allows(
    tasks: int, at_once: int, running: int, planned: int
) -> None:
    """The engine knows as many of its tasks that wait as may run beside those that do; as one
    starts under an id of its own, one fewer waits."""
    waits = job(70, array=70, tasks=tasks, at_once=at_once)
    runs = [job(71 + k, f"n{k % 4}", array=70, at_once=at_once) for k in range(running)]
    wide = {f"m{k}": node(f"m{k}") for k in range(running)}
    runs = [one._replace(nodes=(f"m{k}",)) for k, one in enumerate(runs)]
    look = seen(waits, *runs, nodes=tuple(wide.values()))
    found = reconcile(Beliefs.none(look), look, NOW)
    new = [one for one in found.arrivals if one.job not in {run.id for run in runs}]
    assert len(new) == planned
    assert [one.job for one in new][:1] == [70][:planned]
    assert len({one.job for one in new}) == planned
    if not planned or running:
        return
    begun = job(90, "n0", array=70, at_once=at_once)
    later = seen(waits._replace(tasks=tasks - 1), begun) if tasks > 1 else seen(begun)
    after = reconcile(found.beliefs, later, NOW + 30)
    left = [key for key in after.beliefs.jobs if key != 90]
    assert len(left) == min(tasks - 1, MOST_TASKS, (at_once or tasks + 1) - 1)


def test_an_engine_places_the_tasks_of_an_array() -> None:
    """Four nodes, an array of six tasks of an hour: four at once, then two."""
    driven, found = told(seen(job(70, array=70, tasks=6)))
    assert len(found.arrivals) == 6
    starts = sorted(
        driven.engine.field(one.position, "start") - NOW for one in driven.beliefs.jobs.values()
    )
    assert starts[:4] == [0, 0, 0, 0]
    assert min(starts[4:]) >= 3600
