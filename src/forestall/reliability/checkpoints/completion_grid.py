"""The distribution of what failures cost a job, on a grid of times: renewal equations by FFT.

The law of the loss V of a failed attempt is put on a grid so that masses and means are kept: the
mass between two points goes to both of them, in shares that keep its mean. Transforms over the
grid turn the renewal equation over (segments to go, time) into a power series in the segments for
each frequency, which is inverted by a second FFT. Both are damped, so that wrapping round costs
less than 1e-9. The error of the distribution is of second order in the step where the densities
are smooth, and of first order at their jumps; the mean is kept to rounding.

No failure, and one failure where the downtime is constant, are left out here: they have closed
forms with all the steep parts.

Source: for the discretisation Gerber, Insurance: Mathematics and Economics 1 (1982) 13-18; for the
damped transforms Grübel and Hermesmeier, ASTIN Bulletin 29 (1999) 197-214.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.checkpoints.segments import Attempt, CheckpointPlan
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.systems.ageing import SystemLifetime

Complexes = npt.NDArray[np.complex128]

DAMPING = 14.0
"""Logarithm of the damping over the whole grid of times."""
ALONG = 25.0
"""Logarithm of the damping over the padded power series in the segments."""
BLOCK = 1 << 20
"""Complex numbers at once in the power series."""

_X, _W = np.polynomial.legendre.leggauss(4)


class GridRows(NamedTuple):
    """Masses on grid points: row j holds them at points `first`, `first` + 1, ..."""

    first: int
    mass: Floats


class Spectrum(NamedTuple):
    """Transforms of rows, complex128[rows, frequencies], and their complements: the total mass
    minus the transform, without loss of digits where nearly all mass is at 0."""

    value: Complexes
    complement: Complexes


class Grid:
    """Times first step, (first + 1) step, ..., of which there are `size`.

    Transforms on a grid are periodic: where all that counts lies between `first` and `first` +
    `size`, the sums that lead there may wrap round. They are damped only where `first` is 0.
    """

    def __init__(self, size: int, step: float, first: int = 0) -> None:
        self.size, self.step, self.first = size, step, first
        self._damp = np.exp(-(DAMPING if first == 0 else 0.0) / size * np.arange(size))

    def spectrum(self, rows: GridRows) -> Spectrum:
        """Return the damped transforms of rows."""
        count, columns = rows.mass.shape
        kept = max(0, min(columns, self.size - rows.first))
        full = np.zeros((count, self.size))
        part = slice(rows.first, rows.first + kept)
        full[:, part] = rows.mass[:, :kept] * self._damp[part]
        zero = full[:, 0].copy()
        full[:, 0] = 0.0
        later = np.fft.rfft(full, axis=1)
        above = rows.mass[:, max(0, 1 - rows.first) :].sum(axis=1)
        return Spectrum(later + zero[:, None], above[:, None] - later)

    def masses(self, spectrum: Complexes) -> Floats:
        """Return the masses on the grid of which this is the damped transform."""
        found = np.fft.irfft(spectrum, self.size) / self._damp
        return np.asarray(np.roll(found, -(self.first % self.size)))

    def attempt(self, attempt: Attempt, rows: slice, *, last: bool) -> GridRows:
        """Return the masses of V of attempts that fail after `rows` completed segments.

        All rows must share their offset: row 0 stands alone where there is a restart.
        """
        start, end = attempt.start[rows], attempt.ends(last=last)[rows]
        low, width = float(attempt.offset[rows][0]), float(end[0] - start[0])
        cut = self._cuts(low, low + width)
        x = start[:, None] + (cut - low)
        area = self._areas(attempt, x, exact=bool(start[0] == 0) or len(cut) <= 9)
        place = np.floor(0.5 * (cut[1:] + cut[:-1]) / self.step)
        local = cut - place[0] * self.step
        sf = attempt.law.sf(x)
        mass = np.maximum(sf[:, :-1] - sf[:, 1:], 0.0)
        shift = np.arange(len(cut) - 1) * self.step
        moment = (local[:-1] - shift) * sf[:, :-1] - (local[1:] - shift) * sf[:, 1:] + area
        right = np.clip(moment / self.step, 0.0, mass)
        spread = np.zeros((len(start), len(cut)))
        spread[:, :-1] = mass - right
        spread[:, 1:] += right
        return GridRows(int(place[0]), spread)

    def _cuts(self, low: float, high: float) -> Floats:
        """Return `low`, the grid points in between, `high`; no more than the grid has."""
        begin = np.floor(low / self.step) + 1
        end = min(np.ceil(high / self.step), begin + self.size)
        inside = np.arange(begin, end) * self.step
        tiny = 1e-9 * self.step
        inside = inside[(inside > low + tiny) & (inside < high - tiny)]
        return np.concatenate([[low], inside, [high]])

    def _areas(self, attempt: Attempt, x: Floats, *, exact: bool) -> Floats:
        """Return the integral of the survival over each cell."""
        if exact:
            rest = x[1:]
            head = np.diff(attempt.law.integral.up_to(x[:1]), axis=1)
            if x.shape[1] <= 9:
                return np.diff(attempt.law.integral.up_to(x), axis=1)
            return np.concatenate([head, self._by_points(attempt, rest)]) if len(rest) else head
        return self._by_points(attempt, x)

    @staticmethod
    def _by_points(attempt: Attempt, x: Floats) -> Floats:
        half = 0.5 * np.diff(x, axis=1)
        middle = x[:, :-1] + half
        total = np.zeros(half.shape)
        for point, weight in zip(_X, _W, strict=True):
            total += weight * attempt.law.sf(middle + point * half)
        return half * total

    def law(self, law: Lifetime) -> Spectrum:
        """Return the transform of a law of times on the grid, float64[1, frequencies]."""
        single = SystemLifetime(law)
        lines = np.arange(self.size + 1) * self.step
        sf = law.sf(lines)
        mean = np.diff(single.integral.up_to(lines)) / self.step
        mass = np.zeros((1, self.size + 1))
        mass[0, :-1] = sf[:-1] - mean
        mass[0, 1:] += mean - sf[1:]
        mass[0, -1] += sf[-1]  # beyond the grid; keeps the total at 1
        return self.spectrum(GridRows(0, np.maximum(mass, 0.0)))


def repaired(spectrum: Spectrum, repair: Spectrum | None) -> Spectrum:
    """Return the transforms of V and an independent repair time together."""
    if repair is None:
        return spectrum
    y, without = repair.value, repair.complement
    return Spectrum(spectrum.value * y, spectrum.complement + spectrum.value * without)


def with_memory(
    plan: CheckpointPlan, first: SystemLifetime, later: SystemLifetime, grid: Grid
) -> Floats:
    """Return the masses on the grid of the cost of failures, two and more of them together (with
    repair times by chance: one and more).

    Parameters
    ----------
    first, later : law of the time to failure at the start of the job, and from each failure on
    """
    n = plan.segments
    begin, again = Attempt(plan, first, 0.0), Attempt(plan, later, plan.restart)
    repair = None if plan.repair is None else grid.law(plan.repair)

    def rows(attempt: Attempt, part: slice, *, last: bool) -> Spectrum:
        return repaired(grid.spectrum(grid.attempt(attempt, part, last=last)), repair)

    head = slice(0, 1)
    own = rows(again, head, last=True).complement[0]
    finish = float(again.through(1))
    alone = finish / (finish + own)
    final = rows(begin, slice(n - 1, n), last=True).value[0]
    apart = float(repair is None)
    total = final * (alone - apart * finish)
    if n == 1:
        return grid.masses(total)
    stay = float(later.sf(plan.restart + plan.period))
    diagonal = stay + rows(again, head, last=False).complement[0]
    through = again.through(np.arange(2, n + 1))
    known = rows(again, slice(1, n), last=True).value * alone
    known += through[:, None]
    if n > 2:
        onward = rows(again, slice(1, n - 1), last=False).value
        solved = divided(known, diagonal, onward)
    else:
        solved = known / diagonal
    solved -= apart * through[:, None]
    started = rows(begin, head, last=False).value
    total = total + started[0] * solved[-1]
    if n > 2:
        started = rows(begin, slice(1, n - 1), last=False).value
        total = total + np.einsum("jw,jw->w", started, solved[n - 3 :: -1])
    return grid.masses(total)


def divided(top: Complexes, diagonal: Complexes, rest: Complexes) -> Complexes:
    """Return the power series top / (diagonal - rest_0 z - rest_1 z^2 - ...), a column each.

    Parameters
    ----------
    top : complex128[terms, columns]
    diagonal : complex128[columns]
    rest : complex128[terms - 1, columns]
    """
    terms, columns = top.shape
    size = 1 << (2 * terms - 1).bit_length()
    damp = np.exp(-ALONG / size * np.arange(terms))[:, None]
    out = np.empty_like(top)
    wide = max(1, BLOCK // size)
    for begin in range(0, columns, wide):
        part = slice(begin, begin + wide)
        below = np.empty((terms, len(diagonal[part])), dtype=np.complex128)
        below[0] = diagonal[part]
        below[1:] = -rest[:, part]
        ratio = np.fft.fft(top[:, part] * damp, size, axis=0)
        ratio /= np.fft.fft(below * damp, size, axis=0)
        out[:, part] = np.fft.ifft(ratio, axis=0)[:terms] / damp
    return out


class Stretch(NamedTuple):
    """So many like segments during which the failure rate stays: their law, length and count."""

    law: SystemLifetime
    length: float
    repeats: int


def without_memory(plan: CheckpointPlan, stretches: list[Stretch], grid: Grid) -> Floats:
    """Return the masses of the cost of failures, two and more (with repair times by chance: one and
    more), where the rate is constant in each stretch: segments are then independent of each
    other."""
    repair = None if plan.repair is None else grid.law(plan.repair)
    log_none = -sum(float(one.law.cumulative_hazard(one.length)) * one.repeats for one in stretches)
    product: Complexes = np.ones(1, dtype=np.complex128)
    once: Complexes = np.zeros(1, dtype=np.complex128)
    for law, length, count in stretches:
        single = CheckpointPlan(length, np.inf, 0.0, plan.restart, plan.downtime)
        begin, again = Attempt(single, law, 0.0), Attempt(single, law, plan.restart)
        none, finish = float(begin.through(1)), float(again.through(1))
        lost = repaired(grid.spectrum(grid.attempt(begin, slice(0, 1), last=True)), repair)
        own = repaired(grid.spectrum(grid.attempt(again, slice(0, 1), last=True)), repair)
        product = product * (none + lost.value[0] * finish / (finish + own.complement[0])) ** count
        if none > 0 and repair is None:
            once = once + count * lost.value[0] * (finish / none)
    return grid.masses(product - np.exp(log_none) * (1 + once))
