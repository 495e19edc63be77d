"""The ascent: to the maximum from anywhere, row by row, with parameters held, and to an edge."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.arrays import Floats
from forestall.reliability.fits import newton
from forestall.reliability.fits.newton import maximise
from forestall.reliability.fits.solve import solve
from forestall.reliability.lifetimes.batch import Batch, Derivatives
from forestall.reliability.lifetimes.registry import FAMILIES
from forestall.reliability.lifetimes.weibull import WEIBULL, Weibull
from reliability.lifetimes.laws import batch_of_rows

RNG = np.random.default_rng(11)
TIME, CENSORED = RNG.weibull(0.8, (40, 120)), RNG.random((40, 120)) < 0.3


class PlainWeibull(Weibull):
    """Weibull without derivatives of its own and without its direct way."""

    name: ClassVar[str] = "plain"

    def closed(self, batch: Batch) -> None:
        return None

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives | None:
        return None


@pytest.mark.parametrize("family", [WEIBULL, PlainWeibull()])
def test_the_ascent_ends_where_the_direct_way_does(family: Weibull) -> None:
    batch = batch_of_rows(TIME, CENSORED)
    found, wanted = maximise(family, batch), WEIBULL.closed(batch)
    assert found.converged.all()
    assert not found.edge.any()
    np.testing.assert_allclose(found.theta, wanted, rtol=2e-5)
    np.testing.assert_allclose(found.loglik, WEIBULL.loglik(batch, wanted), rtol=1e-11)


@settings(max_examples=40)
@given(st.floats(-3, 3), st.floats(-5, 5))
def test_from_anywhere(log_shape: float, log_scale: float) -> None:
    batch = batch_of_rows(TIME[:3], CENSORED[:3])
    found = maximise(WEIBULL, batch, np.exp([log_shape, log_scale]))
    assert found.converged.all()
    np.testing.assert_allclose(found.loglik, solve(WEIBULL, batch).loglik, rtol=1e-12)


def test_rows_do_not_know_of_each_other() -> None:
    batch = batch_of_rows(TIME, CENSORED)
    family = FAMILIES["loglogistic"]
    together = maximise(family, batch)
    for row in (0, 17, 39):
        alone = maximise(family, batch.rows(np.array([row])))
        np.testing.assert_allclose(together.theta[row], alone.theta[0], rtol=1e-6)
        np.testing.assert_allclose(together.loglik[row], alone.loglik[0], rtol=1e-12)


def test_held_parameters_stay_and_the_rest_is_best() -> None:
    batch = batch_of_rows(TIME, CENSORED)
    start = solve(WEIBULL, batch).theta
    start[:, 0] = np.linspace(0.5, 1.5, len(start))
    found = maximise(WEIBULL, batch, start, free=np.array([False, True]))
    np.testing.assert_array_equal(found.theta[:, 0], start[:, 0])
    # for a given shape the scale's maximum is the mean power of time over the failures
    power = np.where(True, TIME ** start[:, :1], 0).sum(axis=1) / (~CENSORED).sum(axis=1)
    np.testing.assert_allclose(found.theta[:, 1], power ** (1 / start[:, 0]), rtol=1e-5)
    kept = maximise(WEIBULL, batch, start, free=np.array([False, False]))
    np.testing.assert_array_equal(kept.theta, start)


def test_a_likelihood_that_rises_for_ever_stops_at_an_edge() -> None:
    batch = Batch.of(np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 2.0]]))
    found = maximise(WEIBULL, batch)
    assert found.edge.tolist() == [[True, False], [False, False]]
    assert np.log(found.theta[0, 0]) == pytest.approx(newton.EDGES["shape"])
    assert found.converged[1]
    both = solve(WEIBULL, batch)
    assert both.edge.tolist() == found.edge.tolist()


def test_a_start_outside_the_support_is_no_maximum() -> None:
    family = FAMILIES["weibull-3p"]
    batch = Batch.of(np.array([1.0, 2.0, 3.0]))
    found = maximise(family, batch, np.array([1.0, 1.0, 5.0]))
    assert not found.converged.any()


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_coordinates_there_and_back(name: str) -> None:
    family = FAMILIES[name]
    values = {"share": 0.3, "real": -0.7, "location": -2.0, "logscale": -1.0}
    theta = np.array([[values.get(kind, 2.5) for kind in family.kinds]])
    u = newton.unconstrained(family, theta)
    np.testing.assert_allclose(newton.constrained(family, u), theta)
    slope = newton.slopes(family, theta)
    moved = newton.constrained(family, u + 1e-6) - theta
    np.testing.assert_allclose(moved / 1e-6, slope, rtol=1e-5)


def test_information_is_the_curvature_at_the_maximum() -> None:
    """For n exponential times, the information about log scale is n."""
    t: npt.NDArray[np.float64] = RNG.exponential(3.0, 50)
    found = newton.information(FAMILIES["exponential"], Batch.of(t), np.array([[t.mean()]]))
    assert found[0, 0, 0] == pytest.approx(50)


def test_many_rows_go_in_blocks_and_come_back_in_order() -> None:
    t = np.random.default_rng(3).weibull(1.3, (150, 700))
    for name in ("weibull", "loglogistic"):
        family = FAMILIES[name]
        found = solve(family, Batch.of(t))
        part = solve(family, Batch.of(t[100:103]))
        assert found.theta.shape == (150, 2)
        np.testing.assert_allclose(found.theta[100:103], part.theta, rtol=1e-5)
        near = solve(family, Batch.of(t), found.theta)
        np.testing.assert_allclose(near.loglik, found.loglik, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_rows_without_a_maximum_are_told_from_those_with_one(name: str) -> None:
    """Row 1 has no failure, row 2 equal ones only; the others are not disturbed by them."""
    time = np.random.default_rng(1).weibull(0.8, (4, 30))
    censored = np.random.default_rng(2).random((4, 30)) < 0.4
    censored[1], censored[2], time[2] = True, False, 2.0
    family = FAMILIES[name]
    found = solve(family, batch_of_rows(time, censored))
    assert not found.converged[1]
    if len(family.parameters) == 2 and name not in ("pareto", "lomax", "generalized-pareto"):
        assert found.edge[2].any()
    for row in (0, 3):
        alone = solve(family, batch_of_rows(time[[row]], censored[[row]]))
        assert found.converged[row] == alone.converged[0]
        assert found.loglik[row] == pytest.approx(alone.loglik[0], rel=1e-7)


def test_a_bootstrap_may_stop_a_little_earlier() -> None:
    batch = batch_of_rows(TIME, CENSORED)
    family = FAMILIES["loglogistic"]
    exact, rough = solve(family, batch), solve(family, batch, tolerance=1e-3)
    assert (rough.loglik <= exact.loglik + 1e-9).all()
    assert (rough.loglik >= exact.loglik - 2e-3).all()
