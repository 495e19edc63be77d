"""Worlds of storage hosts, drawn from a seed: rooms go dark together, the compute host with one;
bandwidths drift, follow the day, and fall while a host is loaded. And what a saver loses in one.

Every hour there is a save. It costs what its pieces take at the bandwidths of that hour; where the
compute host then fails, the work since the save before is lost unless m of the hosts with a piece
are up. A fixed choice stores on its hosts, and for those that are down on the fastest others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from forestall.vaults.rules.outlook import outlook_of
from forestall.vaults.rules.placement import Stake, choose

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
HALF = 0.5
"""Hours after which what was measured of a path counts half, as the book has it."""
KEPT = 24 * 30
"""Hours of the past that count."""


@dataclass(frozen=True)
class World:
    """A world.

    up : bool[hours, hosts]; band : B/s, float64[hours, hosts]; fails : bool[hours], whether the
    compute host fails within the hour; stake : of a save; code : m, k; learnt : hours before the
    first save that counts
    """

    up: Bools
    band: Floats
    fails: Bools
    stake: Stake
    code: tuple[int, int]
    learnt: int

    @property
    def at_risk(self) -> float:
        """The work that is lost without any checkpoint, s."""
        return float(self.fails[self.learnt : -1].sum() * self.stake.work)


def drawn(seed: int, hours: int = 24 * 45, learnt: int = 24 * 10) -> World:
    """Return the world of a seed."""
    chance = np.random.default_rng(seed)
    hosts, rooms = int(chance.integers(6, 11)), int(chance.integers(2, 5))
    code = ((1, 1), (2, 1), (2, 2), (3, 2))[int(chance.integers(0, 4))]
    room = np.arange(hosts) % rooms
    dark = spells(chance, hours, rooms, every=chance.uniform(60, 300, rooms), lasting=4.0)
    alone = spells(chance, hours, hosts, every=10 ** chance.uniform(1.7, 3, hosts), lasting=6.0)
    up = ~(dark[:, room] | alone)
    own = int(chance.integers(0, rooms))
    goes = np.roll(dark[:, own], -1) & ~dark[:, own]  # dark in the next hour: with its room
    fails = goes | (chance.random(hours) < 1 / chance.uniform(40, 150))
    drift = np.cumsum(chance.normal(0, 0.03, (hours, hosts)), axis=0)
    day = 0.3 * np.sin(2 * np.pi * (np.arange(hours)[:, None] / 24 + chance.random(hosts)))
    loaded = spells(chance, hours, hosts, every=chance.uniform(20, 100, hosts), lasting=5.0)
    near = np.where(room == own, 0.7, 0.0)
    band = 10 ** (chance.uniform(6.7, 8, hosts) + near + drift + day - 0.8 * loaded)
    rate = float(fails.mean())
    return World(up, band, fails, Stake(10 ** chance.uniform(7, 8.2), rate, 3600.0), code, learnt)


def spells(
    chance: np.random.Generator, hours: int, count: int, *, every: Floats, lasting: float
) -> Bools:
    """Return bool[hours, count]: spells that begin once in so many hours, and last so many."""
    made = np.zeros((hours, count), bool)
    for k in range(count):
        at = 0.0
        while (at := at + chance.exponential(every[k])) < hours:
            end = at + 1 + chance.exponential(lasting)
            made[int(at) : int(end), k] = True
            at = end
    return made


def chosen_anew(world: World) -> Floats:
    """Return what is lost in each hour by who chooses anew at each save, from what was seen before:
    the joint history, and paths measured at the hour before where the host answered."""
    m, k = world.code
    hours, hosts = world.up.shape
    moved, seconds = np.zeros(hosts), np.zeros(hosts)
    lost = np.zeros(hours)
    for hour in range(hours - 1):
        here = world.up[hour]
        if hour >= world.learnt and here.sum() >= m + k:
            rate = np.where(here & (seconds > 0), moved / np.maximum(seconds, 1e-12), 0.0)
            first = max(hour - KEPT, 0)
            past = np.vstack([world.up[first:hour], at_failures(world, hour)]).astype(float)
            at_failure = np.arange(len(past)) >= hour - first
            seen = outlook_of(rate, past, at_failure, lasting(world, hour))
            if (rate > 0).sum() >= m + k:
                hosts_now = choose(seen, world.stake, m, k).hosts
                lost[hour] = loss(world, hour, hosts_now)
            else:
                lost[hour] = loss(world, hour, tuple(np.flatnonzero(here)[: m + k].tolist()))
        elif hour >= world.learnt:
            lost[hour] = loss(world, hour, tuple(np.flatnonzero(here).tolist()))
        decay = 2.0 ** (-1 / HALF)
        size = world.stake.piece
        moved = np.where(here, moved * decay + size, moved)
        seconds = np.where(here, seconds * decay + size / world.band[hour], seconds)
    return lost


def lasting(world: World, hour: int) -> Floats:
    """Return the probability that a host that is up stays up for an hour, as was seen so far."""
    first = max(hour - KEPT, 0)
    before, after = world.up[first : hour - 1], world.up[first + 1 : hour]
    return np.asarray((1 + (before & after).sum(axis=0)) / (2 + before.sum(axis=0)))


def at_failures(world: World, hour: int) -> Bools:
    """Return what was up in the hours after the compute host's failures so far."""
    failed = np.flatnonzero(world.fails[: max(hour - 1, 0)])
    failed = failed[failed >= hour - KEPT]
    return np.asarray(world.up[failed + 1])


def loss(world: World, hour: int, hosts: tuple[int, ...]) -> float:
    """Return what is lost in an hour: storing on those of the hosts that are up, and the work where
    the compute host fails and fewer than m of them are up."""
    there = [k for k in hosts if world.up[hour, k]]
    taken = float((world.stake.piece / world.band[hour, there]).sum()) if there else 0.0
    kept = len(there) >= world.code[0] and world.up[hour + 1, there].sum() >= world.code[0]
    return taken + (world.stake.work if world.fails[hour] and not kept else 0.0)


def best_fixed(world: World) -> float:
    """Return the least that any fixed choice loses, known afterwards."""
    m, k = world.code
    hours, hosts = world.up.shape
    span = np.arange(world.learnt, hours - 1)
    up, after = world.up[span], world.up[span + 1]
    pieces = world.stake.piece / world.band[span]
    fast = np.argsort(pieces, axis=1)
    found = np.inf
    for chosen in combinations(range(hosts), m + k):
        mine = np.zeros(hosts, bool)
        mine[list(chosen)] = True
        there = up & mine
        spare = np.take_along_axis(up & ~mine, fast, axis=1)
        wanted = (m + k - there.sum(axis=1))[:, None]
        spare &= np.cumsum(spare, axis=1) <= wanted
        np.put_along_axis(there, fast, np.take_along_axis(there, fast, axis=1) | spare, axis=1)
        missing = world.fails[span] & ((there & after).sum(axis=1) < m)
        found = min(found, (pieces * there).sum() + world.stake.work * missing.sum())
    return float(found)


def shortfall(world: World, mine: float, fixed: float) -> float:
    """Return by which share of its net benefit, work saved less time lost, the best fixed choice
    does better; below 0 it does worse. It may be a loss, where storing costs more than it saves."""
    net = world.at_risk - fixed
    return (mine - fixed) / abs(net)
