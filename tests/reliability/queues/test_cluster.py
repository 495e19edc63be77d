"""The cluster: Table 3 through the public door, spares, checkpoints, and what changes buy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.queues.changes import best_interval, stretched, useful_share
from forestall.reliability.queues.cluster import Checkpoints, Cluster, age_of, group_of
from forestall.reliability.queues.queues import Queue, RunTimes
from forestall.reliability.queues.runtimes import HyperGamma
from forestall.reliability.systems.pools import failures_of_pool
from forestall.reliability.systems.systems import ComponentGroup, from_mttf, k_out_of_n

HOUR = 3600.0
QUEUES = (
    Queue("Huge", 258, 48 * HOUR, 2),
    Queue("Big", 130, 48 * HOUR, 4),
    Queue("Medium", 65, 72 * HOUR, 4),
    Queue("Small", 5, 240 * HOUR, 4),
    Queue("Interactive", 516, HOUR, 2),
)


def blades(shape: float = 0.75, **more: object) -> Cluster:
    return Cluster(nodes=516, mttf="102840h", shape=shape, queues=QUEUES, **more)  # type: ignore[arg-type]


def mixed(**more: object) -> Cluster:
    groups = [
        {"name": "old", "count": 128, "mttf": 35_388.8 * HOUR, "shape": 0.75},
        {"name": "blade", "count": 384, "mttf": "102840h", "shape": 0.75},
    ]
    return Cluster(groups, **more)  # type: ignore[arg-type]


def test_table_3() -> None:
    found = blades()
    expected = [60.70, 37.53, 27.30, 5.87, 9.73]
    assert [100 * f for f in found.failures().values()] == pytest.approx(expected, abs=0.005)
    assert 100 * found.job_failure() == pytest.approx(12.17, abs=0.005)
    assert found.table()["failure_probability"].to_list() == list(found.failures().values())
    assert 100 * blades(1.0).queue_failure("Huge") == pytest.approx(11.35, abs=0.005)


def test_mean_lives_say_what_they_assume() -> None:
    found = blades()
    new, steady = found.mttf("new"), found.mttf("steady")
    assert new.time == pytest.approx(102_840 * HOUR / 516 ** (1 / 0.75))
    assert steady.time == pytest.approx(102_840 * HOUR / 516)
    assert new.assumes == found.assumes == "all nodes as new at time 0"
    assert found.mttf().time == new.time
    aged = blades(ages="30d")
    assert aged.assumes == "all nodes 30.0 d old"
    assert new.time < aged.mttf().time < steady.time


def test_reliability() -> None:
    found = blades(1.0)
    expected = math.exp(-516 * 100 / 102_840)
    assert float(found.reliability(100 * HOUR)) == pytest.approx(expected)
    assert float(found.reliability("100h")) == pytest.approx(expected)
    assert found.reliability([0.0, HOUR]).shape == (2,)


def test_old_nodes_fail_jobs_less() -> None:
    new, old, steady = (blades(ages=age).job_failure() for age in ("new", "365d", "steady"))
    assert new > old > steady


def test_jobs_of_unlike_nodes() -> None:
    """In proportion a job of 4 has 1 old node; a mix takes them as it says."""
    found = mixed(queues=[Queue("any", 4, HOUR)])
    old, blade = (float(group.lifetime.cumulative_hazard(HOUR)) for group in found.groups)
    assert found.queue_failure("any") == pytest.approx(-math.expm1(-old - 3 * blade))
    named = Queue("mix", 5, HOUR, mix=(("old", 4), ("blade", 1)))
    assert found.queue_failure(named) == pytest.approx(-math.expm1(-4 * old - blade))
    mean = -(old * 128 + blade * 384) / 512
    assert float(found.node_log_survival(HOUR)) == pytest.approx(mean)


def test_run_times_below_the_limit() -> None:
    found = blades()
    model = HyperGamma()
    runs = {q.name: model.runs(q.nodes, q.limit) for q in found.queues}
    assert found.job_failure(runs) < found.job_failure()
    half = RunTimes(np.array([24 * HOUR, 48 * HOUR]), np.array([1.0, 1.0]))
    whole = found.queue_failure("Huge")
    shorter = found.queue_failure(Queue("Huge", 258, 24 * HOUR))
    assert found.queue_failure("Huge", half) == pytest.approx((whole + shorter) / 2)


# Spares and checkpoints --------------------------------------------------------------------------


def test_spares_of_a_job() -> None:
    found = blades()
    law = found.groups[0].lifetime
    for spares in (1, 3):
        expected = 1 - k_out_of_n([ComponentGroup(258 + spares, law)], 48 * HOUR, spares)
        assert found.failure_with_spares("Huge", spares) == pytest.approx(expected)
    assert found.failure_with_spares("Huge", 0) == found.queue_failure("Huge")
    answer = found.spares("Huge", 0.99)
    assert answer is not None
    assert 1 - found.failure_with_spares("Huge", answer) >= 0.99
    assert 1 - found.failure_with_spares("Huge", answer - 1) < 0.99


def test_spares_of_unlike_nodes_come_from_the_larger_remainders() -> None:
    found = mixed()
    queue = Queue("q", 8, HOUR)
    assert [number for number, _ in found.lost(queue, HOUR)] == [2, 6]
    assert [number for number, _ in found.lost(queue, HOUR, 2)] == [3, 7]
    assert sum(number for number, _ in found.lost(queue, HOUR, 3)) == 11


def test_failures_of_a_job_by_renewals() -> None:
    found = blades(0.6, ages="10d")
    counts = failures_of_pool(found.groups[0].lifetime, 130, 48 * HOUR, 864_000.0)
    none, one = found.failures_of_job("Big")
    assert (none, one) == pytest.approx((counts[0], counts[1]), abs=1e-10)
    assert none == pytest.approx(1 - found.queue_failure("Big"), abs=1e-7)


def test_the_interval_of_exponential_nodes_is_the_exact_one() -> None:
    """Of exponential failures the best interval solves e^(-(x + d) / M) = 1 - x / M."""
    found = blades(1.0, checkpoints="15m")
    for name in ("Huge", "Medium"):
        mean = 102_840 * HOUR / found.queue(name).nodes
        exact = optimize.brentq(
            lambda x, m=mean: math.exp(-(x + 900) / m) - 1 + x / m, 1.0, mean * 0.999
        )
        assert found.checkpoint_interval(name) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize(("shape", "ages"), [(0.6, "new"), (1.0, "steady"), (1.7, "new")])
def test_the_interval_of_several_groups(shape: float, ages: str) -> None:
    """Groups that are alike have the interval of one group."""
    one = Cluster(nodes=96, mttf="20000h", shape=shape, ages=ages, checkpoints=900.0)
    parts = [
        {"name": n, "count": c, "mttf": "20000h", "shape": shape} for n, c in (("a", 32), ("b", 64))
    ]
    both = Cluster(parts, ages=ages, checkpoints=900.0)
    queue = Queue("q", 96, 48 * HOUR)
    expected = one.checkpoint_interval(queue)
    assert both.checkpoint_interval(queue) == pytest.approx(expected, rel=1e-4)
    named = Queue("q", 96, 48 * HOUR, mix=(("a", 32), ("b", 64)))
    assert both.checkpoint_interval(named) == pytest.approx(expected, rel=1e-4)


def test_work_left_beside_checkpoints() -> None:
    found = blades(1.0, checkpoints=Checkpoints(900.0, 300.0))
    queue = found.queue("Big")
    interval = best_interval(found, queue)
    room = queue.limit - interval - 1200
    expected = room / queue.limit * interval / (interval + 900)
    assert useful_share(found, queue) == pytest.approx(expected)
    assert useful_share(found, Queue("short", 1, 60.0)) == 0


def test_without_their_cost_nothing_is_said_of_checkpoints() -> None:
    with pytest.raises(ParameterError, match="cost of a checkpoint"):
        blades().checkpoint_interval("Big")
    assert not [change for change in blades().what_if() if change.kind == "checkpoint"]


def test_goodput() -> None:
    """Jobs that finish, over the time that they and the failed ones hold their slots."""
    found = blades()
    queue = found.queue("Big")

    def sf(t: float) -> float:
        return math.exp(float(found.log_survival(queue, t)))

    held = integrate.quad(sf, 0, HOUR)[0] + integrate.quad(sf, HOUR, queue.limit)[0]
    expected = queue.busy * queue.limit * sf(queue.limit) / held
    assert found.goodput("Big") == pytest.approx(expected, rel=1e-8)
    assert found.goodput("Big") < queue.busy


# What changes would buy --------------------------------------------------------------------------


def test_changes_are_what_they_say() -> None:
    found = blades(checkpoints="15m")
    before = found.job_failure()
    changes = found.what_if()
    by_title = {change.title: change for change in changes}
    assert [c.after for c in changes] == sorted(c.after for c in changes)
    assert all(c.before == pytest.approx(before) for c in changes)
    assert {c.kind for c in changes} == {
        "limit", "nodes", "split", "slots", "move", "better", "spares", "checkpoint"
    }  # fmt: skip

    def after(**changed: Queue) -> float:
        return found.but(queues=[changed.get(q.name, q) for q in found.queues]).job_failure()

    halved = by_title["Huge: limit 24.0 h (half)"]
    assert halved.after == pytest.approx(after(Huge=Queue("Huge", 258, 24 * HOUR, 2)))
    assert halved.capacity == 0
    fewer = by_title["Huge: 129 nodes per job"]
    assert fewer.after == pytest.approx(after(Huge=Queue("Huge", 129, 48 * HOUR, 2)))
    assert fewer.capacity == pytest.approx(-258 / 2348)
    split = by_title["Huge: 129 nodes per job, 4 slots"]
    assert split.after == pytest.approx(after(Huge=Queue("Huge", 129, 48 * HOUR, 4)))
    assert split.capacity == 0
    moved = by_title["258 nodes per job from Interactive, 129 more per job in Big"]
    assert moved.capacity == 0
    assert moved.after == pytest.approx(
        after(Interactive=Queue("Interactive", 258, HOUR, 2), Big=Queue("Big", 259, 48 * HOUR, 4))
    )
    better = by_title["nodes that last 2 times as long"]
    twice = Cluster(nodes=516, mttf="205680h", shape=0.75, queues=QUEUES)
    assert better.after == pytest.approx(twice.job_failure())


def test_changes_with_spares_and_checkpoints() -> None:
    found = blades(checkpoints="15m")
    by_title = {change.title: change for change in found.what_if()}
    rates = np.array([q.slots / q.limit for q in QUEUES])
    one = by_title["Huge: 1 spare in each job"]
    failures = np.array([found.queue_failure(q) for q in QUEUES])
    failures[0] = found.failure_with_spares("Huge", 1)
    assert one.after == pytest.approx(float(rates @ failures / rates.sum()))
    assert (one.capacity, one.held) == (0, pytest.approx(2 / 2348))
    saved = by_title["checkpoints at the best interval of each queue"]
    # Interactive jobs have no room for a checkpoint: they stay as they are.
    kept = [
        1 - found.queue_failure(q) if q.name == "Interactive" else sum(found.failures_of_job(q))
        for q in QUEUES
    ]
    assert saved.after == pytest.approx(float(rates @ (1 - np.array(kept)) / rates.sum()))
    useful = [1.0 if q.name == "Interactive" else useful_share(found, q) for q in QUEUES]
    lost = sum(q.busy * (1 - u) for q, u in zip(QUEUES, useful, strict=True)) / 2348
    assert saved.capacity == pytest.approx(-lost)


def test_better_nodes_of_one_group() -> None:
    found = mixed(queues=[Queue("any", 64, 10 * HOUR)])
    titles = {change.title: change.after for change in found.what_if()}
    both = titles["nodes that last 2 times as long"]
    old = titles["nodes of old that last 2 times as long"]
    blade = titles["nodes of blade that last 2 times as long"]
    assert both < min(old, blade)
    assert max(old, blade) < found.job_failure()


def test_stretched_laws_have_stretched_means() -> None:
    for law in (from_mttf(100.0, 0.7), lifetime("lognormal", mu=1.0, sigma=0.5)):
        assert stretched(law, 3.0).mean() == pytest.approx(3 * law.mean())
        assert stretched(law, 3.0).sf(30.0) == pytest.approx(law.sf(10.0))


def test_one_small_queue() -> None:
    found = Cluster(
        nodes=1, mttf=1e6, queues=[Queue("q", 1, 3600.0)], checkpoints=Checkpoints(10.0)
    )
    changes = found.what_if()
    assert all(0 <= change.after <= 1 for change in changes)
    assert found.what_if(3) == changes[:3]


# What cannot be ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "groups"),
        ({"nodes": 5}, "groups"),
        ({"nodes": 5, "mttf": "soon"}, "mttf"),
        ({"nodes": 5, "mttf": 10.0, "shape": 0.0}, "shape"),
        ({"nodes": 0, "mttf": 10.0}, "count"),
        ({"nodes": 5, "mttf": 10.0, "queues": [Queue("q", 6, 1.0)]}, "at most 5"),
        ({"nodes": 5, "mttf": 10.0, "queues": [Queue("q", 1, 1.0)] * 2}, "differ"),
        ({"nodes": 5, "mttf": 10.0, "ages": "old"}, "ages"),
        ({"nodes": 5, "mttf": 10.0, "checkpoints": 0.0}, "cost"),
        ({"groups": [{"count": 5}]}, "either mttf or lifetime"),
        ({"groups": [{"mttf": 5.0}]}, "count"),
        ({"groups": [{"count": 5, "mttf": 5.0, "colour": 1}]}, "colour"),
        (
            {"nodes": 5, "mttf": 10.0, "queues": [Queue("q", 1, 1.0, mix=(("a", 1),))]},
            "groups: nodes",
        ),
    ],
)
def test_clusters_that_cannot_be(given: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Cluster(**given)  # type: ignore[arg-type]


def test_questions_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="one of Huge"):
        blades().queue_failure("Tiny")
    with pytest.raises(ParameterError, match="at least one queue"):
        Cluster(nodes=5, mttf=10.0).job_failure()


def test_doors_for_ages_and_groups() -> None:
    assert age_of("1h") == 3600
    assert age_of("steady") == "steady"

    class Fit:
        lifetime = from_mttf(5.0)

    assert group_of({"count": 2, "lifetime": Fit()}).lifetime.mean() == pytest.approx(5.0)
    group = ComponentGroup(2, from_mttf(5.0))
    assert group_of(group) is group


def test_no_spares_beyond_the_machine() -> None:
    found = blades()
    assert [found.room(q) for q in QUEUES] == [258, 386, 451, 511, 0]
    assert found.spares("Interactive", 0.99) is None
    assert found.spares("Interactive", 0.5) == 0  # without any
    with pytest.raises(ParameterError, match="at most 0: a job of Interactive takes 516 nodes"):
        found.failure_with_spares("Interactive", 1)
    narrow = found.but(queues=[Queue("wide", 515, 48 * HOUR)])
    assert narrow.room("wide") == 1
    assert narrow.spares("wide", 0.99) is None
    titles = {change.title: change for change in narrow.what_if()}
    assert "1 spare in every job" in titles
    assert "2 spares in every job" not in titles


def test_spares_among_the_nodes_of_a_job_that_takes_all() -> None:
    found = blades(checkpoints="1m")
    by_title = {change.title: change for change in found.what_if()}
    assert not [title for title in by_title if "in every job" in title]
    assert not [title for title in by_title if title.startswith("Interactive: 1 spare")]
    among = by_title["Interactive: 514 nodes per job and 2 spares"]
    law = found.groups[0].lifetime
    rates = np.array([q.slots / q.limit for q in QUEUES])
    failures = np.array([found.queue_failure(q) for q in QUEUES])
    failures[-1] = 1 - k_out_of_n([ComponentGroup(516, law)], HOUR, 2)
    assert among.after == pytest.approx(float(rates @ failures / rates.sum()))
    assert among.capacity == pytest.approx(-2 * 2 / 2348)
    assert among.held == 0
    # A job on all nodes has no spare to restart on.
    assert not [t for t in by_title if t.startswith("Interactive: a checkpoint")]
    alone = found.but(queues=[Queue("all", 516, 48 * HOUR)])
    kinds = {change.kind: change.title for change in alone.what_if()}
    assert kinds["spares"].startswith("all: 51")
    assert "checkpoint" not in kinds


def test_spares_come_from_groups_that_have_them() -> None:
    groups = [
        ComponentGroup(10, from_mttf(1e6), name="few"),
        ComponentGroup(100, from_mttf(3e6), name="many"),
        ComponentGroup(50, from_mttf(1e6), name="others"),
    ]
    queue = Queue("q", 15, HOUR, mix=(("few", 10), ("many", 5)))
    found = Cluster(groups, [queue])
    assert found.room(queue) == 95
    assert [number for number, _ in found.lost(queue, HOUR, 3)] == [10, 8]
    assert [number for number, _ in found.lost(queue, HOUR, 95)] == [10, 100]
    with pytest.raises(ParameterError, match="at most 95"):
        found.lost(queue, HOUR, 96)


def test_unlike_ages_are_said_of_their_groups() -> None:
    one, other, third = (
        {"name": name, "count": 2, "mttf": 1e6, "age": age}
        for name, age in (("blades", "new"), ("old", "200d"), ("older", "200d"))
    )
    said = "blades: all nodes as new at time 0; old, older: all nodes 200.0 d old"
    found = Cluster([one, other, third])
    assert found.assumes == said
    assert found.mttf().assumes == said
    assert found.mttf("new").assumes == "all nodes as new at time 0"
    assert Cluster([other, third]).assumes == "all nodes 200.0 d old"


def test_what_a_cluster_shows_of_itself() -> None:
    assert repr(Cluster(nodes=4, mttf="10d")) == "Cluster(4 nodes, 1 group, 0 queues)"
    assert repr(blades()) == "Cluster(516 nodes, 1 group, 5 queues)"
    with pytest.raises(ParameterError, match=r"'x'.*expected a cluster with queues"):
        Cluster(nodes=4, mttf="10d").queue("x")


def test_laws_without_a_mean_have_no_steady_state() -> None:
    law = lifetime("lomax", shape=0.5, scale=1e6)
    found = Cluster([{"name": "a", "count": 4, "lifetime": law}], ages="steady")
    with pytest.raises(ParameterError, match=r"steady.*a law with a finite mean, which Lomax"):
        found.mttf()
    # Four new ones fail as one of shape 2, whose mean is its scale.
    assert found.mttf("new").time == pytest.approx(1e6, rel=1e-9)
    alone = Cluster([{"name": "a", "count": 1, "lifetime": law}])
    assert alone.mttf().time == math.inf
    assert found.but(ages=1e6).mttf().time == pytest.approx(2e6, rel=1e-9)
