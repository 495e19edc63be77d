"""Do probabilities come true? Brier score and its parts, log loss, reliability, recalibration.

Sources: Brier, Monthly Weather Review 78, 1950; Murphy, J. Applied Meteorology 12, 1973, with the
terms within bins of Stephenson et al., Weather and Forecasting 23, 2008; Spiegelhalter, Statistics
in Medicine 5, 1986; Cox, Biometrika 45, 1958; Brocker and Smith, Weather and Forecasting 22, 2007
(consistency bars).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, betaincinv, expit, logit, ndtr, ndtri, stdtrit

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.proportions import wilson_bounds
from forestall.prediction.assess.roc import checked, numbered, numbers

Binning = Literal["width", "count"]
Bounds = Literal["wilson", "jeffreys"]

CLIP: Final = 1e-15
"""Probabilities are taken to be at least this far from 0 and 1 where their logarithm is needed."""
BINS: Final = 10
STEPS: Final = 50


def is_probability(scores: npt.ArrayLike) -> bool:
    """Return whether all scores are within 0 and 1, so that they may be probabilities."""
    values = np.asarray(scores, dtype=np.float64)
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def probabilities(chances: npt.ArrayLike, failed: npt.ArrayLike) -> tuple[Floats, Bools]:
    """Return float64[n] and bool[n]; raises ParameterError where they are not probabilities and
    outcomes."""
    chance, truth = checked(chances, failed)
    if not is_probability(chance):
        worst = chance[(chance < 0) | (chance > 1)][0]
        raise ParameterError("chances", float(worst), "probabilities from 0 to 1")
    return chance, truth


def brier(chances: npt.ArrayLike, failed: npt.ArrayLike) -> float:
    """Return the mean squared difference of probability and outcome: 0 is perfect."""
    chance, truth = probabilities(chances, failed)
    return float(np.mean((chance - truth) ** 2))


def log_loss(chances: npt.ArrayLike, failed: npt.ArrayLike, clip: float = CLIP) -> float:
    """Return minus the mean logarithm of the probability of what happened, in nats.

    Probabilities nearer than `clip` to 0 or 1 are moved there: one sure miss would cost infinitely
    much otherwise. `clipped` counts them.
    """
    chance, truth = probabilities(chances, failed)
    if not 0 < clip < 0.5:
        raise ParameterError("clip", clip, "a number between 0 and 0.5")
    # Each side by itself: 1 - 1e-17 would be 1, whose other side is lost.
    of_what_came = np.where(truth, chance, 1 - chance)
    return -float(np.mean(np.log(np.clip(of_what_came, clip, 1 - clip))))


def clipped(chances: npt.ArrayLike, clip: float = CLIP) -> int:
    """Return how many probabilities are nearer than `clip` to 0 or 1."""
    chance = numbers(chances, "chances")
    return int(np.count_nonzero((chance < clip) | (chance > 1 - clip)))


@dataclass(frozen=True)
class Skill:
    """The Brier score beside that of a reference: 1 - score / reference.

    Attributes
    ----------
    score, reference : mean squared differences
    skill : 1 is perfect, 0 as good as the reference, below 0 worse; nan where the reference is
        perfect
    low, high : its interval, by the delta method
    level : of the interval
    p_value : two-sided, of equal scores; nan where nothing varies
    """

    score: float
    reference: float
    skill: float
    low: float
    high: float
    level: float
    p_value: float


def skill(
    chances: npt.ArrayLike,
    failed: npt.ArrayLike,
    reference: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    groups: npt.ArrayLike | None = None,
) -> Skill:
    """Return the Brier skill against a reference forecast.

    Parameters
    ----------
    reference : probability for each case or one for all; None: the share that failed here, which is
        the hardest constant to beat since it knows the outcomes
    groups : [n], cases that may hang together, such as those of a node; see `significance.delong`
    """
    chance, truth = probabilities(chances, failed)
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")
    other = np.full(len(chance), truth.mean())
    if reference is not None:
        other = np.broadcast_to(np.asarray(reference, dtype=np.float64), chance.shape)
        other, _ = probabilities(other, truth)
    mine, theirs = (chance - truth) ** 2, (other - truth) ** 2
    score, base = float(mine.mean()), float(theirs.mean())
    if not base > 0:
        nan = math.nan
        return Skill(score, base, nan, nan, nan, level, 1.0 if score == base else nan)
    found = 1 - score / base
    part = (mine - (1 - found) * theirs) / base
    se, reach = _standard_error(part, groups, level)
    # Equal scores are tested on their difference, whose law is nearer to normal than a ratio's.
    error, _ = _standard_error(mine - theirs, groups, level)
    z = (score - base) / error if error > 0 else math.nan
    chance_of = 1.0 if error == 0 and score == base else 2 * float(ndtr(-abs(z)))
    high = min(found + reach * se, 1.0)
    return Skill(score, base, found, found - reach * se, high, level, chance_of)


def _standard_error(
    part: Floats, groups: npt.ArrayLike | None, level: float
) -> tuple[float, float]:
    """Return the standard error of a mean, and the quantile that goes with it."""
    count = len(part)
    share = (1 + level) / 2
    if groups is not None:
        codes = numbered(groups, count)
        units = int(codes.max()) + 1
        if units > 1:
            total = np.bincount(codes, part - part.mean(), minlength=units)
            error = math.sqrt(float(np.sum(total**2)) * units / (units - 1)) / count
            return error, float(stdtrit(units - 1, share))
    if count < 2:
        return math.nan, float(ndtri(share))
    return float(np.std(part, ddof=1)) / math.sqrt(count), float(ndtri(share))


@dataclass(frozen=True)
class Decomposition:
    """The Brier score in parts: score = reliability - resolution + uncertainty + within.

    Attributes
    ----------
    score : the Brier score
    reliability : mean squared difference of said and seen in a bin: 0 is perfect
    resolution : mean squared difference of what is seen in a bin from the share of all
    uncertainty : the variance of the outcomes
    within_variance, within_covariance : what is lost by taking bins for single probabilities; both
        0 where all probabilities of a bin are the same
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float

    @property
    def within(self) -> float:
        """What the bins add: variance less covariance within them."""
        return self.within_variance - self.within_covariance


def decomposition(
    chances: npt.ArrayLike,
    failed: npt.ArrayLike,
    bins: int | None = BINS,
    binning: Binning = "width",
) -> Decomposition:
    """Return Murphy's parts of the Brier score; `bins` None: one bin for each probability said.

    Raises ParameterError.
    """
    chance, truth = probabilities(chances, failed)
    if bins is None:
        code = np.unique(chance, return_inverse=True)[1]
    else:
        code = _place(chance, _edges(chance, bins, binning))
    found = _means(chance, truth, code)
    count, said, seen = found
    total, base = len(chance), float(truth.mean())
    off, turned = chance - said[code], truth - seen[code]
    return Decomposition(
        float(np.mean((chance - truth) ** 2)),
        float(np.sum(count * (said - seen) ** 2)) / total,
        float(np.sum(count * (seen - base) ** 2)) / total,
        base * (1 - base),
        float(np.mean(off**2)),
        2 * float(np.mean(off * turned)),
    )


def _edges(chance: Floats, bins: int, binning: Binning) -> Floats:
    """Return the inner edges between bins, ascending; a probability on an edge is above it."""
    if bins < 1:
        raise ParameterError("bins", bins, "a whole number of at least 1")
    if binning == "width":
        return np.arange(1, bins) / bins
    if binning != "count":
        raise ParameterError("binning", binning, "width or count")
    ordered = np.sort(chance)
    inner = ordered[(np.arange(1, bins) * len(chance)) // bins]
    return np.unique(inner[inner > ordered[0]])


def _place(chance: Floats, inner: Floats) -> Ints:
    return np.searchsorted(inner, chance, side="right").astype(np.int64)


def _means(chance: Floats, truth: Bools, code: Ints) -> tuple[Ints, Floats, Floats]:
    """Return count, mean probability and share that failed of each bin; nan in empty ones."""
    count = np.bincount(code)
    with np.errstate(invalid="ignore"):
        said = np.bincount(code, chance) / count
        seen = np.bincount(code, truth.astype(np.float64)) / count
    return count, np.where(count, said, 0.0), np.where(count, seen, 0.0)


@dataclass(frozen=True)
class ReliabilityTable:
    """What was said and what came true, bin by bin; bins without cases are left out.

    Attributes
    ----------
    begin, end : float64[k], edges of the bins; an end belongs to the next bin, 1 to the last
    count, failed : int64[k], cases and failures
    said, seen : float64[k], mean probability, and share that failed
    low, high : float64[k], interval of the share that failed
    low_if_true, high_if_true : float64[k], where the share should lie if the probabilities are
        right (consistency bars)
    by_chance : float64[k], mean distance of said and seen if the probabilities are right
    level : of intervals and bars
    """

    begin: Floats
    end: Floats
    count: Ints
    failed: Ints
    said: Floats
    seen: Floats
    low: Floats
    high: Floats
    low_if_true: Floats
    high_if_true: Floats
    by_chance: Floats
    level: float

    def __len__(self) -> int:
        return len(self.count)

    @cached_property
    def ece(self) -> float:
        """Expected calibration error: mean distance of said and seen, weighted by counts."""
        return float(np.sum(self.count * np.abs(self.said - self.seen)) / self.count.sum())

    @cached_property
    def max_error(self) -> float:
        """The largest distance of said and seen in a bin."""
        return float(np.max(np.abs(self.said - self.seen)))

    @cached_property
    def ece_by_chance(self) -> float:
        """The expected calibration error that right probabilities would show with these counts."""
        return float(np.sum(self.count * self.by_chance) / self.count.sum())


def reliability_table(
    chances: npt.ArrayLike,
    failed: npt.ArrayLike,
    bins: int = BINS,
    binning: Binning = "width",
    *,
    level: float = 0.95,
    interval: Bounds = "wilson",
) -> ReliabilityTable:
    """Return the reliability table in bins of equal width, or (nearly) equal count.

    Equal probabilities are never parted, so bins of equal count may be fewer. Raises
    ParameterError.
    """
    chance, truth = probabilities(chances, failed)
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")
    inner = _edges(chance, bins, binning)
    code = _place(chance, inner)
    count, said, seen = _means(chance, truth, code)
    there = np.flatnonzero(count)
    spread = np.bincount(code, chance * (1 - chance))[there]
    count, said, seen = count[there], said[there], seen[there]
    hit = np.rint(seen * count).astype(np.int64)
    edges = np.concatenate([[0.0], inner, [1.0]])
    if binning == "count":
        edges[0], edges[-1] = float(chance.min()), float(chance.max())
    low, high = share_interval(hit, count, level, interval)
    bottom, top = _bars(count, said, level)
    by_chance = math.sqrt(2 / math.pi) * np.sqrt(spread) / count
    return ReliabilityTable(
        edges[there], edges[there + 1], count.astype(np.int64), hit, said, seen, low, high, bottom,
        top, by_chance, level,
    )  # fmt: skip


def share_interval(
    hit: npt.ArrayLike, count: npt.ArrayLike, level: float = 0.95, interval: Bounds = "wilson"
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of a share: Wilson's score, or Jeffreys' (whose ends at 0 and
    at all are 0 and 1)."""
    k, n = np.asarray(hit, dtype=np.float64), np.asarray(count, dtype=np.float64)
    if interval == "jeffreys":
        tail = (1 - level) / 2
        low = np.where(k > 0, betaincinv(k + 0.5, n - k + 0.5, tail), 0.0)
        high = np.where(k < n, betaincinv(k + 0.5, n - k + 0.5, 1 - tail), 1.0)
        return low, high
    if interval != "wilson":
        raise ParameterError("interval", interval, "wilson or jeffreys")
    return wilson_bounds(k, n, level)


def _bars(count: Ints, said: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the binomial quantiles of the share of each bin, were what is said right."""
    tail = (1 - level) / 2
    return _quantile(count, said, tail), _quantile(count, said, 1 - tail)


def _quantile(count: Ints, said: Floats, share: float) -> Floats:
    """Return the least k / n with P(X <= k) >= share for X binomial, by halving."""
    low, high = np.full(len(count), -1.0), count.astype(np.float64)
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        enough = bdtr(np.maximum(middle, 0.0), count, said) >= share
        open_ = high - low > 1
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle, low)
    return np.asarray(high / count, dtype=np.float64)


def ece(
    chances: npt.ArrayLike, failed: npt.ArrayLike, bins: int = BINS, binning: Binning = "width"
) -> float:
    """Return the expected calibration error; see `ReliabilityTable.ece`."""
    return reliability_table(chances, failed, bins, binning).ece


@dataclass(frozen=True)
class Calibration:
    """Whether probabilities are right on the whole, and too bold or too timid.

    Attributes
    ----------
    said, seen : mean probability, and share that failed
    slope, intercept : of the logistic recalibration: logit of the true probability = intercept +
        slope * logit of what was said. A slope below 1: too bold (too far from the base rate),
        above 1: too timid. nan where it cannot be fitted
    slope_se, intercept_se : standard errors
    offset, offset_se : the intercept with the slope held at 1: above 0 failures come more often
    spiegelhalter_z, spiegelhalter_p : test of right probabilities, two-sided; nan where all are
        0, 1/2 or 1
    p_value : of slope 1 and intercept 0 together, by likelihood ratio, 2 degrees; nan where not
        fitted
    clipped : probabilities of 0 or 1, moved inwards for their logit
    why : why there is no slope, None where there is one
    """

    said: float
    seen: float
    slope: float
    slope_se: float
    intercept: float
    intercept_se: float
    offset: float
    offset_se: float
    spiegelhalter_z: float
    spiegelhalter_p: float
    p_value: float
    clipped: int
    why: str | None = None

    @property
    def in_the_large(self) -> float:
        """Share that failed less what was said on the mean."""
        return self.seen - self.said


def calibration(
    chances: npt.ArrayLike, failed: npt.ArrayLike, *, groups: npt.ArrayLike | None = None
) -> Calibration:
    """Return calibration in the large, Cox's slope and intercept, and Spiegelhalter's test.

    With `groups`, [n], standard errors allow for cases of a group that hang together (the sandwich
    of Huber and White); the two tests take cases as independent. Raises ParameterError.
    """
    chance, truth = probabilities(chances, failed)
    codes = None if groups is None else numbered(groups, len(chance))
    edge = 1e-6  # the logit of 1e-15 would lie so far off that one such case decides the slope
    moved = int(np.count_nonzero((chance < edge) | (chance > 1 - edge)))
    x = np.asarray(logit(np.clip(chance, edge, 1 - edge)))
    z = spiegelhalter(chance, truth)
    p = 2 * float(ndtr(-abs(z)))
    told = float(chance.mean()), float(truth.mean())
    nan = math.nan
    if truth.all() or not truth.any():
        why = "all of them failed" if truth.all() else "none of them failed"
        return Calibration(*told, nan, nan, nan, nan, nan, nan, z, p, nan, moved, why)
    offset, offset_se, _ = _fitted(x, truth, codes, sloped=False)
    alone = float(offset[0]), float(offset_se[0])
    if float(x.max()) == float(x.min()):
        why = "all probabilities are the same"
        return Calibration(*told, nan, nan, nan, nan, *alone, z, p, nan, moved, why)
    line, errors, settled = _fitted(x, truth, codes, sloped=True)
    if not settled:
        why = "the probabilities separate failures from the rest perfectly, so no slope is best"
        return Calibration(*told, nan, nan, nan, nan, *alone, z, p, nan, moved, why)
    gain = 2 * (_loglik(line[0] + line[1] * x, truth) - _loglik(x, truth))
    return Calibration(
        *told, float(line[1]), float(errors[1]), float(line[0]), float(errors[0]), *alone, z, p,
        math.exp(-max(gain, 0.0) / 2), moved,
    )  # fmt: skip


def spiegelhalter(chances: npt.ArrayLike, failed: npt.ArrayLike) -> float:
    """Return Spiegelhalter's z: standard normal where probabilities are right; nan without
    spread."""
    chance, truth = probabilities(chances, failed)
    turn = 1 - 2 * chance
    spread = float(np.sum(turn**2 * chance * (1 - chance)))
    return float(np.sum((truth - chance) * turn)) / math.sqrt(spread) if spread > 0 else math.nan


def _loglik(eta: Floats, truth: Bools) -> float:
    return -float(np.sum(np.logaddexp(0.0, np.where(truth, -eta, eta))))


def _fitted(
    x: Floats, truth: Bools, codes: Ints | None, *, sloped: bool
) -> tuple[Floats, Floats, bool]:
    """Return (intercept[, slope]) of the logistic regression on x, their errors, and whether it
    came to rest; without a slope x is an offset."""
    at = np.array([0.0, 1.0]) if sloped else np.zeros(1)
    columns = np.stack([np.ones(len(x)), x]) if sloped else np.ones((1, len(x)))
    best, step = -math.inf, np.zeros(len(at))
    unknown = np.full(len(at), np.nan)
    for _ in range(STEPS):
        eta = at[0] + (at[1] * x if sloped else x)
        value = _loglik(eta, truth)
        if value < best - 1e-12 * abs(best) and np.abs(step).max() > 1e-12:
            step = step / 2  # too far: halfway back
            at = at - step
            continue
        best = value
        share = np.asarray(expit(eta))
        matrix = (columns * (share * (1 - share))) @ columns.T
        if not np.linalg.cond(matrix) < 1e14:
            return at, unknown, False
        inverse = np.linalg.inv(matrix)
        rest: Floats = truth - share
        step = inverse @ (columns @ rest)
        at = at + step
        if np.abs(step).max() < 1e-10:
            spread = inverse if codes is None else inverse @ _meat(columns * rest, codes) @ inverse
            return at, np.sqrt(np.diag(spread)), True
    return at, unknown, False


def _meat(part: Floats, codes: Ints) -> Floats:
    """Return the sum over groups of the products of their scores, [k, k]."""
    count = int(codes.max()) + 1
    total = np.stack([np.bincount(codes, row, minlength=count) for row in part])
    return np.asarray(total @ total.T * (count / max(count - 1, 1)), dtype=np.float64)
