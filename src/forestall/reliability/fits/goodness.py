"""How far a fitted law is from its sample, and how often chance alone would take it so far.

The distances compare the fitted F with the empirical distribution G, which is 1 minus Kaplan and
Meier's curve under censoring, over the ages at which G is known: from the resolution on where gaps
of 0 are left-censored, up to the longest gap where that was censored.

- Kolmogorov and Smirnov: the largest |G - F| there.
- Anderson and Darling: n times the integral of (G - F)^2 / (F (1 - F)) dF there, which without
  censoring is the usual statistic, and with all gaps censored at one time that of Pettitt and
  Stephens, Biometrika 63, 1976. Where the law starts at the smallest gap (Pareto) that would be
  infinite: the ages below the next gap are left out.

Where all gaps are multiples of one step (a clock that ticks), G is known only between the cells of
half a step to either side of each multiple. Both distances are taken there: the largest |G - F| at
the borders of cells; and over a cell that holds gaps, G - F is taken to go straight, by F, from one
border to the other. At the multiples themselves the distance would be that of the steps of G, which
tells nothing of the law.

Tables for these do not hold once parameters are fitted. So p-values come from a parametric
bootstrap: samples drawn from the fitted law with the censoring and the resolution of the sample at
hand, fitted again and compared with their own fit (Stute, Gonzalez Manteiga and Presedo Quindimil,
Metrika 40, 1993). p = (1 + draws at least as far) / (draws + 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.redraw import Fit, RedrawnGaps, Scheme
from forestall.reliability.lifetimes.batch import Fittable

MOST_CELLS = 1000
"""Where the longest gap has no more steps than this, the grid is coarse."""


@dataclass(frozen=True)
class Goodness:
    """Distances between a fitted law and its sample, with p-values right for fitted parameters.

    Attributes
    ----------
    ks, ad : Kolmogorov and Smirnov's, and Anderson and Darling's statistic
    ks_p, ad_p : the probability of a distance at least as large if the law were true; nan with no
        draws
    draws : samples the p-values rest on, those that could not be fitted left out
    notes : what was imitated, and what a reader should know
    """

    ks: float
    ks_p: float
    ad: float
    ad_p: float
    draws: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return both tests in one line."""
        p = (f"{value:.3f}" for value in (self.ks_p, self.ad_p))
        return (
            f"KS {self.ks:.4g} (p {next(p)})  AD {self.ad:.4g} (p {next(p)})  {self.draws:,} draws"
        )


def goodness(fitted: Fit, draws: int = 999, seed: int = 1) -> Goodness:
    """Return the distances of a fit from its sample and their p-values.

    Parameters
    ----------
    fitted : the fit
    draws : samples to draw; 0 for the statistics alone
    seed : of the draws

    Raises ParameterError for a negative number of draws.
    """
    if draws < 0:
        raise ParameterError("draws", draws, "a whole number of at least 0")
    ks, ad = statistics(fitted)
    if not draws:
        return Goodness(ks, float("nan"), ad, float("nan"), 0)
    scheme = Scheme.of(fitted)
    if scheme.grid and RedrawnGaps.of(fitted.sample).time[0, -1] <= MOST_CELLS * scheme.grid:
        p_ks, p_ad, counted = _on_grid(fitted, scheme, draws, seed)
        return Goodness(ks, p_ks, ad, p_ad, counted, _notes(fitted, scheme, draws - counted))
    further_ks = further_ad = counted = 0
    for rows, _, theta, fine in scheme.refitted(draws, seed):
        drawn_ks, drawn_ad = distances(scheme.family, theta, rows)
        fine &= np.isfinite(drawn_ks) & np.isfinite(drawn_ad)
        # Equal distances count: the margin is for rounding, which is not the same row by row.
        further_ks += int(np.count_nonzero(drawn_ks[fine] >= ks * (1 - 1e-12)))
        further_ad += int(np.count_nonzero(drawn_ad[fine] >= ad * (1 - 1e-12)))
        counted += int(np.count_nonzero(fine))
    return Goodness(
        ks,
        (1 + further_ks) / (counted + 1),
        ad,
        (1 + further_ad) / (counted + 1),
        counted,
        _notes(fitted, scheme, draws - counted),
    )


def _on_grid(fitted: Fit, scheme: Scheme, draws: int, seed: int) -> tuple[float, float, int]:
    """Return both p-values where gaps lie on a coarse grid, and how many draws they rest on.

    A density taken at multiples of the step, and zeros taken as ended by it, move every fit the
    same way. What draws show of that on average is taken from G - F at the borders of cells, so
    that what is left is chance, and for the sample also the wrong law.
    """
    rows = RedrawnGaps.of(fitted.sample)
    borders = np.arange(round(rows.floor / rows.grid), round(rows.time[0, -1] / rows.grid) + 1)
    edges = (borders + 0.5) * rows.grid
    own, law = _at_borders(scheme.family, fitted.scaled[None, :], rows, edges)
    drawn = []
    for each, _, theta, fine in scheme.refitted(draws, seed):
        apart, _ = _at_borders(scheme.family, theta[fine], each.take(fine), edges)
        drawn.append(apart[np.isfinite(apart).all(axis=1)])
    told = np.vstack(drawn)
    if len(told) == 0:
        return 1.0, 1.0, 0
    told, own = told - told.mean(axis=0), own - told.mean(axis=0)
    spread = np.maximum(law[0] * (1 - law[0]), 1e-12)
    weight = np.diff(law[0], prepend=0.0) / spread
    chances = []
    for one, many in (
        (np.abs(own).max(axis=1), np.abs(told).max(axis=1)),
        (own**2 @ weight, told**2 @ weight),
    ):
        further = int(np.count_nonzero(many >= one[0] * (1 - 1e-12)))
        chances.append((1 + further) / (len(told) + 1))
    return chances[0], chances[1], len(told)


def _at_borders(
    family: Fittable, theta: Floats, rows: RedrawnGaps, edges: Floats
) -> tuple[Floats, Floats]:
    """Return G - F and F at these times, float64[B, m] each."""
    values = tuple(theta[:, k, None] for k in range(theta.shape[1]))
    with np.errstate(all="ignore"):
        times = np.broadcast_to(edges, (len(theta), len(edges)))
        law = -np.expm1(np.minimum(family.logsf(times, *values), 0.0))
    share = np.hstack(
        [np.zeros((len(rows.time), 1)), np.broadcast_to(_empirical(rows), rows.time.shape)]
    )
    place = np.array([np.searchsorted(row, edges) for row in rows.time]).reshape(law.shape)
    return np.take_along_axis(share, place, axis=1) - law, law


def statistics(fitted: Fit, rows: RedrawnGaps | None = None) -> tuple[float, float]:
    """Return the two distances of a fit from its sample; `rows` are those of the sample, if there
    already."""
    known = RedrawnGaps.of(fitted.sample) if rows is None else rows
    ks, ad = distances(fitted.family, fitted.scaled[None, :], known)
    return float(ks[0]), float(ad[0])


def distances(family: Fittable, theta: Floats, rows: RedrawnGaps) -> tuple[Floats, Floats]:
    """Return float64[B] twice: the two distances of each row from the law of its parameters.

    Parameters
    ----------
    theta : float64[B, p], in the units of the rows
    """
    if rows.grid:
        return _between_cells(family, theta, rows)
    values = tuple(theta[:, k, None] for k in range(theta.shape[1]))
    count = rows.time.shape[1]
    with np.errstate(all="ignore"):
        logsf = np.minimum(family.logsf(rows.time, *values), 0.0)
        logcdf = _logcdf(family, rows.time, logsf, values)
        law = -np.expm1(logsf)
        after = _empirical(rows)
        before = np.empty_like(after)
        before[:, 0], before[:, 1:] = 0.0, after[:, :-1]
        above, below = after - law, law - before
        start = np.zeros(len(theta))
        if rows.floor:
            # Nothing is known of G below the floor: F is taken there, and G may be anything.
            at_floor = family.logsf(np.full((len(theta), 1), rows.floor), *values)
            under = rows.time < rows.floor
            logsf, logcdf = (
                np.where(under, edge, each)
                for edge, each in ((at_floor, logsf), (np.log(-np.expm1(at_floor)), logcdf))
            )
            above[under] = below[rows.time <= rows.floor] = -np.inf
            start = (at_floor - np.expm1(at_floor))[:, 0]
        never = np.isneginf(logcdf)
        if never.any():  # the law starts at the smallest gap: leave out the ages below the next
            first = np.minimum(np.count_nonzero(never, axis=1), count - 1)[:, None]
            edge = np.take_along_axis(logsf, first, axis=1)
            start = np.where(never.any(axis=1), (edge - np.expm1(edge))[:, 0], start)
            logsf = np.where(never, edge, logsf)
            logcdf = np.where(never, np.take_along_axis(logcdf, first, axis=1), logcdf)
        ks = np.maximum(above.max(axis=1), below.max(axis=1))
        # The integral of (p - u)^2 / (u (1 - u)) is p^2 log u - (1 - p)^2 log(1 - u) - u.
        terms = logcdf * (before**2 - after**2) - logsf * ((1 - before) ** 2 - (1 - after) ** 2)
        if rows.censored is not None:
            terms[rows.censored] = 0.0  # where F may be 0 or 1
        last = after[:, -1]
        tail = last**2 * logcdf[:, -1] - (1 - last) ** 2 * logsf[:, -1] - law[:, -1]
        end = np.where(last < 1, tail, -1.0)  # where the longest gap ended, G is known to be 1
        ad = count * (terms.sum(axis=1) + start + end)
    return ks, ad


@dataclass(frozen=True)
class _Cells:
    """The cells of a grid that hold failures, of all rows one after the other.

    Attributes
    ----------
    row : int64[m], rising
    first : bool[m], the first of its row
    time : float64[m], the middle
    before, after : float64[m], the shares that failed by the lower and by the upper border
    """

    row: Ints
    first: Bools
    time: Floats
    before: Floats
    after: Floats

    @classmethod
    def of(cls, rows: RedrawnGaps) -> _Cells:
        """Return them; failures up to the floor are in one cell, from 0."""
        share = np.broadcast_to(_empirical(rows), rows.time.shape)
        failed = np.ones(rows.time.shape, np.bool_) if rows.censored is None else ~rows.censored
        row, column = np.nonzero(failed)
        cell = np.rint(np.maximum(rows.time, rows.floor)[row, column] / rows.grid)
        new_row = np.diff(row, append=-1) != 0
        last = new_row | (np.diff(cell, append=-1) != 0)
        row, time, after = row[last], cell[last] * rows.grid, share[row[last], column[last]]
        first = np.diff(row, prepend=-1) != 0
        before = np.where(first, 0.0, np.roll(after, 1))
        return cls(row, first, time, before, after)


def _between_cells(family: Fittable, theta: Floats, rows: RedrawnGaps) -> tuple[Floats, Floats]:
    """Return both distances of rows on a grid, measured at the borders of its cells."""
    count, half = rows.time.shape[1], rows.grid / 2
    cells = _Cells.of(rows)
    row = cells.row

    def law(time: Floats, of: Ints) -> tuple[Floats, Floats, Floats]:
        """Return log(1 - F), log F and F."""
        values = tuple(theta[of, k] for k in range(theta.shape[1]))
        logsf = np.minimum(family.logsf(time, *values), 0.0)
        return logsf, _logcdf(family, time, logsf, values), -np.expm1(logsf)

    def flat(share: Floats, told: tuple[Floats, Floats, Floats]) -> Floats:
        """Return the integral of (share - u)^2 / (u (1 - u)) up to F, but for a constant."""
        left = np.where(share < 1, (1 - share) ** 2 * told[0], 0.0)
        return np.where(share > 0, share**2 * told[1], 0.0) - left - told[2]

    with np.errstate(all="ignore"):
        unknown = cells.first & (cells.time <= rows.floor + half)
        low = law(np.maximum(cells.time - half, 0.0), row)
        high = law(cells.time + half, row)
        below, above = cells.before - low[2], cells.after - high[2]
        far = np.maximum(np.where(unknown, 0.0, np.abs(below)), np.abs(above))
        width, middle = high[2] - low[2], (high[2] + low[2]) / 2
        square = (below**2 + below * above + above**2) / 3
        within = np.where(width > 0, width * square / (middle * (1 - middle)), 0.0)
        terms = np.where(unknown, 0.0, within + flat(cells.before, low)) - flat(cells.after, high)
        every = np.arange(len(theta))
        if rows.floor:  # what is below it is not known, whether or not a failure is there
            start = law(np.full(len(theta), rows.floor + half), every)
            known = np.bincount(row[unknown], minlength=len(theta)) > 0
            terms_start = np.where(known, 0.0, -flat(np.zeros(len(theta)), start))
        else:
            terms_start = np.zeros(len(theta))
        last = _empirical(rows)[:, -1] * np.ones(len(theta))
        end = law(rows.time[:, -1] * np.ones(len(theta)), every)
        ks, area = np.zeros(len(theta)), terms_start
        np.maximum.at(ks, row, far)
        ks = np.maximum(ks, np.where(last < 1, np.abs(last - end[2]), 0.0))
        area = area + np.bincount(row, terms, minlength=len(theta))
        area = area + np.where(last < 1, flat(last, end), -1.0)
    return ks, count * area


def _empirical(rows: RedrawnGaps) -> Floats:
    """Return float64[B or 1, N]: the share that failed up to and including each gap."""
    count = rows.time.shape[1]
    if rows.censored is None:
        share: Floats = np.arange(1, count + 1, dtype=np.float64) / count
        return share[None, :]
    at_risk = np.arange(count, 0, -1)
    lasting = np.cumprod(np.where(rows.censored, 1.0, 1 - 1 / at_risk), axis=1)
    return (1 - lasting).astype(np.float64, copy=False)


def _logcdf(family: Fittable, time: Floats, logsf: Floats, values: tuple[Floats, ...]) -> Floats:
    """Return log F from log(1 - F), by the family's own way where that says too little."""
    logcdf: Floats = np.log(-np.expm1(logsf))
    early = logsf > -1e-9
    if early.any():
        theirs = (np.broadcast_to(value, time.shape)[early] for value in values)
        logcdf[early] = family.logcdf(time[early], *theirs)
    return logcdf


def _notes(fitted: Fit, scheme: Scheme, failed: int) -> tuple[str, ...]:
    sample = fitted.sample
    notes = []
    if scheme.grid:
        step = scheme.grid * sample.scale
        notes.append(
            f"gaps are multiples of {step:.6g}: draws were brought to the same resolution, and "
            "distances taken halfway between its steps"
        )
    elif len(np.unique(sample.exact)) < len(sample.exact):
        notes.append("some gaps are equal but on no common step; p-values take them as continuous")
    if len(sample.right):
        notes.append("censoring redrawn from the Kaplan-Meier estimate of its law")
    if failed:
        notes.append(f"{failed:,} draws could not be fitted and were left out")
    return tuple(notes)
