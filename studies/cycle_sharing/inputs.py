"""Hosts and jobs that are played: generated hosts, Grid'5000, LANL, PlanetLab; and Google's VMs,
which are told of but not played."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.kit.files import found_in
from studies.kit.planetlab import PLANETLAB, SLICE_DAYS, SLICE_PERIOD, weekday_slices

HOUR, DAY = 3600, 86_400
PERIOD: Final = 60
"""Seconds of a sample of hosts, but PlanetLab's and Google's."""
THREE_MONTHS: Final = 91

GRID, LANL, GOOGLE = "fta-grid5000", "fta-lanl", "google-vm-util"
"""Folders of the real traces."""
OWN_SET, ALIKE_SET = "own hours", "alike"
GRID_SET, LANL_SET, PLANETLAB_SET, GOOGLE_SET = "Grid'5000", "LANL", "PlanetLab", "Google VMs"
GENERATED: Final = (OWN_SET, ALIKE_SET)
FOLDERS: Final = {GRID_SET: GRID, LANL_SET: LANL, PLANETLAB_SET: PLANETLAB}

HOURS: Final = (6.0, 22.0)
SLICE_HOURS: Final = (6.0, 17.0)
"""Between which hours jobs are submitted; to PlanetLab so that the last have ended with the day."""

LENGTHS: Final = (1800, 3600, 7200, 10_800, 14_400, 18_000, 21_600)
MEAN_LENGTH: Final = sum(LENGTHS) / len(LENGTHS)
"""Run times of jobs, s."""


@dataclass(frozen=True)
class Shape:
    """How long a set is played.

    Attributes
    ----------
    days, warm_up : of the traces, and of them before the first job
    hosts : how many are played where nothing else is said
    hours : of the day between which jobs are submitted
    hold : s that a heavy load or a gap may last
    """

    days: int = THREE_MONTHS
    warm_up: int = 28
    hosts: int = 20
    hours: tuple[float, float] = HOURS
    hold: int = 60

    @property
    def job_days(self) -> int:
        """Days on which jobs are submitted: the last is left for them to end, if there are many."""
        played = self.days - self.warm_up
        return played - 1 if played > 7 else played


SHAPES: Final = {
    **{name: Shape() for name in (OWN_SET, ALIKE_SET, GRID_SET, LANL_SET)},
    PLANETLAB_SET: Shape(SLICE_DAYS, 2, 60, SLICE_HOURS, SLICE_PERIOD),
}


def jobs_of(name: str, seed: int, hosts: int, load: float, days: int | None = None) -> fs.Jobs:
    """Return jobs like the slides': as many as make up `load`, their run times over the time of all
    hosts."""
    shape = SHAPES[name]
    many = shape.job_days if days is None else days
    count = max(len(LENGTHS), round(load * hosts * many * DAY / MEAN_LENGTH))
    return fs.generate_guests(count, seed, days=many, hours=shape.hours)


def hosts_of(
    name: str, seed: int, count: int, data: Path | None = None, days: int | None = None
) -> fs.HostTraces:
    """Return the hosts that a seed draws of a set.

    Parameters
    ----------
    name : of the set, see `SHAPES`
    data : folder with the real traces
    days : of the traces where not the set's own
    """
    many = days or SHAPES[name].days
    if name in GENERATED:
        return generated(name, seed, count, 0, many)
    assert data is not None, "a real set without data"
    if name == PLANETLAB_SET:
        return planetlab(data, count, seed)
    return up_down(data, name, count, seed, many)


# Generated ----------------------------------------------------------------------------------------


def generated(name: str, seed: int, count: int, first: int, days: int) -> fs.HostTraces:
    """Return days `first` to `first` + `days` of hosts with the slides' statistics; `first` is a
    multiple of 7."""
    owners = "own" if name == OWN_SET else "alike"
    samples = days * DAY // PERIOD
    load = np.full((count, samples), np.nan)
    memory = np.full((count, samples), np.nan)
    for k in range(count):
        given = fs.hosts.host_load(k, first + days, seed, PERIOD, owners=owners)
        at = given.time // PERIOD - first * DAY // PERIOD
        kept = at >= 0
        load[k, at[kept]], memory[k, at[kept]] = given.cpu[kept], given.memory_free[kept]
    names = tuple(f"host {k + 1}" for k in range(count))
    source = f"generated, {name}, seed {seed}"
    return fs.HostTraces(load, memory, PERIOD, np.ones(count), names, fs.hosts.ORIGIN, source)


# Real ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def failure_log(data: Path, name: str) -> fs.Failures:
    """Return the failure log of a set."""
    return fs.read_failures(found_in(data, FOLDERS[name]))


def up_down(data: Path, name: str, count: int, seed: int, days: int) -> fs.HostTraces:
    """Return nodes of a failure log, drawn at random of those in service throughout a window of
    weeks that is drawn first: up, without any load, or away."""
    log = failure_log(data, name)
    assert log.service_start is not None
    assert log.service_end is not None
    rng = fs.stream(seed, "cycle-sharing", name)
    origin = log.origin or 0
    monday = -(-(origin - fs.hosts.MONDAY) // (7 * DAY)) * 7 * DAY + fs.hosts.MONDAY - origin
    last = int(log.service_end.max()) - days * DAY
    begins = np.arange(monday, last + 1, 7 * DAY)
    served = np.array([np.count_nonzero(_serving(log, int(begin), days)) for begin in begins])
    begin = int(rng.choice(begins[served >= min(count, int(served.max()))]))
    nodes = np.sort(rng.permutation(np.flatnonzero(_serving(log, begin, days)))[:count])
    load = np.zeros((len(nodes), days * DAY // PERIOD))
    for row, node in enumerate(nodes.tolist()):
        mine = log.node == node
        since = log.time[mine] - begin
        until = since + np.maximum(log.downtime[mine], 1)
        near = (until > 0) & (since < days * DAY)
        for a, b in zip(since[near].tolist(), until[near].tolist(), strict=True):
            load[row, max(a, 0) // PERIOD : -(-b // PERIOD)] = np.nan
    names = tuple(str(node) if log.names is None else log.names[node] for node in nodes.tolist())
    return fs.HostTraces(load, None, PERIOD, np.ones(len(nodes)), names, origin + begin, name)


def _serving(log: fs.Failures, begin: int, days: int) -> npt.NDArray[np.bool_]:
    """Return bool[nodes]: those in service for the whole of a window."""
    assert log.service_start is not None
    assert log.service_end is not None
    whole = (log.service_start <= begin) & (log.service_end >= begin + days * DAY)
    return np.asarray(whole)


def planetlab(data: Path, count: int, seed: int) -> fs.HostTraces:
    """Return slices of PlanetLab, drawn at random, their weekdays joined by name: a slice's CPU
    stands for the load of a host. The days lie weeks apart; they are taken for Monday to
    Thursday."""
    slices = weekday_slices(data)
    names = list(slices)
    drawn = np.sort(fs.stream(seed, "cycle-sharing", PLANETLAB_SET).permutation(len(names))[:count])
    kept = tuple(names[k] for k in drawn.tolist())
    load = [np.concatenate([seen for _, seen in slices[name][:SLICE_DAYS]]) for name in kept]
    return fs.HostTraces(
        np.stack(load), None, SLICE_PERIOD, np.ones(len(drawn)), kept, None, PLANETLAB_SET
    )


def google(data: Path) -> fs.HostTraces:
    """Return the 1,600 VMs of a day that were made of Google's trace."""
    path = data / GOOGLE / "GCD_VMs.tar.gz"
    loads, memory = [], []
    try:
        with tarfile.open(path) as archive:
            for member in sorted(archive.getmembers(), key=lambda one: one.name):
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    rows = np.loadtxt(file, ndmin=2) / 100
                    loads.append(rows[:, 0])
                    memory.append(1 - rows[:, 1])
    except (OSError, ValueError, tarfile.TarError) as error:
        raise fs.errors.TraceError(path, f"cannot be read: {error}") from None
    names = tuple(str(k) for k in range(len(loads)))
    return fs.HostTraces(
        np.stack(loads), np.stack(memory), SLICE_PERIOD, np.ones(len(loads)), names, None,
        GOOGLE_SET,
    )  # fmt: skip


def real_sets(data: Path | None) -> tuple[str, ...]:
    """Return the real sets that there are and that can be played."""
    if data is None:
        return ()
    return tuple(name for name, folder in FOLDERS.items() if (data / folder).exists())
