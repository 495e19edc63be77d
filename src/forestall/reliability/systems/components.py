"""A node of components: in series, or so many of which at least some must work (Equation 4).

A block is `count` like components of which `needed` must work: all of them in series, fewer where
some are redundant. The node works while every block does, so its log R is the sum over the blocks.
A redundant component that failed is not replaced before the node fails; then all are as new.

Source: Hacker and Meglicki, HPDC 2007, Sections 4.1 and 7, Equations 4, 13 and 24.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, logsumexp

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Family, Kind, Lifetime, needed_law
from forestall.reliability.systems.equilibrium import Integral, time_of_hazard

_FEW = 1e-8
"""Survival of one component below which the first term of a block's sum is all of it."""
_STEP = 0.01


@dataclass(frozen=True)
class Component:
    """Like components of a node: `count` of them, of which `needed` (None: all) must work.

    >>> from forestall.reliability.systems.systems import from_mttf
    >>> supply = Component("power supply", from_mttf(100_000.0), count=2, needed=1)
    >>> round(supply.mean())
    150000
    """

    name: str
    lifetime: Lifetime
    count: int = 1
    needed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lifetime", needed_law(self.lifetime))
        if not (self.count >= 1 and self.count == int(self.count)):
            raise ParameterError("count", self.count, "a whole number of at least 1")
        if self.needed is None:
            object.__setattr__(self, "needed", self.count)
        if not (1 <= self.must == int(self.must) <= self.count):
            raise ParameterError("needed", self.needed, f"a whole number from 1 to {self.count}")

    @property
    def must(self) -> int:
        """How many must work."""
        assert self.needed is not None
        return self.needed

    def logsf(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability that at least `needed` last longer than `t`."""
        hazard = self.lifetime.cumulative_hazard(t)
        need, spare = self.must, self.count - self.must
        if spare == 0:
            return np.asarray(-self.count * hazard)
        with np.errstate(divide="ignore"):
            early = np.log1p(-betainc(spare + 1, need, -np.expm1(-hazard)))
            late = np.log(betainc(need, spare + 1, np.exp(-hazard)))
        last = _log_choose(self.count, need) - need * hazard
        few = hazard > -math.log(_FEW)
        return np.asarray(np.where(few, last, np.where(early < -1, late, early)))

    def loghazard(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the rate at which the block fails, if it still works."""
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.log(self.lifetime.hazard(t))
            spare = self.count - self.must
            if spare == 0:
                return np.asarray(math.log(self.count) + one)
            hazard = self.lifetime.cumulative_hazard(t)
            lost = spare * np.log(-np.expm1(-hazard))
            ways = math.log(self.count) + _log_choose(self.count - 1, spare)
            out = ways + lost - self.must * hazard + one - self.logsf(t)
            return np.asarray(np.where(np.isnan(out), -np.inf, out))

    def mean(self) -> float:
        """Return the mean time until too few work; inf where there is none."""
        if self.must == self.count == 1:
            return self.lifetime.mean()
        return Integral(self.logsf).mean

    def redundant(self) -> Component:
        """Return the block with one more of it, which it does not need."""
        return replace(self, count=self.count + 1)


class NodeFamily(Family):
    """The lives of nodes of given components, stretched by a factor: one family for each such node,
    not in the registry, since nothing is fitted to it."""

    name = "components"
    title = "Components"
    parameters: ClassVar[tuple[str, ...]] = ("stretch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("scale",)

    def __init__(self, parts: Sequence[Component]) -> None:
        self.parts = tuple(parts)

    @cached_property
    def _integral(self) -> Integral:
        return Integral(self._log)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeFamily) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def _log(self, t: npt.ArrayLike) -> Floats:
        return np.asarray(sum(part.logsf(t) for part in self.parts))

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the sum of the blocks' logarithms."""
        return self._log(np.maximum(np.asarray(t) / np.asarray(theta[0]), 0.0))

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return log(1 - sf)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(self.logsf(t, *theta))))

    def loghazard(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the sum of the blocks' hazards."""
        at = np.asarray(t) / np.asarray(theta[0])
        parts = np.stack([part.loghazard(at) for part in self.parts])
        out = logsumexp(parts, axis=0) - np.log(np.asarray(theta[0]))
        return np.asarray(np.where(at < 0, -np.inf, out))

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return hazard times survival, in logarithms."""
        return self.loghazard(t, *theta) + self.logsf(t, *theta)

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed, by bisection."""
        with np.errstate(divide="ignore"):
            hazard = np.atleast_1d(-np.log1p(-np.asarray(p, dtype=np.float64)))
        times = np.where(hazard > 0, time_of_hazard(self._log, hazard), 0.0)
        return np.asarray(theta[0]) * times.reshape(np.shape(p))

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return the integral of the survival function."""
        return np.asarray(theta[0]) * self._integral.mean

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return twice the integral of t sf, less the mean squared."""
        both = self._integral.both_up_to(self._integral.times[-1])
        return np.asarray(theta[0]) ** 2 * (2 * both[1] - both[0] ** 2)

    def shares(self) -> Floats:
        """Return the share of the node's failures that each block causes, float64[parts]: the
        integral of its hazard times the node's survival. They add up to 1."""
        ends = np.log(time_of_hazard(self._log, np.array([1e-16, 50.0])))
        times = np.exp(np.arange(ends[0], ends[1] + _STEP, _STEP))
        alive = np.log(times) + self._log(times)
        caused = [float(np.exp(part.loghazard(times) + alive).sum()) for part in self.parts]
        return np.array(caused) / sum(caused)


def node_law(parts: Sequence[Component]) -> Lifetime:
    """Return the law of the life of a node of these components, one stretch of 1.

    Raises ParameterError without components, and for two of one name.

    >>> from forestall.reliability.systems.systems import from_mttf
    >>> node = node_law([Component("board", from_mttf(67_640.0)),
    ...                  Component("supply", from_mttf(100_000.0))])
    >>> round(node.mean(), 1)
    40348.4
    """
    names = [part.name for part in parts]
    if not parts:
        raise ParameterError("components", 0, "at least one component")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError("components", twice[0], "names that differ")
    return Lifetime(NodeFamily(parts), (1.0,))


def parts_of(law: Lifetime) -> tuple[Component, ...]:
    """Return the components of a node's law, none where it is of no components."""
    return law.family.parts if isinstance(law.family, NodeFamily) else ()


def shares_of(law: Lifetime) -> dict[str, float]:
    """Return the share of a node's failures that each of its components causes, by name, the
    largest first; all parts are as new after each failure."""
    if not isinstance(law.family, NodeFamily):
        return {}
    told = zip((part.name for part in law.family.parts), law.family.shares().tolist(), strict=True)
    return dict(sorted(told, key=lambda pair: -pair[1]))


def _log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
