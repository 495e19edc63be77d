"""What answers on waits were worth, beside all yardsticks, on the same jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.prediction.assess.promises import blocked_error
from forestall.site.learning.turnaround.answer import WaitLaws
from forestall.site.learning.turnaround.learned import LEVELS

LEVEL_ARRAY: Final = np.array(LEVELS)
SHARES: Final = (0.5, 0.8, 0.9)
"""Intervals that are scored."""
SOON: Final = (60, 3600)
"""Times within which a start is scored as a chance, s."""
TEN: Final = math.log(10)


@dataclass(frozen=True)
class WaitScores:
    """What one way to answer was worth.

    Attributes
    ----------
    name : of it
    answers : how many
    error, error_error : mean squared error of log10 of 1 + wait in seconds, and half the width of
        its interval over weeks
    twice, thrice : shares of answers within 2 and 3 times of 1 + wait
    pinball : mean pinball loss over all levels, logarithms; nan where only a single time is said
    held : shares of the intervals of `SHARES` that held
    brier : of the chance to start at once, and within each of `SOON`
    """

    name: str
    answers: int
    error: float
    error_error: float
    twice: float
    thrice: float
    pinball: float = math.nan
    held: tuple[float, ...] = (math.nan,) * len(SHARES)
    brier: tuple[float, ...] = (math.nan,) * (1 + len(SOON))


def squared(said: Floats, wait: Ints) -> Floats:
    """Return squared errors of log10 of 1 + s, of logarithms of 1 + s that were said."""
    return np.asarray(((said - np.log1p(wait.astype(np.float64))) / TEN) ** 2)


def score_times(name: str, said: Floats, wait: Ints, when: Ints, level: float) -> WaitScores:
    """Return what single times were worth, logarithms of 1 + s, float64[n]; `when` : int64[n], s,
    when they were said; `level` : of the interval."""
    off = np.abs(said - np.log1p(wait.astype(np.float64)))
    error = squared(said, wait)
    twice, thrice = (float((off <= math.log(times) + 1e-9).mean()) for times in (2, 3))
    return WaitScores(
        name, len(wait), float(error.mean()), blocked_error(error, when, level), twice, thrice
    )


def score_laws(name: str, laws: WaitLaws, wait: Ints, when: Ints, level: float) -> WaitScores:
    """Return what distributions were worth: as single times the mean of logarithms, of which the
    squared error is least, and for shares within so many times the median."""
    values, logs = np.log1p(wait.astype(np.float64)), laws.logs
    mean = score_times(name, laws.mean_log, wait, when, level)
    middle = score_times(name, np.log1p(laws.quantile(0.5)), wait, when, level)
    over = values[:, None] - logs
    lost = np.where(over > 0, LEVEL_ARRAY * over, (LEVEL_ARRAY - 1) * over).mean()
    held = []
    for share in SHARES:
        low, high = laws.interval(share)
        # Whole seconds: an interval holds those that begin within it.
        held.append(float(((wait >= np.floor(low)) & (wait <= np.ceil(high))).mean()))
    brier = [
        float(((laws.chance_within(time) - (wait <= time)) ** 2).mean()) for time in (0, *SOON)
    ]
    return WaitScores(
        name, len(wait), mean.error, mean.error_error, middle.twice, middle.thrice, float(lost),
        tuple(held), tuple(brier),
    )  # fmt: skip


def difference(
    ours: Floats, theirs: Floats, wait: Ints, when: Ints, level: float
) -> tuple[float, float]:
    """Return by how much our squared error is above another one's, and half the width of the
    interval of that over weeks."""
    off = squared(ours, wait) - squared(theirs, wait)
    return float(off.mean()), blocked_error(off, when, level)


@dataclass(frozen=True)
class WaitGroup:
    """Answers of one kind: how many, their squared error and that of the product without learning,
    shares within 2 times and held by the 90 % interval."""

    kind: str
    name: str
    answers: int
    error: float
    error_alike: float
    twice: float
    held: float


def groups_of(
    kind: str,
    code: Ints,
    names: tuple[str, ...],
    laws: WaitLaws,
    alike: WaitLaws,
    wait: Ints,
    least: int,
) -> Iterator[WaitGroup]:
    """Yield what answers were worth by group, of those with `least` answers, the largest first.

    code : int64[n], the place of each answer's group in `names`; -1: none
    """
    count = np.bincount(code[code >= 0], minlength=len(names))
    for group in np.argsort(-count, kind="stable").tolist():
        if count[group] < least:
            return
        mine = code == group
        own, other = WaitLaws(laws.laws[mine]), WaitLaws(alike.laws[mine])
        low, high = own.interval(0.9)
        off = np.abs(np.log1p(own.quantile(0.5)) - np.log1p(wait[mine]))
        yield WaitGroup(
            kind, names[group], int(count[group]),
            float(squared(own.mean_log, wait[mine]).mean()),
            float(squared(other.mean_log, wait[mine]).mean()),
            float((off <= math.log(2) + 1e-9).mean()),
            float(((wait[mine] >= np.floor(low)) & (wait[mine] <= np.ceil(high))).mean()),
        )  # fmt: skip


def latest(asked: Ints, known: Ints, wait: Ints, order: Ints, count: int = 1000) -> Floats:
    """Return the quantiles at `learned.LEVELS` of the latest waits of all jobs that had become
    known by each question, float64[n, L], s, renewed each `count` / 20 of them; 0 where there is
    none.

    order : int64[m], answers in the order in which their waits became known
    """
    seen = np.searchsorted(known[order], asked, side="left") // (count // 20) * (count // 20)
    out = np.zeros((len(asked), len(LEVELS)))
    for step in np.unique(seen[seen > 0]).tolist():
        out[seen == step] = np.quantile(wait[order[max(step - count, 0) : step]], LEVELS)
    return out


def boosted(rows: Floats, values: Floats, learned: Bools, seed: int) -> Floats | None:
    """Return what scikit-learn's boosted trees say for all rows, logarithms of 1 + s, float64[n],
    fitted once to those that are `learned`; None where it is not installed."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        return None
    some = np.flatnonzero(learned)[-50_000:]
    trees = HistGradientBoostingRegressor(max_iter=200, learning_rate=0.06, random_state=seed)
    return np.asarray(trees.fit(rows[some], values[some]).predict(rows))
