"""How sharp quantiles are: the pinball loss, in hours and in logarithms.

The mean over evenly spread levels is about half of the continuous ranked probability score, which
is proper: it is best, in the mean, for him who says what he believes (Gneiting and Raftery,
"Strictly proper scoring rules, prediction, and estimation", JASA 102, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.prediction.assess.promises import blocked_error

LEVELS: Final = tuple(k / 20 for k in range(1, 20))
"""Levels over which losses are averaged: .05 to .95."""
SHOWN: Final = (0.5, 0.8, 0.9, 0.95)
"""Levels whose deadlines are told by themselves."""
HOUR: Final = 3600.0
CHUNK: Final = 1 << 16
"""Rows that are looked at at once."""


@dataclass(frozen=True)
class QuantileLosses:
    """Mean pinball losses of one job each.

    Attributes
    ----------
    hours : float64[n], of turnarounds in hours
    logs : float64[n], of natural logarithms of turnarounds in seconds, 1 at least
    kept : bool[n, 4], whether it was done by the quantiles at `SHOWN`
    ratio : float64[n, 4], those over the turnaround
    """

    hours: Floats
    logs: Floats
    kept: npt.NDArray[np.bool_]
    ratio: Floats


@dataclass(frozen=True)
class QuantileScores:
    """What quantiles of turnarounds were worth over many jobs.

    Attributes
    ----------
    count : jobs
    hours, logs : mean pinball losses
    hours_error, logs_error : half the widths of their intervals, jobs of a week taken together;
        nan within one week
    kept : shares done by the quantiles at `SHOWN`
    ratio : quartiles of those quantiles over the turnaround, at each of `SHOWN`
    """

    count: int
    hours: float
    logs: float
    hours_error: float
    logs_error: float
    kept: tuple[float, ...]
    ratio: tuple[tuple[float, float, float], ...]


def pinball(quantiles: npt.NDArray[np.floating], actual: Floats) -> QuantileLosses:
    """Return the losses of quantiles, s, [n, 19], at `LEVELS`, given turnarounds, s, float64[n]."""
    levels, count = np.array(LEVELS), len(actual)
    hours, logs = np.empty(count), np.empty(count)
    for first in range(0, count, CHUNK):
        part = slice(first, first + CHUNK)
        said, came = quantiles[part].astype(np.float64), actual[part, None]
        hours[part] = _loss(said / HOUR, came / HOUR, levels)
        logs[part] = _loss(np.log(np.maximum(said, 1.0)), np.log(np.maximum(came, 1.0)), levels)
    shown = quantiles[:, [LEVELS.index(level) for level in SHOWN]].astype(np.float64)
    return QuantileLosses(
        hours, logs, actual[:, None] <= shown, shown / np.maximum(actual, 1.0)[:, None]
    )


def _loss(said: Floats, came: Floats, levels: Floats) -> Floats:
    over = came - said
    return np.asarray(np.where(over > 0, levels * over, (levels - 1.0) * over).mean(axis=1))


def quantile_scores(losses: QuantileLosses, when: Ints, level: float = 0.95) -> QuantileScores:
    """Return the means over jobs that were submitted at `when`, int64[n], s; at least one job.
    `level` is that of the intervals."""
    hours, logs = float(losses.hours.mean()), float(losses.logs.mean())
    quartiles = np.quantile(losses.ratio, (0.25, 0.5, 0.75), axis=0)
    return QuantileScores(
        len(when),
        hours,
        logs,
        blocked_error(losses.hours, when, level),
        blocked_error(losses.logs, when, level),
        tuple(losses.kept.mean(axis=0).tolist()),
        tuple((low, middle, high) for low, middle, high in quartiles.T.tolist()),
    )
