"""Pareto, Lomax, generalized Pareto and Burr: closed forms, edges, and who contains whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.reliability.fits.estimate import fit
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.registry import FAMILIES
from forestall.reliability.lifetimes.tails import TAILS

PARETO, LOMAX, GENERALIZED, BURR = TAILS


def test_special_cases() -> None:
    t = np.array([0.3, 1.0, 4.0])
    for family, theta, same, other in (
        ("generalized-pareto", (0.0, 2.0), "exponential", (2.0,)),
        ("generalized-pareto", (0.25, 2.0), "lomax", (4.0, 8.0)),
        ("burr", (1.0, 3.0, 2.0), "lomax", (3.0, 2.0)),
        ("burr", (1.7, 1.0, 2.0), "loglogistic", (1.7, 2.0)),
    ):
        for method in ("logpdf", "logsf", "logcdf"):
            expected = getattr(FAMILIES[same], method)(t, *other)
            found = getattr(FAMILIES[family], method)(t, *theta)
            assert found == pytest.approx(expected, rel=1e-12)


def test_moments_there_are_and_are_not() -> None:
    assert LOMAX.mean(1.0, 2.0) == PARETO.mean(1.0, 2.0) == GENERALIZED.mean(1.0, 2.0) == np.inf
    assert BURR.mean(0.5, 2.0, 3.0) == np.inf
    assert LOMAX.variance(2.0, 2.0) == PARETO.variance(2.0, 2.0) == np.inf
    assert GENERALIZED.variance(0.5, 2.0) == BURR.variance(1.0, 2.0, 3.0) == np.inf
    assert np.isfinite(BURR.mean(1.0, 2.0, 3.0))


@given(st.lists(st.floats(0.01, 100.0), min_size=3, max_size=20), st.integers(0, 2**20))
def test_pareto_by_hand(times: list[float], flags: int) -> None:
    """Gaps censored before the shortest failure say nothing."""
    t = np.array(times)
    censored = np.array([bool(flags >> k & 1) for k in range(len(t))])
    censored[0] = False
    low = t[~censored].min()
    total = np.log(t[t > low] / low).sum()
    if total < 1e-3:
        return
    found = PARETO.closed(Batch.of(t[~censored], t[censored]))
    assert found is not None
    assert found[0] == pytest.approx([np.count_nonzero(~censored) / total, low], rel=1e-9)


@pytest.mark.parametrize("resolution", [0.5, 1.2])
def test_pareto_with_zeros_keeps_its_end_below_them(resolution: float) -> None:
    """Against a grid over both parameters."""
    gaps = np.array([0, 0, 0, 1.0, 1.5, 2.0, 3.5, 8.0, 20.0])
    found = fit(gaps, "pareto", resolution=resolution)
    scales = np.linspace(0.01, min(resolution, 1.0), 1_000)[:-1, None]
    grid = np.stack(np.broadcast_arrays(np.linspace(0.05, 3, 800), scales), axis=-1)
    batch = Batch.of(gaps[gaps > 0], None, np.full(3, resolution))
    best = max(PARETO.loglik(batch, point[None])[0] for row in grid[::10] for point in row[::10])
    assert found.loglik >= best
    assert found.loglik == pytest.approx(best, abs=0.02)


def test_burr_is_at_least_as_likely_as_what_it_contains() -> None:
    rng = np.random.default_rng(2)
    for gaps in (rng.weibull(0.8, 300), np.exp(rng.logistic(size=300)), rng.pareto(1.5, 300)):
        censored = rng.random(300) < 0.2
        burr, lomax, weibull, loglogistic = (
            fit(gaps, name, censored=censored).loglik
            for name in ("burr", "lomax", "weibull", "loglogistic")
        )
        assert burr >= max(lomax, loglogistic) - 1e-8
        assert burr >= weibull - 0.1  # which it only comes close to


def test_without_heavy_tails_the_fit_stops_and_says_so() -> None:
    gaps = np.random.default_rng(3).weibull(3.0, 500)
    lomax, burr = fit(gaps, "lomax"), fit(gaps, "burr")
    assert lomax.converged
    assert burr.converged
    assert "exponential" in lomax.notes[-1]
    assert "Weibull" in burr.notes[-1]
    assert lomax.loglik == pytest.approx(fit(gaps, "exponential").loglik, abs=0.05)
    assert burr.loglik == pytest.approx(fit(gaps, "weibull").loglik, abs=0.2)


def test_a_generalized_pareto_with_an_end_is_held_above_minus_one() -> None:
    gaps = np.random.default_rng(4).random(300)
    found = fit(gaps, "generalized-pareto")
    assert found.converged
    assert found.params["shape"] == -0.99
    assert "-0.99" in found.notes[-1]
    scales = 0.99 * gaps.max() * (1 + np.geomspace(1e-9, 1, 400))
    batch = Batch.of(gaps)
    best = max(GENERALIZED.loglik(batch, np.array([[-0.99, scale]]))[0] for scale in scales)
    assert found.loglik >= best - 1e-6
    assert np.isnan(list(found.standard_errors().values())).all()


def test_generalized_pareto_near_shape_zero_is_smooth() -> None:
    t = np.array([1e-9, 1e-3, 0.5, 3.0, 40.0])
    shapes = np.array([[-1e-6], [-1e-9], [0.0], [1e-9], [1e-6]])
    value = GENERALIZED.logsf(t, shapes, 2.0)
    expected = -(t / 2) * (1 - shapes * t / 4 + shapes**2 * t**2 / 12)
    assert value == pytest.approx(expected, rel=1e-11)


def test_deep_tails_do_not_overflow() -> None:
    assert BURR.logsf(np.array([1e300]), 20.0, 2.0, 1e-10) == pytest.approx(
        -40 * 310 * np.log(10), rel=1e-9
    )
    assert BURR.logcdf(np.array([1e-300]), 5.0, 2.0, 1e10) == pytest.approx(
        np.log(2) - 5 * 310 * np.log(10), rel=1e-9
    )
