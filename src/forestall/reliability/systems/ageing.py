"""When the next node of a set fails, by how old they are: all new, long in use, of given age.

N nodes of one law fail as a series system. All new, they last with probability sf(t)^N. Long in
use, each renewed alone when it fails, each has the residual life of the equilibrium law, sf_e(t) =
integral of sf from t on / mean, and just after a failure one node is new and the others are in
equilibrium: sf(t) sf_e(t)^(N-1), whose mean is exactly mean / N. In between, the set fails at the
rate N m'(t) with m the renewal function of one node.

Sources: Cox, Renewal Theory, 1962, chapters 2, 4 and 6; Hacker and Meglicki, HPDC 2007, Section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.reliability.lifetimes.base import Lifetime, law_in, needed_law
from forestall.reliability.systems.equilibrium import (
    Equilibrium,
    Integral,
    shape_of,
    time_of_hazard,
)
from forestall.reliability.systems.systems import Age, checked_age, from_mttf


@dataclass(frozen=True)
class SystemLifetime:
    """The time to the next failure of `nodes` nodes of one law, by their ages at time 0.

    Parameters
    ----------
    lifetime : law of one node; times in its unit
    nodes : how many there are, at least 1
    ages : ``new``, ``steady``, or how long ago the nodes were renewed (a time, or one a node)
    renewed : how many of them are new whatever `ages` says: 1 just after a node was replaced

    Accurate for Weibull shapes from 0.3 to 10 and 1 to 1e6 nodes: it works with the logarithm of
    the survival of one node. Raises ParameterError.
    """

    lifetime: Lifetime
    nodes: int = 1
    ages: Age = "new"
    renewed: int = 0

    def __post_init__(self) -> None:
        if not (self.nodes >= 1 and self.nodes == int(self.nodes)):
            raise ParameterError("nodes", self.nodes, "a whole number of at least 1")
        object.__setattr__(self, "ages", checked_age(self.ages))
        if isinstance(self.ages, tuple) and len(self.ages) != self.nodes:
            raise ParameterError("ages", len(self.ages), f"as many ages as nodes, {self.nodes}")
        assert 0 <= self.renewed <= self.nodes
        if self.ages == "steady":
            _ = self._equilibrium

    @cached_property
    def _equilibrium(self) -> Equilibrium:
        return Equilibrium(self.lifetime)

    @cached_property
    def integral(self) -> Integral:
        """The integral of the survival function."""
        return Integral(self.log_sf)

    @property
    def rate(self) -> float | None:
        """The failure rate where it is constant, else None."""
        return self.nodes / self.lifetime.mean() if shape_of(self.lifetime) == 1 else None

    def log_sf(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability that no node fails within `t`."""
        times = np.asarray(t, dtype=np.float64)
        fresh = self.nodes if self.ages == "new" else self.renewed
        total = np.zeros(times.shape)
        if fresh:
            with np.errstate(over="ignore"):  # a hazard beyond all numbers: nobody lasts
                total = total - fresh * self.lifetime.cumulative_hazard(times)
        rest = self.nodes - fresh
        if rest == 0:
            return total
        if self.ages == "steady":
            return total + rest * self._equilibrium.log_sf(times)
        ages, counts = np.unique(np.asarray(self.ages, dtype=np.float64), return_counts=True)
        lived = self.lifetime.cumulative_hazard
        weights = counts * (rest / counts.sum())
        return np.asarray(total - (lived(times[..., None] + ages) - lived(ages)) @ weights)

    def sf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability that no node fails within `t`."""
        return np.exp(self.log_sf(t))

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """Return the probability that a node fails within `t`."""
        return -np.expm1(self.log_sf(t))

    def cumulative_hazard(self, t: npt.ArrayLike) -> Floats:
        """Return -log sf(t)."""
        return -self.log_sf(t)

    def hazard(self, t: npt.ArrayLike) -> Floats:
        """Return the failure rate of the set after `t` without a failure, 1 / time."""
        times = np.asarray(t, dtype=np.float64)
        fresh = self.nodes if self.ages == "new" else self.renewed
        rest = self.nodes - fresh
        total = fresh * self.lifetime.hazard(times) if fresh else np.zeros(times.shape)
        if rest == 0:
            return total
        if self.ages == "steady":
            one = self._equilibrium
            with np.errstate(invalid="ignore"):
                ratio = -self.lifetime.cumulative_hazard(times) - one.log_sf(times)
                return np.asarray(total + rest * np.exp(ratio) / one.mean)
        ages = np.atleast_1d(np.asarray(self.ages, dtype=np.float64))
        return np.asarray(
            total + rest * np.mean(self.lifetime.hazard(times[..., None] + ages), axis=-1)
        )

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """Return the time by which a node has failed with probability `p`."""
        share = np.asarray(p, dtype=np.float64)
        if self.ages == "new":
            with np.errstate(divide="ignore"):
                return self.lifetime.quantile(-np.expm1(np.log1p(-share) / self.nodes))
        with np.errstate(divide="ignore"):
            found = time_of_hazard(self.log_sf, -np.log1p(-share))
        return np.where(share <= 0, 0.0, np.where(share >= 1, np.inf, found))

    def mean(self) -> float:
        """Return the mean time to the next failure of the set; inf where there is none."""
        law, shape = self.lifetime, shape_of(self.lifetime)
        if shape == 1:
            return law.mean() / self.nodes
        if self.ages == "new" and math.isfinite(shape):
            log = math.log(law.params["scale"]) + float(gammaln(1 + 1 / shape))
            return math.exp(log - math.log(self.nodes) / shape)
        if self.nodes == 1 and (self.ages == "new" or self.renewed):
            return law.mean()
        if self.ages == "steady" and self.renewed == 1:
            return law.mean() / self.nodes
        return self.integral.mean

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` random times to the next failure."""
        fresh = self.nodes if self.ages == "new" else self.renewed
        best = np.full(size, np.inf)
        if fresh:
            best = self._first_of(rng, size, fresh)
        rest = self.nodes - fresh
        if rest == 0:
            return best
        if self.ages == "steady":
            share = -np.expm1(-rng.standard_exponential(size) / rest)
            return np.asarray(np.minimum(best, self._equilibrium.quantile(share)))
        if isinstance(self.ages, tuple):
            hazard = rng.standard_exponential(size)
            aged = SystemLifetime(self.lifetime, self.nodes, self.ages)
            return np.asarray(
                np.minimum(best, time_of_hazard(aged.log_sf, hazard * self.nodes / rest))
            )
        age = float(self.ages)
        lived = float(self.lifetime.cumulative_hazard(age))
        share = -np.expm1(-(lived + rng.standard_exponential(size) / rest))
        return np.asarray(np.minimum(best, np.maximum(self.lifetime.quantile(share) - age, 0.0)))

    def _first_of(self, rng: np.random.Generator, size: int, count: int) -> Floats:
        if count == 1:
            return self.lifetime.draw(rng, size)
        return self.lifetime.quantile(-np.expm1(-rng.standard_exponential(size) / count))

    def after_failure(self) -> SystemLifetime:
        """Return the law of the time from a failure to the next one: with ``new`` all nodes are
        renewed at a failure, else only the node that failed."""
        return self if self.ages == "new" else self._renewed

    @cached_property
    def _renewed(self) -> SystemLifetime:
        return SystemLifetime(self.lifetime, self.nodes, self.ages, renewed=1)


def carried(system: SystemLifetime) -> bool:
    """Return whether ages are carried along, so that times between failures are not alike: several
    nodes of given ages. One node of given age is new after its first failure."""
    return not isinstance(system.ages, str) and system.nodes > 1 and system.rate is None


def expected_failures(law: Lifetime, times: npt.ArrayLike, ages: npt.ArrayLike = 0.0) -> Floats:
    """Return how often one node, replaced by a new one whenever it fails, fails by `times`.

    The renewal function m of a node whose age at time 0 is one of `ages`, all alike likely: m = F +
    m' * F, solved by product integration with m linear between points that crowd towards 0, where
    laws of shape below 1 have a density without bound; of second order in the step. For N nodes
    it is N m(t), exact; that the failures of many nodes come as those of a Poisson process of that
    mean is a limit theorem.
    """
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    end = float(at.max(initial=0.0))
    if not end > 0:
        return np.zeros(np.shape(times))
    mean = law.mean()
    steps = 300 if not mean > 0 else int(min(1500, max(300, 24 * end / mean)))
    mesh = np.concatenate([[0.0], np.geomspace(1e-10, 1 / steps, 100, endpoint=False)])
    mesh = end * np.concatenate([mesh, np.linspace(1 / steps, 1.0, steps)])

    def weights(integral: Integral, t: Floats) -> Floats:
        gaps = np.maximum(t[:, None] - mesh, 0.0)
        return -np.diff(gaps - integral.up_to(gaps), axis=1) / np.diff(mesh)

    new = Integral(lambda t: -law.cumulative_hazard(t))
    share = weights(new, mesh)
    value, rises = law.cdf(mesh), np.zeros(len(mesh) - 1)
    for k in range(1, len(mesh)):
        before = float(rises[: k - 1].sum())
        known = value[k] + float(share[k, : k - 1] @ rises[: k - 1])
        rises[k - 1] = (known - before) / (1 - share[k, k - 1])
    if np.all(np.asarray(ages) == 0):
        return np.asarray(law.cdf(at) + weights(new, at) @ rises).reshape(np.shape(times))

    old, counts = np.unique(np.asarray(ages, dtype=np.float64), return_counts=True)
    lived, shares = law.cumulative_hazard(old), counts / counts.sum()

    def log_sf(t: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.log(np.exp(lived - law.cumulative_hazard(t[..., None] + old)) @ shares)
            )

    first = -np.expm1(lived - law.cumulative_hazard(at[:, None] + old)) @ shares
    return np.asarray(first + weights(Integral(log_sf), at) @ rises).reshape(np.shape(times))


class FailureClock:
    """The mean number of failures of a set of nodes of given ages, by the time it has worked.

    Parameters
    ----------
    system : nodes with their ages as times, each replaced by a new one when it fails; or their mean
        number of failures by times, float64[n]
    horizon : how far to look; further on the last rate goes on
    """

    def __init__(self, system: SystemLifetime | Callable[[Floats], Floats], horizon: float) -> None:
        time = horizon * np.geomspace(1e-9, 1.0, 400)
        if isinstance(system, SystemLifetime):
            count = system.nodes * expected_failures(system.lifetime, time, np.asarray(system.ages))
        else:
            count = system(time)
        kept = np.concatenate([[True], np.diff(np.maximum.accumulate(count)) > 0]) & (count > 0)
        if kept.sum() < 2:  # nothing fails before the horizon
            kept[-2:] = True
            count = 1e-100 * time / horizon
        self._time, self._count = np.log(time[kept]), np.log(count[kept])
        self._end, self._most = float(time[kept][-1]), float(count[kept][-1])
        half = float(np.exp(np.interp(math.log(0.5 * self._end), self._time, self._count)))
        self._rate = 2 * (self._most - half) / self._end
        (low, high), (few, more) = self._time[:2], self._count[:2]
        self._power = (more - few) / (high - low)

    def failures(self, time: npt.ArrayLike) -> Floats:
        """Return the mean number of failures by `time`."""
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log = np.log(t)
        early = self._count[0] + self._power * np.minimum(log - self._time[0], 0.0)
        known = np.exp(
            np.where(log < self._time[0], early, np.interp(log, self._time, self._count))
        )
        return known + self._rate * np.maximum(t - self._end, 0.0)

    def time_of(self, failures: npt.ArrayLike) -> Floats:
        """Return the time by which `failures` are to be expected."""
        count = np.asarray(failures, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log = np.log(count)
        early = self._time[0] + np.minimum(log - self._count[0], 0.0) / self._power
        known = np.exp(
            np.where(log < self._count[0], early, np.interp(log, self._count, self._time))
        )
        return known + np.maximum(count - self._most, 0.0) / self._rate


def system_of(
    mttf: object,
    shape: float,
    nodes: int,
    lifetime: object,
    ages: Age | str,
) -> SystemLifetime:
    """Return the system that these say: `nodes` nodes of that mean life and Weibull shape, or of
    the law `lifetime`, which may be instead of `mttf` too and may be something fitted. Times
    may be text such as ``4d``. Raises ParameterError."""
    if (mttf is None) == (lifetime is None):
        raise ParameterError("mttf", mttf, "either the mean life of a node or its lifetime law")
    law = law_in(mttf) if lifetime is None else needed_law(lifetime)
    if law is None:
        if not isinstance(mttf, str | int | float | np.integer | np.floating):
            raise ParameterError("mttf", mttf, "a time, a Lifetime, or something fitted")
        law = from_mttf(seconds(mttf, "mttf"), shape)
    if not float(law.sf(0.0)) > 1 - 1e-9:
        raise ParameterError("lifetime", str(law), "a law of times above 0")
    old = seconds(ages, "ages") if isinstance(ages, str) and ages not in ("new", "steady") else ages
    return SystemLifetime(law, nodes, checked_age(old))


def seconds(value: float | str | np.number, name: str) -> float:
    """Return a time: a number as it is, text as people and Slurm write durations."""
    return float(parse_duration(value, name)) if isinstance(value, str) else float(value)
