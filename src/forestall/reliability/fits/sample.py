"""A sample of gaps as a fit needs it: checked, sorted by how much is known of each, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Family
from forestall.reliability.lifetimes.batch import Batch, BatchPart

Zeros = Literal["auto", "censored", "exact", "drop"]
ZEROS: tuple[Zeros, ...] = ("auto", "censored", "exact", "drop")

_GAPS = "finite numbers of at least 0"
_FLAGS = "true or false (1 or 0) for each gap"


@dataclass(frozen=True, eq=False)
class Sample:
    """Gaps between failures, in one unit of time, by how much is known of each.

    Parameters
    ----------
    exact : float64[n], gaps that were seen to end, >= 0
    right : float64[m], gaps known to have lasted longer than this, > 0
    left : float64[k], gaps known to have ended by this, > 0: what zeros become
    zeros : how many gaps were 0
    notes : what was done about zeros and gaps of no content, a line each
    """

    exact: Floats
    right: Floats
    left: Floats
    zeros: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = f"{counted(len(self))}, {self.failures:,} ended, {len(self.right):,} censored"
        return f"Sample({told})"

    @classmethod
    def of(
        cls,
        gaps: object,
        censored: object = None,
        *,
        zeros: str = "auto",
        resolution: float | None = None,
        family: Family | None = None,
    ) -> Sample:
        """Return the sample of these gaps.

        Parameters
        ----------
        gaps : numbers in any unit of time (array, list, Polars or pandas column), or a table with a
            column `gap` and perhaps a column `censored`; or a Sample, which comes back as it is
        censored : for each gap whether it was still open when observation ended (right-censored)
        zeros : what becomes of gaps of 0, which stand for less than the clock could tell:
            "censored" (ended by `resolution`), "exact", "drop" (left out), or "auto": exact where
            the density of `family` at 0 is always finite and above 0, else censored
        resolution : the shortest gap that the clock could tell; default the smallest gap above 0
        family : the one family that will be fitted, if it is one

        Raises
        ------
        ParameterError
            names the first gap that is not a finite number of at least 0, or says that there are
            none above 0
        """
        if isinstance(gaps, Sample):
            return gaps
        if zeros not in ZEROS:
            raise ParameterError("zeros", zeros, "one of " + ", ".join(ZEROS))
        if resolution is not None and not (np.isfinite(resolution) and resolution > 0):
            raise ParameterError("resolution", resolution, "a finite time above 0")
        times, flags = _columns(gaps, censored)
        exact, right = (times, times[:0]) if flags is None else (times[~flags], times[flags])
        low = times.min() if len(times) else np.nan
        if low > 0:
            return cls(exact, right, times[:0])
        return _without_zeros(exact, right, zeros, resolution, family)

    def __len__(self) -> int:
        """Return how many observations a fit adds up."""
        return len(self.exact) + len(self.right) + len(self.left)

    @property
    def failures(self) -> int:
        """How many gaps were seen to end, zeros among them."""
        return len(self.exact) + len(self.left)

    @property
    def shortest(self) -> float:
        """The smallest gap."""
        return min(float(part.min()) for part in (self.exact, self.right, self.left) if len(part))

    @property
    def longest(self) -> float:
        """The largest gap, censored or not."""
        return max(float(part.max()) for part in (self.exact, self.right, self.left) if len(part))

    @cached_property
    def scale(self) -> float:
        """The geometric mean of the exact gaps above 0, by which `batch` divides."""
        return float(np.exp(np.mean(self._logs)))

    @cached_property
    def log_scale(self) -> float:
        """The logarithm of `scale`."""
        return float(np.log(self.scale))

    @cached_property
    def batch(self) -> Batch:
        """The sample as a batch of one row, times divided by `scale`."""
        unit = self.scale
        exact, right = (BatchPart(times[None, :], None, unit) for times in (self.exact, self.right))
        if len(self._logs) == len(self.exact):
            exact.__dict__["log"] = (self._logs - self.log_scale)[None, :]
        left = BatchPart.none(1)
        if len(self.left):
            limits, counts = np.unique(self.left, return_counts=True)
            left = BatchPart(limits[None, :], counts[None, :].astype(np.float64), unit)
        return Batch(exact, right, left)

    @cached_property
    def _logs(self) -> Floats:
        """Logarithms of the exact gaps above 0; of the others where there is none."""
        exact = self.exact if self.exact.all() else self.exact[self.exact > 0]
        logs: Floats = np.log(exact if len(exact) else np.concatenate([self.left, self.right]))
        return logs


def _columns(gaps: Any, censored: object) -> tuple[Floats, Bools | None]:
    """Return checked gaps and which of them are right-censored, None where none is."""
    names = getattr(gaps, "columns", None)
    if names is not None:
        if "gap" not in names:
            raise ParameterError("gaps", list(names), "a table with a column gap")
        if censored is None and "censored" in names:
            censored = gaps["censored"]
        gaps = gaps["gap"]
    times = _numbers("gaps", gaps, _GAPS)
    flags = None if censored is None else _flags(censored, len(times))
    low, high = (times.min(), times.max()) if len(times) else (0.0, 0.0)
    if not (low >= 0 and high < np.inf):
        wrong = int(np.flatnonzero(~((times >= 0) & (times < np.inf)))[0])
        raise ParameterError(f"gaps[{wrong}]", float(times[wrong]), "a finite number of at least 0")
    return times, flags


def _numbers(name: str, values: object, allowed: str) -> Floats:
    """Return `values` as float64[n]; ParameterError where they are none."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        floats = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ParameterError(name, _short(values), allowed) from None
    if floats.ndim != 1:
        raise ParameterError(name, f"an array of shape {floats.shape}", allowed + ", in one row")
    return floats


def _short(values: object) -> str:
    text = repr(values).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def _flags(censored: object, n: int) -> Bools | None:
    """Return which gaps are right-censored; None where none is."""
    array = np.asarray(censored)
    if array.dtype != np.bool_:
        numbers = _numbers("censored", censored, _FLAGS)
        wrong = np.flatnonzero((numbers != 0) & (numbers != 1))
        if len(wrong):
            at = int(wrong[0])
            raise ParameterError(f"censored[{at}]", float(numbers[at]), "true or false (1 or 0)")
        array = numbers == 1
    if array.shape != (n,):
        raise ParameterError("censored", f"an array of shape {array.shape}", f"{n} values, as gaps")
    return array if array.any() else None


def _without_zeros(
    exact: Floats, right: Floats, zeros: str, resolution: float | None, family: Family | None
) -> Sample:
    """Return the sample where there are zeros among the gaps, or no gaps."""
    notes = []
    open_at_zero = int(np.count_nonzero(right == 0))
    if open_at_zero:
        right = right[right > 0]
        notes.append(f"{counted(open_at_zero)} of 0 censored at once: left out, says nothing")
    positive = exact[exact > 0]
    count = len(exact) - len(positive)
    if len(positive) + len(right) == 0:
        what = f"{counted(count + open_at_zero)}, none above 0"
        raise ParameterError("gaps", what, "at least one gap above 0")
    if count == 0:
        return Sample(exact, right, exact[:0], 0, tuple(notes))
    if zeros == "auto":
        zeros = "exact" if family is not None and family.at_zero else "censored"
    if zeros == "exact":
        if family is not None and not family.at_zero:
            other = f"censored or drop: the density of {family.name} at 0 may be 0 or infinite"
            raise ParameterError("zeros", zeros, other)
        notes.append(f"{counted(count)} of 0 taken as exact")
        return Sample(exact, right, exact[:0], count, tuple(notes))
    if zeros == "drop":
        notes.append(f"{counted(count)} of 0 left out")
        return Sample(positive, right, exact[:0], count, tuple(notes))
    known = positive if len(positive) else right
    least = float(known.min()) if resolution is None else float(resolution)
    notes.append(f"{counted(count)} of 0 taken as ended by {least:g} (left-censored)")
    return Sample(positive, right, np.full(count, least), count, tuple(notes))


def counted(count: int) -> str:
    """Return the number of gaps in words."""
    return "1 gap" if count == 1 else f"{count:,} gaps"
