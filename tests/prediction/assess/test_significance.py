"""P-values and intervals of areas beside counting, SciPy, and the definitions in plain loops."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.roc import area
from forestall.prediction.assess.significance import (
    Alternative,
    bootstrap,
    compare,
    delong,
    doubled_ranks,
    expected_p,
    hanley_mcneil,
    newcombe,
    normal_p,
    permutation,
)
from forestall.prediction.assess.significance_kernels import areas_again, sums_of_subsets

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
PAPER = 479, 540, 0.562


def draw(
    count: int = 300, gap: float = 0.5, seed: int = 1, digits: int = 1
) -> tuple[Floats, Flags]:
    rng = np.random.default_rng(seed)
    failed = rng.random(count) < 0.3
    return np.round(rng.normal(size=count) + gap * failed, digits), failed


def sample_of(positives: int, negatives: int, auc: float, seed: int) -> tuple[Floats, Flags]:
    """Return distinct scores of exactly so many cases whose area is nearest to `auc`."""
    rng = np.random.default_rng(seed)
    failed = rng.permutation(np.arange(positives + negatives) < positives)
    wanted = round(auc * positives * negatives)
    have = round(area(np.arange(len(failed)), failed) * positives * negatives)
    while have != wanted:  # a failure and its neighbour change places: one pair more or less
        up = have < wanted
        there = np.flatnonzero((failed[:-1] == up) & (failed[1:] != up))
        at = there[rng.integers(len(there))]
        failed[at], failed[at + 1] = failed[at + 1], failed[at]
        have += 1 if up else -1
    return np.arange(len(failed), dtype=np.float64), failed


# ------------------------------------------------------------------------------- permutations


def test_the_papers_sample_is_as_significant_as_the_paper_says() -> None:
    score, failed = sample_of(*PAPER, seed=3)
    found = permutation(score, failed, 3000, rng=np.random.default_rng(1))
    assert found.auc == pytest.approx(PAPER[2], abs=1 / (479 * 540))
    assert found.p_value == (1 + found.exceed) / 3001
    # 2 of 3000 in the paper; 0.94 are to be expected.
    assert found.exceed <= 6
    many = permutation(score, failed, 60_000, rng=np.random.default_rng(2)).exceed
    assert 0.4 < many / 20 < 1.8
    assert 2e-4 < found.p_normal < 5e-4
    assert 3000 * expected_p(PAPER[2], 479, 540) == pytest.approx(0.9388, abs=1e-3)


def test_without_relation_p_values_are_uniform() -> None:
    rng = np.random.default_rng(5)
    drawn, normal, wald = [], [], []
    for _ in range(400):
        failed = np.arange(120) < 50
        score = rng.normal(size=120)
        found = permutation(score, failed, 999, rng=rng)
        drawn.append(found.p_value - rng.random() / 1000)  # between the steps of 1 / 1000
        normal.append(found.p_normal)
        wald.append(delong(score, failed).p_value)
    for values in (drawn, normal, wald):
        assert stats.kstest(values, "uniform").pvalue > 0.02


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=9),
    st.sampled_from(ALTERNATIVES),
)
def test_the_exact_p_value_counts_every_permutation(
    rows: list[tuple[int, bool]], alternative: Alternative
) -> None:
    score = np.array([row[0] for row in rows], dtype=np.float64)
    failed = np.array([row[1] for row in rows])
    m, n = int(failed.sum()), int((~failed).sum())
    found = permutation(score, failed, 50, rng=np.random.default_rng(1), alternative=alternative)
    if not m or not n:
        assert math.isnan(found.p_value)
        assert len(found.null) == 0
        return
    far = total = 0
    pairs = 2 * m * n
    observed = round(area(score, failed) * pairs) - m * n
    for chosen in itertools.combinations(range(m + n), m):
        other = np.isin(np.arange(m + n), chosen)
        above = round(area(score, other) * pairs) - m * n
        hit = {
            "greater": above >= observed,
            "less": above <= observed,
            "two-sided": abs(above) >= abs(observed),
        }
        far += hit[alternative]
        total += 1
    assert found.p_exact == pytest.approx(far / total, abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_normal_p_values_are_those_of_mann_and_whitney(
    alternative: Alternative, digits: int
) -> None:
    score, failed = draw(gap=0.2, digits=digits)
    expected = stats.mannwhitneyu(
        score[failed], score[~failed], alternative=alternative, method="asymptotic"
    ).pvalue
    assert normal_p(score, failed, alternative) == pytest.approx(expected, rel=1e-9)
    found = permutation(
        score, failed, 20_000, rng=np.random.default_rng(2), alternative=alternative
    )
    assert found.p_value == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))
    assert found.p_exact is None


def test_drawn_areas_have_the_law_of_permutations() -> None:
    score, failed = draw(digits=0)
    null = permutation(score, failed, 20_000, rng=np.random.default_rng(3)).null
    m, n = int(failed.sum()), int((~failed).sum())
    ranks = stats.rankdata(score)
    deviation = math.sqrt(np.var(ranks) * m * n / (m + n - 1)) / (m * n)
    assert np.mean(null) == pytest.approx(0.5, abs=4 * deviation / math.sqrt(20_000))
    assert np.std(null) == pytest.approx(deviation, rel=0.03)
    other = permutation(score, ~failed, 20_000, rng=np.random.default_rng(3)).null
    assert np.std(other) == pytest.approx(deviation, rel=0.03)  # the larger class is not drawn


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_doubled_ranks_are_twice_the_midranks(values: list[int]) -> None:
    score = np.array(values, dtype=np.float64)
    assert doubled_ranks(score).tolist() == np.sort(2 * stats.rankdata(score)).tolist()


def test_subsets_are_the_first_places_of_a_shuffle() -> None:
    rng = np.random.default_rng(1)
    ranks = rng.integers(0, 50, 20)
    uniform = rng.random((30, 7))
    sums = np.empty(30, dtype=np.int64)
    sums_of_subsets(ranks.copy(), uniform, sums)
    pool = ranks.tolist()
    for row, total in zip(uniform.tolist(), sums.tolist(), strict=True):
        for k, u in enumerate(row):
            other = k + int(u * (len(pool) - k))
            pool[k], pool[other] = pool[other], pool[k]
        assert sum(pool[:7]) == total
    assert sorted(pool) == sorted(ranks.tolist())


def test_the_same_seed_gives_the_same_draws() -> None:
    score, failed = draw()
    one, two = (permutation(score, failed, 500, rng=np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.null, two.null)


def test_scores_that_are_all_alike_prove_nothing() -> None:
    for alternative in ALTERNATIVES:
        found = permutation(
            [1.0] * 9, [1, 0, 0] * 3, rng=np.random.default_rng(1), alternative=alternative
        )
        assert (found.p_value, found.p_normal, found.p_exact) == (1, 1, pytest.approx(1))


# ---------------------------------------------------------------------------------- intervals


def placements(score: Floats, failed: Flags) -> tuple[Floats, Floats]:
    """Return DeLong's components by looking at every pair."""
    ill, well = score[failed][:, None], score[~failed][None, :]
    won = (ill > well) + 0.5 * (ill == well)
    return won.mean(axis=1), won.mean(axis=0)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=4, max_size=40
    )
)
def test_delong_is_the_covariance_of_the_components(rows: list[tuple[int, int, bool]]) -> None:
    table = np.array(rows, dtype=np.float64)
    one, two, failed = table[:, 0], table[:, 1], table[:, 2] == 1
    m, n = int(failed.sum()), int((~failed).sum())
    if m < 2 or n < 2:
        return
    (ill, well), (ill2, well2) = placements(one, failed), placements(two, failed)
    covariance = np.cov(ill, ill2) / m + np.cov(well, well2) / n
    found = delong(one, failed)
    assert found.se**2 == pytest.approx(covariance[0, 0], abs=1e-12)
    both = compare(one, two, failed)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert both.difference == pytest.approx(ill.mean() - ill2.mean(), abs=1e-12)
    if variance > 1e-9:
        assert both.se**2 == pytest.approx(variance, abs=1e-12)
        z = both.difference / math.sqrt(variance)
        assert both.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), abs=1e-9)
    assert found.low <= found.auc <= found.high
    assert both.low <= both.difference <= both.high


def test_the_logit_keeps_intervals_inside() -> None:
    score, failed = draw(60, gap=1.8, digits=3)
    plain, bent = delong(score, failed, transform=False), delong(score, failed)
    assert bent.high < 1
    assert bent.low < plain.low  # near 1 the interval reaches further down
    slope = bent.se / (bent.auc * (1 - bent.auc))
    assert math.log(bent.high / (1 - bent.high)) - math.log(bent.auc / (1 - bent.auc)) == (
        pytest.approx(1.959964 * slope, rel=1e-5)
    )


def test_intervals_hold_the_area_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    true = stats.norm.cdf(1.2 / math.sqrt(2))
    held = again = 0
    for _ in range(600):
        failed = np.arange(60) < 20
        score = rng.normal(size=60) + 1.2 * failed
        found = delong(score, failed)
        held += found.low <= true <= found.high
        low, high = newcombe(found.auc, 20, 40, 0.95)
        again += low <= true <= high
    assert 0.925 < held / 600 < 0.98
    assert 0.925 < again / 600 < 0.98


def test_cases_that_hang_together_widen_the_interval() -> None:
    score, failed = draw(200, digits=2)
    alone = delong(score, failed)
    twice = np.repeat(score, 3), np.repeat(failed, 3)
    groups = np.repeat(np.arange(200), 3)
    blind, seen = delong(*twice), delong(*twice, groups=groups)
    assert blind.se == pytest.approx(alone.se / math.sqrt(3), rel=0.02)
    assert seen.se == pytest.approx(alone.se, rel=0.02)
    assert seen.method == "clustered"
    drawn = bootstrap(*twice, rng=np.random.default_rng(1), groups=groups)
    assert drawn.se == pytest.approx(alone.se, rel=0.08)
    other = np.repeat(draw(200, 0.3, seed=4)[0], 3)
    pair = compare(twice[0], other, twice[1], groups=groups)
    assert pair.se == pytest.approx(compare(score, other[::3], failed).se, rel=0.02)
    assert pair.method == "clustered"


def test_groups_of_one_case_change_little() -> None:
    score, failed = draw(400)
    names = [f"node {k}" for k in range(400)]
    assert delong(score, failed, groups=names).se == pytest.approx(
        delong(score, failed).se, rel=0.01
    )


@pytest.mark.parametrize("kind", ["stratified", "free", "groups"])
def test_cases_drawn_again_have_the_area_of_those_cases(kind: str) -> None:
    rng = np.random.default_rng(6)
    score, failed = draw(30, digits=0)
    order = np.argsort(score, kind="stable")
    score, failed = score[order], failed[order]
    unit = np.arange(30)
    if kind == "groups":
        unit = rng.permutation(np.arange(30) // 4)
    units = int(unit.max()) + 1
    begin, size = np.zeros(units, dtype=np.int64), np.full(units, units)
    if kind == "stratified":
        unit = np.empty(30, dtype=np.int64)
        m = int(failed.sum())
        unit[failed], unit[~failed] = np.arange(m), np.arange(m, 30)
        begin, size = np.where(np.arange(30) < m, 0, m), np.where(np.arange(30) < m, m, 30 - m)
    uniform, out = rng.random((40, units)), np.empty(40)
    ends = np.append(score[1:] > score[:-1], True)
    areas_again(uniform, begin, size, unit, failed, ends, np.empty(units, dtype=np.int64), out)
    for row, found in zip(uniform, out, strict=True):
        drawn = begin + (row * size).astype(np.int64)
        cases = np.concatenate([np.flatnonzero(unit == one) for one in drawn])
        expected = area(score[cases], failed[cases])
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("stratified", [True, False])
def test_the_bootstrap_agrees_with_delong(stratified: bool) -> None:
    score, failed = draw(500)
    found = bootstrap(
        score, failed, rng=np.random.default_rng(1), draws=4000, stratified=stratified
    )
    exact = delong(score, failed)
    assert found.auc == exact.auc
    assert found.se == pytest.approx(exact.se, rel=0.05)
    assert (found.low, found.high) == (
        pytest.approx(exact.low, abs=0.008), pytest.approx(exact.high, abs=0.008)
    )  # fmt: skip


@pytest.mark.parametrize("auc", [0.0, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 40), (479, 540)])
def test_newcombe_ends_are_where_chance_allows_no_more(auc: float, m: int, n: int) -> None:
    low, high = newcombe(auc, m, n, 0.9)
    assert 0 <= low <= auc <= high <= 1
    half, z = (m + n) / 2 - 1, stats.norm.ppf(0.95)
    for end in (low, high):
        variance = end * (1 - end) / (m * n)
        variance *= 1 + half * (1 - end) / (2 - end) + half * end / (1 + end)
        if end not in {0.0, 1.0}:
            assert (auc - end) ** 2 == pytest.approx(z**2 * variance, rel=1e-6)
    assert (auc == 1) == (high == 1)
    assert (auc == 0) == (low == 0)


def test_without_spread_the_interval_still_has_width() -> None:
    for score, failed in (
        ([1, 2, 3, 4], [0, 0, 1, 1]),
        ([1, 2, 3], [0, 0, 1]),
        ([1, 1, 1, 1], [0, 1, 0, 1]),
    ):
        found = delong(score, failed)
        assert found.method == "newcombe"
        assert found.high - found.low > 0.3
        assert math.isnan(found.p_value)


def test_hanley_and_mcneil() -> None:
    assert hanley_mcneil(0.5, 479, 540) == pytest.approx(math.sqrt(1020 / (12 * 479 * 540)))
    rng = np.random.default_rng(1)  # exponential scores, of means 4 and 1: the area is 0.8
    failed = np.arange(50) < 20
    areas = [area(rng.exponential(np.where(failed, 4.0, 1.0)), failed) for _ in range(4000)]
    assert np.mean(areas) == pytest.approx(0.8, abs=0.004)
    assert hanley_mcneil(0.8, 20, 30) == pytest.approx(np.std(areas), rel=0.05)
    assert hanley_mcneil(1.0, 5, 5) == 0
    assert expected_p(0.5, 10, 20) == 0.5
    assert expected_p(0.562, 479, 540, "less") == 1 - expected_p(0.562, 479, 540)
    assert expected_p(0.438, 479, 540, "two-sided") == pytest.approx(
        2 * expected_p(0.562, 479, 540)
    )


# --------------------------------------------------------------------------------- comparisons


def test_a_score_beside_itself_and_turned_round() -> None:
    score, failed = draw()
    same = compare(score, 3 * score + 1, failed)
    assert (same.difference, same.p_value, same.se) == (0, 1, 0)
    one = compare(score, -score, failed)
    other = compare(-score, score, failed)
    assert one.difference == pytest.approx(-other.difference)
    assert one.p_value == other.p_value
    assert one.correlation == pytest.approx(-1)


def test_paired_differences_are_told_better_than_separate_ones() -> None:
    score, failed = draw(400, gap=0.8, digits=5)
    noisy = score + np.random.default_rng(3).normal(size=400) * 0.6
    found = compare(score, noisy, failed)
    separate = math.hypot(delong(score, failed).se, delong(noisy, failed).se)
    assert found.correlation > 0.4
    assert found.se < 0.8 * separate


def test_p_values_of_equal_scores_are_uniform() -> None:
    rng = np.random.default_rng(8)
    values = []
    for _ in range(300):
        failed = np.arange(150) < 60
        base = failed + rng.normal(size=150)
        pair = [base + rng.normal(size=150) for _ in range(2)]
        values.append(compare(*pair, failed).p_value)
    assert stats.kstest(values, "uniform").pvalue > 0.02


def test_perfect_beside_useless() -> None:
    failed = np.arange(20) < 10
    found = compare(failed.astype(float), np.zeros(20), failed)
    assert found.method == "newcombe"
    assert found.difference == 0.5
    assert found.p_value < 0.05
    assert found.low > 0


def test_one_class_is_no_crash() -> None:
    for failed in ([1, 1, 1], [0, 0, 0]):
        score = [1.0, 2.0, 3.0]
        rng = np.random.default_rng(1)
        assert math.isnan(delong(score, failed).auc)
        assert math.isnan(bootstrap(score, failed, rng=rng).low)
        assert math.isnan(compare(score, score, failed).p_value)
        assert math.isnan(permutation(score, failed, rng=rng).p_value)
        assert math.isnan(normal_p(score, failed))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda s, f, r: permutation(s, f, 0, rng=r), "draws"),
        (lambda s, f, r: permutation(s, f, rng=r, alternative="up"), "alternative"),
        (lambda s, f, r: permutation([math.nan, 1], [0, 1], rng=r), "scores"),
        (lambda s, f, r: delong(s, f, 1.0), "level"),
        (lambda s, f, r: delong(s, f, groups=[1]), "groups"),
        (lambda s, f, r: delong(s, f, groups=[1] * len(s)), "groups"),
        (lambda s, f, r: bootstrap(s, f, rng=r, draws=1), "draws"),
        (lambda s, f, r: compare(s, s[1:], f), "second"),
        (lambda s, f, r: hanley_mcneil(1.2, 3, 4), "auc"),
        (lambda s, f, r: expected_p(0.5, 0, 4), "positives"),
        (lambda s, f, r: newcombe(0.5, 1, 1, 0), "level"),
    ],
)
def test_what_cannot_be_used_is_named(call: Any, named: str) -> None:
    score, failed = draw(30)
    with pytest.raises(ParameterError, match=f"^{named}:"):
        call(score, failed, np.random.default_rng(1))


def test_one_sided_p_value_of_an_area() -> None:
    rng = np.random.default_rng(8)
    score, failed = rng.normal(size=60), rng.random(60) < 0.4
    up, down = delong(score, failed), delong(-score, failed)
    assert up.p_better + down.p_better == pytest.approx(1)
    assert min(up.p_better, down.p_better) == pytest.approx(up.p_value / 2)
    assert (up.p_better < 0.5) == (up.auc > 0.5)
