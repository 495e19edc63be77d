"""The risk of one node against its definition, and that it is a probability that only grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core._compile import records
from forestall.prediction.models.hazard import hazard_kernels as kernels
from forestall.prediction.models.hazard.hazard_kernels import DAY, HAZARD, Hazard, hazard_of

TIMES = st.integers(0, 10**8)


def hazard(shape: float, failures: float, exposure: float, renewed: int = 0) -> Hazard:
    table = records(1, HAZARD)
    table["failures"], table["exposure"] = failures, exposure
    table["renewed"], table["begin"] = renewed, renewed
    return hazard_of(table, shape, failures, exposure, 120)


def risk_of(known: Hazard, now: int, start: int, end: int) -> float:
    halfway, growth = kernels.renewed_halfway(known, now, start, end)
    return float(kernels.node_risk(known, 0, now, start, end, halfway, growth))


@settings(max_examples=300)
@given(st.floats(0.1, 5), st.floats(0.05, 500), st.floats(1e-3, 1e5), TIMES, TIMES, TIMES, TIMES)
def test_a_probability_that_grows_with_its_window(
    shape: float, failures: float, exposure: float, age: int, wait: int, length: int, more: int
) -> None:
    known = hazard(shape, failures, exposure)
    start = age + wait
    risk = risk_of(known, age, start, start + length)
    wider = risk_of(known, age, start, start + length + more)
    assert 0 <= risk <= wider + 1e-12
    assert wider <= 1 + 1e-12


@settings(max_examples=200)
@given(st.floats(0.2, 3), st.floats(0.5, 50), st.floats(1, 1e4), TIMES, TIMES, TIMES)
def test_two_ways_into_the_window(
    shape: float, failures: float, exposure: float, age: int, wait: int, length: int
) -> None:
    def lasting(growth: float) -> float:
        before = exposure + (age / DAY) ** shape
        return float((before / (before + growth)) ** failures)

    def grown(begin: float, end: float) -> float:
        return float((end / DAY) ** shape - (begin / DAY) ** shape)

    start, end = age + wait, age + wait + length
    waiting, going_on = grown(age, start), grown(start, end)
    life = ((exposure + (age / DAY) ** shape) / failures) ** (1 / shape)
    known = hazard(shape, failures, exposure)
    mean_rate = 1 / (math.gamma(1 + 1 / shape) * life)
    settled = known.settled ** (1 / shape) * life
    assert shape * life**-shape * settled ** (shape - 1) == pytest.approx(mean_rate, rel=1e-3)
    then = min(wait / 2, settled * DAY)
    renewed = grown(then, then + length)
    # lasts, then fails; or fails, then fails again: less those that last and would fail again
    expected = lasting(waiting) - lasting(waiting + going_on)
    if wait:
        expected += 1 - lasting(renewed) - (lasting(waiting) - lasting(waiting + renewed))
    risk = risk_of(known, age, start, end)
    assert risk == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_shape_one_has_no_memory_but_of_the_rate() -> None:
    known = hazard(1.0, 1e9, 1e11)  # a rate of 0.01 a day, known for certain
    day = round(DAY)
    for age, wait in [(0, 0), (400 * day, 0), (3 * day, 70 * day)]:
        risk = risk_of(known, age, age + wait, age + wait + day)
        assert risk == pytest.approx(-math.expm1(-0.01), rel=1e-4)


def test_a_failure_is_counted_and_its_gap_added() -> None:
    known = hazard(0.5, 2.0, 10.0, renewed=100)
    kernels.renew(known, 0, 100 + 16 * 86_400)
    assert known.nodes[0]["failures"] == 3
    assert known.nodes[0]["exposure"] == pytest.approx(14)
    assert known.nodes[0]["renewed"] == 100 + 16 * 86_400
    kernels.renew(known, 0, 100 + 16 * 86_400)  # in the same second
    assert (known.nodes[0]["failures"], known.nodes[0]["exposure"]) == (4, 14)
    known.nodes["fresh"] = 1
    known.nodes["begin"] = 100
    kernels.renew(known, 0, 100 + 16 * 86_400)
    assert (known.nodes[0]["failures"], known.nodes[0]["exposure"]) == (4, 14)  # 2 + 1 / 0.5
    assert known.nodes[0]["fresh"] == 0


def test_risks_of_several() -> None:
    known = hazard(0.7, 3.0, 50.0)
    known = known._replace(nodes=np.concatenate([known.nodes] * 3).view(type(known.nodes)))
    risk, nodes = np.zeros(2), np.array([2, 0])
    kernels.risk_of_each(known, nodes, 10, 20, 90_000, risk)
    one = risk_of(known, 10, 20, 90_000)
    assert risk.tolist() == [one, one]
    any_of = kernels.risk_of_any(known, nodes, 10, 20, 90_000)
    assert any_of == pytest.approx(1 - (1 - one) ** 2)
