"""Which storage hosts get the pieces of a checkpoint: near ones, there when it is needed.

A choice of m + k hosts costs, per checkpoint, the time that storing takes, and is worth the work
that it saves:

    cost    = sum over the chosen of piece / bandwidth                                     (s)
    benefit = P(the machine fails before the next checkpoint) * P(m are up | it fails) * stake  (s)

Hosts go down together, so that the second probability is not a product of single ones: it is taken
over what was seen of all hosts at once, at moments when the compute host went down. The choice with
the least cost - benefit is taken.

Source: page "Cycle sharing", Checkpoint repository, Choice of hosts; slides of Ren and Bagchi on
FGCS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError

EXACT: Final = 20_000
"""Choices up to which all of them are looked at."""
_TOLERANCE: Final = 1e-12


@dataclass(frozen=True)
class StoreOutlook:
    """What is known of the storage hosts as one compute host sees them.

    Attributes
    ----------
    bandwidth : shape (hosts,), B/s that a save gets to each; 0: none can be reached
    up : shape (moments, hosts), 0 to 1: how probably each host could be read from, at moments like
        that of a failure of the compute host; rows are what was seen together
    weight : shape (moments,), how much each moment counts; they add up to 1
    """

    bandwidth: Floats
    up: Floats
    weight: Floats

    def __post_init__(self) -> None:
        """Raise ParameterError where the arrays do not fit together."""
        hosts = len(self.bandwidth)
        if self.up.shape != (len(self.weight), hosts):
            raise ParameterError("up", self.up.shape, f"shape ({len(self.weight)}, {hosts})")
        if not np.isclose(self.weight.sum(), 1.0) or (self.weight < 0).any():
            raise ParameterError("weight", float(self.weight.sum()), "weights that add up to 1")
        if (self.bandwidth < 0).any() or ((self.up < 0) | (self.up > 1)).any():
            raise ParameterError("up", "", "probabilities, and bandwidths of at least 0")


@dataclass(frozen=True)
class Stake:
    """What a checkpoint is for.

    Attributes
    ----------
    piece : bytes of each of the m + k pieces
    fails : probability that the compute host fails before the next checkpoint
    work : s of work that would be lost without it
    """

    piece: float
    fails: float
    work: float


@dataclass(frozen=True)
class StoreChoice:
    """Hosts that are chosen, the fastest first; what storing costs and what it is expected to save,
    s; and the probability that m of them are up when the compute host fails."""

    hosts: tuple[int, ...]
    cost: float
    benefit: float
    available: float

    @property
    def loss(self) -> float:
        """What is made as small as can be."""
        return self.cost - self.benefit


def choose(outlook: StoreOutlook, stake: Stake, data: int, parity: int) -> StoreChoice:
    """Return the best choice of m + k hosts. Of equal ones the first by the hosts' numbers.

    Up to 20,000 choices all are looked at; of more a good one is bettered by exchanging hosts, one
    or two at once, as long as that helps. Raises ParameterError where fewer can be reached.
    """
    near = np.flatnonzero(outlook.bandwidth > 0)
    count = data + parity
    if len(near) < count:
        raise ParameterError(
            "data", data, f"pieces for {len(near)} storage hosts that can be reached, not {count}"
        )
    if comb(len(near), count) <= EXACT:
        return choose_exactly(outlook, stake, data, parity)
    return _bettered(outlook, stake, data, parity, near.tolist())


def choose_exactly(outlook: StoreOutlook, stake: Stake, data: int, parity: int) -> StoreChoice:
    """Return the best of all choices. Of equal ones the first by the hosts' numbers."""
    near = np.flatnonzero(outlook.bandwidth > 0)
    costs = stake.piece / outlook.bandwidth[near]
    weight = stake.fails * stake.work * outlook.weight
    up = outlook.up[:, near]
    found: list[tuple[float, tuple[int, ...]]] = []
    least = np.inf
    for begun, law in _begun(up, data, data + parity - 1):
        rest = np.arange(begun[-1] + 1 if begun else 0, len(near))
        if not len(rest):
            continue
        worth = weight @ law[:, -1] + (weight * law[:, -2]) @ up[:, rest]
        loss = costs[list(begun)].sum() + costs[rest] - worth
        least = min(least, float(loss.min()))
        close = np.flatnonzero(loss <= least + _TOLERANCE * (1 + abs(least)))
        found += [(float(loss[k]), (*begun, int(rest[k]))) for k in close]
    among = [tuple(near[list(one)].tolist()) for loss, one in found
             if loss <= least + _TOLERANCE * (1 + abs(least))]  # fmt: skip
    return min((judge(outlook, stake, one, data) for one in among), key=lambda one: one.loss)


def _begun(up: Floats, data: int, count: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """Yield all choices of so many hosts in order, and the law of how many of them are up, as
    `at_least` has it, shape (rows, data + 1)."""
    law = np.zeros((len(up), data + 1))
    law[:, 0] = 1.0
    stack: list[tuple[tuple[int, ...], Floats]] = [((), law)]
    while stack:
        begun, law = stack.pop()
        if len(begun) == count:
            yield begun, law
            continue
        first = begun[-1] + 1 if begun else 0
        last = up.shape[1] - (count - len(begun))  # beyond it too few are left, for one more
        stack.extend(
            ((*begun, k), _with_one(law, up[:, k : k + 1])) for k in range(last - 1, first - 1, -1)
        )


def _with_one(law: Floats, up: Floats) -> Floats:
    """Return the law of how many are up with one host more; what is beyond the last stays there."""
    made: Floats = law * (1 - up)
    made[:, 1:] += law[:, :-1] * up
    made[:, -1:] += law[:, -1:] * up
    return made


def judge(outlook: StoreOutlook, stake: Stake, hosts: tuple[int, ...], data: int) -> StoreChoice:
    """Return what a choice costs and is worth."""
    chosen = list(hosts)
    cost = float((stake.piece / outlook.bandwidth[chosen]).sum())
    available = float(outlook.weight @ at_least(outlook.up[:, chosen], data))
    order = sorted(chosen, key=lambda k: (-outlook.bandwidth[k], k))
    return StoreChoice(tuple(order), cost, stake.fails * available * stake.work, available)


def at_least(up: Floats, data: int) -> Floats:
    """Return the probability that at least `data` of the hosts of each row are up, shape (rows,);
    within a row they are up independently of each other (Poisson-binomial)."""
    law = np.zeros((len(up), data + 1))
    law[:, 0] = 1.0
    for k in range(up.shape[1]):
        law = _with_one(law, up[:, k : k + 1])
    return law[:, -1]


def _bettered(
    outlook: StoreOutlook, stake: Stake, data: int, parity: int, near: list[int]
) -> StoreChoice:
    """Return a choice that no exchange of one host betters, from the best of several beginnings."""
    count = data + parity
    mean = outlook.weight @ outlook.up
    near_first = sorted(near, key=lambda k: -outlook.bandwidth[k])
    sure_first = sorted(near, key=lambda k: (-mean[k], -outlook.bandwidth[k]))
    both = sorted(near, key=lambda k: stake.piece / outlook.bandwidth[k]
                  - stake.fails * stake.work * mean[k] / data)  # fmt: skip
    begins = [near_first[:count], sure_first[:count], both[:count]]
    begins += [_grown(outlook, stake, data, count, near, first) for first in near_first[:3]]
    found = [_exchanged(outlook, stake, data, begin, near) for begin in begins]
    return min(found, key=lambda one: (one.loss, one.hosts))


def _grown(
    outlook: StoreOutlook, stake: Stake, data: int, count: int, near: list[int], first: int
) -> list[int]:
    """Return a choice to which one host after the other was added, each the best one then."""
    chosen = [first]
    while len(chosen) < count:
        enough = min(data, len(chosen) + 1)
        chosen.append(min(
            (k for k in near if k not in chosen),
            key=lambda k: judge(outlook, stake, (*chosen, k), enough).loss,
        ))  # fmt: skip
    return chosen


def _exchanged(
    outlook: StoreOutlook, stake: Stake, data: int, chosen: list[int], near: list[int]
) -> StoreChoice:
    """Exchange hosts, one where that helps, else two, until neither does."""
    best = judge(outlook, stake, tuple(chosen), data)
    while True:
        for many in (1, 2):
            others = [k for k in near if k not in best.hosts]
            tries = (
                judge(outlook, stake, (*(k for k in best.hosts if k not in out), *into), data)
                for out in combinations(best.hosts, many)
                for into in combinations(others, many)
            )
            found = min(tries, key=lambda one: one.loss, default=best)
            if found.loss < best.loss - _TOLERANCE:
                best = found
                break
        else:
            return best


def seen_together(up: Floats, at_failure: Bools, opinion: float = 4.0) -> tuple[Floats, Floats]:
    """Return `up` and `weight` of a `StoreOutlook` from joint history.

    Parameters
    ----------
    up : shape (moments, hosts): how far each host was up (1: readable) at evenly spaced moments
    at_failure : shape (moments,): whether the compute host went down at that moment
    opinion : so many failures' weight all moments together have, for want of better

    The moments at which the compute host went down tell what is up when a checkpoint is needed; the
    others tell what is up in general, and count for as much as `opinion` such moments.
    """
    count = int(at_failure.sum())
    if len(up) == 0:
        raise ParameterError("up", 0, "one moment at least")
    weight = np.full(len(up), opinion / (count + opinion) / len(up))
    if count:
        weight[at_failure] += 1 / (count + opinion)
    else:
        weight[:] = 1 / len(up)
    return up, weight / weight.sum()
