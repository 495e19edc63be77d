"""The life table of gaps, beside loops, numerical integrals and known laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.recency import EDGES, Ages, Recency, life_table

HOUR, DAY = 3600, 86_400


def renewals(shape: float, scale: float, nodes: int, days: int, seed: int = 1) -> Observations:
    """Return nodes with Weibull gaps, all under way for long when observation begins."""
    rng = np.random.default_rng(seed)
    time, node = [], []
    for k in range(nodes):
        at = -rng.uniform(500, 600) * DAY
        while at < days * DAY:
            if at >= 0:
                time.append(int(at))
                node.append(k)
            at += scale * rng.weibull(shape)
    return Observations.of(Failures.build(time, node), begin=0, end=days * DAY, nodes=nodes)


@pytest.mark.parametrize("shape", [0.6, 1.0, 1.6])
def test_the_hazard_of_weibull_gaps_is_found(shape: float) -> None:
    made, scale = Recency(), 10 * DAY
    made.fit(renewals(shape, scale, 400, 400))
    for low, high in ((HOUR, DAY), (DAY, 5 * DAY), (5 * DAY, 15 * DAY)):
        found = made.again.cumulative(np.array([low, high], dtype=float))
        expected = np.diff((np.array([low, high]) / scale) ** shape)
        assert np.diff(found) == pytest.approx(expected, rel=0.15)


def test_the_cumulative_hazard_is_the_integral() -> None:
    table = Ages(np.random.default_rng(2).gamma(1, 1e-6, len(EDGES)))

    def hazard(age: float) -> float:
        return float(table.hazard[int(np.searchsorted(EDGES, age, side="right")) - 1])

    for age in (0.0, 1.0, 299.0, 300.0, 5000.0, 3e6, 1.2 * EDGES[-1]):
        inside = [e for e in EDGES.tolist() if 0 < e < age]
        points = [0.0, *inside, age]
        total = sum(integrate.quad(hazard, a, b)[0] for a, b in itertools.pairwise(points))
        assert table.cumulative(np.array([age]))[0] == pytest.approx(total, rel=1e-9, abs=1e-18)


def test_many_failures_outweigh_the_trend() -> None:
    rng = np.random.default_rng(4)
    gaps = np.concatenate((rng.integers(1, 300, 40_000), rng.integers(10 * DAY, 40 * DAY, 40_000)))
    table = life_table(gaps, np.array([], dtype=np.int64), 1e-6)
    for low, high in ((0.0, 300.0), (EDGES[12], EDGES[13])):
        place = (gaps >= low) & (gaps < high)
        seconds = np.clip(gaps - low, 0, high - low).sum()
        found = table.hazard[int(np.searchsorted(EDGES, low))]
        assert found == pytest.approx(place.sum() / seconds, rel=0.02)


def test_a_gap_under_way_counts_for_as_long_as_it_has_run() -> None:
    ended, none = np.full(50, 2 * DAY), np.array([], dtype=np.int64)
    alone = life_table(ended, none, 1e-6)
    with_others = life_table(ended, np.full(450, 2 * DAY), 1e-6)
    at = int(np.searchsorted(EDGES, 2 * DAY)) - 1
    assert with_others.hazard[at] == pytest.approx(alone.hazard[at] / 10, rel=0.15)


def test_nodes_that_never_failed_have_their_own_table() -> None:
    rng = np.random.default_rng(6)
    bad = rng.integers(0, 200 * DAY, 2000)
    log = Failures.build(bad, rng.integers(0, 10, 2000))
    made = Recency()
    made.fit(Observations.of(log, begin=0, end=200 * DAY, nodes=200))
    said = made.hazards()[:, 2]
    assert said[10:].max() < 0.02 * said[:10].min()


def test_without_failures_the_hazard_is_small_and_level() -> None:
    made = Recency()
    made.fit(Observations.of(Failures.none(), begin=0, end=10 * DAY, nodes=5))
    level = made.first.hazard * DAY
    assert np.all(level > 0)
    assert np.all(level <= 0.5 / 50)
    assert np.all(made.hazards() > 0)
