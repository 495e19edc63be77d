"""A small damped Newton ascent for families that climb in coordinates of their own.

`fits.newton` climbs in logarithms of the parameters. Where those bend (a generalized gamma on its
way to the lognormal), a family climbs in better coordinates and hands over the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.lifetimes.batch import Batch, Derivatives

Slopes = Callable[[Batch, Floats], Derivatives]

FEW = 100
"""Samples up to this size are climbed from several starts."""

_TOLERANCE = 1e-10  # what a step may still promise at the maximum
_ROUNDS = 80


def climb(
    slopes: Slopes, batch: Batch, start: Floats, low: Floats, high: Floats
) -> tuple[Floats, Bools]:
    """Return float64[B, q], where each row's value is highest within bounds, and bool[B], found.

    Parameters
    ----------
    slopes : value float64[B], gradient [B, q] and Hessian [B, q, q] of a batch at float64[B, q];
        a value of nan or -inf says that there is none
    start : float64[B, q]
    low, high : float64[q] or [B, q], bounds
    """
    low, high = np.broadcast_to(low, start.shape), np.broadcast_to(high, start.shape)
    at = np.clip(start, low, high)
    value, gradient, hessian = slopes(batch, at)
    live = np.flatnonzero(np.isfinite(value))
    part = batch if len(live) == len(batch) else batch.rows(live)
    damping = np.zeros(len(batch))
    found = np.zeros(len(batch), dtype=np.bool_)
    for _ in range(_ROUNDS):
        here, slope = at[live], gradient[live]
        bottom, top = low[live], high[live]
        held = ((here <= bottom) & (slope < 0)) | ((here >= top) & (slope > 0))
        held |= (slope == 0) & (np.diagonal(hessian[live], axis1=1, axis2=2) == 0)  # all flat
        step, sound = _step(slope, hessian[live], held, damping[live])
        step = _within(here, step, bottom, top)
        promise = np.einsum("bq,bq->b", slope, step)
        done = sound & (promise < 2 * _TOLERANCE) & (damping[live] < 1e-3)
        stuck = damping[live] > 1e12
        found[live] = done | (stuck & (promise < 1e-7 * (1 + np.abs(value[live]))))
        going = ~(done | stuck)
        if not going.any():
            break
        if not going.all():
            live, part = live[going], part.rows(np.flatnonzero(going))
            here, step, promise = here[going], step[going], promise[going]
        new = slopes(part, here + step)
        noise = 1e-13 * (1 + np.abs(value[live]))
        better = new[0] - value[live] >= 1e-4 * promise - noise
        better &= np.isfinite(new[1]).all(axis=1) & np.isfinite(new[2]).all(axis=(1, 2))
        rows = live[better]
        at[rows] = (here + step)[better]
        value[rows], gradient[rows], hessian[rows] = (each[better] for each in new)
        grown = np.maximum(4 * damping[live], 1e-2)
        eased = np.where(damping[live] < 1e-2, 0.0, damping[live] / 10)
        damping[live] = np.where(better, eased, grown)
    return at, found


def climb_from(
    slopes: Slopes, batch: Batch, starts: Iterable[Floats], low: Floats, high: Floats
) -> tuple[Floats, Bools]:
    """Return what `climb` does, from several starts.

    Small samples can have several maxima: the highest is taken. Others stop at the first start from
    which one was found.
    """
    best, value = np.empty(0), np.empty(0)
    found = np.zeros(len(batch), dtype=np.bool_)
    for k, start in enumerate(starts):
        at, there = climb(slopes, batch, start, low, high)
        if k == 0 and there.all() and batch.size > FEW:
            return at, there
        reached = np.nan_to_num(slopes(batch, at)[0], nan=-np.inf)
        if k == 0:
            best, value, found = at, reached, there
            continue
        better = reached > value + _TOLERANCE
        if batch.size > FEW:
            better = there & ~found
        best = np.where(better[:, None], at, best)
        value, found = np.where(better, reached, value), np.where(better, there, found)
        if found.all() and batch.size > FEW:
            break
    return best, found


def _within(at: Floats, step: Floats, low: Floats, high: Floats) -> Floats:
    """Return steps that stay within bounds: none across a bound that is reached, and else shorter
    as a whole, so that a step along a ridge stays on it."""
    step = np.where(((at <= low) & (step < 0)) | ((at >= high) & (step > 0)), 0.0, step)
    room = np.where(step > 0, high - at, np.where(step < 0, low - at, 0.0))
    share = np.divide(room, step, out=np.ones_like(step), where=step != 0)
    least = np.minimum(1.0, share.min(axis=1, keepdims=True))
    # Onto the bound to the last digit, so that it counts as reached.
    reached = np.where(share <= least, room, step * least)
    return np.where(least < 1, reached, step)


def _step(gradient: Floats, hessian: Floats, held: Bools, damping: Floats) -> tuple[Floats, Bools]:
    """Return an ascending step, and whether the curvature is that of a maximum."""
    q = gradient.shape[1]
    slope = np.where(held, 0.0, gradient)
    curvature = np.where(held[:, :, None] | held[:, None, :], np.eye(q), -hessian)
    size = np.sqrt(np.abs(np.diagonal(curvature, axis1=1, axis2=2))) + 1e-100
    values, vectors = np.linalg.eigh(curvature / (size[:, :, None] * size[:, None, :]))
    sound = values[:, 0] > 1e-11
    steep = np.maximum(np.abs(values), 1e-10) + damping[:, None]
    along = np.einsum("bpq,bp->bq", vectors, slope / size) / steep
    step = np.einsum("bpq,bq->bp", vectors, along) / size
    length = np.abs(step).max(axis=1, keepdims=True)
    return step * np.minimum(1.0, 2.0 / np.maximum(length, 1e-300)), sound
