"""Hosts whose availability is foretold: generated ones, Grid'5000's nodes, PlanetLab's slices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.kit.files import found_in
from studies.kit.planetlab import SLICE_PERIOD, weekday_slices

Whole = npt.NDArray[np.int64]

DAY: Final = 86_400
GRID: Final = "fta-grid5000"
GENERATED_SET, GRID_SET, PLANETLAB_SET = "generated", "Grid'5000", "PlanetLab"

GUEST_MEMORY: Final = 0.1
"""Share of a host's memory that a guest needs."""

GRID_PERIOD: Final = 60
GRID_LEAST_DAYS: Final = 300
"""Grid'5000: a step, s; only nodes that were watched for at least so many days are drawn from."""


@dataclass(frozen=True)
class Host:
    """A host's past, and the days on which it was watched.

    Attributes
    ----------
    name : of the host
    history : its states
    days : int64[d], the samples with which its days begin, in order
    weekends : bool[d], whether each is a day of a weekend
    apart : whether the days do not follow each other, so that no window may pass midnight
    """

    name: str
    history: fs.hosts.HostHistory
    days: Whole
    weekends: npt.NDArray[np.bool_]
    apart: bool = False

    @property
    def statistics(self) -> fs.hosts.Unavailability:
        """How often and for how long it was not available."""
        return fs.hosts.unavailability(self.history.runs)


def of_history(name: str, history: fs.hosts.HostHistory) -> Host:
    """Return a host with all its whole days."""
    midnights = np.arange(-(-history.origin // DAY) * DAY, history.end - DAY + 1, DAY)
    return Host(
        name,
        history,
        (midnights - history.origin) // history.runs.period,
        fs.hosts.weekend(midnights),
    )


def generated(count: int, days: int, seed: int, period: int) -> tuple[Host, ...]:
    """Return hosts with the statistics of the slides, see `fs.generate_hosts`."""
    hosts = []
    for k in range(count):
        load = fs.hosts.host_load(k, days, seed, period, guest_memory=GUEST_MEMORY)
        value = np.stack((load.cpu, load.memory_free), axis=1)
        grid = fs.hosts.on_grid(load.time, value, begin=0, end=days * DAY, period=period)
        states = fs.hosts.host_states(
            grid[:, 0], grid[:, 1], guest_memory=GUEST_MEMORY, period=period
        )
        hosts.append(
            of_history(
                f"host {k + 1}",
                fs.hosts.HostHistory(fs.hosts.stays(states, period), fs.hosts.ORIGIN),
            )
        )
    return tuple(hosts)


def grid5000(data: Path, count: int, seed: int) -> tuple[Host, ...]:
    """Return nodes of Grid'5000, drawn at random of those that were watched long enough: up, or
    down and so failing."""
    log = fs.read_failures(found_in(data, GRID))
    assert log.service_start is not None
    assert log.service_end is not None
    begin, end = log.service_start, log.service_end
    watched = np.flatnonzero(end - begin >= GRID_LEAST_DAYS * DAY)
    chosen = fs.stream(seed, "availability", "nodes").permutation(watched)[:count]
    hosts = []
    for node in np.sort(chosen).tolist():
        mine = log.take(log.node == node)
        time = np.concatenate((mine.time, mine.time + np.maximum(mine.downtime, 0)))
        up = np.repeat([False, True], len(mine))
        order = np.argsort(time, kind="stable")
        runs = fs.hosts.up_down(
            time[order], up[order], begin=int(begin[node]), end=int(end[node]), period=GRID_PERIOD
        )
        origin = (log.origin or 0) + int(begin[node])
        name = log.names[node] if log.names is not None else str(node)
        hosts.append(of_history(name, fs.hosts.HostHistory(runs, origin, fs.hosts.UP_DOWN, (1,))))
    return tuple(hosts)


def planetlab(data: Path, count: int, seed: int) -> tuple[Host, ...]:
    """Return slices of PlanetLab, drawn of those that were seen on enough weekdays, their days
    joined by name.

    A slice's CPU is taken for the load of its host. The days lie weeks apart, and what time of day
    a row begins with is not told: it is taken to be the same in all.
    """
    slices = weekday_slices(data)
    often = list(slices)
    chosen = fs.stream(seed, "availability", "slices").permutation(len(often))[:count]
    hosts = []
    for name in (often[k] for k in np.sort(chosen).tolist()):
        seen = slices[name]
        sequence = np.concatenate(
            [fs.hosts.host_states(load, period=SLICE_PERIOD, hold=SLICE_PERIOD) for _, load in seen]
        )
        history = fs.hosts.HostHistory(fs.hosts.stays(sequence, SLICE_PERIOD), seen[0][0])
        starts = np.cumsum([0, *(len(load) for _, load in seen[:-1])])
        hosts.append(Host(name, history, starts, np.zeros(len(seen), np.bool_), apart=True))
    return tuple(hosts)


def disturbed(host: Host, day: int, count: int, rng: np.random.Generator) -> Host:
    """Return a host with `count` false unavailable times of 1 to 5 min between 8:00 and 9:00 of the
    day with this number."""
    period = host.history.runs.period
    states = host.history.runs.sequence()
    first = int(host.days[day]) + 8 * 3600 // period
    slot = 3600 // period // max(count, 1)
    for k in range(count):
        length = int(rng.integers(60 // period + 1, max(300 // period, 60 // period + 2)))
        length = min(length, slot - 1)
        begin = first + k * slot + int(rng.integers(0, slot - length))
        states[begin : begin + length] = host.history.failing[0]
    runs: fs.hosts.Stays = fs.hosts.stays(states, period)
    return replace(host, history=replace(host.history, runs=runs))
