"""Curves and areas beside scikit-learn and beside counting pairs, with heavy ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.roc import (
    Roc,
    area,
    checked,
    confusion,
    numbered,
    precision_recall,
    roc,
    sorted_apart,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Sample = tuple[Floats, Flags]

TIED = st.lists(st.tuples(st.integers(-2, 3).map(float), st.booleans()), min_size=1, max_size=40)
ANY = st.lists(
    st.tuples(st.floats(allow_nan=False, allow_infinity=True), st.booleans()),
    min_size=1,
    max_size=60,
)
SAMPLES = st.one_of(TIED, ANY)


def split(rows: list[tuple[float, bool]]) -> Sample:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def made(count: int = 3000, seed: int = 1, digits: int = 2) -> Sample:
    rng = np.random.default_rng(seed)
    failed = rng.random(count) < 0.2
    return np.round(rng.normal(size=count) + failed, digits), failed


def pairs(score: Floats, failed: Flags) -> float:
    """Return the area by looking at every pair."""
    ill, well = score[failed], score[~failed]
    if not len(ill) or not len(well):
        return math.nan
    won = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in ill for b in well)
    return won / (len(ill) * len(well))


@given(SAMPLES)
def test_the_area_counts_pairs(rows: list[tuple[float, bool]]) -> None:
    score, failed = split(rows)
    assert area(score, failed) == pytest.approx(pairs(score, failed), abs=1e-12, nan_ok=True)
    assert roc(score, failed).auc == pytest.approx(area(score, failed), abs=0, nan_ok=True)


@given(SAMPLES)
def test_the_points_are_the_confusions_at_each_distinct_score(
    rows: list[tuple[float, bool]],
) -> None:
    score, failed = split(rows)
    curve = roc(score, failed)
    distinct = sorted(set(score.tolist()), reverse=True)
    assert curve.thresholds[0] == np.inf
    assert curve.thresholds[1:].tolist() == distinct
    assert (curve.hits[0], curve.false[0]) == (0, 0)
    for k, threshold in enumerate(distinct, 1):
        brute = (score >= threshold) & failed, (score >= threshold) & ~failed
        assert (curve.hits[k], curve.false[k]) == (brute[0].sum(), brute[1].sum())
        assert curve.at(k) == confusion(score, failed, threshold)


@given(ANY)
def test_keys_sort_as_the_scores_do(rows: list[tuple[float, bool]]) -> None:
    score, failed = split(rows)
    for keys, part in zip(
        sorted_apart(score, failed), (score[failed], score[~failed]), strict=True
    ):
        bits = np.where(keys >> np.uint64(63), keys ^ np.uint64(1 << 63), ~keys)
        assert bits.view(np.float64).tolist() == np.sort(part).tolist()  # -0.0 == 0.0


@pytest.mark.parametrize("digits", [0, 1, 2, 12])
@pytest.mark.parametrize("corners", [False, True])
def test_as_scikit_learn_has_it(digits: int, corners: bool) -> None:
    score, failed = made(digits=digits)
    curve = roc(score, failed, corners=corners)
    fpr, tpr, thresholds = metrics.roc_curve(failed, score, drop_intermediate=False)
    assert curve.auc == pytest.approx(metrics.roc_auc_score(failed, score), abs=1e-14)
    if corners:
        assert len(curve.thresholds) < len(thresholds) or digits == 0
        at = np.searchsorted(-thresholds, -curve.thresholds)
        fpr, tpr, thresholds = fpr[at], tpr[at], thresholds[at]
    np.testing.assert_allclose(curve.fpr, fpr, atol=1e-15)
    np.testing.assert_allclose(curve.tpr, tpr, atol=1e-15)
    assert np.array_equal(curve.thresholds, thresholds)


@given(SAMPLES)
def test_precision_over_recall_as_scikit_learn_has_it(rows: list[tuple[float, bool]]) -> None:
    score, failed = split(rows)
    if not failed.any() or np.isinf(score).any():
        return
    found = precision_recall(score, failed)
    precision, recall, thresholds = metrics.precision_recall_curve(failed, score)
    np.testing.assert_allclose(found.precision, precision[:-1][::-1], atol=1e-14)
    np.testing.assert_allclose(found.recall, recall[:-1][::-1], atol=1e-14)
    assert np.array_equal(found.thresholds, thresholds[::-1])
    expected = metrics.average_precision_score(failed, score)
    assert found.average_precision == pytest.approx(expected, abs=1e-12)
    assert found.prevalence == failed.mean()


@given(TIED)
def test_corners_leave_out_only_points_on_lines(rows: list[tuple[float, bool]]) -> None:
    score, failed = split(rows)
    whole, few = roc(score, failed), roc(score, failed, corners=True)
    if whole.why is not None:
        return
    assert np.trapezoid(few.tpr, few.fpr) == pytest.approx(whole.auc, abs=1e-12)
    assert np.all(np.isin(few.thresholds, whole.thresholds))
    for k in range(1, len(few.fpr) - 1):  # no three of them in a line
        one = few.hits[k + 1] - few.hits[k], few.false[k + 1] - few.false[k]
        two = few.hits[k] - few.hits[k - 1], few.false[k] - few.false[k - 1]
        assert one[0] * two[1] != one[1] * two[0]


@given(TIED, st.data())
def test_whole_weights_are_repeated_cases(rows: list[tuple[float, bool]], data: Any) -> None:
    score, failed = split(rows)
    weight = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    )
    if not weight.any():
        return
    weighted = roc(score, failed, weights=weight.astype(float))
    repeated = roc(np.repeat(score, weight), np.repeat(failed, weight))
    assert weighted.auc == pytest.approx(repeated.auc, abs=1e-12, nan_ok=True)
    assert weighted.why == repeated.why
    assert (weighted.positives, weighted.negatives) == (repeated.positives, repeated.negatives)


def test_weights_as_scikit_learn_has_them() -> None:
    score, failed = made()
    weight = np.random.default_rng(2).random(len(score))
    expected = metrics.roc_auc_score(failed, score, sample_weight=weight)
    assert roc(score, failed, weights=weight).auc == pytest.approx(expected, abs=1e-12)
    average = metrics.average_precision_score(failed, score, sample_weight=weight)
    found = roc(score, failed, weights=weight).precision_recall().average_precision
    assert found == pytest.approx(average, abs=1e-12)


def test_a_sample_worked_out_by_hand() -> None:
    # Failures at 5, 3, 3; the rest at 4, 3, 1, 1: won 4 + (2 + 1/2) twice of 12.
    score, failed = [5, 3, 3, 4, 3, 1, 1], [1, 1, 1, 0, 0, 0, 0]
    curve = roc(score, failed)
    assert curve.auc == 9 / 12
    assert curve.thresholds.tolist() == [np.inf, 5, 4, 3, 1]
    assert curve.hits.tolist() == [0, 1, 1, 3, 3]
    assert curve.false.tolist() == [0, 0, 1, 2, 4]
    one = confusion(score, failed, 4)
    assert (one.tp, one.fp, one.fn, one.tn) == (1, 1, 2, 3)
    assert (one.recall, one.precision, one.fpr) == (1 / 3, 1 / 2, 1 / 4)
    assert (one.f1, one.alarmed, one.total) == (0.4, 2 / 7, 7)
    assert one.youden == pytest.approx(1 / 12)
    assert one.accuracy == 4 / 7
    truth = [1, 1, 1, 0, 0, 0, 0]
    assert one.mcc == pytest.approx(metrics.matthews_corrcoef(truth, [1, 0, 0, 1, 0, 0, 0]))
    assert curve.best("youden").threshold == 3
    assert curve.best("f1").threshold == 3


@pytest.mark.parametrize("digits", [0, 2])
def test_operating_points_are_the_best_that_are_allowed(digits: int) -> None:
    score, failed = made(800, digits=digits)
    curve = roc(score, failed)
    every = [curve.at(k) for k in range(len(curve.thresholds))]
    for most in (0.0, 0.01, 0.2, 0.5, 1.0):
        allowed = [one for one in every if one.fpr <= most]
        assert curve.at_false_positive_rate(most) == allowed[-1]
        allowed = [one for one in every if one.alarmed <= most]
        assert curve.at_share(most) == allowed[-1]
    assert curve.best("f1").f1 == max(one.f1 for one in every)
    assert curve.best("youden").youden == pytest.approx(max(one.youden for one in every))
    assert curve.best("accuracy").accuracy == max(one.accuracy for one in every)
    for threshold in (-9.0, -0.005, 0.5, 1.0, 99.0, np.inf):
        assert curve.at_threshold(threshold) == confusion(score, failed, threshold)


@pytest.mark.parametrize("most", [0.05, 0.1, 0.37, 1.0])
def test_part_of_the_area_as_scikit_learn_has_it(most: float) -> None:
    score, failed = made(digits=1)
    part = roc(score, failed).partial(most) * most
    expected = metrics.roc_auc_score(failed, score, max_fpr=most)
    chance = most**2 / 2
    ours = part if most == 1 else (1 + (part - chance) / (most - chance)) / 2
    assert ours == pytest.approx(expected, abs=1e-12)


def test_all_scores_alike() -> None:
    curve = roc([2.0] * 5, [1, 0, 0, 1, 0])
    assert curve.auc == 0.5
    assert curve.fpr.tolist() == [0, 1]
    assert curve.precision_recall().average_precision == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("outcome", "why"), [(1, "all of them failed"), (0, "none of them failed")]
)
@pytest.mark.parametrize("count", [1, 4])
def test_one_class_has_no_area_but_a_reason(outcome: int, why: str, count: int) -> None:
    score, failed = np.arange(count), [outcome] * count
    for curve in (roc(score, failed), roc(score, failed, weights=[2.0] * count)):
        assert math.isnan(curve.auc)
        assert curve.why == why
        assert np.all(np.isnan(curve.fpr if outcome else curve.tpr))
        assert curve.best("f1").threshold == np.inf
        assert math.isnan(curve.partial(0.1))
    assert math.isnan(area(score, failed))
    assert math.isnan(confusion(score, failed, 99).precision)


def test_infinite_scores_are_scores() -> None:
    assert area([np.inf, 1, -np.inf, np.inf], [1, 1, 0, 0]) == (0.5 + 1 + 0 + 1) / 4
    curve: Roc = roc([np.inf, -np.inf], [1, 0])
    assert curve.thresholds.tolist() == [np.inf, np.inf, -np.inf]


@pytest.mark.parametrize(
    ("scores", "failed", "named"),
    [
        ([1, np.nan], [0, 1], "number 1"),
        ([1, 2], [0, 2], "2"),
        ([1, 2], ["a", "b"], "failed"),
        ([1, 2], [0, np.nan], "nan"),
        ([1, 2], [0], "2 scores"),
        ([], [], "not empty"),
        ([[1, 2]], [[0, 1]], "one dimension"),
        (["x"], [1], "numbers"),
    ],
)
def test_what_cannot_be_used_is_named(scores: Any, failed: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        checked(scores, failed)
    with pytest.raises(ParameterError):
        roc(scores, failed)


def test_parameters_out_of_range() -> None:
    curve = roc([1, 2], [0, 1])
    for call in (curve.at_share, curve.at_false_positive_rate, curve.partial):
        with pytest.raises(ParameterError, match="share"):
            call(1.5)
    with pytest.raises(ParameterError, match="threshold"):
        confusion([1, 2], [0, 1], math.nan)
    with pytest.raises(ParameterError, match="aim"):
        curve.best("beauty")  # type: ignore[arg-type]
    for weights in ([1.0], [1.0, -1.0], [1.0, np.inf]):
        with pytest.raises(ParameterError, match="weights"):
            roc([1, 2], [0, 1], weights=weights)


@given(st.lists(st.one_of(st.integers(-3, 90)), min_size=1, max_size=30))
def test_groups_are_numbered_in_their_order(groups: list[int]) -> None:
    expected = np.unique(groups, return_inverse=True)[1]
    assert numbered(groups, len(groups)).tolist() == expected.tolist()
    assert numbered([str(one) for one in groups], len(groups)).max() == expected.max()
    with pytest.raises(ParameterError, match="groups"):
        numbered(groups, len(groups) + 1)
