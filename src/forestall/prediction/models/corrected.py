"""Probabilities corrected as their outcomes become known: each by those that were known before it.

The correction is a logistic curve of the log odds that were said, and of marks that the event bears
besides, p = expit(a + b logit(c) + d . marks), the likeliest one for the outcomes known so far,
drawn to a = 0, b = 1, d = 0 as by a few outcomes that agree with what was said. It is fitted anew
when the known outcomes have grown by a fiftieth. A. P. Dawid, "The well-calibrated Bayesian", JASA
77, 1982, on judging forecasts in sequence; Platt's curve.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit, logit

from forestall.core.model.arrays import Bools, Floats, Ints

PRIOR: Final = (0.0, 1.0)
STRENGTH: Final = (1.0, 10.0)
"""Shift and slope of no correction, and the inverse variances with which they are held; those of
the worth of a mark are 0 and 1."""
GROWTH: Final = 0.02
STEPS: Final = 50
LEAST: Final = 1e-3
"""Chances are taken to be within [LEAST, 1 - LEAST]."""


def corrected(
    chance: Floats,
    asked: Ints,
    known: Ints,
    came: Bools,
    marks: Floats | None = None,
) -> Floats:
    """Return float64[n]: what would have been said, had it been corrected by the outcomes known.

    Parameters
    ----------
    chance : float64[n], said of each event
    asked : int64[n], when, s
    known : int64[n], when its outcome was known, s; an outcome known at t counts for what is said
        at t
    came : bool[n], the outcome
    marks : float64[n, k], from 0 to 1, what else was known of each event when it was asked
    """
    odds = logit(np.clip(chance, LEAST, 1 - LEAST))[:, None]
    design = np.hstack((np.ones_like(odds), odds, *([] if marks is None else [marks])))
    more = design.shape[1] - len(PRIOR)
    prior = np.array((*PRIOR, *[0.0] * more))
    strength = np.array((*STRENGTH, *[1.0] * more))
    by_end = np.argsort(known, kind="stable")
    ready = np.searchsorted(known[by_end], asked, side="right")
    answer = np.empty(len(chance))
    curve, fitted = prior, 0
    for place in np.argsort(asked, kind="stable").tolist():
        count = int(ready[place])
        if count > fitted * (1 + GROWTH) + 1:
            seen = by_end[:count]
            curve, fitted = _fit(design[seen], came[seen], curve, prior, strength), count
        answer[place] = expit(float(design[place] @ curve))
    return answer


def _fit(design: Floats, came: Bools, curve: Floats, prior: Floats, strength: Floats) -> Floats:
    """Return the curve by Newton's method, from that of before on."""

    def loss(at: Floats, z: Floats) -> float:
        held = 0.5 * float((strength * (at - prior) ** 2).sum())
        return float((np.logaddexp(0.0, z) - came * z).sum()) + held

    z = design @ curve
    now = loss(curve, z)
    for _ in range(STEPS):
        p = expit(z)
        slope = design.T @ (p - came) + strength * (curve - prior)
        bend = (design * (p * (1 - p))[:, None]).T @ design + np.diag(strength)
        step, size = np.linalg.solve(bend, slope), 1.0
        tried = curve - step
        z = design @ tried
        then = loss(tried, z)
        while size > 1e-6 and then > now:
            size /= 2
            tried = curve - size * step
            z = design @ tried
            then = loss(tried, z)
        curve, now = tried, then
        if np.abs(size * step).max() < 1e-9:
            break
    return curve
