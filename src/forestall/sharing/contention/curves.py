"""Curves of what the owner loses against its load, and the thresholds in them. No measuring here.

The threshold is the least load at which the owner loses more than the limit, between the loads
that were measured on the straight line from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.sharing.contention.plan import Guest
from forestall.sharing.contention.points import MemoryPoint, Point

with lazily():
    from scipy import special

Floats = npt.NDArray[np.float64]
Kind = Literal["crossed", "never", "always"]
DRAWS: Final = 2000
FEWEST: Final = 3
"""Repeats below which there are no intervals."""
LEVEL: Final = 0.95


@dataclass(frozen=True, eq=False)
class ContentionCurve:
    """What a group loses to a guest.

    Attributes
    ----------
    group, guest : processes of the owner, and the guest's priority
    asked : loads that were asked for, (n,), rising
    load : owner's share of the cores without a guest, (n, repeats)
    reduction : 1 - CPU time with / without the guest, (n, repeats)
    """

    group: int
    guest: Guest
    asked: Floats
    load: Floats
    reduction: Floats

    @property
    def mean_load(self) -> Floats:
        """Over the repeats, (n,)."""
        return np.asarray(self.load.mean(axis=1))

    @property
    def mean_reduction(self) -> Floats:
        """Over the repeats, (n,)."""
        return np.asarray(self.reduction.mean(axis=1))

    def interval(self, level: float = LEVEL) -> Floats:
        """Return both ends of Student's interval of the mean reduction, (n, 2); nan where there is
        one repeat alone."""
        return mean_interval(self.reduction, level)


def mean_interval(values: Floats, level: float = LEVEL) -> Floats:
    """Return Student's interval of the mean of each row, (n, 2), at most 1 as reductions are; nan
    for rows of fewer than three values, of which it would say nothing."""
    count = values.shape[1]
    middle = values.mean(axis=1)
    if count < FEWEST:
        return np.full((len(values), 2), np.nan)
    half = special.stdtrit(count - 1, (1 + level) / 2) * values.std(axis=1, ddof=1) / np.sqrt(count)
    return np.stack((middle - half, np.minimum(middle + half, 1.0)), axis=1)


@dataclass(frozen=True)
class Threshold:
    """Where the owner begins to lose more than the limit.

    Attributes
    ----------
    value : share of the cores; 1 where it never does, 0 where it does at the least load measured
    kind : "crossed", "never" or "always"
    group : processes of the group with the least threshold
    interval : 2.5 % and 97.5 % points of the bootstrap over the repeats; None: too few of them
    by_group : the value for each group
    """

    value: float
    kind: Kind
    group: int
    interval: tuple[float, float] | None
    by_group: dict[int, float]


def curves(points: Iterable[Point], guest: Guest) -> list[ContentionCurve]:
    """Return the curve of each group for a guest at this priority, by size.

    Each reduction is of phases of the same repeat. Loads that were not measured in every repeat
    are left out.
    """
    found = {(p.group, p.asked, p.repeat, p.guest): p for p in points}
    repeats = sorted({repeat for _, _, repeat, _ in found})
    made = []
    for group in sorted({group for group, _, _, _ in found}):
        rows = []
        for asked in sorted({asked for size, asked, _, _ in found if size == group}):
            alone = [found.get((group, asked, k, "none")) for k in repeats]
            both = [found.get((group, asked, k, guest)) for k in repeats]
            pairs = [(a, b) for a, b in zip(alone, both, strict=True) if a and b and a.owner > 0]
            if len(pairs) == len(repeats):
                rows.append((asked, pairs))
        load = np.array([[a.load for a, _ in pairs] for _, pairs in rows])
        lost = np.array([[1 - b.load / a.load for a, b in pairs] for _, pairs in rows])
        if rows:
            made.append(
                ContentionCurve(group, guest, np.array([row[0] for row in rows]), load, lost)
            )
    return made


def first_above(at: Floats, values: Floats, limit: float) -> tuple[Floats, Floats]:
    """Return where curves first exceed the limit, and which kind of answer that is.

    Parameters
    ----------
    at, values : (draws, n), in any order of `at`; straight lines between
    limit : to be exceeded

    Returns
    -------
    Places (draws,), and 0 where the curve crosses the limit there, -1 where it is above from its
    first point on (the place of that), +1 where it never is (the place of the last).
    """
    order = np.argsort(at, axis=1, kind="stable")
    x, y = np.take_along_axis(at, order, axis=1), np.take_along_axis(values, order, axis=1)
    above = y > limit
    rows = np.arange(len(x))
    first = np.argmax(above, axis=1)
    never = ~above.any(axis=1)
    left = np.maximum(first - 1, 0)
    x0, x1, y0, y1 = x[rows, left], x[rows, first], y[rows, left], y[rows, first]
    rise = np.where(y1 > y0, y1 - y0, 1.0)
    place = np.where(first == 0, x1, x0 + (limit - y0) / rise * (x1 - x0))
    place = np.where(never, x[:, -1], place)
    return place, np.where(never, 1.0, np.where(first == 0, -1.0, 0.0))


def _values(at: Floats, lost: Floats, limit: float) -> Floats:
    """Return thresholds with 0 and 1 in their places."""
    place, kind = first_above(at, lost, limit)
    return np.where(kind > 0, 1.0, np.where(kind < 0, 0.0, np.clip(place, 0.0, 1.0)))


def threshold(
    found: Sequence[ContentionCurve], limit: float, chance: np.random.Generator, draws: int = DRAWS
) -> Threshold:
    """Return the least threshold over the groups, with an interval from resampled repeats.

    Repeats are drawn anew for every point of every curve; of fewer than three there is no
    interval.
    """
    assert found
    by_group = {}
    sampled = []
    for curve in found:
        means = curve.mean_load[None], curve.mean_reduction[None]
        by_group[curve.group] = float(_values(*means, limit)[0])
        count = curve.load.shape[1]
        if count >= FEWEST:
            drawn = chance.integers(0, count, (draws, *curve.load.shape))
            rows = np.arange(len(curve.asked))[None, :, None]
            load, lost = curve.load[rows, drawn], curve.reduction[rows, drawn]
            sampled.append(_values(load.mean(axis=2), lost.mean(axis=2), limit))
    worst = min(by_group, key=lambda group: (by_group[group], group))
    value = by_group[worst]
    interval = None
    if sampled:
        tail = 50 * (1 - LEVEL)
        low, high = np.percentile(np.min(sampled, axis=0), [tail, 100 - tail])
        interval = (float(low), float(high))
    kind: Kind = "never" if value >= 1 else "always" if value <= 0 else "crossed"
    return Threshold(value, kind, worst, interval, by_group)


@dataclass(frozen=True, eq=False)
class MemoryCurve:
    """What the owner loses of its speed against the memory that is free.

    Attributes
    ----------
    guest : the guest's priority
    size : bytes that the guest holds, (n,), rising
    free : bytes left beside both, (n, repeats), negative where some are missing
    reduction : 1 - speed with / without the guest, (n, repeats)
    faults : pages read from the disk for each page that the owner read, (n, repeats)
    """

    guest: Guest
    size: npt.NDArray[np.int64]
    free: Floats
    reduction: Floats
    faults: Floats

    def needed(self, limit: float) -> tuple[float, Kind]:
        """Return the bytes of free memory below which the owner loses more than the limit, as far
        as was measured; "never" and "always" come with the end of what was."""
        free, lost = self.free.mean(axis=1), self.reduction.mean(axis=1)
        place, kind = first_above(free[None], -lost[None], -limit)
        kinds: dict[int, Kind] = {-1: "never", 0: "crossed", 1: "always"}
        return float(place[0]), kinds[int(kind[0])]


def memory_curves(points: Iterable[MemoryPoint]) -> list[MemoryCurve]:
    """Return the curves of memory, at normal and lowest priority."""
    rows = list(points)
    alone = {
        repeat: float(np.median([p.speed for p in rows if (p.guest, p.repeat) == ("none", repeat)]))
        for repeat in {p.repeat for p in rows}
    }
    made = []
    for guest in ("normal", "lowest"):
        sizes = sorted({p.size for p in rows if p.guest == guest})
        by_size = [
            sorted((p for p in rows if p.guest == guest and p.size == size), key=lambda p: p.repeat)
            for size in sizes
        ]
        if not sizes:
            continue
        made.append(
            MemoryCurve(
                guest,
                np.array(sizes, dtype=np.int64),
                np.array([[p.free for p in one] for one in by_size]),
                np.array([[1 - p.speed / alone[p.repeat] for p in one] for one in by_size]),
                np.array([[p.faults / p.pages for p in one] for one in by_size]),
            )
        )
    return made
