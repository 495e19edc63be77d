"""Effective training time: the golden values of both forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import long_run_efficiency
from forestall.reliability.checkpoints.training import best_exact, ettr, training_time
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.ageing import SystemLifetime

RATE = 6.5e-3


@pytest.mark.parametrize(
    ("nodes", "minutes", "share"),
    [(128, 131.6, 0.924), (256, 93.0, 0.893), (1024, 46.5, 0.785), (2048, 32.9, 0.696)],
)
def test_golden(nodes: int, minutes: float, share: float) -> None:
    run = training_time(nodes, RATE, "5m", "5m")
    assert round(run.interval / 60, 1) == minutes
    assert round(run.linear, 3) == share
    assert run.exact == pytest.approx(run.linear, rel=0.02)


def test_linear_form_falls_below_zero_and_the_exact_one_does_not() -> None:
    run = training_time(40_000, RATE, 300.0, 300.0)
    assert run.linear < 0 < run.exact < 1
    assert training_time(10_000_000, RATE, 300.0, 300.0).exact >= 0


@given(st.floats(1e-8, 1e-2), st.floats(1.0, 1e5), st.floats(0.0, 1e4), st.floats(0.0, 1e4))
def test_exact_form_is_the_renewal_efficiency(
    rate: float, interval: float, cost: float, restart: float
) -> None:
    system = SystemLifetime(lifetime("exponential", scale=1 / rate))
    share = float(long_run_efficiency(system, interval, cost, restart))
    assert ettr(rate, interval, cost, restart) == pytest.approx(share, rel=1e-8, abs=1e-300)
    assert 0 <= share <= 1 + 1e-12


@given(st.floats(1e-9, 1.0), st.floats(1e-3, 1e4))
def test_best_exact_interval(rate: float, cost: float) -> None:
    best = best_exact(rate, cost)
    closed = (1 + float(lambertw(-math.exp(-1 - rate * cost)).real)) / rate
    if rate * cost > 1e-6:  # nearer to its branch point Lambert's function loses digits
        assert best == pytest.approx(closed, rel=1e-6)
    top = ettr(rate, best, cost, 1.0)
    assert all(ettr(rate, best * f, cost, 1.0) <= top * (1 + 1e-12) for f in (0.5, 0.9, 1.1, 2.0))


def test_interval_of_ones_own() -> None:
    run = training_time(256, RATE, 300.0, 60.0, interval="1h")
    rate = 256 * RATE / 86_400
    assert run.mttf == pytest.approx(1 / rate)
    assert run.linear == pytest.approx((1 - rate * (60 + 1800)) / (1 + 300 / 3600))
    assert np.isclose(run.exact, ettr(rate, 3600.0, 300.0, 60.0))


@pytest.mark.parametrize(
    ("name", "given_"),
    [
        ("nodes", (0, RATE, 300.0, 300.0)),
        ("failures_per_node_day", (8, 0.0, 300.0, 300.0)),
        ("failures_per_node_day", (8, math.nan, 300.0, 300.0)),
        ("checkpoint_cost", (8, RATE, 0.0, 300.0)),
        ("checkpoint_cost", (8, RATE, "long", 300.0)),
        ("restart", (8, RATE, 300.0, -1.0)),
    ],
)
def test_what_cannot_be(name: str, given_: tuple[object, ...]) -> None:
    with pytest.raises(ParameterError) as caught:
        training_time(*given_)  # type: ignore[arg-type]
    assert caught.value.name == name


def test_an_interval_must_be_above_zero() -> None:
    with pytest.raises(ParameterError, match="interval"):
        training_time(8, RATE, 300.0, 300.0, interval=0.0)
