"""What jobs cost: by hand for exponential nodes, by a plain simulation, and the cheapest of all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, poisson

from forestall.core.model.errors import ParameterError
from forestall.reliability.queues.cluster import Cluster
from forestall.reliability.queues.prices import HOUR, PricedJob, Prices, cheapest, priced_jobs
from forestall.reliability.queues.queues import Queue

DAY = 24 * HOUR


def machine(queue: Queue, checkpoints: bool = True) -> Cluster:
    groups = [
        {"name": "blade", "count": 40, "mttf": 2000 * HOUR},
        {"name": "plain", "count": 40, "mttf": 500 * HOUR},
    ]
    return Cluster(groups, [queue], checkpoints="6m" if checkpoints else None)


def test_a_job_without_checkpoints_by_hand() -> None:
    queue = Queue("q", 20, 10 * HOUR, mix=(("blade", 20),))
    prices = Prices(2.0, (("plain", 1.0),), power=0.5, idle=0.25, energy=0.1, waiting=30.0)
    found = priced_jobs(machine(queue, checkpoints=False), queue, prices, DAY, 0.99)
    own = {one.spares: one for one in found if not one.source}
    rate, none, one = 20 / 2000, own[0], own[1]
    again = math.exp(10 * rate)  # starts that it takes
    assert none.hours == pytest.approx((again - 1) / rate)
    assert none.success == pytest.approx(1 / again)
    assert none.waits == pytest.approx(24 * (again - 1))
    assert (none.work, none.checkpoints, none.spare) == (200, 0, 0)
    beyond = again - 1 - (1 - poisson.pmf(0, again - 1))
    assert one.waits == pytest.approx(24 * beyond)
    assert one.spare == pytest.approx(none.hours)
    each = (none.hours - 10) / (again - 1)
    gone = -math.expm1(-(10 + each) / 2000)
    assert one.success == pytest.approx(binom.cdf(1, 21, gone))
    held, waiting = 20 * one.hours, 20 * one.waits
    energy = 0.5 * held + 0.25 * (one.spare + waiting)
    assert one.energy == pytest.approx(energy)
    paid = 2.0 * (held + one.spare + waiting) + 0.1 * energy + 30.0 * one.waits
    assert one.cost == pytest.approx(paid)
    assert one.node_hours == pytest.approx(held + one.spare + waiting)
    cheap = [job for job in found if job.source == "plain"]
    assert cheap[0].success < none.success


def test_time_and_failures_against_a_plain_simulation() -> None:
    queue = Queue("q", 30, 48 * HOUR, mix=(("plain", 30),))
    found = priced_jobs(machine(queue), queue, Prices(), DAY, 0.9)
    saved = next(one for one in found if one.interval and not one.source and not one.spares)
    assert saved.interval is not None
    rng = np.random.default_rng(7)
    mean, interval, cost = 500 / 30, saved.interval / HOUR, 0.1
    took = []
    for _ in range(1500):
        now, left, until = 0.0, 48.0, rng.exponential(mean)
        while left > 1e-9:
            length = min(interval, left) + cost
            if now + length <= until:
                now, left = now + length, left - min(interval, left)
            else:
                now, until = until, until + rng.exponential(mean)
        took.append(now)
    assert saved.hours == pytest.approx(np.mean(took), rel=0.03)


@pytest.mark.parametrize(
    ("nodes", "mttf", "shape", "age", "work"),
    [(20, 500, 0.7, 0.0, 24), (64, 2000, 0.7, 0.0, 24), (20, 500, 0.7, 720.0, 24),
     (20, 500, 1.0, 0.0, 24), (20, 500, 1.5, 0.0, 48), (4, 60, 0.6, 0.0, 12)],
)  # fmt: skip
def test_failures_are_counted_by_renewal_of_the_failed_node(
    nodes: int, mttf: float, shape: float, age: float, work: float
) -> None:
    """Each failed node is replaced by a new one and the others age on: hours and failures of a job
    with and without checkpoints, against a plain simulation of its nodes."""
    queue = Queue("q", nodes, work * HOUR)
    cluster = Cluster(
        nodes=2 * nodes, mttf=mttf * HOUR, shape=shape, ages=age * HOUR or "new", queues=[queue],
        checkpoints="6m",
    )  # fmt: skip
    found = [one for one in priced_jobs(cluster, queue, Prices(), DAY, 0.9) if not one.spares]
    assert [one.interval is None for one in found] == [True, False]
    rng = np.random.default_rng(3)
    for one in found:
        interval = work if one.interval is None else one.interval / HOUR
        runs = [_played(rng, nodes, mttf, shape, age, (work, interval, 0.1)) for _ in range(700)]
        hours, failures = np.array(runs).mean(axis=0)
        errors = np.array(runs).std(axis=0) / math.sqrt(len(runs))
        assert abs(one.hours - hours) < 0.05 * (hours - work) + 3 * errors[0]
        assert abs(one.failures - failures) < 0.04 * failures + 3 * errors[1]


def _played(
    rng: np.random.Generator, nodes: int, mttf: float, shape: float, age: float,
    plan: tuple[float, float, float],
) -> tuple[float, int]:  # fmt: skip
    """Return the hours of one job, and how many of its nodes failed."""
    work, interval, cost = plan
    scale = mttf / math.gamma(1 + 1 / shape)

    def life(old: float, size: int) -> np.ndarray:
        hazard = (old / scale) ** shape + rng.standard_exponential(size)
        return scale * hazard ** (1 / shape) - old

    failing = life(age, nodes)
    now, left, count = 0.0, work, 0
    while left > 1e-9:
        part = min(interval, left)
        end = now + part + (cost if part < left else 0.0)
        node = int(failing.argmin())
        if failing[node] < end:
            now, count = float(failing[node]), count + 1
            failing[node] = now + life(0.0, 1)[0]
        else:
            now, left = end, left - part
    return now, count


def test_the_cheapest_of_a_wanted_success() -> None:
    queue = Queue("q", 30, 48 * HOUR, mix=(("plain", 30),))
    found = priced_jobs(machine(queue), queue, Prices(1.0, (("blade", 3.0),)), DAY, 0.99)
    best = cheapest(found, 0.99)
    assert best is not None
    assert best.success >= 0.99
    assert all(one.cost >= best.cost for one in found if one.success >= 0.99)
    assert cheapest([], 0.5) is None
    dear = priced_jobs(machine(queue), queue, Prices(1.0, (("blade", 1.0),)), DAY, 0.99)
    better = cheapest(dear, 0.99)
    assert better is not None
    assert better.source == "blade"  # as cheap by the hour, and they last


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.floats(1, 100), st.floats(0.1, 0.999), st.floats(1, 200))
def test_whatever_is_asked(nodes: int, hours: float, target: float, repair: float) -> None:
    queue = Queue("q", nodes, hours * HOUR)
    found = priced_jobs(machine(queue), queue, Prices(), repair * HOUR, target)
    told: dict[tuple[str, bool], list[PricedJob]] = {}
    for one in found:
        told.setdefault((one.source, one.interval is None), []).append(one)
        parts = one.work + one.checkpoints + one.rework + one.spare + one.waiting
        assert one.cost == pytest.approx(parts)
        assert 0 <= one.success <= 1
        assert min(one.rework, one.waits) >= -1e-9
    for ways in told.values():
        assert [one.spares for one in ways] == list(range(len(ways)))
        waits = [one.waits for one in ways]
        assert waits == sorted(waits, reverse=True)


def test_what_cannot_be() -> None:
    queue = Queue("q", 4, HOUR)
    with pytest.raises(ParameterError, match="repair"):
        priced_jobs(machine(queue), queue, Prices(), 0.0, 0.9)
    with pytest.raises(ParameterError, match="target"):
        priced_jobs(machine(queue), queue, Prices(), 1.0, 1.0)
    with pytest.raises(ParameterError, match="blade"):
        Prices(groups=(("blade", -1.0),))
