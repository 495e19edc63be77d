"""Two exponential phases: when one is enough, order, limits."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.solve import solve
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.mixtures import MIXTURES
from forestall.reliability.lifetimes.registry import lifetime

MIXTURE = MIXTURES[0]


def slow_em(t: np.ndarray, censored: np.ndarray, theta: list[float]) -> float:
    """Return the log-likelihood after many rounds of expectation and maximisation."""
    share, short, long = theta
    for _ in range(3_000):
        one = share * np.exp(-t / short) * np.where(censored, 1, 1 / short)
        two = (1 - share) * np.exp(-t / long) * np.where(censored, 1, 1 / long)
        first = one / (one + two)
        lasts = t[None] + censored * np.array([[short], [long]])
        share = first.mean()
        short = (first * lasts[0]).sum() / first.sum()
        long = ((1 - first) * lasts[1]).sum() / (1 - first).sum()
    return float(np.log(one + two).sum())


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_as_likely_as_expectation_and_maximisation(share: float) -> None:
    for seed, theta in enumerate([(0.3, 0.1, 2.0), (0.8, 0.5, 3.0), (0.05, 0.01, 1.0)]):
        rng = np.random.default_rng(seed)
        t = MIXTURE.draw(rng, 200, *theta)
        censored = rng.random(200) < share
        t = np.where(censored, t * rng.random(200), t)
        found = fit(t, "hyperexponential", censored=censored)
        assert found.converged
        assert found.loglik >= slow_em(t, censored, list(theta)) - 1e-6


def test_one_phase_is_enough_where_gaps_vary_little() -> None:
    gaps = np.random.default_rng(1).gamma(2.0, size=300)
    found, plain = fit(gaps, "hyperexponential"), fit(gaps, "exponential")
    assert found.converged
    assert found.loglik == pytest.approx(plain.loglik, rel=1e-12)
    assert found.params["mean_short"] == found.params["mean_long"] == pytest.approx(gaps.mean())
    assert found.notes == ("one phase is enough: the fit is the exponential",)
    assert np.isnan(list(found.standard_errors().values())).all()


def test_never_less_likely_than_the_exponential() -> None:
    for seed in range(30):
        gaps = np.random.default_rng(seed).exponential(size=40)
        found = fit(gaps, "hyperexponential")
        assert found.loglik >= fit(gaps, "exponential").loglik - 1e-9
        assert found.params["mean_short"] <= found.params["mean_long"]


def test_rows_with_one_and_with_two_phases_go_together() -> None:
    rng = np.random.default_rng(5)
    rows = np.concatenate(
        [rng.gamma(3.0, size=(3, 80)), MIXTURE.draw(rng, (3, 80), 0.5, 0.05, 2.0)]
    )
    together = solve(MIXTURE, Batch.of(rows))
    assert together.converged.all()
    same = together.theta[:, 1] == together.theta[:, 2]
    assert same.tolist() == [True] * 3 + [False] * 3


def test_zeros_beyond_what_two_phases_explain() -> None:
    """Many gaps below the resolution: the short phase shrinks to a point, and the fit says so."""
    gaps = np.concatenate([np.zeros(50), np.random.default_rng(6).exponential(100, 50) + 1])
    found = fit(gaps, "hyperexponential", resolution=1.0)
    assert found.params["share"] == pytest.approx(0.5, abs=0.02)
    assert found.params["mean_short"] < 0.5


def test_phases_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ParameterError, match="mean_short"):
        lifetime("hyperexponential", share=0.5, mean_short=2.0, mean_long=1.0)
    batch = Batch.of(np.array([1.0, 2.0]))
    assert MIXTURE.loglik(batch, np.array([[0.5, 2.0, 1.0]])) == -np.inf


@pytest.mark.parametrize("theta", [(0.5, 1e-9, 1.0), (0.999, 1.0, 1e6), (0.5, 2.0, 2.0)])
def test_quantiles_of_extreme_laws(theta: tuple[float, ...]) -> None:
    shares = np.array([1e-12, 0.1, 0.4999, 0.5001, 0.9995, 1 - 1e-12])
    t = MIXTURE.quantile(shares, *theta)
    assert -np.expm1(MIXTURE.logsf(t, *theta)) == pytest.approx(shares, rel=1e-9)
    assert np.exp(MIXTURE.logsf(t, *theta)) == pytest.approx(1 - shares, rel=1e-3)
