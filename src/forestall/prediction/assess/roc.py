"""How well scores tell failures from the rest: confusion, ROC and precision-recall curves.

A score at or above the threshold is an alarm. Everything rests on two counts at each threshold:
failures with an alarm, and alarms without a failure.

Source: Brandt et al., Sections 3.1 and 4.4; Fawcett, An introduction to ROC analysis, 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.roc_kernels import (
    DIGITS,
    PASSES,
    apart,
    arrange,
    doubled_wins,
    steps,
)

Keys = npt.NDArray[np.uint64]
Aim = Literal["youden", "f1", "accuracy"]

NO_FAILURES = "none of them failed"
ALL_FAILED = "all of them failed"


def checked(scores: npt.ArrayLike, failed: npt.ArrayLike) -> tuple[Floats, Bools]:
    """Return scores as float64[n] and outcomes as bool[n].

    Raises ParameterError where there are none, their numbers differ, a score is nan, or an outcome
    is neither 0 nor 1. Infinite scores are scores like others.
    """
    score = numbers(scores, "scores")
    truth = np.asarray(failed)
    if truth.ndim != 1 or len(truth) != len(score):
        raise ParameterError("failed", truth.shape, f"one outcome for each of {len(score)} scores")
    if truth.dtype != np.bool_:
        if truth.dtype.kind not in "iuf" or not np.all((truth == 0) | (truth == 1)):
            raise ParameterError("failed", _odd(truth), "true or false (1 or 0) only")
        truth = truth == 1
    return score, truth


def numbers(values: npt.ArrayLike, name: str) -> Floats:
    """Return float64[n] with n > 0 and no nan; raises ParameterError."""
    try:
        found = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, type(values).__name__, "numbers") from None
    if found.ndim != 1 or len(found) == 0:
        raise ParameterError(name, found.shape, "an array of one dimension, not empty")
    if np.isnan(found.min()):
        where = int(np.flatnonzero(np.isnan(found))[0])
        raise ParameterError(name, float("nan"), f"numbers; number {where} is none")
    return found


def numbered(groups: npt.ArrayLike, count: int) -> Ints:
    """Return groups numbered from 0 in their order, int64[count]; raises ParameterError."""
    labels = np.asarray(groups)
    if labels.shape != (count,):
        raise ParameterError("groups", labels.shape, f"one for each of {count} cases")
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() <= 4 * count:
        there = np.bincount(labels) > 0  # numbers already: no need to sort them
        return np.asarray((np.cumsum(there) - 1)[labels], dtype=np.int64)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _odd(truth: npt.NDArray[Any]) -> object:
    if truth.dtype.kind not in "iuf":
        return truth.dtype.name
    return truth[(truth != 0) & (truth != 1)][0].item()


@dataclass(frozen=True)
class Confusion:
    """What alarms at a threshold met; counts, or sums of weights.

    Attributes
    ----------
    threshold : a score at or above it is an alarm
    tp, fp : alarms with and without a failure
    fn, tn : no alarm, with and without a failure
    """

    threshold: float
    tp: float
    fp: float
    fn: float
    tn: float

    @property
    def total(self) -> float:
        """All there are."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def recall(self) -> float:
        """Share of the failures that had an alarm (true positive rate); nan without failures."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def fpr(self) -> float:
        """Share of the rest that had an alarm (false positive rate)."""
        return _share(self.fp, self.fp + self.tn)

    @property
    def precision(self) -> float:
        """Share of the alarms that were followed by a failure; nan without alarms."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; nan without failures and alarms."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def accuracy(self) -> float:
        """Share that was told right."""
        return _share(self.tp + self.tn, self.total)

    @property
    def youden(self) -> float:
        """Recall less the false positive rate: 0 is chance, 1 perfect."""
        return self.recall - self.fpr

    @property
    def alarmed(self) -> float:
        """Share that had an alarm."""
        return _share(self.tp + self.fp, self.total)

    @property
    def mcc(self) -> float:
        """Correlation of alarm and failure (Matthews); nan where either is constant."""
        sides = (self.tp + self.fp, self.tp + self.fn, self.tn + self.fp, self.tn + self.fn)
        return _share(
            self.tp * self.tn - self.fp * self.fn, math.prod(math.sqrt(side) for side in sides)
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def confusion(scores: npt.ArrayLike, failed: npt.ArrayLike, threshold: float) -> Confusion:
    """Return what alarms at a threshold met. Raises ParameterError."""
    score, truth = checked(scores, failed)
    at = float(threshold)
    if math.isnan(at):
        raise ParameterError("threshold", threshold, "a number")
    alarm = score >= at
    positives, alarms = int(np.count_nonzero(truth)), int(np.count_nonzero(alarm))
    tp = int(np.count_nonzero(alarm & truth))
    return Confusion(at, tp, alarms - tp, positives - tp, len(score) - alarms - positives + tp)


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision over recall, from the highest threshold down.

    Attributes
    ----------
    precision, recall, thresholds : float64[k], one for each distinct score
    average_precision : the sum of precisions weighted by the rise of the recall, without
        interpolation; nan without failures
    prevalence : share that failed: the precision of alarms at random
    """

    precision: Floats
    recall: Floats
    thresholds: Floats
    average_precision: float
    prevalence: float


@dataclass(frozen=True)
class Roc:
    """The ROC curve, from no alarm to an alarm for all.

    Attributes
    ----------
    thresholds : float64[k + 1], inf first (no alarm), then descending: each distinct score, or the
        corners of the curve only
    hits, false : [k + 1], failures and others with a score of the threshold or more; int64, or
        float64 where there are weights
    positives, negatives : how many (of what weight) failed and did not
    auc : area under it, ties by the trapezoid: the chance that a failure scores higher than another
        case, ties counting half; nan where nothing or everything failed
    why : why there is no area, None where there is one
    """

    thresholds: Floats
    hits: npt.NDArray[Any]
    false: npt.NDArray[Any]
    positives: float
    negatives: float
    auc: float
    why: str | None = None

    @cached_property
    def fpr(self) -> Floats:
        """False positive rates, float64[k + 1]; nan where all failed."""
        return _rates(self.false, self.negatives)

    @cached_property
    def tpr(self) -> Floats:
        """True positive rates (recalls), float64[k + 1]; nan where none failed."""
        return _rates(self.hits, self.positives)

    def at(self, index: int) -> Confusion:
        """Return what the alarms of one point of the curve met."""
        hits, false = self.hits[index].item(), self.false[index].item()
        return Confusion(
            float(self.thresholds[index]), hits, false, self.positives - hits,
            self.negatives - false,
        )  # fmt: skip

    def at_false_positive_rate(self, most: float) -> Confusion:
        """Return the lowest threshold with no more than this false positive rate."""
        _checked_share("most", most)
        allowed = self.false <= most * self.negatives * (1 + 1e-12)
        return self.at(int(np.count_nonzero(allowed)) - 1)

    def at_share(self, most: float) -> Confusion:
        """Return the lowest threshold with an alarm for no more than this share of all."""
        _checked_share("most", most)
        alarms = self.hits + self.false
        limit = most * (self.positives + self.negatives) * (1 + 1e-12)
        return self.at(int(np.count_nonzero(alarms <= limit)) - 1)

    def at_threshold(self, threshold: float) -> Confusion:
        """Return what alarms at any threshold met; of corners only, at the corner above it."""
        index = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        found = self.at(max(index, 0))
        return Confusion(float(threshold), found.tp, found.fp, found.fn, found.tn)

    def best(self, aim: Aim = "youden") -> Confusion:
        """Return the threshold that is best by Youden's index, F1 or accuracy; the highest such.

        Where nothing or everything failed, no threshold is better than another: no alarm.
        """
        if self.why is not None:
            return self.at(0)
        hits, false = (np.asarray(each, dtype=np.float64) for each in (self.hits, self.false))
        if aim == "youden":
            value = hits / self.positives - false / self.negatives
        elif aim == "f1":
            value = 2 * hits / (hits + false + self.positives)
        elif aim == "accuracy":
            value = hits - false
        else:
            raise ParameterError("aim", aim, "youden, f1 or accuracy")
        return self.at(int(np.argmax(value)))

    def partial(self, most: float) -> float:
        """Return the mean recall over false positive rates from 0 to `most`: chance is most / 2,
        perfect 1."""
        _checked_share("most", most)
        if self.why is not None or most == 0:
            return math.nan
        stop = int(np.searchsorted(self.fpr, most, side="right"))
        end = float(np.interp(most, self.fpr[stop - 1 : stop + 1], self.tpr[stop - 1 : stop + 1]))
        across, up = np.append(self.fpr[:stop], most), np.append(self.tpr[:stop], end)
        return float(np.trapezoid(up, across)) / most

    def precision_recall(self) -> PrecisionRecall:
        """Return precision over recall at the same thresholds; all of them, not the corners, must
        be there for the average precision to be right."""
        hits, false = (np.asarray(each[1:], dtype=np.float64) for each in (self.hits, self.false))
        alarms = hits + false
        precision = np.divide(hits, alarms, out=np.full(len(hits), np.nan), where=alarms > 0)
        rise = np.diff(hits, prepend=0.0)
        average = math.nan
        if self.positives:
            average = float(np.sum(np.where(rise > 0, rise * precision, 0.0)) / self.positives)
        prevalence = self.positives / (self.positives + self.negatives)
        return PrecisionRecall(precision, self.tpr[1:], self.thresholds[1:], average, prevalence)

    def corners(self) -> Roc:
        """Return the curve without the points that lie on the line between their neighbours."""
        hits, false = (np.asarray(each, dtype=np.float64) for each in (self.hits, self.false))
        up, across = np.diff(hits), np.diff(false)
        kept = np.ones(len(hits), dtype=np.bool_)
        kept[1:-1] = up[1:] * across[:-1] != up[:-1] * across[1:]
        return Roc(
            self.thresholds[kept], self.hits[kept], self.false[kept], self.positives,
            self.negatives, self.auc, self.why,
        )  # fmt: skip


def _rates(counts: npt.NDArray[Any], whole: float) -> Floats:
    if not whole:
        return np.full(len(counts), np.nan)
    return np.asarray(counts / np.float64(whole), dtype=np.float64)


def _checked_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ParameterError(name, value, "a share from 0 to 1")


def roc(
    scores: npt.ArrayLike,
    failed: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    corners: bool = False,
) -> Roc:
    """Return the ROC curve of scores[n] and outcomes[n], with its area.

    Parameters
    ----------
    weights : float64[n], what each case counts, >= 0; the slower way
    corners : leave out points that lie on the line between their neighbours

    Raises ParameterError where scores and outcomes cannot be used; see `checked`. With one class
    only the area is nan, and `why` says so.
    """
    score, truth = checked(scores, failed)
    if weights is not None:
        curve = _weighted(score, truth, numbers(weights, "weights"))
    else:
        curve = _counted(score, truth)
    return curve.corners() if corners else curve


def _counted(score: Floats, truth: Bools) -> Roc:
    ill, well = sorted_apart(score, truth)
    total = len(score)
    threshold = np.empty(total + 1)
    hits, false = np.empty(total + 1, dtype=np.int64), np.empty(total + 1, dtype=np.int64)
    threshold[0], hits[0], false[0] = np.inf, 0, 0
    points = 1 + steps(ill, well, threshold[1:].view(np.uint64), hits[1:], false[1:])
    if 2 * points < total:  # many ties: do not keep the room
        threshold = threshold[:points].copy()
        hits, false = hits[:points].copy(), false[:points].copy()
    area_, why = _area_of(ill, well)
    return Roc(threshold[:points], hits[:points], false[:points], len(ill), len(well), area_, why)


def _area_of(ill: Keys, well: Keys) -> tuple[float, str | None]:
    if len(ill) == 0 or len(well) == 0:
        return math.nan, ALL_FAILED if len(ill) else NO_FAILURES
    return int(doubled_wins(ill, well)) / (2 * len(ill) * len(well)), None


def sorted_apart(score: Floats, truth: Bools) -> tuple[Keys, Keys]:
    """Return ordered keys of the scores of failures and of the rest, each ascending; see
    `roc_kernels`. The scores are contiguous, without nan."""
    keys, spare = np.empty(len(score), dtype=np.uint64), np.empty(len(score), dtype=np.uint64)
    counts = np.empty((PASSES, DIGITS), dtype=np.int64)
    cut = int(apart(score.view(np.uint64), truth, keys))
    ill = keys[:cut] if arrange(keys[:cut], spare[:cut], counts) else spare[:cut]
    well = keys[cut:] if arrange(keys[cut:], spare[cut:], counts) else spare[cut:]
    return ill, well


def _weighted(score: Floats, truth: Bools, weight: Floats) -> Roc:
    if len(weight) != len(score) or weight.min() < 0 or np.isinf(weight.max()):
        said = f"{len(weight)} numbers from {weight.min():g} to {weight.max():g}"
        raise ParameterError("weights", said, f"{len(score)} finite numbers of at least 0")
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    hits, false = (
        np.append(0.0, np.cumsum(np.where(mine, weight, 0.0)[order])[last])
        for mine in (truth, ~truth)
    )
    positives, negatives = float(hits[-1]), float(false[-1])
    area_, why = math.nan, None
    if positives and negatives:
        area_ = float(np.trapezoid(hits, false)) / (positives * negatives)
    else:
        why = ALL_FAILED if positives else NO_FAILURES
    thresholds = np.append(np.inf, ordered[last])
    return Roc(thresholds, hits, false, positives, negatives, area_, why)


def area(scores: npt.ArrayLike, failed: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, ties by the trapezoid; nan with one class only.

    Exact up to the last division: it rests on a count of pairs. Raises ParameterError.
    """
    score, truth = checked(scores, failed)
    return _area_of(*sorted_apart(score, truth))[0]


def precision_recall(scores: npt.ArrayLike, failed: npt.ArrayLike) -> PrecisionRecall:
    """Return precision over recall at each distinct score. Raises ParameterError."""
    return roc(scores, failed).precision_recall()
