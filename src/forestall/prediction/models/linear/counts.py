"""The machine's failures counted in bins of time, and what is expected of the bins to come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.linear.arma import Arma

with lazily():
    from scipy import signal

TRANSFORMS: Final = ("none", "sqrt", "log")
"""How counts are turned into the series that is modelled: as they are; 2 sqrt(x + 3/8), of which
the variance is all but 1 for a Poisson count (Anscombe, Biometrika 35, 1948); log(1 + x)."""


def counted(seen: Observations, bin_seconds: int, before: int) -> Floats:
    """Return how many failures began in each whole bin [begin + k bin, begin + (k + 1) bin) that
    ends by `before`, float64[n]."""
    number = max(0, (min(before, FAR) - seen.begin) // bin_seconds)
    time = seen.failures.time
    inside = (time[time < before] - seen.begin) // bin_seconds
    return np.bincount(inside[inside < number], minlength=number).astype(np.float64)


FAR: Final = 2**62


def transformed(counts: Floats, transform: str) -> Floats:
    """Return counts as they are modelled, see `TRANSFORMS`."""
    if transform == "sqrt":
        return np.asarray(2 * np.sqrt(counts + 0.375))
    return np.log1p(counts) if transform == "log" else counts


def expected(mean: Floats, variance: Floats, transform: str) -> Floats:
    """Return the expected counts, given the normal law of the transformed ones; never below 0."""
    if transform == "sqrt":
        answer = (np.maximum(mean, 0.0) ** 2 + variance) / 4 - 0.375
    elif transform == "log":
        answer = np.expm1(np.minimum(mean + variance / 2, 50.0))
    else:
        answer = mean
    return np.asarray(np.maximum(answer, 0.0))


def within(bins: Floats, offset: Floats, length: float) -> Floats:
    """Return float64[T]: the sum of counts per bin, float64[T, J], over `length` bins that begin
    `offset` in [0, 1) bins after the first one does."""
    whole = np.zeros((bins.shape[0], bins.shape[1] + 1))
    np.cumsum(bins, axis=1, out=whole[:, 1:])

    def up_to(place: Floats) -> Floats:
        left = np.minimum(place.astype(np.int64), bins.shape[1] - 1)
        rows = np.arange(len(place))
        answer: Floats = whole[rows, left] + (place - left) * bins[rows, left]
        return answer

    return up_to(offset + length) - up_to(offset)


def levels(series: Floats, half_life: float, first: float) -> Floats:
    """Return float64[n + 1]: before each value and after the last, the mean of those so far, fading
    by half in `half_life` values; `first`, worth four values, stands before all of them."""
    keep = 0.5 ** (1 / half_life)
    if len(series) == 0:
        return np.array([first])
    sums = signal.lfilter([1.0], [1.0, -keep], series)
    weights = -np.expm1(np.log(keep) * np.arange(1, len(series) + 1)) / (1 - keep)
    return np.concatenate(([first], (4 * first + sums) / (4 + weights)))


@dataclass(frozen=True)
class Binned:
    """Moments seen on the grid of bins.

    Attributes
    ----------
    counts : float64[n]: failures in the whole bins before the last moment
    place : int64[T]: how many whole bins came before each moment
    offset : float64[T]: how far the moment is into the next bin, in bins
    """

    counts: Floats
    place: Ints
    offset: Floats

    @classmethod
    def of(cls, seen: Observations, times: Ints, bin_seconds: int) -> Binned:
        """Return ascending times on the grid; those before the window are at its beginning."""
        after = np.maximum(np.asarray(times, dtype=np.int64) - seen.begin, 0)
        place = after // bin_seconds
        last = int(times[-1]) if len(times) else seen.begin
        return cls(
            counted(seen, bin_seconds, last), place, (after - place * bin_seconds) / bin_seconds
        )


def arma_ahead(
    model: Arma, grid: Binned, transform: str, lengths: Floats, level: tuple[float, float]
) -> Floats:
    """Return float64[T, H]: failures of the machine expected within each length (in bins) after
    each moment, by a model of what the transformed counts differ from their level before; `level`
    has the half-life and the first level of `levels`."""
    steps = int(np.ceil(lengths[-1])) + 1
    series = transformed(grid.counts, transform)
    usual = levels(series, *level)
    states = model.filtered(series - usual[:-1]).states
    rows, which = np.unique(grid.place, return_inverse=True)
    mean = np.repeat(usual[rows, None] + model.mean, steps, axis=1)
    for state, share in zip(states[rows].T, model.ahead(steps).T, strict=True):
        mean += state[:, None] * share  # no matrix product: its rounding depends on the shape
    variance = model.spread(steps) ** 2
    bins = expected(mean, variance[None, :], transform)[which]
    return np.stack([within(bins, grid.offset, float(h)) for h in lengths], axis=1)
