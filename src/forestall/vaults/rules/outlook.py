"""What is known of storage hosts, put together for a choice: joint history and how they are now.

What hosts did together comes from moments at which all were seen. How each is now, as its own
process says, is put over the moments at which nothing happened to the compute host; those at which
it went down stay as they were, since they are what a checkpoint is for.

Source: slides of Ren and Bagchi on FGCS, "Correlated temporal reliability".
"""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.vaults.rules.placement import StoreOutlook, seen_together

LEAST, MOST = 1e-4, 1 - 1e-4
"""Nothing is taken for impossible or certain that was only seen to be so."""
_DIGITS: Final = 9


def outlook_of(bandwidth: Floats, up: Floats, at_failure: Bools, now: Floats) -> StoreOutlook:
    """Return what is known of storage hosts.

    Parameters
    ----------
    bandwidth : float64[hosts], B/s; 0 where one cannot be reached
    up : float64[moments, hosts], how far each was up at moments; nan where it is not known, which
        counts as how it is now
    at_failure : bool[moments], where the compute host went down
    now : float64[hosts], the probability that each is up within the time that counts

    Moments that are alike are one with the weight of all. Without any moment hosts are as they are
    now, each by itself.
    """
    if up.ndim != 2 or up.shape[1] != len(bandwidth) or now.shape != bandwidth.shape:
        raise ParameterError("up", up.shape, f"moments of {len(bandwidth)} hosts")
    if len(up) == 0:
        return StoreOutlook(bandwidth, np.clip(now, LEAST, MOST)[None, :], np.ones(1))
    known = np.where(np.isnan(up), now, up)
    rows = np.clip(known, LEAST, MOST)
    rows[~at_failure] = np.clip(_as_now(known[~at_failure], now), LEAST, MOST)
    rows, weight = seen_together(rows, at_failure)
    alike, which = np.unique(np.round(rows, _DIGITS), axis=0, return_inverse=True)
    whole: Floats = np.bincount(which.ravel(), weight, len(alike)).astype(float)
    return StoreOutlook(bandwidth, alike, whole)


def _as_now(up: Floats, now: Floats) -> Floats:
    """Return moments whose mean is how hosts are now: what was down is so less or more often, and
    together with what it was down with."""
    if not len(up):
        return up
    mean = up.mean(axis=0)
    better = 1 - (1 - up) * ((1 - now) / np.maximum(1 - mean, LEAST))
    worse = up * (now / np.maximum(mean, LEAST))
    made: Floats = np.where(now >= mean, better, worse)
    return made
