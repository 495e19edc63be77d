"""Is an area under the ROC curve more than chance? Permutations, intervals, two scores compared.

Sources: Brandt et al., Section 4.4 (3000 areas of random scores); Hanley and McNeil, Radiology 143,
1982; DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988, with midranks after Sun and Xu, 2014;
Obuchowski, Biometrics 53, 1997 (cases in groups); Newcombe, Statistics in Medicine 25, 2006 (areas
near 0 and 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtr, ndtri, stdtr, stdtrit

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.roc import area, checked, numbered, numbers
from forestall.prediction.assess.roc_kernels import places
from forestall.prediction.assess.significance_kernels import areas_again, sums_of_subsets

Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES: Final = ("greater", "less", "two-sided")
EXACT: Final = 60
"""Up to so many cases every subset is counted."""
AT_ONCE: Final = 1 << 19
"""Random numbers that are drawn at a time."""


@dataclass(frozen=True)
class Permutation:
    """How often chance gives such an area.

    Attributes
    ----------
    auc : the area; nan with one class only, and then everything else is nan too
    exceed : draws whose area is as far from chance or further
    draws : how many
    p_value : (1 + exceed) / (1 + draws)
    p_normal : by the normal law, with the correction for ties and for continuity
    p_exact : by counting all permutations, None beyond 60 cases
    alternative : greater (better than chance), less, or two-sided
    null : float64[draws], the areas drawn
    """

    auc: float
    exceed: int
    draws: int
    p_value: float
    p_normal: float
    p_exact: float | None
    alternative: Alternative
    null: Floats


def permutation(
    scores: npt.ArrayLike,
    failed: npt.ArrayLike,
    draws: int = 3000,
    *,
    rng: np.random.Generator,
    alternative: Alternative = "greater",
) -> Permutation:
    """Return how often scores dealt out at random give an area as far from chance as this one.

    Ranks are found once; a permutation is then a random subset of them, of the size of the smaller
    class. Areas are compared as whole numbers, so ties count as they should. Raises ParameterError.
    """
    if alternative not in ALTERNATIVES:
        raise ParameterError("alternative", alternative, ", ".join(ALTERNATIVES))
    if draws < 1:
        raise ParameterError("draws", draws, "a whole number of at least 1")
    score, truth = checked(scores, failed)
    m = int(np.count_nonzero(truth))
    n = len(truth) - m
    found = area(score, truth)
    if math.isnan(found):
        empty = np.empty(0)
        return Permutation(found, 0, 0, found, found, None, alternative, empty)
    ranks = doubled_ranks(score)
    wins = round(found * 2 * m * n)
    drawn = _null(ranks, m, draws, rng)
    exceed = int(np.count_nonzero(_as_far(drawn, wins, m * n, alternative)))
    return Permutation(
        found,
        exceed,
        draws,
        (1 + exceed) / (1 + draws),
        _normal(ranks, wins, m, alternative),
        _exact(ranks, wins, m, alternative) if m + n <= EXACT else None,
        alternative,
        drawn / (2 * m * n),
    )


def normal_p(
    scores: npt.ArrayLike, failed: npt.ArrayLike, alternative: Alternative = "greater"
) -> float:
    """Return the p-value of the area by the normal law of its permutations, corrected for ties and
    continuity: what `permutation` tends to with many cases. nan with one class only."""
    score, truth = checked(scores, failed)
    found, m = area(score, truth), int(np.count_nonzero(truth))
    if math.isnan(found):
        return found
    wins = round(found * 2 * m * (len(truth) - m))
    return _normal(doubled_ranks(score), wins, m, alternative)


def doubled_ranks(score: Floats) -> Ints:
    """Return twice the midranks of the scores, ascending, as whole numbers; ranks begin at 1."""
    ordered = np.sort(score)
    first = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
    size = np.diff(np.append(first, len(ordered)))
    return np.repeat(2 * first + size + 1, size).astype(np.int64)


def _null(ranks: Ints, m: int, draws: int, rng: np.random.Generator) -> Ints:
    """Return doubled numbers of won pairs of random subsets of m ranks, int64[draws]."""
    count = len(ranks)
    small = min(m, count - m)
    sums, pool = np.empty(draws, dtype=np.int64), ranks.copy()
    step = max(1, AT_ONCE // small)
    for begin in range(0, draws, step):
        part = sums[begin : begin + step]
        sums_of_subsets(pool, rng.random((len(part), small)), part)
    if small != m:
        sums = int(ranks.sum()) - sums
    return sums - m * (m + 1)


def _as_far(drawn: Ints, wins: int, middle: int, alternative: Alternative) -> Bools:
    """Return which doubled counts of pairs are as far from the middle as `wins`, or further."""
    if alternative == "greater":
        return np.asarray(drawn >= wins)
    if alternative == "less":
        return np.asarray(drawn <= wins)
    return np.asarray(np.abs(drawn - middle) >= abs(wins - middle))


def _normal(ranks: Ints, wins: int, m: int, alternative: Alternative) -> float:
    count = len(ranks)
    n = count - m
    # Twice a midrank has the variance of the ranks, less what ties take from it.
    spread = float(np.var(ranks.astype(np.float64)))
    if spread == 0:
        return 1.0
    deviation = math.sqrt(m * n * spread / (count - 1))
    above = wins - m * n
    if alternative == "two-sided":
        return min(1.0, 2 * float(ndtr(-(abs(above) - 1) / deviation)))
    sided = above if alternative == "greater" else -above
    return float(ndtr(-(sided - 1) / deviation))


def _exact(ranks: Ints, wins: int, m: int, alternative: Alternative) -> float:
    """Return the share of all subsets of m ranks that are as far from the middle."""
    total = int(ranks.sum())
    ways = np.zeros((m + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : total + 1 - rank].copy()
    count = len(ranks)
    drawn = np.arange(total + 1) - m * (m + 1)
    far = _as_far(drawn, wins, m * (count - m), alternative)
    return min(1.0, float(ways[m, far].sum()) / math.comb(count, m))


def hanley_mcneil(auc: float, positives: float, negatives: float) -> float:
    """Return the standard error of an area from itself and the counts alone: negative exponential
    scores. Exact for continuous scores without relation (area 0.5). Raises ParameterError."""
    _checked_area(auc, positives, negatives)
    one, two = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc)
    variance += (positives - 1) * (one - auc**2) + (negatives - 1) * (two - auc**2)
    return math.sqrt(max(variance, 0.0) / (positives * negatives))


def expected_p(
    auc: float, positives: float, negatives: float, alternative: Alternative = "greater"
) -> float:
    """Return the p-value to be expected of an area with so many failures and others: the normal law
    of permutations of continuous scores, with standard error sqrt((m + n + 1) / (12 m n)).

    >>> round(3000 * expected_p(0.562, 479, 540), 2)
    0.94
    """
    _checked_area(auc, positives, negatives)
    above = (auc - 0.5) / math.sqrt((positives + negatives + 1) / (12 * positives * negatives))
    if alternative == "two-sided":
        return 2 * float(ndtr(-abs(above)))
    return float(ndtr(-above if alternative == "greater" else above))


def _checked_area(auc: float, positives: float, negatives: float) -> None:
    if not 0 <= auc <= 1:
        raise ParameterError("auc", auc, "a number from 0 to 1")
    for name, value in (("positives", positives), ("negatives", negatives)):
        if not value >= 1:
            raise ParameterError(name, value, "a number of at least 1")


@dataclass(frozen=True)
class AreaInterval:
    """An area with its confidence interval.

    Attributes
    ----------
    auc, low, high : the area and the ends; nan where they cannot be known
    level : of the interval
    se : standard error of the area
    method : delong, clustered, bootstrap, or newcombe (where the sample has no spread)
    p_value : two-sided, of an area of 0.5, by the standard error; nan where it has no spread
    """

    auc: float
    low: float
    high: float
    level: float
    se: float
    method: str
    p_value: float = math.nan

    @property
    def p_better(self) -> float:
        """One-sided p-value of an area no better than chance."""
        return self.p_value / 2 if self.auc >= 0.5 else 1 - self.p_value / 2


def delong(
    scores: npt.ArrayLike,
    failed: npt.ArrayLike,
    level: float = 0.95,
    *,
    groups: npt.ArrayLike | None = None,
    transform: bool = True,
) -> AreaInterval:
    """Return the area with DeLong's interval, in O(n log n).

    Parameters
    ----------
    groups : [n], such as the node or the week: cases of one group may hang together (Obuchowski);
        with G groups the t law of G - 1 degrees is used
    transform : take the interval on the logit scale, so that it stays within 0 and 1

    Where the sample shows no spread (an area of 0 or 1, one failure only), the ends are those of
    Newcombe's score interval, from the area and the counts. Raises ParameterError.
    """
    _checked_level(level)
    score, truth = checked(scores, failed)
    found = area(score, truth)
    if math.isnan(found):
        return AreaInterval(found, found, found, level, found, "delong")
    codes = None if groups is None else _codes(groups, len(score))
    ill, well = _placements(score, truth)
    variance = _variance(ill, well, truth, codes)
    m, n = len(ill), len(well)
    if not variance > 1e-15:
        low, high = newcombe(found, m, n, level)
        return AreaInterval(found, low, high, level, math.sqrt(max(variance, 0.0)), "newcombe")
    se, degrees = math.sqrt(variance), _degrees(codes)
    reach = _quantile(level, degrees)
    if transform and 0 < found < 1:
        slope = se / (found * (1 - found))
        middle = float(logit(found))
        low, high = (float(expit(middle + sign * reach * slope)) for sign in (-1, 1))
        chance = _two_sided(middle / slope, degrees)
    else:
        low, high = max(0.0, found - reach * se), min(1.0, found + reach * se)
        chance = _two_sided((found - 0.5) / se, degrees)
    method = "delong" if codes is None else "clustered"
    return AreaInterval(found, low, high, level, se, method, chance)


def _checked_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")


def _codes(groups: npt.ArrayLike, count: int) -> Ints:
    codes = numbered(groups, count)
    if codes.max() == 0:
        raise ParameterError("groups", 1, "at least 2 groups")
    return codes


def _degrees(codes: Ints | None) -> int | None:
    return None if codes is None else int(codes.max())


def _quantile(level: float, degrees: int | None) -> float:
    share = (1 + level) / 2
    return float(ndtri(share) if degrees is None else stdtrit(degrees, share))


def _two_sided(z: float, degrees: int | None) -> float:
    return 2 * float(ndtr(-abs(z)) if degrees is None else stdtr(degrees, -abs(z)))


def _placements(score: Floats, truth: Bools) -> tuple[Floats, Floats]:
    """Return, for each failure, the share of the rest below it (ties half), and for each of the
    rest the share of failures above it: float64[m], float64[n], in the order of the cases."""
    ill, well = score[truth], score[~truth]
    up, right = np.argsort(ill, kind="stable"), np.argsort(well, kind="stable")
    low, high = ill[up], well[right]
    first, second = np.empty(len(ill), dtype=np.int64), np.empty(len(well), dtype=np.int64)
    places(low, high, first)
    places(high, low, second)
    above, below = np.empty(len(ill)), np.empty(len(well))
    above[up] = first / (2 * len(well))
    below[right] = 1 - second / (2 * len(ill))
    return above, below


def _variance(ill: Floats, well: Floats, truth: Bools, codes: Ints | None) -> float:
    """Return the variance of an area, or of a difference, from its placements."""
    m, n = len(ill), len(well)
    if codes is not None:
        count = int(codes.max()) + 1
        part = np.bincount(codes[truth], (ill - ill.mean()) / m, minlength=count)
        part += np.bincount(codes[~truth], (well - well.mean()) / n, minlength=count)
        return float(np.sum(part**2)) * count / (count - 1)
    if m == 1 or n == 1:
        return 0.0
    return float(np.var(ill, ddof=1)) / m + float(np.var(well, ddof=1)) / n


def newcombe(auc: float, positives: float, negatives: float, level: float) -> tuple[float, float]:
    """Return the ends of the score interval of an area: those areas from which this one is no
    further than chance allows, by Hanley and McNeil's error with (m + n) / 2 - 1 for both m - 1
    and n - 1 (method 5 of Newcombe, 2006). It has width for areas of 0 and 1 too."""
    _checked_level(level)
    _checked_area(auc, positives, negatives)
    reach, half = float(ndtri((1 + level) / 2)), (positives + negatives) / 2 - 1

    def within(other: float) -> bool:
        one, two = (1 - other) / (2 - other), other / (1 + other)
        variance = other * (1 - other) * (1 + half * (one + two)) / (positives * negatives)
        return (auc - other) ** 2 <= reach**2 * variance

    ends = []
    for far in (0.0, 1.0):
        near, beyond = auc, far
        for _ in range(60):
            middle = (near + beyond) / 2
            near, beyond = (middle, beyond) if within(middle) else (near, middle)
        ends.append(far if far == auc else near)
    return ends[0], ends[1]


def bootstrap(
    scores: npt.ArrayLike,
    failed: npt.ArrayLike,
    level: float = 0.95,
    *,
    rng: np.random.Generator,
    draws: int = 2000,
    groups: npt.ArrayLike | None = None,
    stratified: bool = True,
) -> AreaInterval:
    """Return the area with the percentile interval of cases drawn again.

    Parameters
    ----------
    groups : [n]: whole groups are drawn again, and `stratified` does not apply
    stratified : draw failures and the rest each in their number

    Draws without both classes are left out. Raises ParameterError.
    """
    _checked_level(level)
    if draws < 2:
        raise ParameterError("draws", draws, "a whole number of at least 2")
    score, truth = checked(scores, failed)
    found = area(score, truth)
    if math.isnan(found):
        return AreaInterval(found, found, found, level, found, "bootstrap")
    unit, begin, size = _units(truth, groups, stratified=stratified)
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    ends = np.append(ordered[1:] > ordered[:-1], True)
    areas, step = np.empty(draws), max(1, AT_ONCE // len(begin))
    times = np.empty(len(begin), dtype=np.int64)
    for start in range(0, draws, step):
        part = areas[start : start + step]
        uniform = rng.random((len(part), len(begin)))
        areas_again(uniform, begin, size, unit[order], truth[order], ends, times, part)
    kept = areas[~np.isnan(areas)]
    if len(kept) < 2:
        return AreaInterval(found, math.nan, math.nan, level, math.nan, "bootstrap")
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    se = float(np.std(kept, ddof=1))
    chance = _two_sided((found - 0.5) / se, None) if se > 0 else math.nan
    return AreaInterval(found, float(low), float(high), level, se, "bootstrap", chance)


def _units(
    truth: Bools, groups: npt.ArrayLike | None, *, stratified: bool
) -> tuple[Ints, Ints, Ints]:
    """Return the unit of each case, and from which units each is drawn again; see `areas_again`."""
    count = len(truth)
    if groups is not None:
        unit = _codes(groups, count)
        units = int(unit.max()) + 1
        return unit, np.zeros(units, dtype=np.int64), np.full(units, units, dtype=np.int64)
    unit = np.empty(count, dtype=np.int64)
    m = int(np.count_nonzero(truth))
    unit[truth], unit[~truth] = np.arange(m), np.arange(m, count)
    if not stratified:
        return unit, np.zeros(count, dtype=np.int64), np.full(count, count, dtype=np.int64)
    ill = np.arange(count) < m
    return unit, np.where(ill, 0, m), np.where(ill, m, count - m)


@dataclass(frozen=True)
class ScoreComparison:
    """Two scores of the same cases.

    Attributes
    ----------
    first, second : the areas
    difference, low, high : first less second, with its interval
    level : of the interval
    se, z, p_value : standard error, statistic, and two-sided p-value of no difference
    correlation : of the two areas; nan where one has no spread
    method : delong, clustered, or newcombe (no spread: the two intervals joined, as if independent)
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    level: float
    se: float
    z: float
    p_value: float
    correlation: float
    method: str


def compare(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    failed: npt.ArrayLike,
    level: float = 0.95,
    *,
    groups: npt.ArrayLike | None = None,
) -> ScoreComparison:
    """Return the difference of the areas of two scores of the same cases (paired DeLong).

    `groups` as in `delong`. Raises ParameterError.
    """
    _checked_level(level)
    one, truth = checked(first, failed)
    two = numbers(second, "second")
    if len(two) != len(one):
        raise ParameterError("second", len(two), f"{len(one)} scores, as many as the first")
    areas = area(one, truth), area(two, truth)
    gap = areas[0] - areas[1]
    if math.isnan(gap):
        nan = math.nan
        return ScoreComparison(nan, nan, nan, nan, nan, level, nan, nan, nan, nan, "delong")
    codes = None if groups is None else _codes(groups, len(one))
    parts = _placements(one, truth), _placements(two, truth)
    alone = [_variance(*part, truth, codes) for part in parts]
    ill, well = (a - b for a, b in zip(*parts, strict=True))
    variance = _variance(ill, well, truth, codes)
    correlation = math.nan
    if min(alone) > 0:
        correlation = (sum(alone) - variance) / (2 * math.sqrt(alone[0] * alone[1]))
    degrees = _degrees(codes)
    reach = _quantile(level, degrees)
    if variance > 1e-15:
        se = math.sqrt(variance)
        low, high = max(-1.0, gap - reach * se), min(1.0, gap + reach * se)
        method = "delong" if codes is None else "clustered"
    elif gap == 0:
        return ScoreComparison(*areas, 0.0, 0.0, 0.0, level, 0.0, 0.0, 1.0, correlation, "delong")
    else:
        low, high = _joined(areas, len(ill), len(well), level)
        se, method = (gap - low if gap > 0 else high - gap) / reach, "newcombe"
    z = gap / se
    chance = _two_sided(z, degrees)
    return ScoreComparison(*areas, gap, low, high, level, se, z, chance, correlation, method)


def _joined(areas: tuple[float, float], m: int, n: int, level: float) -> tuple[float, float]:
    """Return the ends for a difference of areas from the intervals of both, as if independent."""
    (low, high), (other_low, other_high) = (newcombe(each, m, n, level) for each in areas)
    gap = areas[0] - areas[1]
    below = math.hypot(areas[0] - low, other_high - areas[1])
    above = math.hypot(high - areas[0], areas[1] - other_low)
    return max(-1.0, gap - below), min(1.0, gap + above)
