"""Distances and their p-values against the textbook statistics, integrals and simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.fits.goodness import goodness, statistics
from forestall.reliability.fits.redraw import RedrawnGaps, Scheme, grid_of
from forestall.reliability.history.life_table import survival_of

Array = npt.NDArray[np.float64]

GAPS = st.lists(st.floats(0.01, 100), min_size=2, max_size=40, unique=True)
MIXED = st.lists(
    st.tuples(st.floats(0.01, 100), st.booleans()),
    min_size=3,
    max_size=25,
    unique_by=lambda r: r[0],
).filter(lambda rows: sum(not c for _, c in rows) >= 2)


@given(GAPS)
def test_uncensored_statistics_are_the_textbook_ones(gaps: list[float]) -> None:
    fitted = fit(gaps, "weibull")
    ks, ad = statistics(fitted)
    assert ks == pytest.approx(stats.kstest(gaps, fitted.cdf).statistic, rel=1e-9)
    x = np.sort(gaps)
    n, place = len(x), np.arange(1, len(x) + 1)
    sums = (2 * place - 1) * (np.log(fitted.cdf(x)) + np.log(fitted.sf(x[::-1])))
    assert ad == pytest.approx(-n - sums.sum() / n, rel=1e-6, abs=1e-7)


def slow_distances(fitted: Fitted) -> tuple[float, float]:
    """Return both distances by the definitions: a fine search, and numeric integrals."""
    sample = fitted.sample
    curve = survival_of(sample.exact, sample.right, sample.left)
    floor = float(sample.left[0]) if len(sample.left) else 0.0
    known_to_end = curve.estimate[-1] == 0
    edges = [floor, *(t for t in curve.time if t > floor)]
    if not known_to_end:
        edges.append(curve.until)
    furthest = area = 0.0
    for low, high in zip(edges, [*edges[1:], np.inf], strict=True):
        if low == high or (high == np.inf and not known_to_end):
            continue
        share = 1 - float(curve.at(low)) if low <= curve.until else 1.0
        u, v = float(fitted.cdf(low)), 1.0 if high == np.inf else float(fitted.cdf(high))
        furthest = max(furthest, abs(share - u), abs(share - v))

        def term(x: float, p: float = share) -> float:
            return (p - x) ** 2 / (x * (1 - x))

        area += quad(term, u, v, limit=200)[0] if v > u else 0.0
    return furthest, area * len(sample)


@settings(max_examples=30)
@given(MIXED)
def test_censored_statistics_are_their_definitions(rows: list[tuple[float, bool]]) -> None:
    fitted = fit([t for t, _ in rows], "exponential", censored=[c for _, c in rows])
    ks, ad = statistics(fitted)
    slow_ks, slow_ad = slow_distances(fitted)
    assert ks == pytest.approx(slow_ks, rel=1e-9)
    assert ad == pytest.approx(slow_ad, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("resolution", [None, 1.5])
def test_zeros_leave_out_what_is_below_the_resolution(resolution: float | None) -> None:
    gaps = [0, 0, 0, 2, 3.5, 5, 9, 14, 1.7]
    fitted = fit(gaps, "weibull", censored=[0] * 8 + [1], resolution=resolution)
    ks, ad = statistics(fitted)
    slow_ks, slow_ad = slow_distances(fitted)
    assert ks == pytest.approx(slow_ks, rel=1e-9)
    assert ad == pytest.approx(slow_ad, rel=1e-5)


def test_ties_are_one_step() -> None:
    gaps = [1.0, 2.1, 2.1, 2.1, 5.37, 5.37, 9.000001]  # on no common step
    fitted = fit(gaps, "exponential")
    assert statistics(fitted)[0] == pytest.approx(stats.kstest(gaps, fitted.cdf).statistic)
    half = fit([1, 2.1, 2.1, 5.37, 5.37, 9.000001], "exponential", censored=[0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(statistics(half), slow_distances(half), rtol=1e-6)


@given(
    st.lists(st.integers(0, 12), min_size=4, max_size=30).filter(
        lambda steps: 1 < len({s for s in steps if s}) < sum(s > 0 for s in steps)
    ),
    st.booleans(),
)
def test_on_a_grid_laws_are_compared_at_the_borders_of_cells(steps: list[int], cut: bool) -> None:
    gaps = 0.5 * np.array(steps)
    censored = cut & (gaps == gaps.max())
    fitted = fit(gaps, "exponential", censored=censored, zeros="censored")
    step = grid_of(fitted.sample.exact)
    assume(step > 0)
    sample = fitted.sample
    curve = survival_of(sample.exact, sample.right, sample.left)
    known = sample.left if len(sample.left) else np.zeros(1)
    last = sample.exact.max(initial=float(known[0]))
    borders = np.arange(round(known[0] / step), round(last / step) + 1) + 0.5
    all_ended = curve.estimate[-1] == 0
    told = []
    for border in borders * step:
        share = 1.0 if all_ended and border > curve.until else 1 - float(curve.at(border))
        told.append(abs(share - float(fitted.cdf(border))))
    if len(sample.right):
        end = float(sample.right[0])
        told.append(abs(1 - float(curve.at(end)) - float(fitted.cdf(end))))
    assert statistics(fitted)[0] == pytest.approx(max(told), rel=1e-9)


def test_a_fine_grid_is_next_to_none() -> None:
    rng = np.random.default_rng(4)
    gaps = 10 * rng.weibull(1.5, 400)
    censored = np.arange(400) % 5 == 0
    fine = np.rint(gaps * 50) / 50
    assert grid_of(fine[~censored]) == pytest.approx(0.02)
    for flags in (None, censored):
        told = [statistics(fit(each, "weibull", censored=flags)) for each in (gaps, fine)]
        np.testing.assert_allclose(told[0], told[1], rtol=0.05)


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_a_coarse_grid_hides_no_wrong_law(shape: float) -> None:
    rng = np.random.default_rng(2)
    gaps = np.floor(3 * rng.weibull(shape, 1000) + rng.random(1000))
    right, wrong = (
        goodness(fit(gaps, family, zeros="censored"), 99) for family in ("weibull", "lognormal")
    )
    assert min(right.ks_p, right.ad_p) > 0.05
    assert max(wrong.ks_p, wrong.ad_p) <= 0.05
    assert "multiples of 1" in right.notes[0]


def test_far_tails_stay_finite() -> None:
    rng = np.random.default_rng(1)
    gaps = np.concatenate([rng.exponential(1.0, 500), [1e-200, 3000.0]])
    ks, ad = statistics(fit(gaps, "exponential"))
    assert np.isfinite([ks, ad]).all()


def test_a_law_that_starts_at_the_smallest_gap() -> None:
    gaps = 3 * (1 + np.random.default_rng(1).pareto(2.0, 60))
    found = goodness(fit(gaps, "pareto"), 99)
    assert found.draws == 99
    assert 0 < found.ad < 5
    assert found.ad_p > 0.05


def test_seed_decides() -> None:
    gaps = np.random.default_rng(5).weibull(0.8, 60)
    censored = np.arange(60) % 4 == 0
    fitted = fit(gaps, "weibull", censored=censored)
    first = goodness(fitted, 99, 3)
    assert first == goodness(fitted, 99, 3)
    assert first != goodness(fitted, 99, 4)
    assert first.draws == 99
    alone = goodness(fitted, 0)
    assert (alone.ks, alone.ad) == (first.ks, first.ad)
    assert np.isnan([alone.ks_p, alone.ad_p]).all()


def test_p_values_agree_with_scipy() -> None:
    gaps = np.random.default_rng(8).gamma(3.0, 1.0, 80)
    ours = goodness(fit(gaps, "exponential"), 1999, 1)
    for name, value in (("ks", ours.ks_p), ("ad", ours.ad_p)):
        theirs = stats.goodness_of_fit(
            stats.expon, gaps, known_params={"loc": 0}, statistic=name, n_mc_samples=499,
            rng=np.random.default_rng(2),
        )  # fmt: skip
        assert value == pytest.approx(theirs.pvalue, abs=0.05)


def test_scale_does_not_matter() -> None:
    gaps = np.random.default_rng(2).weibull(0.7, 50)
    one = goodness(fit(gaps, "weibull"), 49)
    for factor in (1e-290, 1e290):
        other = goodness(fit(gaps * factor, "weibull"), 49)
        assert other.ks == pytest.approx(one.ks, rel=1e-6)
        assert other.ks_p == one.ks_p


# Redrawn samples ---------------------------------------------------------------------------------


@given(st.sampled_from([0.25, 1.0, 60.0, 1 / 60, 1 / 3600, 7e-3]), st.integers(0, 10**6))
def test_the_grid_is_found(step: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 300, 80) * step
    times[:2] = [5 * step, 5 * step]
    found = grid_of(times)
    assert found / step == pytest.approx(round(found / step), rel=1e-9)
    assert np.abs(times / found - np.rint(times / found)).max() < 1e-6


def test_no_grid_without_ties_or_steps() -> None:
    rng = np.random.default_rng(0)
    times = rng.exponential(1.0, 100)
    assert grid_of(times) == 0
    times[0] = times[1]
    assert grid_of(times) == 0
    assert grid_of(np.array([7.0, 7.0])) == 7.0


def test_redrawn_censoring_is_like_the_sample_s() -> None:
    rng = np.random.default_rng(1)
    ended, stopped = rng.weibull(0.7, 4000), rng.exponential(1.0, 4000)
    fitted = fit(np.minimum(ended, stopped), "weibull", censored=stopped < ended)
    rows = Scheme.of(fitted).draw(np.random.default_rng(2), 20)
    assert rows.censored is not None
    assert rows.censored.mean() == pytest.approx((stopped < ended).mean(), abs=0.01)
    drawn = rows.time[rows.censored] * fitted.sample.scale
    kept = stopped[stopped < ended]
    assert stats.ks_2samp(drawn, kept).statistic < 0.04


def test_one_end_of_observation_stays_one() -> None:
    gaps = np.minimum(np.random.default_rng(3).weibull(1.5, 200), 1.0)
    fitted = fit(gaps, "weibull", censored=gaps == 1.0)
    rows = Scheme.of(fitted).draw(np.random.default_rng(0), 50)
    assert rows.censored is not None
    ends = np.unique(rows.time[rows.censored] * fitted.sample.scale)
    np.testing.assert_allclose(ends, 1.0)


def test_redrawn_resolution_is_the_sample_s() -> None:
    rng = np.random.default_rng(4)
    recorded = np.floor(rng.weibull(0.7, 3000) * 20 + rng.random(3000))
    fitted = fit(recorded, "weibull")
    rows = Scheme.of(fitted).draw(np.random.default_rng(5), 10)
    drawn = rows.time * fitted.sample.scale
    np.testing.assert_allclose(drawn, np.rint(drawn), atol=1e-6)
    assert rows.low.mean() / 3000 == pytest.approx((recorded == 0).mean(), abs=0.03)
    assert any("multiples of 1" in note for note in goodness(fitted, 5).notes)


def test_dropped_zeros_are_not_drawn() -> None:
    recorded = np.floor(np.random.default_rng(6).weibull(0.7, 500) * 5)
    fitted = fit(recorded, "lognormal", zeros="drop")
    rows = Scheme.of(fitted).draw(np.random.default_rng(7), 10)
    assert rows.time.shape[1] == (recorded > 0).sum()
    assert rows.time.min() > 0


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_batches_hold_what_the_rows_do(seed: int, censor: bool, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(3.0, 25)
    gaps = np.ceil(gaps) - 1 if zeros else gaps
    gaps[0], gaps[1] = 4.0, 7.5
    censored = (rng.random(25) < 0.4) & (gaps > 0) & censor
    censored[:2] = False
    fitted = fit(gaps, "weibull", censored=censored, zeros="censored")
    rows = Scheme.of(fitted).draw(rng, 6)
    batch = rows.batch()
    for k in range(6):
        row = RedrawnGaps(rows.time[k : k + 1], None, 0.0, rows.low[:1])
        right = np.zeros(25, dtype=bool) if rows.censored is None else rows.censored[k]
        failed = row.time[0][~right]
        expected = {
            "left": failed[: rows.low[k]],
            "exact": failed[rows.low[k] :],
            "right": row.time[0][right],
        }
        if zeros:
            assert (expected["left"] == rows.floor).all()
        for name, times in expected.items():
            part = getattr(batch, name)
            weight = np.ones(part.time.shape[1]) if part.weight is None else part.weight[k]
            held = np.repeat(part.time[k], weight.astype(int))
            np.testing.assert_array_equal(np.sort(held), times)
        assert (batch.exact.time > 0).all()


# What p-values are for ---------------------------------------------------------------------------


def test_a_wrong_law_is_rejected() -> None:
    rng = np.random.default_rng(11)
    gaps = rng.lognormal(0.0, 1.5, 400)
    stopped = rng.exponential(8.0, 400)
    found = goodness(fit(np.minimum(gaps, stopped), "weibull", censored=stopped < gaps), 199)
    assert found.ks_p < 0.05
    assert found.ad_p < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind"),
    [("weibull", "plain"), ("weibull", "censored"), ("lognormal", "censored"),
     ("weibull", "minutes"), ("exponential", "one end")],
)  # fmt: skip
def test_p_values_are_uniform_when_the_law_is_true(family: str, kind: str) -> None:
    rng = np.random.default_rng(12)
    values = []
    size = 80
    draw = {
        "weibull": lambda: 30 * rng.weibull(0.8, size),
        "lognormal": lambda: rng.lognormal(3.0, 1.0, size),
        "exponential": lambda: rng.exponential(20.0, size),
    }[family]
    for k in range(300):
        gaps = draw()
        censored = np.zeros(size, dtype=bool)
        if kind == "censored":
            stopped = rng.uniform(0, 120, size)
            censored, gaps = stopped < gaps, np.minimum(gaps, stopped)
        elif kind == "one end":
            censored, gaps = gaps > 25, np.minimum(gaps, 25)
        elif kind == "minutes":
            gaps = np.floor(gaps + rng.random(size))
        found = goodness(fit(gaps, family, censored=censored), 99, k)
        values.append((found.ks_p, found.ad_p))
    # Multiples of 1 / 100; the jitter makes them continuous.
    for p in np.array(values).T:
        jittered = p - rng.random(len(p)) / 100
        assert stats.kstest(jittered, "uniform").pvalue > 0.01


def test_bad_draws() -> None:
    with pytest.raises(ParameterError, match="draws"):
        goodness(fit([1.0, 2.0, 4.0], "weibull"), -1)
