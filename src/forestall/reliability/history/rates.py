"""Failure rates of groups with exact Poisson intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError

with lazily():
    import polars as pl


PER = 1000.0
"""Rates are failures per so many node-days."""


@dataclass(frozen=True)
class Rates:
    """Failures, exposure and rates of groups (years, nodes, causes).

    Attributes
    ----------
    by : what the groups are
    group : their names, in order
    failures : int64[g]
    node_days : float64[g], time under watch of all nodes concerned
    rate, low, high : float64[g], failures per 1000 node-days with the exact confidence interval of
        a Poisson count (nan where there is no exposure)
    level : of the interval
    """

    by: str
    group: tuple[str, ...]
    failures: Ints
    node_days: Floats
    rate: Floats
    low: Floats
    high: Floats
    level: float

    @classmethod
    def of(
        cls, by: str, group: Sequence[str], failures: Ints, node_days: Floats, level: float
    ) -> Rates:
        """Return the rates of counts and exposures."""
        exposed = np.where(node_days > 0, node_days, np.nan) / PER
        low, high = poisson_interval(failures, level)
        rates = (failures / exposed, low / exposed, high / exposed)
        return cls(by, tuple(group), failures, node_days, *rates, level)

    def table(self) -> pl.DataFrame:
        """Return a Polars table, a row a group."""
        names = ("failures", "node_days", "rate", "low", "high")
        columns = {self.by: list(self.group)} | {name: getattr(self, name) for name in names}
        return pl.DataFrame(columns)


def poisson_interval(count: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the exact two-sided interval of a Poisson mean for counts seen.

    Source: Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
    """
    tail = (1 - checked_level(level)) / 2
    seen = np.asarray(count, dtype=np.float64)
    low = np.where(seen > 0, gammaincinv(np.maximum(seen, 1), tail), 0.0)
    return low, np.asarray(gammaincinv(seen + 1, 1 - tail))


def compound_interval(count: int, alone: float, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the mean of a count whose failures come in groups.

    `alone` is the number of failures that, each on its own, would leave the mean as unsure:
    `count`^2 over the sum of the squared sizes of the groups, since the mean of a compound Poisson
    count over its standard deviation is that of as many single ones.
    """
    low, high = (float(end) for end in poisson_interval(alone, level))
    scale = count / alone if alone else 1.0
    return low * scale, high * scale


def checked_level(level: float) -> float:
    """Return a confidence level; ParameterError where it is none."""
    if not 0 < level < 1:  # also refuses nan
        raise ParameterError("level", level, "a number between 0 and 1, such as 0.95")
    return float(level)
