"""Were promises worth what they said? Calibration in time order, sharpness, quality of service.

Sources: quality of service as in Oliner et al., DSN 2005; the Brier score and its parts as in
`forestall.prediction.assess.calibration`; errors that hang together by weeks as in Liang and Zeger,
Biometrika 73, 1986 (blocks as clusters).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from scipy.special import stdtrit

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.prediction.assess.calibration import brier, decomposition, share_interval

Verdict = Literal["yes", "no", "too few"]

DECILES: Final = 10
WITHIN: Final = 0.03
"""Said and kept shares of a decile agree where they differ by no more."""
LEAST: Final = 200
"""Promises from which a decile is judged."""
WEEK: Final = 7 * 86_400


@dataclass(frozen=True)
class ScoredDecile:
    """Promises whose said probability lies in [low, high); 1 is in the last.

    Attributes
    ----------
    made, kept : how many
    said, seen : mean probability said, and share that was kept; nan where none was made
    low_seen, high_seen : Wilson's interval of the share, as if promises were independent
    low_block, high_block : its interval with weeks as blocks, within which they hang together; nan
        with fewer than two weeks
    verdict : whether said and seen agree within the limit
    """

    low: float
    high: float
    made: int
    kept: int
    said: float
    seen: float
    low_seen: float
    high_seen: float
    low_block: float
    high_block: float
    verdict: Verdict

    @property
    def off(self) -> float:
        """Share kept less probability said."""
        return self.seen - self.said


@dataclass(frozen=True)
class Sharpness:
    """How far deadlines lay, as multiples; nan where there is none.

    Attributes
    ----------
    count : promises of jobs that ran and ended
    times_run : quartiles of (deadline - submission) / run time
    times_known : quartiles of (deadline - submission) / (wait + run time): how much farther than
        the deadline of somebody who knew the future
    """

    count: int
    times_run: tuple[float, float, float]
    times_known: tuple[float, float, float]


@dataclass(frozen=True)
class PromiseGroup:
    """A part of the promises: how its deciles did. `worst` is the largest difference of one with
    enough promises, nan where none has."""

    name: str
    made: int
    said: float
    seen: float
    worst: float


@dataclass(frozen=True)
class PromiseScores:
    """What a set of promises was worth.

    Attributes
    ----------
    made, kept : promises that were kept or missed, and those kept
    deciles : the ten of them
    qos : sum of work times promise times kept over sum of work, work in node-seconds of jobs
    brier, reliability, resolution, uncertainty : Brier score and Murphy's parts in the same bins
    """

    made: int
    kept: int
    deciles: tuple[ScoredDecile, ...]
    qos: float
    brier: float
    reliability: float
    resolution: float
    uncertainty: float

    @property
    def judged(self) -> tuple[ScoredDecile, ...]:
        """The deciles with enough promises."""
        return tuple(one for one in self.deciles if one.verdict != "too few")

    @property
    def holds(self) -> bool | None:
        """Whether all deciles with enough promises agree; None where there is none."""
        return all(one.verdict == "yes" for one in self.judged) if self.judged else None

    @property
    def worst(self) -> ScoredDecile | None:
        """The judged decile that is farthest off."""
        return max(self.judged, key=lambda one: abs(one.off), default=None)


def score(
    said: Floats,
    kept: Bools,
    when: Ints,
    work: Floats | None = None,
    *,
    level: float = 0.95,
    within: float = WITHIN,
    least: int = LEAST,
) -> PromiseScores:
    """Return what promises were worth.

    Parameters
    ----------
    said : float64[n], probabilities; kept : bool[n]
    when : int64[n], when they were made, s; for the blocks
    work : float64[n], node-seconds of the jobs; all alike if None
    level : of intervals
    within, least : the limit that deciles are held to, and promises from which they are judged
    """
    deciles = tuple(_decile(k, said, kept, when, level, within, least) for k in range(DECILES))
    if not len(said):
        nan = math.nan
        return PromiseScores(0, 0, deciles, nan, nan, nan, nan, nan)
    weight = np.ones(len(said)) if work is None else work
    total = float(weight.sum())
    qos = float((weight * said * kept).sum()) / total if total > 0 else math.nan
    parts = decomposition(said, kept, DECILES)
    return PromiseScores(
        len(said), int(kept.sum()), deciles, qos, brier(said, kept), parts.reliability,
        parts.resolution, parts.uncertainty,
    )  # fmt: skip


def decile_of(said: Floats) -> Ints:
    """Return the decile of each probability, 0 to 9."""
    return np.minimum((said * DECILES).astype(np.int64), DECILES - 1)


def _decile(
    k: int, said: Floats, kept: Bools, when: Ints, level: float, within: float, least: int
) -> ScoredDecile:
    mine = decile_of(said) == k
    made, hits = int(mine.sum()), int(kept[mine].sum())
    low, high, nan = k / DECILES, (k + 1) / DECILES, math.nan
    if not made:
        return ScoredDecile(low, high, 0, 0, nan, nan, nan, nan, nan, nan, "too few")
    mean, seen = float(said[mine].mean()), hits / made
    bottom, top = share_interval(hits, made, level)
    reach = blocked_error(kept[mine] - said[mine], when[mine], level)
    verdict: Verdict = "yes" if abs(seen - mean) <= within + 1e-9 else "no"
    return ScoredDecile(
        low, high, made, hits, mean, seen, float(bottom), float(top),
        max(seen - reach, 0.0), min(seen + reach, 1.0), verdict if made >= least else "too few",
    )  # fmt: skip


def blocked_error(off: Floats, when: Ints, level: float, block: int = WEEK) -> float:
    """Return half the width of the interval of the mean of `off`, float64[n], where what was said
    in the same `block` of seconds hangs together; nan with fewer than two blocks."""
    units, code = np.unique(when // block, return_inverse=True)
    if len(units) < 2:
        return math.nan
    total = np.bincount(code, off - off.mean())
    error = math.sqrt(float(np.sum(total**2)) * len(units) / (len(units) - 1)) / len(off)
    return error * float(stdtrit(len(units) - 1, (1 + level) / 2))


def sharpness(after: Floats, run: Floats, known: Floats) -> Sharpness:
    """Return how far deadlines lay.

    after : float64[n], s from submission to deadline; run, known : float64[n], s that the job ran,
    and from submission to its end; below 0 where it did not end. Times below 1 s count as 1 s.
    """
    ended = (run >= 0) & (known >= 0)
    if not ended.any():
        nothing = (math.nan, math.nan, math.nan)
        return Sharpness(0, nothing, nothing)
    times = [after[ended] / np.maximum(base[ended], 1.0) for base in (run, known)]
    return Sharpness(int(ended.sum()), _quartiles(times[0]), _quartiles(times[1]))


def _quartiles(values: Floats) -> tuple[float, float, float]:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return low, middle, high


def by_group(
    said: Floats, kept: Bools, code: Ints, names: Sequence[str], *, least: int = LEAST
) -> tuple[PromiseGroup, ...]:
    """Return how parts did, the largest first; `code` is the place of each promise's part in
    `names`, below 0 for none. A part needs `least` promises."""
    found = []
    cell = decile_of(said)
    size = len(names)
    ok = code >= 0
    place = code[ok] * DECILES + cell[ok]
    count = np.bincount(place, minlength=size * DECILES).reshape(size, DECILES)
    sums = np.bincount(place, said[ok], minlength=size * DECILES).reshape(size, DECILES)
    won = np.bincount(place, kept[ok].astype(np.float64), minlength=size * DECILES)
    hits = won.reshape(size, DECILES)
    for k in np.argsort(-count.sum(axis=1), kind="stable").tolist():
        made = int(count[k].sum())
        if made < least:
            break
        enough = count[k] >= least
        off = np.abs(hits[k] - sums[k])[enough] / count[k][enough]
        worst = float(off.max()) if enough.any() else math.nan
        share = float(hits[k].sum()) / made
        found.append(PromiseGroup(names[k], made, float(sums[k].sum()) / made, share, worst))
    return tuple(found)


def as_json(one: Any) -> dict[str, Any]:
    """Return a dataclass of numbers as plain values; nan becomes None."""
    return {name: _plain(value) for name, value in vars(one).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [as_json(one) if hasattr(one, "__dict__") else _plain(one) for one in value]
    return value
