"""The cluster as a user and an operator see it, and how likely a promise is kept."""

from __future__ import annotations

import pytest

from forestall.core.model.live.desk import Viewer
from forestall.live.desk.promises import likelihood
from forestall.live.desk.sights import USUAL, jobs_told, nodes_told
from forestall.live.slurm.mind import PlannedRun
from forestall.live.slurm.sight import sight_of
from forestall.live.slurm.view import ControllerView
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterSnapshot

NOW = 10_000
ALICE, OLGA = Viewer("alice", "user"), Viewer("olga", "operator")


def job(
    number: int, user: str, state: str = "RUNNING", nodes: tuple[str, ...] = ("n1",)
) -> ClusterJob:
    start, end = (9000, 12_000) if state == "RUNNING" else (None, None)
    return ClusterJob(
        number, user, "<b>name</b>", "a", "main", "q", state, (), "Priority", 8000, 8000, start,
        end, 3000, 1, nodes, (), "", "", 1, 0, 0, "", "",
    )  # fmt: skip


def node(name: str, state: str = "IDLE", reason: str = "") -> ClusterNode:
    return ClusterNode(name, state, (), reason, "", None, 1, 1, 8, 1, ("main",), (), "")


def view(lasting: float = 1.0, **outlook: NodeForecast) -> ControllerView:
    seen = ClusterSnapshot(
        {1: job(1, "alice"), 2: job(2, "bob"), 3: job(3, "bob", "PENDING", ()),
         4: job(4, "alice", "COMPLETED")},
        {"n1": node("n1", "MIXED"), "n2": node("n2", "DRAIN", "bad fan, call bob")},
        {}, (), NOW, NOW,
    )  # fmt: skip
    plans = {1: PlannedRun(9000, 12_000, ("n1",)), 3: PlannedRun(13_000, 16_000, ("n1", "n2"))}
    return ControllerView(seen, sight_of(seen, {}), outlook, plans, {"p1": seen.jobs[1]}, lasting)


def test_a_user_sees_what_is_theirs() -> None:
    mine, other, waits = jobs_told(view(), ALICE)
    assert (mine.user, mine.name, mine.promise, mine.on) == ("alice", "<b>name</b>", "p1", ("n1",))
    assert (other.id, other.user, other.name, other.why, other.partition) == (2, "", "", "", "")
    assert (other.on, other.start, other.end, other.nodes) == (("n1",), 9000, 12_000, 1)
    assert (waits.state, waits.start, waits.end, waits.on) == ("PENDING", 13_000, 16_000, ())


def test_an_operator_sees_all() -> None:
    told = jobs_told(view(), OLGA)
    assert [one.user for one in told] == ["alice", "bob", "bob"]
    one, two = nodes_told(view(0.8), NOW, OLGA)
    assert (one.jobs, one.free_at, one.reliability, one.by) == ((1, 2), 12_000, 0.8, USUAL)
    assert (two.reason, two.in_service) == ("bad fan, call bob", False)


def test_nodes_tell_users_no_reasons_and_no_others_jobs() -> None:
    one, two = nodes_told(view(0.9), NOW, ALICE)
    assert (one.jobs, one.free_at, one.reliability, one.by) == ((1,), 12_000, 0.9, USUAL)
    assert two.reason == ""


def test_reliability_is_that_of_a_day() -> None:
    soon = NodeForecast(NOW + 3600, NOW + 7200, 0.4, "hazard")
    late = NodeForecast(NOW + 90_000, NOW + 99_000, 0.9, "hazard")
    one, two = nodes_told(view(0.99, n1=soon, n2=late), NOW, ALICE)
    assert (one.reliability, one.by) == (pytest.approx(0.99 * 0.6), "hazard")
    assert (two.reliability, two.by) == (0.99, USUAL)
    [one, _] = nodes_told(view(0.5, n1=soon), NOW, ALICE)
    assert (one.reliability, one.by) == (pytest.approx(0.3), "hazard")


@pytest.mark.parametrize(
    ("at", "until", "deadline", "expected"),
    [
        (14_000, 15_000, 16_000, 0.7),  # it fails in the middle of the run
        (12_000, 13_500, 16_000, 0.7),  # it is away when the run begins
        (16_000, 17_000, 16_000, 1.0),  # when it is over
        (11_000, 13_000, 16_000, 1.0),  # and back before
        (14_000, 15_000, 15_999, None),  # it may be late by its limit: nobody knows
    ],
)
def test_how_likely_a_promise_is_kept(
    at: int, until: int, deadline: int, expected: float | None
) -> None:
    told, end = likelihood(view(n2=NodeForecast(at, until, 0.3, "x")), 3, deadline)
    assert told == (None if expected is None else pytest.approx(expected))
    assert end == 16_000
    assert likelihood(view(), 99, deadline) == (None, None)


def test_nothing_is_certain_to_be_kept() -> None:
    """Two nodes for 3,000 s, of which each lasts a day with probability 0.9."""
    told, _ = likelihood(view(0.9), 3, 16_000)
    assert told == pytest.approx(0.9 ** (2 * 3000 / 86_400))
