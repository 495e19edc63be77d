"""Samples as a fit sees them, many at once, and what a family must offer to be fitted to them.

A batch holds B independent samples as rows of equal length: one for a plain fit, hundreds for a
bootstrap. Times in a batch are free of units: whoever makes it divides by a typical gap first, so
that families need not mind gaps of 1e-300 or 1e300.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats
from forestall.reliability.lifetimes.base import Family

Derivatives = tuple[Floats, Floats, Floats]
"""Log-likelihood float64[B], its gradient float64[B, p] and Hessian float64[B, p, p], both in
unconstrained coordinates."""

BLOCK = 32_768
"""Elements that one pass works on at a time, so that its temporaries stay in the cache."""


class BatchPart:
    """Observations of one sort in a batch: seen to end, outlasted, or ended before they were seen.

    Parameters
    ----------
    time : float64[B, n], each > 0 but for zeros that are taken as exact
    weight : float64[B, n], how often each counts; None where each counts once. Rows with fewer
        observations than others are filled up with weight 0, and with a time of their own row (1
        where it has none), so that a term that weighs nothing is no worse than those that do
    unit : what times are to be divided by, which is done only when they are asked for
    """

    def __init__(self, time: Floats, weight: Floats | None = None, unit: float = 1.0) -> None:
        self._raw, self.weight, self._unit = time, weight, unit

    def __len__(self) -> int:
        """Return n, fillers included; 0 says that there is nothing to add up."""
        return int(self._raw.shape[1])

    @property
    def samples(self) -> int:
        """B, the number of rows."""
        return len(self._raw)

    @cached_property
    def time(self) -> Floats:
        """float64[B, n], the times."""
        if self._unit == 1.0:
            return self._raw
        with np.errstate(over="ignore", under="ignore"):
            return self._raw / self._unit

    @cached_property
    def log(self) -> Floats:
        """float64[B, n], the logarithm of `time`; -inf for a zero."""
        with np.errstate(divide="ignore"):
            log = np.log(self._raw)
        if self._unit != 1.0:
            log -= np.log(self._unit)
        return log

    @cached_property
    def count(self) -> Floats:
        """float64[B], how many observations each row has (the weights added up)."""
        if self.weight is None:
            return np.full(len(self._raw), float(len(self)))
        return np.asarray(np.add.reduce(self.weight, axis=1))

    @cached_property
    def sum(self) -> Floats:
        """float64[B], times added up."""
        return self.total(self.time)

    @cached_property
    def sum_log(self) -> Floats:
        """float64[B], logarithms of times added up; -inf where a time is 0."""
        return self.total(self.log)

    def total(self, terms: Floats) -> Floats:
        """Return float64[B]: `terms` float64[B, n] added up along each row, weights counted."""
        if self.weight is None:
            return np.asarray(np.add.reduce(terms, axis=1))
        return np.asarray(np.einsum("bn,bn->b", self.weight, terms))

    def columns(self, size: int) -> Iterator[BatchPart]:
        """Yield the part in slices of at most `size` columns; logarithms come along if known."""
        n = len(self)
        if n <= size:
            if n:
                yield self
            return
        for first in range(0, n, size):
            yield self._some((slice(None), slice(first, first + size)))

    def rows(self, index: slice | npt.NDArray[np.intp]) -> BatchPart:
        """Return some of the rows."""
        return self._some((index,))

    def thinned(self, step: int) -> BatchPart:
        """Return every `step`-th column, each weighing as much as before."""
        some = self._some((slice(None), slice(None, None, step)))
        if 2 * len(self) >= step * len(some):
            return some
        share = len(self) / (step * len(some))  # a few columns, perhaps of great weight
        weight = np.ones_like(some._raw) if some.weight is None else some.weight
        some.weight = weight * share
        return some

    def _some(self, index: tuple[slice | npt.NDArray[np.intp], ...]) -> BatchPart:
        """Return what `index` leaves; what is known of all is known of it."""
        weight = None if self.weight is None else self.weight[index]
        part = BatchPart(self._raw[index], weight, self._unit)
        for name in ("time", "log"):
            if name in self.__dict__:
                part.__dict__[name] = self.__dict__[name][index]
        return part

    @staticmethod
    def none(rows: int) -> BatchPart:
        """Return a part without observations."""
        return BatchPart(np.empty((rows, 0)))


@dataclass(frozen=True, eq=False)
class Batch:
    """B samples in the same form.

    Attributes
    ----------
    exact : gaps seen to end
    right : gaps that lasted longer than this (right-censored)
    left : gaps that ended by this (left-censored)
    """

    exact: BatchPart
    right: BatchPart
    left: BatchPart

    @classmethod
    def of(cls, exact: Floats, right: Floats | None = None, left: Floats | None = None) -> Batch:
        """Return the batch of these arrays, float64[n] for one sample or float64[B, n] for B."""
        rows = np.atleast_2d(np.asarray(exact, dtype=np.float64))

        def part(values: Floats | None) -> BatchPart:
            if values is None:
                return BatchPart.none(len(rows))
            return BatchPart(np.atleast_2d(np.asarray(values, dtype=np.float64)))

        return cls(BatchPart(rows), part(right), part(left))

    def __len__(self) -> int:
        """Return B, the number of samples."""
        return self.exact.samples

    @property
    def size(self) -> int:
        """Observations in a row, fillers included."""
        return len(self.exact) + len(self.right) + len(self.left)

    @property
    def failures(self) -> Floats:
        """float64[B], how many exact gaps each sample has."""
        return self.exact.count

    @property
    def censored(self) -> bool:
        """Whether there are any gaps that are not exact."""
        return len(self.right) + len(self.left) > 0

    @cached_property
    def ended(self) -> BatchPart:
        """Exact gaps, and the left-censored as if they were exact: for starting values."""
        return self.exact if len(self.left) == 0 else joined(self.exact, self.left)

    def rows(self, index: slice | npt.NDArray[np.intp]) -> Batch:
        """Return some of the samples."""
        return Batch(self.exact.rows(index), self.right.rows(index), self.left.rows(index))

    def blocks(self) -> Iterator[tuple[slice, Batch]]:
        """Yield the samples in blocks that stay in the cache, with the rows each stands for."""
        step = max(1, BLOCK // max(1, self.size))
        for first in range(0, len(self), step):
            here = slice(first, min(first + step, len(self)))
            yield here, self.rows(here)

    def thinned(self, size: int) -> Batch:
        """Return about every k-th observation, so that about `size` are left in each row."""
        step = max(1, self.size // size)
        return Batch(self.exact.thinned(step), self.right.thinned(step), self.left.thinned(step))


def joined(first: BatchPart, second: BatchPart) -> BatchPart:
    """Return the observations of both."""
    if len(first) == 0 or len(second) == 0:
        return second if len(first) == 0 else first
    weight = None
    if first.weight is not None or second.weight is not None:
        parts = (first, second)
        weight = np.hstack([np.ones_like(p.time) if p.weight is None else p.weight for p in parts])
    part = BatchPart(np.hstack([first.time, second.time]), weight)
    part.__dict__["log"] = np.hstack([first.log, second.log])
    return part


class Fittable(Family):
    """A family that can be fitted: a starting value, and as much more as it can say for itself.

    Unconstrained coordinates are the parameters in their order: the logarithm of a scale, rate or
    shape, log(s / (1 - s)) of a share, and locations, logscales and reals as they are.

    Attributes
    ----------
    edge : by name of a parameter, how far from 0 its unconstrained coordinate may go, where that
        is not what `fits.newton.EDGES` says of its kind; a maximum beyond is reported as no maximum
    warm : whether an ascent from parameters near the maximum is quicker than `closed`
    """

    edge: ClassVar[dict[str, float]] = {}
    warm: ClassVar[bool] = False

    @abstractmethod
    def start(self, batch: Batch) -> Floats:
        """Return float64[B, p]: parameters from which an ascent of the likelihood gets there."""

    def closed(self, batch: Batch) -> Floats | None:
        """Return float64[B, p], the maximum itself, where there is a direct way; else None."""
        return None

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives | None:
        """Return log-likelihood, gradient and Hessian; None to have them by differences."""
        return None

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        """Return float64[B], the log-likelihood of each sample at `theta` float64[B, p].

        Densities of exact gaps, survival of the right-censored, cdf of the left-censored. -inf or
        nan where the parameters cannot be.
        """
        values = tuple(theta[:, k, None] for k in range(theta.shape[1]))
        sorts = ((batch.exact, self.logpdf), (batch.right, self.logsf), (batch.left, self.logcdf))
        answer = np.zeros(len(batch))
        with np.errstate(all="ignore"):
            for part, term in sorts:
                for some in part.columns(max(1, BLOCK // len(batch))):
                    answer += some.total(term(some.time, *values))
        return answer

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return the names of parameters for which the usual large-sample theory fails at `theta`
        float64[p], fitted to the one sample of `batch`: a lower end of the support, an edge."""
        return ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return what a reader of the fit `theta` float64[p] to that one sample should know."""
        return ()


class ByHazard(Fittable):
    """A family whose time is a closed form of its cumulative hazard: quantiles and draws use it."""

    @abstractmethod
    def time_of_hazard(self, hazard: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which the cumulative hazard is that."""

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed."""
        with np.errstate(all="ignore"):
            return self.time_of_hazard(-np.log1p(-np.asarray(p, dtype=np.float64)), *theta)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        """Return random lifetimes: the cumulative hazard at the end of one is exponential."""
        with np.errstate(all="ignore"):
            return self.time_of_hazard(rng.standard_exponential(shape), *theta)


class Climbing(Fittable):
    """A family that climbs to its maximum in coordinates of its own."""

    @abstractmethod
    def climbed(self, batch: Batch) -> tuple[Floats, Bools]:
        """Return float64[B, p], the maximum of each row as far as found, and bool[B], whether it
        was."""

    def start(self, batch: Batch) -> Floats:
        """Return the maximum, or how far the way there was found."""
        return self.climbed(batch)[0]

    def closed(self, batch: Batch) -> Floats | None:
        """Return the maximum; None if it was not found for all rows."""
        theta, found = self.climbed(batch)
        return theta if found.all() else None
