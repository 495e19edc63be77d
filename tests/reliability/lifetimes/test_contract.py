"""What every family of lifetimes keeps to: the law itself, and its fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.newton import constrained, unconstrained
from forestall.reliability.fits.solve import solve
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.batch import Batch
from forestall.reliability.lifetimes.registry import FAMILIES, lifetime
from reliability.lifetimes.laws import EVERY, LAWS, ONE, SCIPY, batch_of_rows

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
TAILS = 10.0 ** -np.arange(13, 0, -1)
SHARES = np.concatenate([TAILS, np.arange(0.15, 0.9, 0.1), 1 - TAILS[::-1]])

every = pytest.mark.parametrize(("name", "theta"), EVERY)
one = pytest.mark.parametrize(("name", "theta"), ONE)


def law_of(name: str, theta: tuple[float, ...]) -> Lifetime:
    return lifetime(name, **dict(zip(FAMILIES[name].parameters, theta, strict=True)))


def panels(edges: Floats) -> tuple[Floats, Floats]:
    """Return nodes and weights, float64[k, 40], for integrals between neighbouring edges."""
    low, high = edges[:-1, None], edges[1:, None]
    if edges[0] > 0:  # evenly in log t, which suits densities like a power of t
        low, high = np.log(low), np.log(high)
        t = np.exp(0.5 * (high + low) + 0.5 * (high - low) * NODES)
        return t, 0.5 * (high - low) * WEIGHTS * t
    return 0.5 * (high + low) + 0.5 * (high - low) * NODES, 0.5 * (high - low) * WEIGHTS


def test_every_family_has_laws_to_test() -> None:
    assert set(LAWS) == set(FAMILIES)
    for name, family in FAMILIES.items():
        assert family.name == name
        assert len(family.parameters) == len(family.kinds)


@every
def test_the_density_adds_up_to_the_cdf(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    edges = law.quantile(SHARES)
    t, weights = panels(edges)
    steps = (law.pdf(t) * weights).sum(axis=1)
    assert steps == pytest.approx(np.diff(law.cdf(edges)), rel=1e-8, abs=1e-14)
    assert steps.sum() == pytest.approx(1.0, abs=1e-9)


@every
def test_survival_and_cdf_add_up_to_one(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    t = law.quantile(SHARES)
    assert law.sf(t) + law.cdf(t) == pytest.approx(np.ones(len(t)), abs=1e-14)
    assert (np.diff(law.sf(t)) < 0).all()


@every
def test_survival_is_exact_far_into_the_tail(name: str, theta: tuple[float, ...]) -> None:
    """The hazard rate adds up to the fall of log survival, far beyond what 1 - cdf can hold."""
    law = law_of(name, theta)
    edges = law.quantile(0.5) * 1.2 ** np.arange(80)
    depth = law.family.logsf(edges, *theta)
    edges, depth = edges[depth > -1e5], depth[depth > -1e5]
    assert depth[-1] < -60 or edges[-1] > 1e5 * edges[0] or name == "generalized-pareto"
    t, weights = panels(edges)
    assert (law.hazard(t) * weights).sum(axis=1) == pytest.approx(-np.diff(depth), rel=1e-9)


@every
def test_the_cdf_is_exact_near_zero(name: str, theta: tuple[float, ...]) -> None:
    law, family = law_of(name, theta), FAMILIES[name]
    low = theta[-1] if name in ("pareto", "weibull-3p") else 0.0
    edges = low + (law.quantile(0.5) - low) * 1.15 ** -np.arange(60)[::-1]
    value = family.logcdf(edges, *theta)
    edges, value = edges[value > -1e5], value[value > -1e5]
    t, weights = panels(edges)
    rate = np.exp(family.logpdf(t, *theta) - family.logcdf(t, *theta))
    assert (rate * weights).sum(axis=1) == pytest.approx(np.diff(value), rel=1e-7)


@every
def test_quantiles_invert_the_cdf(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    shares = np.concatenate([[1e-10], SHARES[8:-10], [0.999]])
    assert law.cdf(law.quantile(shares)) == pytest.approx(shares, rel=1e-9)
    ends = law.quantile([0.0, 1.0])
    assert law.cdf(ends) == pytest.approx([0.0, 1.0], abs=1e-12)


@every
def test_the_hazard_is_density_over_survival(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    t = law.quantile(SHARES[5:-5])
    assert law.hazard(t) == pytest.approx(law.pdf(t) / law.sf(t), rel=1e-7)


@every
def test_mean_and_variance(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    t, weights = panels(law.quantile(SHARES))
    mass = law.pdf(t) * weights
    mean = (mass * t).sum()
    assert law.mean() == pytest.approx(mean, rel=1e-7)
    assert law.variance() == pytest.approx((mass * (t - mean) ** 2).sum(), rel=2e-6)


@every
def test_draws_follow_the_law(name: str, theta: tuple[float, ...]) -> None:
    law = law_of(name, theta)
    drawn = law.draw(np.random.default_rng(7), (40, 50))
    assert drawn.shape == (40, 50)
    assert stats.kstest(drawn.ravel(), law.cdf).pvalue > 1e-3
    assert (drawn == law.draw(np.random.default_rng(7), (40, 50))).all()


@pytest.mark.parametrize(("name", "theta"), [law for law in EVERY if law[0] in SCIPY])
def test_agrees_with_scipy(name: str, theta: tuple[float, ...]) -> None:
    law, known = law_of(name, theta), SCIPY[name](*theta)
    t = known.ppf(SHARES[7:-7])
    assert law.family.logpdf(t, *theta) == pytest.approx(known.logpdf(t), rel=1e-9, abs=1e-9)
    assert law.cdf(t) == pytest.approx(known.cdf(t), rel=1e-9)
    assert law.sf(t) == pytest.approx(known.sf(t), rel=1e-9)
    assert law.mean() == pytest.approx(known.mean(), rel=1e-9)
    assert law.variance() == pytest.approx(known.var(), rel=1e-6)


@every
def test_rescaled_is_the_law_of_the_multiple(name: str, theta: tuple[float, ...]) -> None:
    family = FAMILIES[name]
    t = law_of(name, theta).quantile(SHARES[3:-3])
    for factor in (3600.0, 1e-9):
        scaled = family.rescaled(np.array(theta), factor)
        expected = family.logpdf(t, *theta) - np.log(factor)
        assert family.logpdf(factor * t, *scaled) == pytest.approx(expected, rel=1e-9, abs=1e-8)
        assert family.logsf(factor * t, *scaled) == pytest.approx(
            family.logsf(t, *theta), rel=1e-7, abs=1e-14
        )


@one
def test_everything_broadcasts(name: str, theta: tuple[float, ...]) -> None:
    family, laws = FAMILIES[name], np.array([LAWS[name][0], LAWS[name][-1]])
    t = law_of(name, theta).quantile(np.linspace(0.1, 0.9, 5))
    columns = tuple(laws[:, k, None] for k in range(laws.shape[1]))
    for method in (family.logpdf, family.logsf, family.logcdf, family.loghazard):
        both = method(t, *columns)
        assert both.shape == (2, 5)
        for row, each in zip(both, laws, strict=True):
            assert row == pytest.approx(method(t, *each), rel=1e-12, abs=1e-300)
    shares = np.linspace(0.1, 0.9, 5)
    assert family.quantile(shares, *columns).shape == (2, 5)
    assert family.mean(*columns).shape == family.variance(*columns).shape == (2, 1)
    assert family.draw(np.random.default_rng(1), (2, 6), *columns).shape == (2, 6)


@one
def test_outside_the_support(name: str, theta: tuple[float, ...]) -> None:
    family = FAMILIES[name]
    infinite = np.array([np.inf])
    assert np.exp(family.logsf(infinite, *theta)) == 0
    assert family.logcdf(infinite, *theta) == 0
    if name != "gumbel":
        below = np.array([-1.0])
        assert np.exp(family.logpdf(below, *theta)) == 0
        assert family.logsf(below, *theta) == 0
        assert family.logsf(np.array([0.0]), *theta) == 0
        assert np.exp(family.logcdf(np.array([0.0]), *theta)) == 0


@one
def test_parameters_out_of_range_are_refused(name: str, theta: tuple[float, ...]) -> None:
    family = FAMILIES[name]
    good = dict(zip(family.parameters, theta, strict=True))
    for parameter, kind in zip(family.parameters, family.kinds, strict=True):
        bad = [np.nan, np.inf]
        bad += [0.0, -1.0] if kind in ("scale", "rate", "shape", "share") else []
        bad += [1.0] if kind == "share" else []
        for value in bad:
            with pytest.raises(ParameterError, match=parameter):
                lifetime(name, **{**good, parameter: value})
        with pytest.raises(ParameterError, match=parameter):
            lifetime(name, **{key: v for key, v in good.items() if key != parameter})
    with pytest.raises(ParameterError, match="unheard"):
        lifetime(name, **good, unheard=1.0)


# ------------------------------------------------------------------------------------------ fits


def sample(
    name: str, theta: tuple[float, ...], count: int, share: float, seed: int = 3
) -> tuple[Floats, Floats]:
    """Return gaps and flags, a share of them censored at random times."""
    rng = np.random.default_rng(seed)
    t = law_of(name, theta).draw(rng, count)
    censored = rng.random(count) < share
    return np.where(censored, t * rng.uniform(0.3, 1.0, count), t), censored


@one
def test_a_fit_finds_the_law_again(name: str, theta: tuple[float, ...]) -> None:
    gaps, _ = sample(name, theta, 5_000, 0.0)
    stop = np.quantile(gaps, 0.8)  # all that lasts longer is censored then
    fitted = fit(np.minimum(gaps, stop), name, censored=gaps > stop)
    assert fitted.converged
    for true, (parameter, error) in zip(theta, fitted.standard_errors().items(), strict=True):
        allowed = 4 * error if np.isfinite(error) else 0.05 * abs(true)
        assert abs(fitted.params[parameter] - true) < allowed
    assert fitted.cdf(gaps) == pytest.approx(law_of(name, theta).cdf(gaps), abs=0.05)


def scipy_loglik(name: str, gaps: Floats, censored: Floats) -> float:
    """Return the highest log-likelihood that SciPy finds."""
    rv = SCIPY[name](*LAWS[name][0]).dist
    free = name in ("gumbel", "weibull-3p")
    data = stats.CensoredData(uncensored=gaps[~censored], right=gaps[censored])
    found = rv.fit(data, **({} if free else {"floc": 0}))
    return float(rv.logpdf(gaps[~censored], *found).sum() + rv.logsf(gaps[censored], *found).sum())


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("name", [name for name in SCIPY if name != "weibull-3p"])
def test_as_likely_as_scipy(name: str, share: float) -> None:
    gaps, censored = sample(name, LAWS[name][0], 80, share)
    with np.errstate(all="ignore"):
        known = scipy_loglik(name, gaps, censored)
    found = fit(gaps, name, censored=censored)
    assert found.loglik >= known - 1e-6 * abs(known)
    law = SCIPY[name](*found.params.values())
    again = law.logpdf(gaps[~censored]).sum() + law.logsf(gaps[censored]).sum()
    assert found.loglik == pytest.approx(again, rel=1e-9, abs=1e-9)


def slope(fitted: Fitted) -> Floats:
    """Return the gradient of the log-likelihood in unconstrained coordinates by differences, over
    the root of the curvature; only of parameters that are regular."""
    family, batch = fitted.family, fitted.sample.batch
    theta = family.rescaled(np.array(list(fitted.params.values())), 1 / fitted.sample.scale)
    odd = family.irregular(batch, theta)
    u = unconstrained(family, theta)
    answer = []
    for move in 1e-5 * np.eye(len(u))[[p not in odd for p in family.parameters]]:
        rows = constrained(family, u + np.outer([-1, 0, 1], move))
        low, middle, high = (family.loglik(batch, row[None])[0] for row in rows)
        curvature = abs(low + high - 2 * middle) / 1e-10
        answer.append((high - low) / 2e-5 / np.sqrt(1 + curvature))
    return np.array(answer)


@pytest.mark.parametrize("share", [0.0, 0.3])
@one
def test_a_fit_is_stationary(name: str, theta: tuple[float, ...], share: float) -> None:
    gaps, censored = sample(name, theta, 200, share)
    fitted = fit(gaps, name, censored=censored)
    assert fitted.converged
    assert slope(fitted) == pytest.approx(np.zeros(len(slope(fitted))), abs=1e-4)


@pytest.mark.parametrize("factor", [3600.0, 1e-300, 1e300])
@one
def test_a_fit_does_not_depend_on_the_unit(
    name: str, theta: tuple[float, ...], factor: float
) -> None:
    gaps, censored = sample(name, theta, 60, 0.2)
    here, there = (fit(t, name, censored=censored) for t in (gaps, gaps * factor))
    expected = here.family.rescaled(np.array(list(here.params.values())), factor)
    assert list(there.params.values()) == pytest.approx(expected, rel=1e-5, abs=0)
    ended = np.count_nonzero(~censored)
    assert there.loglik == pytest.approx(here.loglik - ended * np.log(factor), abs=1e-7, rel=1e-11)


@one
def test_a_fit_does_not_depend_on_the_order(name: str, theta: tuple[float, ...]) -> None:
    gaps, censored = sample(name, theta, 60, 0.2)
    order = np.random.default_rng(5).permutation(len(gaps))
    here, there = (
        fit(gaps, name, censored=censored),
        fit(gaps[order], name, censored=censored[order]),
    )
    assert list(there.params.values()) == pytest.approx(list(here.params.values()), rel=1e-5)
    assert there.loglik == pytest.approx(here.loglik, abs=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.3])
@one
def test_a_batch_is_fitted_as_its_rows_are(
    name: str, theta: tuple[float, ...], share: float
) -> None:
    family = FAMILIES[name]
    rows = [sample(name, theta, 70, share, seed) for seed in range(6)]
    gaps, censored = (np.array([row[k] for row in rows]) for k in (0, 1))
    together = solve(family, batch_of_rows(gaps, censored))
    assert together.converged.all()
    for k in range(len(rows)):
        alone = solve(family, Batch.of(gaps[k, ~censored[k]], gaps[k, censored[k]]))
        assert together.loglik[k] == pytest.approx(alone.loglik[0], abs=1e-7)
        assert together.theta[k] == pytest.approx(alone.theta[0], rel=1e-4)


@one
def test_derivatives_are_those_of_the_likelihood(name: str, theta: tuple[float, ...]) -> None:
    """With exact, right- and left-censored gaps, against differences of `loglik`."""
    family = FAMILIES[name]
    rng = np.random.default_rng(2)
    t = law_of(name, theta).draw(rng, (2, 40))
    batch = Batch.of(t[:, :20], t[:, 20:30], t[:, 30:])
    u = np.tile(unconstrained(family, np.array(theta)), (2, 1)) + 0.01
    found = family.derivatives(batch, u)
    if found is None:  # has them by differences
        assert name == "pareto"
        return
    step = 1e-5
    assert found[0] == pytest.approx(family.loglik(batch, constrained(family, u)), rel=1e-10)
    for k in range(len(family.parameters)):
        move = step * np.eye(len(family.parameters))[k]
        up, down = (family.derivatives(batch, u + way * move) for way in (1, -1))
        assert up is not None
        assert down is not None
        assert found[1][:, k] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-5, abs=1e-4)
        assert found[2][:, k] == pytest.approx((up[1] - down[1]) / (2 * step), rel=1e-4, abs=1e-4)


@one
def test_gaps_known_only_to_have_ended(name: str, theta: tuple[float, ...]) -> None:
    """Zeros are left-censored: the fit is stationary with them too."""
    gaps, censored = sample(name, theta, 200, 0.2)
    low = np.quantile(gaps, 0.2)
    fitted = fit(
        np.where(gaps < low, 0.0, gaps), name, censored=censored & (gaps >= low),
        zeros="censored", resolution=low,
    )  # fmt: skip
    assert len(fitted.sample.left) == 40
    assert slope(fitted) == pytest.approx(np.zeros(len(slope(fitted))), abs=1e-4)
