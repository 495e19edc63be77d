"""Spares: Table 5 of the paper exactly, and the answer to "how many"."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems import ring
from forestall.reliability.systems.pools import Pool, fewest
from forestall.reliability.systems.spares import (
    aged,
    answer_pool,
    answer_spares,
    never_short,
    spares_within,
)
from forestall.reliability.systems.systems import ComponentGroup, from_mttf, k_out_of_n

MTTF, NODES, HOURS = 102_840.0, 256, 128.0
PRINTED = lifetime("weibull", shape=0.7, scale=from_mttf(MTTF, 0.75).params["scale"])


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (from_mttf(MTTF), [72.71, 95.90, 99.58, 99.97, 99.998, 99.9999]),
        (PRINTED, [6.87, 25.36, 50.16, 72.24, 86.92, 94.71]),
        (from_mttf(MTTF, 0.7), [6.11, 23.28, 47.32, 69.66, 85.18, 93.76]),
        (from_mttf(MTTF, 0.75), [14.46, 42.53, 69.67, 87.09, 95.44, 98.63]),
    ],
    ids=["exponential", "as printed", "shape 0.7", "shape 0.75"],
)
def test_table_5(law: Lifetime, expected: list[float]) -> None:
    found = [100 * spares_within(NODES, law, HOURS, m) for m in range(6)]
    for value, printed in zip(found, expected, strict=True):
        digits = len(str(printed).partition(".")[2])
        assert round(value, digits) == printed


@given(
    st.integers(1, 200), st.floats(0.05, 0.9999), st.sampled_from([0.6, 1.0, 2.0]), st.booleans()
)
def test_the_answer_is_the_fewest(nodes: int, target: float, shape: float, beyond: bool) -> None:
    law = from_mttf(200.0, shape)
    found = answer_spares(nodes, law, 24.0, target, beyond=beyond)
    table = dict(found.reliability)
    if found.spares is None:
        assert not beyond
        assert k_out_of_n([ComponentGroup(nodes, law)], 24.0, nodes - 1) < target
        return
    assert table[found.spares] >= target
    assert found.spares == 0 or table[found.spares - 1] < target
    assert [count for count, _ in found.reliability] == list(range(len(found.reliability)))


def test_none_reaches_it() -> None:
    found = answer_spares(1, from_mttf(10.0), 100.0, 0.9)
    assert found.spares is None
    assert found.reliability == ((0, pytest.approx(math.exp(-10))),)
    few = answer_spares(3, from_mttf(1.0), 100.0, 0.9)
    assert few.spares is None
    assert [count for count, _ in few.reliability] == [0, 1, 2]


def test_a_ring_bounds_what_spares_can_do() -> None:
    law = from_mttf(1000.0)
    without = answer_spares(64, law, 100.0, 0.9)
    with_three = answer_spares(64, law, 100.0, 0.9, copies=3)
    assert without.spares is not None
    assert with_three.spares is None or with_three.spares >= without.spares
    lost = float(law.cdf(100.0))
    best = max(value for _, value in with_three.reliability)
    assert best <= ring.survival(lost, 64, 3, 64) + 1e-12
    assert answer_spares(64, law, 100.0, 0.9, copies=1).spares is None
    assert "3 copies" in with_three.assumes


def test_ages_change_the_answer() -> None:
    law = from_mttf(MTTF, 0.7)
    new, old = (answer_spares(NODES, law, HOURS, 0.99, age=age) for age in ("new", 8760.0))
    steady = answer_spares(NODES, law, HOURS, 0.99, age="steady")
    assert (new.spares, old.spares, steady.spares) == (7, 3, 2)
    assert "as new" in new.assumes
    assert "steady state" in steady.assumes


def test_unlike_groups() -> None:
    groups = [ComponentGroup(100, from_mttf(5000.0, 0.7)), ComponentGroup(30, from_mttf(500.0))]
    found = fewest(lambda m: k_out_of_n(groups, 24.0, m), 0.95)
    assert found is not None
    assert k_out_of_n(groups, 24.0, found) >= 0.95 > k_out_of_n(groups, 24.0, found - 1)
    older = fewest(lambda m: k_out_of_n(aged(groups, 5000.0), 24.0, m), 0.95)
    assert older is not None
    assert older < found


def test_pools_answer_with_the_bound_and_renewals() -> None:
    pool = Pool(512, 6.5 / 1000)
    poisson = answer_pool(pool, 7.0, 0.99)
    assert poisson.spares == 35
    law = from_mttf(1000 / 6.5, 0.7)
    new = answer_pool(pool, 7.0, 0.99, law=law, age="new")
    steady = answer_pool(pool, 7.0, 0.99, law=law, age="steady")
    assert new.spares is not None
    assert steady.spares is not None
    assert new.spares > steady.spares >= 35  # young nodes of shape below 1 fail more, and in clumps
    assert answer_pool(Pool(512, 6.5 / 1000, 2.0), 30.0, 0.99).spares == 13


def test_never_short_needs_more_than_any_one_moment() -> None:
    pool = Pool(64, 6.5 / 1000, 2.0)
    assert never_short(pool, 30.0, 0.99) == 6
    assert never_short(pool, 30.0, 0.99, most=5) is None


def test_long_tables_are_thinned_around_the_answer() -> None:
    found = answer_pool(Pool(2048, 6.5 / 1000), 30.0, 0.99)
    assert found.spares == 447
    counts = [count for count, _ in found.rows()]
    assert len(found.reliability) == 451
    assert {0, 446, 447, 450} <= set(counts)
    assert len(counts) <= 14


@pytest.mark.parametrize("target", [0.0, 1.0, -1.0, math.nan])
def test_targets_that_cannot_be(target: float) -> None:
    with pytest.raises(ParameterError, match="target"):
        answer_spares(10, from_mttf(10.0), 1.0, target)


def test_nodes_and_hours_that_cannot_be() -> None:
    for nodes, hours in ((0, 1.0), (10, 0.0), (10, math.inf)):
        with pytest.raises(ParameterError):
            answer_spares(nodes, from_mttf(10.0), hours, 0.9)
