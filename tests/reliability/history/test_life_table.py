"""Life tables against worked examples, SciPy's, and the definitions written out slowly."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, ecdf

from forestall.core.model.errors import ParameterError
from forestall.reliability.history.life_table import kaplan_meier, nelson_aalen

# Remission in weeks under 6-mercaptopurine (Freireich et al. 1963), the usual worked example.
WEEKS = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
RUNNING = [0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1]

ROWS = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40)


def split(rows: list[tuple[int, bool]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    return np.array([t for t, _ in rows], dtype=float), np.array([c for _, c in rows], dtype=bool)


def test_worked_example() -> None:
    curve = kaplan_meier(WEEKS, RUNNING)
    assert curve.time.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk.tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert curve.failed.tolist() == [3, 1, 1, 1, 1, 1, 1]
    published = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert curve.estimate.round(3).tolist() == published
    assert np.sqrt(curve.variance).round(3).tolist() == [
        0.076, 0.087, 0.096, 0.107, 0.114, 0.128, 0.135,
    ]  # fmt: skip
    assert curve.median == (23.0, 13.0, math.inf)
    hazard = nelson_aalen(WEEKS, RUNNING)
    assert hazard.estimate.round(4)[:3].tolist() == [0.1429, 0.2017, 0.2683]
    assert hazard.variance.round(4)[:3].tolist() == [0.0068, 0.0103, 0.0147]


@pytest.mark.filterwarnings("ignore:The confidence interval is undefined")
@given(ROWS.filter(lambda rows: any(t > 0 for t, _ in rows)), st.sampled_from([0.5, 0.9, 0.95]))
def test_as_scipy(rows: list[tuple[int, bool]], level: float) -> None:
    gaps, censored = split(rows)
    gaps += 1
    ours = kaplan_meier(gaps, censored, level=level)
    theirs = ecdf(CensoredData(uncensored=gaps[~censored], right=gaps[censored])).sf
    expected = theirs.evaluate(ours.time)
    np.testing.assert_allclose(ours.estimate, expected, atol=1e-12)
    inside = ours.estimate > 0
    if not inside.any():
        return
    band = theirs.confidence_interval(level, method="log-log")
    np.testing.assert_allclose(ours.low[inside], band.low.evaluate(ours.time[inside]), atol=1e-9)
    np.testing.assert_allclose(ours.high[inside], band.high.evaluate(ours.time[inside]), atol=1e-9)


@given(ROWS)
def test_definitions(rows: list[tuple[int, bool]]) -> None:
    gaps, censored = split(rows)
    survival, hazard = kaplan_meier(gaps, censored), nelson_aalen(gaps, censored)
    smallest = min((t for t, _ in rows if t > 0), default=0)
    known = [(t if t or c else smallest, c) for t, c in rows]
    product, added = 1.0, 0.0
    times = sorted({t for t, c in known if not c})
    assert survival.time.tolist() == times
    for k, time in enumerate(times):
        at_risk = sum(t >= time for t, _ in known)
        failed = sum(t == time and not c for t, c in known)
        product *= 1 - failed / at_risk
        added += failed / at_risk
        assert (survival.at_risk[k], survival.failed[k]) == (at_risk, failed)
        assert survival.estimate[k] == pytest.approx(product, abs=1e-12)
        assert hazard.estimate[k] == pytest.approx(added)
    assert survival.count == len(rows)
    assert survival.censored == int(censored.sum())


@given(ROWS)
def test_bands_hold_the_estimate_and_stay_where_they_can_be(rows: list[tuple[int, bool]]) -> None:
    for curve in (kaplan_meier(*split(rows)), nelson_aalen(*split(rows))):
        assert (curve.low <= curve.estimate + 1e-12).all()
        assert (curve.estimate <= curve.high + 1e-12).all()
        assert (curve.low >= 0).all()
        assert np.isfinite(curve.high).all()
    assert (kaplan_meier(*split(rows)).high <= 1).all()


def test_zeros_count_at_the_resolution() -> None:
    assert kaplan_meier([0, 0, 2, 4]).time.tolist() == [2, 4]
    assert kaplan_meier([0, 0, 2, 4]).failed.tolist() == [3, 1]
    told = kaplan_meier([0, 0, 2, 4], resolution=0.5)
    assert told.time.tolist() == [0.5, 2, 4]
    assert told.at(0.4) == 1
    assert kaplan_meier([0, 0]).estimate.tolist() == [0]


def test_between_and_beyond() -> None:
    curve = kaplan_meier([1, 3, 7], [False, False, True])
    np.testing.assert_allclose(curve.at([0, 1, 2, 3, 7]), [1, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert np.isnan(curve.at(7.5))
    assert nelson_aalen([1, 3, 7]).at(0.5) == 0
    np.testing.assert_allclose(curve.table()["survival"], [2 / 3, 1 / 3])
    assert nelson_aalen([1, 3]).table().columns == [
        "time", "at_risk", "failed", "cumulative_hazard", "low", "high",
    ]  # fmt: skip


def test_quantiles_without_censoring_are_order_statistics() -> None:
    curve = kaplan_meier(np.arange(1, 11))
    assert [curve.quantile(p)[0] for p in (0.05, 0.1, 0.3, 0.5, 0.91)] == [1, 1, 3, 5, 10]
    assert kaplan_meier([3.0], [True]).median == (math.inf, math.inf, math.inf)


def test_rates_between_edges() -> None:
    curve = nelson_aalen([1, 2, 3, 4])
    rate, low, high = curve.rates([0, 2, 3.5, 3.9, 5])
    np.testing.assert_allclose(rate, [(1 / 4 + 1 / 3) / 2, 1 / 2 / 1.5, 0, 1 / 1.1])
    assert (low <= rate).all()
    assert (rate <= high).all()
    assert (low[2], high[2]) == (0, math.inf)


@pytest.mark.slow
def test_bands_cover() -> None:
    rng = np.random.default_rng(3)
    inside = np.zeros((2, 2000), dtype=bool)
    for k in range(inside.shape[1]):
        ended, stopped = rng.exponential(1.0, 60), rng.exponential(2.0, 60)
        gaps, censored = np.minimum(ended, stopped), stopped < ended
        for j, (make, truth) in enumerate([(kaplan_meier, math.exp(-1)), (nelson_aalen, 1.0)]):
            curve = make(gaps, censored)
            place = np.searchsorted(curve.time, 1.0, side="right") - 1
            inside[j, k] = curve.low[place] <= truth <= curve.high[place]
    assert (np.abs(inside.mean(axis=1) - 0.95) < 0.02).all()


@pytest.mark.parametrize(
    ("gaps", "censored", "options", "named"),
    [
        ([1, -2], None, {}, r"gaps\[1\]"),
        ([1, math.nan], None, {}, r"gaps\[1\]"),
        ([math.inf], None, {}, r"gaps\[0\]"),
        ([], None, {}, "gaps"),
        ([1, 2], [True], {}, "censored"),
        ([1, 2], [True, 2], {}, "censored"),
        ([1, 2], None, {"level": 1.0}, "level"),
        ([0, 2], None, {"resolution": 0.0}, "resolution"),
    ],
)
def test_bad_input(
    gaps: list[float], censored: list[bool] | None, options: dict[str, float], named: str
) -> None:
    for make in (kaplan_meier, nelson_aalen):
        with pytest.raises(ParameterError, match=named):
            make(gaps, censored, **options)


def test_bad_share() -> None:
    with pytest.raises(ParameterError, match="share"):
        kaplan_meier([1.0, 2.0]).quantile(0.0)
