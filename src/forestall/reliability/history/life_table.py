"""What gaps say without a law: survival by Kaplan and Meier, cumulative hazard by Nelson and Aalen.

A gap that was still running when observation ended is right-censored: it counts as at risk up to
its length, and at that length still. A gap of 0 (failures at one time stamp) says only "less than
the resolution of the log": it counts as a failure at the resolution, by default the smallest gap
above 0.

Sources: Kaplan and Meier, J. Am. Stat. Assoc. 53, 1958; Aalen, Ann. Stat. 6, 1978; Kalbfleisch and
Prentice, The Statistical Analysis of Failure Time Data, 2nd ed. 2002, sections 1.4 and 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError

with lazily():
    import polars as pl


@dataclass(frozen=True, eq=False)
class FailureSteps:
    """Failures in order, ties taken together; k distinct times at which something failed.

    Attributes
    ----------
    time : float64[k], rising
    at_risk : int64[k], gaps at least that long, those censored at that very time among them
    failed : int64[k], gaps that ended there, >= 1
    count : all gaps
    until : the longest gap, censored or not
    """

    time: Floats
    at_risk: Ints
    failed: Ints
    count: int
    until: float

    @classmethod
    def of(cls, exact: Floats, right: Floats, left: Floats) -> FailureSteps:
        """Return the steps of gaps that ended, were censored, and ended by some time."""
        ended = np.sort(np.concatenate([exact, left]))
        censored = np.sort(right)
        time, first, failed = np.unique(ended, return_index=True, return_counts=True)
        count = len(ended) + len(censored)
        at_risk = count - first - np.searchsorted(censored, time)
        longest = max((float(part[-1]) for part in (ended, censored) if len(part)), default=0.0)
        return cls(time, at_risk.astype(np.int64), failed.astype(np.int64), count, longest)


@dataclass(frozen=True, eq=False)
class LifeTable:
    """A step function of age with a band around it, one entry for each time of a failure.

    Attributes
    ----------
    time : float64[k], rising, in the unit of the gaps
    at_risk, failed : int64[k], as in `FailureSteps`
    estimate : float64[k], the value from that time up to the next
    variance : float64[k], of the estimate; nan where there is none
    low, high : float64[k], pointwise confidence band at `level`
    level : of the band, such as 0.95
    count, censored : all gaps, and those right-censored among them
    until : the longest gap; nothing is known beyond it
    """

    time: Floats
    at_risk: Ints
    failed: Ints
    estimate: Floats
    variance: Floats
    low: Floats
    high: Floats
    level: float
    count: int
    censored: int
    until: float

    quantity: ClassVar[str] = "estimate"
    at_birth: ClassVar[float] = 0.0

    def at(self, t: npt.ArrayLike) -> Floats:
        """Return the estimate at each age `t`; nan beyond the longest gap."""
        ages = np.asarray(t, dtype=np.float64)
        steps = np.concatenate([[self.at_birth], self.estimate])
        value = steps[np.searchsorted(self.time, ages, side="right")]
        return np.where(ages > self.until, np.nan, value)

    def table(self) -> pl.DataFrame:
        """Return the columns time, at_risk, failed, the estimate by its name, low, high."""
        return pl.DataFrame(
            {
                "time": self.time,
                "at_risk": self.at_risk,
                "failed": self.failed,
                self.quantity: self.estimate,
                "low": self.low,
                "high": self.high,
            }
        )


@dataclass(frozen=True, eq=False)
class KaplanMeier(LifeTable):
    """The share that lasts longer than each time: the product of 1 - failed / at_risk.

    The variance is Greenwood's. The band is symmetric in log(-log S), so it stays within [0, 1].
    Where S reaches 0 that form has no value: the band then goes from 0 to its last upper end.
    """

    quantity: ClassVar[str] = "survival"
    at_birth: ClassVar[float] = 1.0

    def quantile(self, share: float) -> tuple[float, float, float]:
        """Return the time by which `share` has failed, and the ends of its confidence interval.

        The first time at which survival is at most 1 - `share`; the interval holds the times at
        which the band contains 1 - `share` (Brookmeyer and Crowley, Biometrics 38, 1982). inf where
        the curve, or the band, does not come down so far.
        """
        if not 0 < share < 1:
            raise ParameterError("share", share, "a number between 0 and 1")
        value, low, high = (
            self._first_at_most(1 - share, curve) for curve in (self.estimate, self.low, self.high)
        )
        return value, low, high

    @property
    def median(self) -> tuple[float, float, float]:
        """The time by which half have failed, and the ends of its confidence interval."""
        return self.quantile(0.5)

    def _first_at_most(self, height: float, curve: Floats) -> float:
        there = np.flatnonzero(curve <= height + 1e-12)  # 1 - 3 / 10 is not 0.7 to the last bit
        return float(self.time[there[0]]) if len(there) else float("inf")


@dataclass(frozen=True, eq=False)
class NelsonAalen(LifeTable):
    """The hazard added up to each time: the sum of failed / at_risk.

    The variance is the sum of failed / at_risk ** 2; the band is symmetric in log H.
    """

    quantity: ClassVar[str] = "cumulative_hazard"

    def rates(self, edges: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return the hazard rate between each two of the rising `edges`, with its band.

        The increment of the cumulative hazard over the width; edges of k + 1 times give three
        float64[k]. 0 with a band from 0 and up to inf where nothing failed.
        """
        border = np.asarray(edges, dtype=np.float64)
        place = np.searchsorted(self.time, border, side="right")
        width = np.diff(border)
        hazard = np.diff(np.concatenate([[0.0], self.estimate])[place])
        spread = np.diff(np.concatenate([[0.0], self.variance])[place])
        low, high = _log_band(hazard, spread, self.level)
        return hazard / width, low / width, high / width


def kaplan_meier(
    gaps: npt.ArrayLike,
    censored: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    resolution: float | None = None,
) -> KaplanMeier:
    """Return the share of gaps that last longer than each time.

    Parameters
    ----------
    gaps : float64[n], >= 0, in any unit
    censored : bool[n], True where the gap was still running when observation ended
    level : of the pointwise confidence band
    resolution : where gaps of 0 are counted; the smallest gap above 0 unless given

    Raises ParameterError for gaps that are negative, infinite or no numbers.

    >>> curve = kaplan_meier([1, 2, 2, 5], [False, False, True, False])
    >>> curve.estimate.tolist()
    [0.75, 0.5, 0.0]
    """
    return survival_of(*_parts(gaps, censored, resolution), level=level)


def nelson_aalen(
    gaps: npt.ArrayLike,
    censored: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    resolution: float | None = None,
) -> NelsonAalen:
    """Return the hazard added up to each time; parameters as of `kaplan_meier`.

    >>> nelson_aalen([1, 2, 2, 5], [False, False, True, False]).estimate.round(4).tolist()
    [0.25, 0.5833, 1.5833]
    """
    return hazard_of(*_parts(gaps, censored, resolution), level=level)


def survival_of(exact: Floats, right: Floats, left: Floats, *, level: float = 0.95) -> KaplanMeier:
    """Return Kaplan and Meier's curve of a sample in its parts (see `FailureSteps.of`)."""
    _check_level(level)
    steps = FailureSteps.of(exact, right, left)
    survival = np.cumprod(1 - steps.failed / steps.at_risk).astype(np.float64, copy=False)
    spread = np.cumsum(_greenwood(steps.failed, steps.at_risk))
    inside = survival > 0  # all but the last, where all that was at risk may have failed
    spread[~inside] = np.nan
    variance = survival**2 * spread
    logarithm = np.log(survival, where=inside, out=np.full_like(survival, np.nan))
    factor = np.exp(ndtri((1 + level) / 2) * np.sqrt(spread) / -logarithm)
    low, high = np.exp(logarithm * factor), np.exp(logarithm / factor)
    if len(inside) and not inside[-1]:
        low[-1] = 0.0
        high[-1] = high[-2] if len(high) > 1 else 1.0
    return KaplanMeier(
        steps.time, steps.at_risk, steps.failed, survival, variance, low, high,
        level, steps.count, len(right), steps.until,
    )  # fmt: skip


def hazard_of(exact: Floats, right: Floats, left: Floats, *, level: float = 0.95) -> NelsonAalen:
    """Return Nelson and Aalen's curve of a sample in its parts (see `FailureSteps.of`)."""
    _check_level(level)
    steps = FailureSteps.of(exact, right, left)
    hazard: Floats = np.cumsum(steps.failed / steps.at_risk)
    variance: Floats = np.cumsum(steps.failed / steps.at_risk.astype(np.float64) ** 2)
    low, high = _log_band(hazard, variance, level)
    return NelsonAalen(
        steps.time, steps.at_risk, steps.failed, hazard, variance, low, high,
        level, steps.count, len(right), steps.until,
    )  # fmt: skip


def _parts(
    gaps: npt.ArrayLike, censored: npt.ArrayLike | None, resolution: float | None
) -> tuple[Floats, Floats, Floats]:
    """Return what ended, what was censored, and the zeros at the resolution."""
    values = np.asarray(gaps, dtype=np.float64).ravel()
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise ParameterError(f"gaps[{bad[0]}]", float(values[bad[0]]), "a finite number >= 0")
    running = np.zeros(len(values), dtype=bool)
    if censored is not None:
        flags = np.asarray(censored).ravel()
        if len(flags) != len(values) or not np.isin(flags, (0, 1)).all():
            raise ParameterError("censored", f"{len(flags)} values", f"{len(values)} of 0 or 1")
        running = flags.astype(bool)
    if not len(values):
        raise ParameterError("gaps", "nothing", "at least one gap")
    zero = (values == 0) & ~running
    positive = values[values > 0]
    if resolution is None:
        resolution = float(positive.min()) if len(positive) else 0.0
    elif not (np.isfinite(resolution) and resolution > 0):
        raise ParameterError("resolution", resolution, "a finite number above 0")
    return values[~running & ~zero], values[running], np.full(int(zero.sum()), resolution)


def _greenwood(failed: Ints, at_risk: Ints) -> Floats:
    """Return each time's share of Greenwood's sum; inf where all that was at risk failed."""
    left = at_risk - failed
    share = np.full(len(failed), np.inf)
    np.divide(failed, at_risk * left.astype(np.float64), where=left > 0, out=share)
    return share


def _log_band(hazard: Floats, variance: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of a band symmetric in the logarithm; from 0 to inf where hazard is 0."""
    there = hazard > 0
    share = np.divide(np.sqrt(variance), hazard, where=there, out=np.full_like(hazard, np.inf))
    factor = np.exp(ndtri((1 + level) / 2) * share)
    high = np.multiply(hazard, factor, where=there, out=np.full_like(hazard, np.inf))
    return hazard / factor, high


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError("level", level, "a number between 0 and 1")
