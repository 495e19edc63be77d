"""Samples drawn from a fitted law as the sample at hand came about, and fitted again.

The parametric bootstrap behind p-values and intervals. Three things are imitated beside the law:

- Right-censoring. Each draw stops at a time drawn from Kaplan and Meier's estimate of the censoring
  law (failures and censoring change places); beyond its last step nothing is censored. Where all
  censored gaps are equal and longest, that is the end of observation itself.
- Resolution. Where gaps repeat and all are multiples of one step (a log in whole minutes), draws
  are brought to that step as a clock does it to the difference of two times: a gap of k + f steps
  becomes k + 1 with probability f, else k.
- Zeros. Draws below the resolution are treated as the zeros of the sample were: ended by the
  resolution, exact, or left out.

Everything is in the units of `Sample.batch`: times over a typical gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.streams import stream
from forestall.reliability.fits.sample import Sample
from forestall.reliability.fits.solve import solve
from forestall.reliability.history.life_table import FailureSteps
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.batch import BLOCK, Batch, BatchPart, Fittable

TOLERANCE = 1e-5
"""What refitted log-likelihoods may lack of their maximum: parameters are then within a hundredth
of a standard error."""

REDRAWS = 100
"""How often a gap that may not be 0 is drawn again before it is taken as one step."""


class Fit(Protocol):
    """What intervals, tests and plots need to know of a fit; `estimate.Fitted` is one."""

    @property
    def lifetime(self) -> Lifetime:
        """The law."""

    @property
    def family(self) -> Fittable:
        """Its family."""

    @property
    def sample(self) -> Sample:
        """What it was fitted to."""

    @property
    def loglik(self) -> float:
        """The log-likelihood at its maximum."""

    @property
    def converged(self) -> bool:
        """Whether that maximum was reached."""

    @property
    def scaled(self) -> Floats:
        """float64[p], the parameters in the units of `sample.batch`."""

    @property
    def regular(self) -> Bools:
        """bool[p], which parameters large-sample theory holds for."""


@dataclass(frozen=True, eq=False)
class RedrawnGaps:
    """B samples of N gaps each, sorted; failures come before what was censored at the same time.

    Attributes
    ----------
    time : float64[B, N], rising along each row
    censored : bool[B, N], which are right-censored; None where none is
    floor : what gaps of 0 were set to, where they say only "ended by then"; else 0
    low : int64[B], how many of each row are such gaps
    grid : the step that all failures are multiples of; 0 where there is none
    """

    time: Floats
    censored: Bools | None
    floor: float
    low: Ints
    grid: float = 0.0

    @classmethod
    def of(cls, sample: Sample) -> RedrawnGaps:
        """Return the one row of a sample, in the units of its batch."""
        with np.errstate(over="ignore", under="ignore"):
            time = np.concatenate([sample.left, sample.exact, sample.right]) / sample.scale
        censored = np.zeros((1, len(time)), dtype=bool)
        censored[0, len(time) - len(sample.right) :] = True
        low = np.array([len(sample.left)])
        floor = _even(sample.left[0] / sample.scale) if low[0] else 0.0
        time[: low[0]] = floor
        grid = grid_of(sample.exact) / sample.scale
        if not len(sample.right):
            return cls(np.sort(time)[None, :], None, floor, low, grid)
        return cls(*_sorted(time[None, :], censored), floor, low, grid)

    def take(self, where: Bools) -> RedrawnGaps:
        """Return the rows where the mask holds."""
        censored = None if self.censored is None else self.censored[where]
        return RedrawnGaps(self.time[where], censored, self.floor, self.low[where], self.grid)

    def batch(self) -> Batch:
        """Return the rows as a batch; rows with fewer gaps of a kind are filled up."""
        if self.censored is None and not self.floor:
            return Batch.of(self.time)
        rows, count = self.time.shape
        right = np.zeros_like(self.time, dtype=bool) if self.censored is None else self.censored
        kind = right.astype(np.int8)
        if self.low.any():  # the first failures at the floor
            at_floor = (self.time == self.floor) & ~right
            kind[at_floor & (np.cumsum(at_floor, axis=1) <= self.low[:, None])] = 2
        ordered = np.take_along_axis(self.time, np.argsort(kind, axis=1, kind="stable"), axis=1)
        censored = np.count_nonzero(right, axis=1)
        ended = count - self.low - censored
        left = BatchPart.none(rows)
        if self.low.any():
            left = BatchPart(np.full((rows, 1), self.floor), self.low[:, None].astype(np.float64))
        return Batch(_part(ordered, 0 * ended, ended), _part(ordered, ended, censored), left)


@dataclass(frozen=True, eq=False)
class Scheme:
    """How samples like the one at hand come about.

    Attributes
    ----------
    family, theta : the law, float64[p], in the units of the sample's batch
    count : gaps in each sample
    stops, chance : float64[m], times at which gaps are censored, rising, and the probability to be
        censored by each
    grid : the step that all gaps are multiples of; 0 where there is none
    floor : draws below it are taken as ended by it; 0 where there were no such zeros
    zeros : whether gaps of exactly 0 may be; where not, they are drawn again
    """

    family: Fittable
    theta: Floats
    count: int
    stops: Floats
    chance: Floats
    grid: float
    floor: float
    zeros: bool

    @classmethod
    def of(cls, fitted: Fit) -> Scheme:
        """Return the scheme of a fit's sample."""
        sample = fitted.sample
        rows = RedrawnGaps.of(sample)
        stops = chance = np.empty(0)
        if rows.censored is not None:
            stops, chance = _censoring(rows.time[0], rows.censored[0])
        return cls(
            fitted.family,
            fitted.scaled,
            len(sample),
            stops,
            chance,
            rows.grid,
            rows.floor,
            bool(len(sample.left)) or bool((sample.exact == 0).any()),
        )

    def draw(self, rng: np.random.Generator, rows: int) -> RedrawnGaps:
        """Return so many samples."""
        time = self._gaps(rng, (rows, self.count))
        if not self.zeros and self.grid:
            for _ in range(REDRAWS):
                wrong = np.nonzero(time == 0)
                if not len(wrong[0]):
                    break
                time[wrong] = self._gaps(rng, (len(wrong[0]),))
            time[time == 0] = self.grid
        censored = None
        if len(self.stops):
            end = np.append(self.stops, np.inf)[
                np.searchsorted(self.chance, rng.random(time.shape), side="right")
            ]
            censored = end < time
            np.minimum(time, end, out=time)
        low = np.zeros(rows, dtype=np.int64)
        if self.floor:
            below = time < self.floor * (1 - 1e-9)
            if censored is not None:
                below &= ~censored
            time[below] = self.floor
            low = np.count_nonzero(below, axis=1)
        if censored is None:
            time.sort(axis=1)
            return RedrawnGaps(time, None, self.floor, low, self.grid)
        return RedrawnGaps(*_sorted(time, censored), self.floor, low, self.grid)

    def refitted(self, draws: int, seed: int) -> Iterator[tuple[RedrawnGaps, Batch, Floats, Bools]]:
        """Yield blocks of samples, the same as a batch, the parameters float64[B, p] fitted to
        each, and whether that fit found its maximum.

        A block has its own stream of random numbers, so results depend on nothing but the seed.
        """
        size = max(1, BLOCK // self.count)
        for first in range(0, draws, size):
            rng = stream(seed, "bootstrap", str(first))
            rows = self.draw(rng, min(size, draws - first))
            batch = rows.batch()
            start = np.tile(self.theta, (len(batch), 1))
            with np.errstate(all="ignore"):  # a draw without failures has no maximum
                solution = solve(self.family, batch, start, tolerance=TOLERANCE)
            fine = solution.converged & (batch.failures > 0)
            yield rows, batch, solution.theta, fine & np.isfinite(solution.theta).all(axis=1)

    def _gaps(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        time = self.family.draw(rng, shape, *self.theta)
        if self.grid:
            time = self.grid * np.floor(time / self.grid + rng.random(shape))
        return time


def grid_of(times: Floats) -> float:
    """Return the step that all times are multiples of; 0 where none repeats or there is no step.

    >>> grid_of(np.array([0.5, 1.0, 1.0, 3.5]))
    0.5
    """
    values = np.unique(times)
    if len(values) == len(times) or values[-1] == 0:
        return 0.0
    steps = np.diff(values, prepend=0.0)
    least = float(steps[steps > 1e-9 * values[-1]].min())
    for parts in (1, 2, 3, 4, 5, 6):  # neighbours may all be several steps apart
        step = least / parts
        for reach in (100.0, 1e4, 1e8):  # the step to more digits, from multiples further out
            near = values[values <= reach * step]
            multiple = np.rint(near / step)
            if multiple.any():
                step = float(near @ multiple / (multiple @ multiple))
        multiple = values / step
        if (np.abs(multiple - np.rint(multiple)) < 1e-3).all() and multiple[-1] < 1e8:
            return step
    return 0.0


def _censoring(time: Floats, censored: Bools) -> tuple[Floats, Floats]:
    """Return the steps of the censoring law, by Kaplan and Meier with the parts exchanged.

    What fails at a time is no longer at risk of being censored at it.
    """
    steps = FailureSteps.of(time[censored], time[:0], time[:0])
    longer = len(time) - np.searchsorted(time, steps.time, side="left")
    failed = np.sort(time[~censored])
    gone = np.searchsorted(failed, steps.time, "right") - np.searchsorted(failed, steps.time)
    chance = 1 - np.cumprod(1 - steps.failed / (longer - gone))
    return steps.time, chance.astype(np.float64, copy=False)


def _sorted(time: Floats, censored: Bools) -> tuple[Floats, Bools]:
    """Return both sorted along rows by (time, censored).

    The order of floats >= 0 is that of their bits as integers; the last bit holds the flag, which
    is several times faster than sorting places.
    """
    code = np.ascontiguousarray(time).view(np.int64) & ~np.int64(1)
    code |= censored
    code.sort(axis=1)
    flags = (code & 1).astype(bool)
    code &= ~np.int64(1)
    return code.view(np.float64), flags


def _even(time: float) -> float:
    """Return the time with its last bit cleared, as `_sorted` leaves it."""
    code = np.array([time], dtype=np.float64).view(np.int64) & ~np.int64(1)
    return float(code.view(np.float64)[0])


def _part(ordered: Floats, first: Ints, count: Ints) -> BatchPart:
    """Return `count` values of each row from its place `first` on."""
    most = int(count.max(initial=0))
    if most == 0:
        return BatchPart.none(len(ordered))
    column = np.arange(most)
    offset = np.minimum(column, count[:, None] - 1).clip(0)
    place = np.minimum(first[:, None] + offset, ordered.shape[1] - 1)
    time = np.take_along_axis(ordered, place, axis=1)
    if count.min() == most:
        return BatchPart(time)
    weight = (column < count[:, None]).astype(np.float64)
    return BatchPart(np.where(count[:, None] > 0, time, 1.0), weight)
