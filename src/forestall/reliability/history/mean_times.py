"""Means and rates of times that end at random, and the share of time up, each with its interval."""

from __future__ import annotations

from typing import NamedTuple

from forestall.core._lazy import lazily
from forestall.reliability.history.rates import PER, checked_level, compound_interval

with lazily():
    from scipy import special


class Interval(NamedTuple):
    """A value with the ends of its confidence interval; inf where there is no upper end."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """Return the same in another unit."""
        return Interval(*(end * factor for end in self))


def mean_time(
    total: float, count: int, level: float = 0.95, alone: float | None = None
) -> Interval:
    """Return the mean of exponential times: `total` time, of which `count` ended; exact interval.
    Where they ended in groups, `alone` is as in `compound_interval`.

    Without any that ended the mean is inf, and only its lower end is known. Garwood (1936), as in
    `forestall.reliability.history.rates.poisson_interval`.

    >>> [round(end, 2) for end in mean_time(100.0, 4)]
    [25.0, 9.76, 91.75]
    """
    low, high = compound_interval(count, count if alone is None else alone, level)
    far = float("inf")
    return Interval(total / count if count else far, total / high, total / low if count else far)


def rate_per_1000(
    count: int, node_days: float, level: float = 0.95, alone: float | None = None
) -> Interval:
    """Return failures per 1000 node-days with the exact Poisson interval; nan without exposure.
    Where they came in groups, `alone` is as in `compound_interval`."""
    if node_days <= 0:
        return Interval(*[float("nan")] * 3)
    ends = compound_interval(count, count if alone is None else alone, level)
    return Interval(*(end / (node_days / PER) for end in (count, *ends)))


def availability(
    up: float, down: float, failures: int, ended: int, level: float = 0.95
) -> Interval:
    """Return the share of time up, with the interval that is exact for exponential times.

    `up` and `down` are the times between failures and of repairs, of which `failures` and `ended`
    were seen to end: mean down over mean up is then distributed as F with twice as many degrees of
    freedom. Without both kinds of ends the interval is nan.
    """
    value = up / (up + down) if up + down > 0 else float("nan")
    if failures == 0 or ended == 0 or down <= 0 or up <= 0:
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - checked_level(level)) / 2
    ratio = (down / ended) / (up / failures)
    low, high = (float(special.fdtri(2 * ended, 2 * failures, q)) for q in (tail, 1 - tail))
    return Interval(value, 1 / (1 + ratio / low), 1 / (1 + ratio / high))
