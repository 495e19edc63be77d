"""When failures happen: a renewal process for each of so many slots, and bursts around them.

A slot is a node that has no number yet; which node it is, is drawn elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.logs.generate.laws import positive, weibull_scale

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

MOST_FAILURES = 50_000_000
NODE, FAILURE = 64, 280
"""Bytes that a node, and a failure, take while failures are drawn and written."""


@dataclass(frozen=True)
class Lifetimes:
    """Times between failures of one slot: Weibull, in equilibrium, with a frailty for each slot.

    Attributes
    ----------
    mtbf : mean time between failures of a slot of mean rate, s
    shape : of the Weibull law; below 1 failures come in clusters, 1 is a Poisson process
    frailty : variance of the slots' relative rates, gamma distributed with mean 1; 0: all alike
    """

    mtbf: float
    shape: float = 0.7
    frailty: float = 0.2

    def __post_init__(self) -> None:
        positive("mttf", self.mtbf)
        positive("shape", self.shape)
        if not 0 <= self.frailty < np.inf:
            raise ParameterError("heterogeneity", self.frailty, "a finite number of at least 0")

    def rates(self, slots: int, seed: int) -> Real:
        """Return the relative rate of each slot, float64[slots], of mean 1 in expectation."""
        if self.frailty == 0:
            return np.ones(slots)
        rng = stream(seed, "failures", "rates")
        return rng.gamma(1 / self.frailty, self.frailty, slots)

    def draw(self, slots: int, length: float, seed: int) -> tuple[Real, Int]:
        """Return (time, slot) of all failures in [0, length), s, sorted by time then slot.

        The first gap of a slot is what is left of one under way at time 0, so that the rate is the
        same all along: such a gap is drawn by its length, and cut at an even place.
        """
        expected = slots * length / self.mtbf
        if expected > MOST_FAILURES:
            raise ParameterError("mttf", self.mtbf, f"more: {MOST_FAILURES:,} failures at most")
        what = f"{expected:,.0f} failures of {slots:,} nodes"
        budget.require(NODE * slots + FAILURE * expected, what)
        rates = self.rates(slots, seed)
        rng = stream(seed, "failures", "when")
        scale = weibull_scale(self.mtbf, self.shape)
        with np.errstate(divide="ignore"):
            scales = np.where(rates > 0, scale / rates, np.inf)
        under_way = rng.gamma(1 + 1 / self.shape, 1.0, slots) ** (1 / self.shape)
        now = scales * under_way * rng.random(slots)
        times, owners = [np.empty(0)], [np.empty(0, dtype=np.int64)]
        slot = np.flatnonzero(now < length)
        while slot.size:
            times.append(now[slot])
            owners.append(slot)
            now[slot] += scales[slot] * rng.weibull(self.shape, len(slot))
            slot = slot[now[slot] < length]
        time, owner = np.concatenate(times), np.concatenate(owners)
        order = np.lexsort((owner, time))
        return time[order], owner[order]


@dataclass(frozen=True)
class Bursts:
    """Failures that follow another with the same cause, on other slots, soon after.

    Attributes
    ----------
    share : of all failures, those that follow another
    size : mean number of followers of a failure that has some (geometric, at least 1)
    spread : mean delay of a follower, s (exponential)
    rack : slots that stand together; followers are in the rack of the failure that they follow.
        0: they are anywhere
    """

    share: float = 0.0
    size: float = 4.0
    spread: float = 60.0
    rack: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ParameterError("burst-share", self.share, "from 0 to below 1")
        if not 1 <= self.size < np.inf:
            raise ParameterError("burst-size", self.size, "a finite number of at least 1")
        positive("burst-spread", self.spread)
        if self.rack < 0 or self.rack == 1:
            raise ParameterError("burst-rack", self.rack, "at least 2 nodes, or 0 for none")
        if self.chance > 1:
            allowed = f"at least {self.share / (1 - self.share):.3g} for a share of {self.share:g}"
            raise ParameterError("burst-size", self.size, allowed)

    @property
    def chance(self) -> float:
        """Probability that a failure has followers."""
        return self.share / (1 - self.share) / self.size

    def followers(self, time: Real, slot: Int, slots: int, seed: int) -> tuple[Real, Int, Int]:
        """Return (time, slot, position of the leader) of the followers of these failures.

        The followers of a failure are on different slots, none of them its own. There are no more
        of them than other slots (in its rack), so that bursts of a small machine are smaller than
        asked for.
        """
        rng = stream(seed, "failures", "bursts")
        leads = np.flatnonzero(rng.random(len(time)) < self.chance)
        rack = min(self.rack or slots, slots)
        first = slot[leads] // rack * rack
        width = np.minimum(rack, slots - first)
        many = np.minimum(rng.geometric(1 / self.size, len(leads)), width - 1)
        leader = np.repeat(leads, many)
        delay = rng.exponential(self.spread, len(leader))
        drawn = zip(width.tolist(), many.tolist(), strict=True)
        steps = [rng.choice(wide - 1, count, replace=False) + 1 for wide, count in drawn if count]
        step = np.concatenate([np.empty(0, dtype=np.int64), *steps])
        first, width = np.repeat(first, many), np.repeat(width, many)
        return time[leader] + delay, first + (slot[leader] - first + step) % width, leader
