"""Nodes of components: Equation 4, redundant parts, and which of them makes the node fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.components import Component, node_law, parts_of, shares_of
from forestall.reliability.systems.systems import ComponentGroup, from_mttf, series_mttf

TABLE_2 = (67_640.0, 100_000.0, 400_000.0, 3_860_000.0, 1_400_000.0)


def plain_sf(parts: list[Component], t: float) -> float:
    """Return R(t) by counting every pattern of what works, from the definition alone."""
    whole = 1.0
    for part in parts:
        one = float(part.lifetime.sf(t))
        whole *= sum(
            math.comb(part.count, k) * one**k * (1 - one) ** (part.count - k)
            for k in range(part.must, part.count + 1)
        )
    return whole


def test_the_papers_node() -> None:
    node = node_law([Component(str(k), from_mttf(mttf)) for k, mttf in enumerate(TABLE_2)])
    assert node.mean() == pytest.approx(1 / sum(1 / mttf for mttf in TABLE_2))
    assert node.mean() == pytest.approx(35_388.8, abs=0.05)
    told = shares_of(node)
    assert list(told) == ["0", "1", "2", "4", "3"]
    assert told["0"] == pytest.approx(35_388.83 / 67_640)
    np.testing.assert_allclose(node.sf([0.0, 1e4]), np.exp([0.0, -1e4 / 35_388.829]), rtol=1e-6)


def test_two_supplies_of_which_one_is_needed() -> None:
    pair = Component("supply", from_mttf(100.0), 2, 1)
    assert pair.mean() == pytest.approx(150.0)
    node = node_law([pair, Component("board", from_mttf(1e9))])
    assert node.mean() == pytest.approx(150.0, rel=1e-5)
    assert float(node.hazard(0.0)) == pytest.approx(1e-9)  # no single failure of a pair ends it
    assert node.quantile(0.5) == pytest.approx(-100 * math.log(1 - math.sqrt(0.5)), rel=1e-5)


def test_draws_agree_with_shares_and_mean() -> None:
    parts = [
        Component("disk", from_mttf(100.0, 0.7), 5, 3),
        Component("board", lifetime("lognormal", mu=4.0, sigma=1.0)),
        Component("fan", from_mttf(150.0, 2.0), 2),
    ]
    rng, draws = np.random.default_rng(3), 200_000
    ends = np.array(
        [
            np.sort(part.lifetime.draw(rng, (draws, part.count)), 1)[:, part.count - part.must]
            for part in parts
        ]
    )
    node = node_law(parts)
    assert node.mean() == pytest.approx(ends.min(axis=0).mean(), rel=0.01)
    assert math.sqrt(node.variance()) == pytest.approx(ends.min(axis=0).std(), rel=0.01)
    cause = np.bincount(ends.argmin(axis=0), minlength=3) / draws
    told = shares_of(node)
    np.testing.assert_allclose([told[part.name] for part in parts], cause, atol=0.005)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(10, 1e4), st.floats(0.4, 3), st.integers(1, 6), st.integers(0, 5)),
        min_size=1,
        max_size=4,
    ),
    st.floats(1e-3, 2.0),
)
def test_survival_is_that_of_counted_patterns(
    told: list[tuple[float, float, int, int]], at: float
) -> None:
    parts = [
        Component(str(k), from_mttf(mttf, shape), count, max(1, count - spare))
        for k, (mttf, shape, count, spare) in enumerate(told)
    ]
    node = node_law(parts)
    t = at * min(mttf for mttf, *_ in told)
    assert float(node.sf(t)) == pytest.approx(plain_sf(parts, t), rel=1e-9, abs=1e-300)
    assert sum(shares_of(node).values()) == pytest.approx(1)
    step = t * 1e-5
    slope = (node.cumulative_hazard(t + step) - node.cumulative_hazard(t - step)) / (2 * step)
    assert float(node.hazard(t)) == pytest.approx(float(slope), rel=1e-4)
    better = node_law([parts[0].redundant(), *parts[1:]])
    assert float(better.sf(t)) >= float(node.sf(t))


def test_far_in_the_tail() -> None:
    pair = Component("x", from_mttf(1.0), 5, 2)
    np.testing.assert_allclose(pair.logsf([30.0, 300.0]), math.log(10) - np.array([60.0, 600.0]))
    step = pair.logsf(np.array([math.log(1e8) - 1e-9, math.log(1e8) + 1e-9]))
    assert step[0] == pytest.approx(step[1], rel=1e-8)


def test_in_a_machine() -> None:
    node = node_law([Component("a", from_mttf(100.0, 0.7)), Component("b", from_mttf(200.0))])
    steady = series_mttf([ComponentGroup(64, node, "steady")])
    assert steady.time == pytest.approx(node.mean() / 64)
    assert {part.name for part in parts_of(node)} == {"a", "b"}
    assert parts_of(from_mttf(1.0)) == ()
    assert shares_of(from_mttf(1.0)) == {}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: node_law([]), "components"),
        (lambda: node_law([Component("a", from_mttf(1.0))] * 2), "components"),
        (lambda: Component("a", from_mttf(1.0), 0), "count"),
        (lambda: Component("a", from_mttf(1.0), 2, 3), "needed"),
        (lambda: Component("a", from_mttf(1.0), 2, 0), "needed"),
    ],
)
def test_what_cannot_be(make: object, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        make()  # type: ignore[operator]
