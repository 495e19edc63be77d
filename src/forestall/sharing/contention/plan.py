"""What is measured: owner groups, loads, repeats, and the order in which all that is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.sharing.contention.herd import SPIN, Load

Guest = str
"""What runs beside the owner: none, or a guest at normal or lowest priority, or at nice5 and so on:
that many nice values below normal."""
GUESTS: Final[tuple[Guest, ...]] = ("none", "normal", "lowest")
NICE: Final = "nice"
PERIOD: Final = 0.03
"""Seconds from one piece of a process's work to the next, in the middle."""
SPREAD: Final = 0.5
"""Of periods and shares of the processes of a group, around their middle, as a share of it."""
SETTLE_OWNER: Final = 0.2
SETTLE_GUEST: Final = 0.05
SLICE: Final = 0.5
"""Seconds, about, from one change of guests to the next: changes of the host meet all alike, and
work that is cut at both ends counts little."""
START: Final = 0.06
"""Seconds that a group takes to start, for the time told; measured on a machine of two cores."""
MOST_PROCESSES: Final = 4096


@dataclass(frozen=True)
class ExperimentPlan:
    """An experiment on the CPU.

    Attributes
    ----------
    cpus : cores that owner and guest share
    groups : numbers of processes of the owner
    loads : shares of those cores that a group asks for in all
    seconds : that a point is measured
    repeats : of each point
    limit : share of its CPU time that the owner may lose
    pattern : "paused": each process works, then rests as long as without a guest, so that
        whatever slows it costs it CPU time; "periodic": work falls due by the clock, and only what
        cannot be done in time is lost
    seed : of orders, shares and the bootstrap
    nices : further priorities of guests, nice values from 1 to 18, rising

    Raises ParameterError.
    """

    cpus: tuple[int, ...]
    groups: tuple[int, ...]
    loads: tuple[float, ...] = (0.05, *(k / 10 for k in range(1, 11)))
    seconds: float = 2.0
    repeats: int = 3
    limit: float = 0.05
    pattern: Literal["paused", "periodic"] = "paused"
    seed: int = 1
    nices: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        rules = (
            ("seconds", self.seconds, 0.05 <= self.seconds <= 600, "0.05 to 600"),
            ("repeats", self.repeats, 1 <= self.repeats <= 1000, "1 to 1000"),
            ("limit", self.limit, 0 < self.limit < 1, "a share above 0 and below 1, such as 5%"),
            ("cpus", self.cpus, bool(self.cpus), "at least one core"),
            ("nice", self.nices, list(self.nices) == sorted(set(self.nices)), "ascending values"),
            ("nice", self.nices, all(1 <= one <= 18 for one in self.nices), "1 to 18"),
            ("pattern", self.pattern, self.pattern in ("paused", "periodic"), "paused or periodic"),
        )
        for name, value, fine, allowed in rules:
            if not fine:
                raise ParameterError(name, value, allowed)
        for share in self.loads:
            if not 0 < share <= 1:
                raise ParameterError("loads", share, "shares above 0, up to 100%")
        for size in self.groups:
            if not 1 <= size <= MOST_PROCESSES:
                raise ParameterError("groups", size, f"1 to {MOST_PROCESSES} processes")
        if not any(True for _ in self.points()):
            allowed = "a load that the groups can reach: a process uses one core at most"
            raise ParameterError("loads", ", ".join(f"{x:.0%}" for x in self.loads), allowed)

    def points(self) -> Iterator[tuple[int, float]]:
        """Yield the (group, load) that can be: a process uses one core at most."""
        for group in sorted(set(self.groups)):
            for load in sorted(set(self.loads)):
                if load * len(self.cpus) <= group + 1e-9:
                    yield group, load

    @property
    def guests(self) -> tuple[Guest, ...]:
        """What is measured beside each group."""
        return (*GUESTS, *(f"{NICE}{one}" for one in self.nices))

    @property
    def blocks(self) -> int:
        """How many groups are started and measured."""
        return self.repeats * len(list(self.points()))

    @property
    def takes(self) -> float:
        """About how long all of it takes, s."""
        beside = len(self.guests)
        measured = beside * (self.seconds + self.slices * SETTLE_GUEST)
        return self.blocks * (measured + SETTLE_OWNER + beside * START)

    @property
    def slices(self) -> int:
        """In how many pieces a point is measured, in turn with those of other guests."""
        return max(1, round(self.seconds / SLICE))

    def order(self) -> Iterator[tuple[int, int, float]]:
        """Yield (repeat, group, load): all points in random order, once each repeat."""
        points = list(self.points())
        chance = stream(self.seed, "contention", "order")
        for repeat in range(self.repeats):
            for k in chance.permutation(len(points)):
                yield repeat, *points[int(k)]

    def turns(self, repeat: int, group: int, load: float) -> Iterator[Guest]:
        """Yield what runs beside a group, slice by slice: each guest once a round, in random
        order."""
        chance = stream(self.seed, "contention", "turns", str(repeat), str(group), f"{load:g}")
        for _ in range(self.slices):
            for k in chance.permutation(len(self.guests)):
                yield self.guests[int(k)]

    def owner(self, repeat: int, group: int, load: float) -> list[Load]:
        """Return the processes of a group: shares and periods differ between them."""
        chance = stream(self.seed, "contention", "owner", str(repeat), str(group), f"{load:g}")
        cores = len(self.cpus)
        if load * cores >= group - 1e-9 or load >= 1:
            return [SPIN] * group
        if self.pattern == "periodic":
            share = load * cores / group
        else:
            share = share_of_each(load, group, cores)
        return _diverse(share, group, chance)


def _diverse(share: float, group: int, chance: np.random.Generator) -> list[Load]:
    """Return loads of `share` in the mean: each has its own share, period and beginning."""
    room = min(SPREAD * share, 1 - share)
    shares = share + room * (2 * chance.random(group) - 1)
    shares *= share * group / shares.sum()
    periods = PERIOD * (1 + SPREAD * (2 * chance.random(group) - 1))
    offsets = periods * chance.random(group)
    return [
        Load(float(min(part, 1) * period), float(max(0.0, 1 - part) * period), float(offset))
        for part, period, offset in zip(shares, periods, offsets, strict=True)
    ]


def share_of_each(load: float, processes: int, cores: int) -> float:
    """Return the share of a core that each of the processes must use when it runs alone, for all of
    them to use the share `load` of the cores.

    They get into each other's way: work and rest are those of the machine repairman's queue
    (Palm 1947), with as many servers as cores, which processor sharing does not change.
    """
    assert 0 < load < 1
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if busy(middle, processes, cores) < load:
            low = middle
        else:
            high = middle
    return high


def busy(share: float, processes: int, cores: int) -> float:
    """Return the share of the cores that processes use which, alone, use `share` of one each."""
    if share >= 1:
        return min(1.0, processes / cores)
    ratio = share / (1 - share)
    weights, weight, used = 1.0, 1.0, 0.0
    for k in range(processes):
        weight *= ratio * (processes - k) / min(k + 1, cores)
        if weight > 1e200:  # only the ratios count
            weights, used, weight = weights / weight, used / weight, 1.0
        weights += weight
        used += weight * min(k + 1, cores)
    return used / weights / cores
