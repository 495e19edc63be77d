"""Measures of probabilities beside scikit-learn, statsmodels, SciPy and the definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.calibration import (
    Binning,
    brier,
    calibration,
    clipped,
    decomposition,
    ece,
    is_probability,
    log_loss,
    probabilities,
    reliability_table,
    share_interval,
    skill,
    spiegelhalter,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ROUND = st.integers(0, 10).map(lambda k: k / 10)
ROWS = st.lists(
    st.tuples(st.one_of(ROUND, st.floats(0, 1)), st.booleans()), min_size=1, max_size=50
)


def split(rows: list[tuple[float, bool]]) -> tuple[Floats, Flags]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def forecast(
    count: int = 4000, slope: float = 1.0, offset: float = 0.0, seed: int = 1
) -> tuple[Floats, Flags]:
    """Return probabilities whose logits are right after `offset` + `slope` * logit."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.0, count)
    return np.asarray(expit(x)), rng.random(count) < expit(offset + slope * x)


@given(ROWS)
def test_scores_as_scikit_learn_has_them(rows: list[tuple[float, bool]]) -> None:
    chance, failed = split(rows)
    assert brier(chance, failed) == pytest.approx(metrics.brier_score_loss(failed, chance))
    expected = metrics.log_loss(failed, np.clip(chance, 1e-12, 1 - 1e-12), labels=[False, True])
    assert log_loss(chance, failed, 1e-12) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(ROWS, st.sampled_from([None, 1, 4, 10, 15]), st.sampled_from(["width", "count"]))
def test_the_parts_of_the_brier_score_add_up(
    rows: list[tuple[float, bool]], bins: int | None, binning: Binning
) -> None:
    chance, failed = split(rows)
    found = decomposition(chance, failed, bins, binning)
    whole = found.reliability - found.resolution + found.uncertainty + found.within
    assert whole == pytest.approx(found.score, abs=1e-12)
    assert found.score == pytest.approx(np.mean((chance - failed) ** 2), abs=1e-12)
    assert min(found.reliability, found.resolution, found.within_variance) >= 0
    assert found.uncertainty == pytest.approx(failed.mean() * (1 - failed.mean()))
    if bins is None:  # bins of one value each: Murphy's own
        assert found.within == pytest.approx(0, abs=1e-12)


def test_murphys_parts_worked_out_by_hand() -> None:
    # 0.2 said 5 times, 1 came; 0.6 said 5 times, 4 came; half came in all.
    chance = [0.2] * 5 + [0.6] * 5
    found = decomposition(chance, [1, 0, 0, 0, 0, 1, 1, 1, 1, 0])
    assert found.reliability == pytest.approx((0 + 0.04) / 2)
    assert found.resolution == pytest.approx(0.09)
    assert found.uncertainty == pytest.approx(0.25)
    assert found.score == pytest.approx(0.18)


@given(ROWS, st.sampled_from([1, 3, 10]))
def test_the_reliability_table_counts_each_case_once(
    rows: list[tuple[float, bool]], bins: int
) -> None:
    chance, failed = split(rows)
    for binning in ("width", "count"):
        table = reliability_table(chance, failed, bins, binning)  # type: ignore[arg-type]
        assert table.count.sum() == len(chance)
        assert table.failed.sum() == failed.sum()
        assert np.all(table.count > 0)
        assert len(table) <= bins
        for k in range(len(table)):
            inside = (chance >= table.begin[k]) & (chance < table.end[k])
            if k == len(table) - 1:
                inside |= chance == table.end[k]
            assert inside.sum() == table.count[k]
            assert chance[inside].mean() == pytest.approx(table.said[k], abs=1e-12)
            assert failed[inside].sum() == table.failed[k]
        assert np.all((table.low <= table.seen + 1e-12) & (table.seen <= table.high + 1e-12))
        assert np.all(table.low_if_true <= table.high_if_true)
        gap = np.abs(table.said - table.seen)
        assert table.ece == pytest.approx(np.average(gap, weights=table.count))
        assert table.max_error == gap.max()
        assert ece(chance, failed, bins, binning) == table.ece  # type: ignore[arg-type]


def test_bins_of_equal_count() -> None:
    chance, failed = forecast(1000)
    table = reliability_table(chance, failed, 10, "count")
    assert table.count.tolist() == [100] * 10
    tied = reliability_table(np.round(chance, 1), failed, 10, "count")
    assert len(tied) < 10  # equal probabilities are never parted
    assert tied.count.sum() == 1000


@pytest.mark.parametrize(("interval", "name"), [("wilson", "wilson"), ("jeffreys", "jeffreys")])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_of_shares_as_statsmodels_has_them(
    interval: Any, name: str, level: float
) -> None:
    count = np.array([1, 5, 10, 400, 10])
    hit = np.array([0, 2, 10, 17, 9])
    low, high = share_interval(hit, count, level, interval)
    expected = proportion_confint(hit, count, 1 - level, method=name)
    inner = (hit > 0) & (hit < count)
    np.testing.assert_allclose(low[inner], expected[0][inner], atol=1e-10)
    np.testing.assert_allclose(high[inner], expected[1][inner], atol=1e-10)
    assert low[0] == 0
    assert high[2] == 1


def test_bars_are_binomial_quantiles() -> None:
    chance, failed = forecast(700)
    chance[:40] = 0.0
    table = reliability_table(chance, failed, 12, level=0.9)
    for k in range(len(table)):
        law = stats.binom(table.count[k], table.said[k])
        assert table.low_if_true[k] * table.count[k] == pytest.approx(max(law.ppf(0.05), 0))
        assert table.high_if_true[k] * table.count[k] == pytest.approx(law.ppf(0.95))


def test_right_probabilities_show_the_error_that_chance_gives() -> None:
    found, expected = [], []
    for seed in range(150):
        chance, failed = forecast(500, seed=seed)
        table = reliability_table(chance, failed)
        found.append(table.ece)
        expected.append(table.ece_by_chance)
    assert np.mean(found) == pytest.approx(np.mean(expected), rel=0.08)


def test_skill_against_the_base_rate_and_against_another() -> None:
    chance, failed = forecast()
    base = failed.mean()
    found = skill(chance, failed)
    assert found.reference == pytest.approx(base * (1 - base))
    assert found.skill == pytest.approx(1 - found.score / found.reference)
    assert found.low < found.skill < found.high < 1
    assert found.p_value < 1e-6
    beside = skill(chance, failed, chance)
    assert (beside.skill, beside.p_value) == (0, 1)
    worse = skill(np.full(len(chance), 0.9), failed, chance)
    assert worse.skill < worse.high < 0
    perfect = skill(failed.astype(float), failed)
    assert (perfect.skill, perfect.low, perfect.high) == (1, 1, 1)
    assert math.isnan(skill([0.2, 0.4], [0, 0]).skill)
    assert skill([0.2] * 4, [1, 0, 0, 0], 0.3).skill < 1


def test_the_interval_of_the_skill_is_that_of_cases_drawn_again() -> None:
    chance, failed = forecast(1500)
    groups = np.arange(1500) // 5
    rng, drawn = np.random.default_rng(1), []
    for _ in range(800):
        some = rng.integers(0, 1500, 1500)
        drawn.append(skill(chance[some], failed[some]).skill)
    found = skill(chance, failed)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(np.std(drawn), rel=0.1)
    together = skill(
        np.repeat(chance, 4), np.repeat(failed, 4), groups=np.repeat(np.arange(1500), 4)
    )
    assert together.high - together.low == pytest.approx(found.high - found.low, rel=0.02)
    assert skill(chance, failed, groups=groups).skill == found.skill


def test_recalibration_as_statsmodels_has_it() -> None:
    chance, failed = forecast(slope=0.7, offset=0.3)
    found = calibration(chance, failed)
    x = sm.add_constant(logit(chance))
    line = sm.Logit(failed.astype(float), x).fit(disp=0)
    assert (found.intercept, found.slope) == pytest.approx(tuple(line.params), abs=1e-8)
    assert (found.intercept_se, found.slope_se) == pytest.approx(tuple(line.bse), abs=1e-6)
    family = sm.families.Binomial()
    flat = sm.GLM(failed, np.ones(len(chance)), family, offset=logit(chance)).fit()
    assert (found.offset, found.offset_se) == pytest.approx((flat.params[0], flat.bse[0]), abs=1e-6)
    right = float(np.sum(np.log(np.where(failed, chance, 1 - chance))))
    assert found.p_value == pytest.approx(stats.chi2.sf(2 * (line.llf - right), 2), rel=1e-6)
    assert found.in_the_large == pytest.approx(failed.mean() - chance.mean())
    groups = np.arange(len(chance)) // 8
    robust = sm.Logit(failed.astype(float), x).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    factor = math.sqrt(500 / 499)
    both = calibration(chance, failed, groups=groups)
    assert both.slope_se == pytest.approx(robust.bse[1] * factor, rel=1e-6)


def test_bold_timid_high_and_low() -> None:
    for slope, offset in ((0.5, 0.0), (1.6, 0.0), (1.0, 0.8), (1.0, -0.8)):
        found = calibration(*forecast(20_000, slope, offset))
        assert found.slope == pytest.approx(slope, abs=4 * found.slope_se)
        assert found.intercept == pytest.approx(offset, abs=4 * found.intercept_se)
        assert found.p_value < 1e-6
        assert found.spiegelhalter_p < 0.01 or slope == 1.0


def test_tests_of_right_probabilities_are_uniform() -> None:
    found = [calibration(*forecast(400, seed=seed)) for seed in range(300)]
    assert stats.kstest([one.spiegelhalter_p for one in found], "uniform").pvalue > 0.02
    assert stats.kstest([one.p_value for one in found], "uniform").pvalue > 0.02


def test_spiegelhalter_by_the_definition() -> None:
    chance, failed = forecast(50)
    turn = [(f - p) * (1 - 2 * p) for p, f in zip(chance, failed, strict=True)]
    spread = [(1 - 2 * p) ** 2 * p * (1 - p) for p in chance]
    assert spiegelhalter(chance, failed) == pytest.approx(sum(turn) / math.sqrt(sum(spread)))
    assert math.isnan(spiegelhalter([0.5, 1.0], [0, 1]))


@pytest.mark.parametrize(
    ("chance", "failed", "why"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], "separate failures"),
        ([0.5, 0.5, 0.5], [0, 1, 0], "the same"),
        ([0.0, 1.0], [0, 1], "separate failures"),
        ([0.3], [1], "all of them"),
        ([0.3, 0.6], [0, 0], "none of them"),
    ],
)
def test_where_no_slope_can_be_fitted(chance: list[float], failed: list[int], why: str) -> None:
    found = calibration(chance, failed)
    assert math.isnan(found.slope)
    assert why in (found.why or "")
    assert len(reliability_table(chance, failed)) >= 1
    assert decomposition(chance, failed).score == brier(chance, failed)


def test_sure_misses_cost_much_but_not_infinitely() -> None:
    assert log_loss([0.0, 1.0], [1, 1]) == pytest.approx(-math.log(1e-15) / 2)
    assert log_loss([1e-20, 1.0], [0, 1]) < 1e-14
    assert clipped([0.0, 1e-16, 0.5, 1.0]) == 3
    found = calibration([0.0, 0.2, 0.6, 0.7, 0.4, 1.0], [1, 0, 1, 0, 1, 1])
    assert found.clipped == 2
    assert np.isfinite(found.slope)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: brier([1.2], [1]), "chances"),
        (lambda: brier([-0.1], [1]), "chances"),
        (lambda: brier([math.nan], [1]), "scores"),
        (lambda: log_loss([0.5], [1], 0.7), "clip"),
        (lambda: skill([0.5], [1], level=0), "level"),
        (lambda: skill([0.5], [1], 1.5), "chances"),
        (lambda: decomposition([0.5], [1], 0), "bins"),
        (lambda: reliability_table([0.5], [1], binning="odd"), "binning"),  # type: ignore[arg-type]
        (lambda: reliability_table([0.5], [1], level=1), "level"),
        (lambda: share_interval([1], [2], interval="x"), "interval"),  # type: ignore[arg-type]
        (lambda: calibration([0.5, 0.2], [1, 0], groups=[1]), "groups"),
    ],
)
def test_what_cannot_be_used_is_named(call: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}:"):
        call()


def test_which_scores_may_be_probabilities() -> None:
    assert is_probability([0, 0.5, 1])
    assert not is_probability([0, 1.01])
    assert not is_probability([])
    assert probabilities([0.5], [True])[1].tolist() == [True]
