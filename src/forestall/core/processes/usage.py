"""Processes told apart: CPU time and memory of a guest's, by control group, group and descent.

Read from /proc and the cgroup v2 tree, which needs no privileges.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
PROC: Final = "/proc"
SLACK: Final = 0.5 / TICKS
"""Two start times this close are the same tick."""


class ProcessStat(NamedTuple):
    """A line of /proc/PID/stat: CPU times in ticks (`waited`: of children that were waited for),
    start in ticks after the machine's."""

    parent: int
    group: int
    used: int
    waited: int
    started: int


@dataclass(frozen=True)
class GuestProcesses:
    """A guest's processes: those of its control group or, without one, a process with all its
    descendants and its process group.

    Attributes
    ----------
    pid : the guest's first process
    created : when it was started, in s after the machine was, as `started_at` gives it: unlike Unix
        seconds that never changes when the clock is set
    cgroup : its control group (version 2) where it has one of its own, as /proc/PID/cgroup names it
        (``/user.slice/x``) or as a folder; what else is in there counts as the guest's too
    pgid : its process group; by default `pid`, in case it leads one
    """

    pid: int
    created: float
    cgroup: str | None = None
    pgid: int | None = None

    @classmethod
    def of(cls, pid: int, cgroup: str | None = None, pgid: int | None = None) -> Self:
        """Return those of a process that runs. Raises ProcessLookupError where it does not."""
        return cls(pid, started_at(pid), cgroup, pgid)


def read_stat(pid: int) -> ProcessStat | None:
    """Return what /proc says of a process, None where there is none."""
    try:
        handle = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        raw = os.read(handle, 1024)
    except OSError:
        return None
    finally:
        os.close(handle)
    rest = raw[raw.rfind(b")") + 2 :].split()  # the name before it may hold anything
    if len(rest) < 20:
        return None
    used, waited = int(rest[11]) + int(rest[12]), int(rest[13]) + int(rest[14])
    return ProcessStat(int(rest[1]), int(rest[2]), used, waited, int(rest[19]))


def started_at(pid: int) -> float:
    """Return when a process was started, in s after the machine was (CLOCK_BOOTTIME, in ticks).

    Raises ProcessLookupError where it does not run.
    """
    stat = read_stat(pid)
    if stat is None:
        raise ProcessLookupError(f"process {pid} is not running")
    return stat.started / TICKS


def all_processes() -> dict[int, ProcessStat]:
    """Return every process that can be seen, by its number."""
    found = {}
    for name in os.listdir(PROC):
        if name.isdigit():
            stat = read_stat(int(name))
            if stat is not None:
                found[int(name)] = stat
    return found


class Usage(NamedTuple):
    """What processes used since the last look, CPU in s, and the memory they hold alone, bytes."""

    cpu: float
    memory: int


class WatchedProcesses:
    """The processes of guests, from look to look.

    CPU time of a child that was waited for is found again in its parent, less what was counted
    while it lived, so that short-lived children are not lost. A process that was once a guest's
    stays one until it ends, whoever becomes its parent.
    """

    def __init__(self) -> None:
        self._members: dict[GuestProcesses, dict[int, ProcessStat]] = {}
        self._groups: dict[GuestProcesses, float] = {}

    def look(self, guests: Iterable[GuestProcesses], since: float) -> Usage:
        """Return what they used since the last look.

        Parameters
        ----------
        since : the last look, in s after the machine was started; processes that are new to a
            guest count from their start where that was later
        """
        guests = list(dict.fromkeys(guests))
        cpu, memory = 0.0, 0
        by_process = []
        groups = {}
        for guest in guests:
            folder = group_folder(guest.cgroup)
            used = None if folder is None else _group_cpu(folder)
            if folder is None or used is None:
                by_process.append(guest)
                continue
            groups[guest] = used
            fresh = used if guest.created >= since else 0.0
            cpu += used - self._groups[guest] if guest in self._groups else fresh
            memory += _group_memory(folder)
        self._groups = groups
        everyone = all_processes() if by_process else {}
        told: dict[GuestProcesses, dict[int, ProcessStat]] = {}
        for guest in by_process:
            before = self._members.get(guest)
            now = members(guest, everyone, before or {})
            told[guest] = now
            cpu += _growth(now, before or {}, since) / TICKS
            memory += sum(private_memory(pid) for pid in now)
        self._members = told
        return Usage(max(cpu, 0.0), memory)


def members(
    guest: GuestProcesses,
    everyone: Mapping[int, ProcessStat],
    before: Mapping[int, ProcessStat],
) -> dict[int, ProcessStat]:
    """Return the processes of a guest among all; `before`: those it had at the last look."""
    first = everyone.get(guest.pid)
    same = first is not None and abs(first.started / TICKS - guest.created) < SLACK
    group = guest.pid if guest.pgid is None else guest.pgid
    leader = everyone.get(group)
    # the number of a process group is not given again while the group has processes
    ours = leader is None or leader.started / TICKS >= guest.created - SLACK
    if group == guest.pid and first is not None and not same:
        ours = False
    chosen = {guest.pid} if same else set()
    for pid, stat in everyone.items():
        old = before.get(pid)
        if (old is not None and old.started == stat.started) or (
            ours and stat.group == group and stat.started / TICKS >= guest.created - SLACK
        ):
            chosen.add(pid)
    children: dict[int, list[int]] = {}
    for pid, stat in everyone.items():
        children.setdefault(stat.parent, []).append(pid)
    waiting = list(chosen)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in chosen:
                chosen.add(child)
                waiting.append(child)
    return {pid: everyone[pid] for pid in chosen}


def _growth(now: Mapping[int, ProcessStat], before: Mapping[int, ProcessStat], since: float) -> int:
    """Return the ticks used between two looks at the same guest."""
    alike = {pid for pid, stat in now.items() if _same(before.get(pid), stat)}
    counted: dict[int, int] = {}  # of processes that ended, by who waited for them
    for pid, stat in before.items():
        if pid not in alike:
            heir = stat.parent
            while heir in before and heir not in alike:
                heir = before[heir].parent
            counted[heir] = counted.get(heir, 0) + stat.used + stat.waited
    total = 0
    for pid, stat in now.items():
        if pid in alike:
            old = before[pid]
            waited = stat.waited - old.waited - counted.get(pid, 0)
            total += stat.used - old.used + max(waited, 0)
        elif (stat.started + 1) / TICKS >= since:
            total += stat.used + stat.waited
    return total


def _same(old: ProcessStat | None, new: ProcessStat) -> bool:
    return old is not None and old.started == new.started


def group_folder(cgroup: str | None) -> Path | None:
    """Return the folder of a control group (version 2); None for none, and for the root."""
    if not cgroup or cgroup.strip("/") == "":
        return None
    root = _group_root()
    given = Path(cgroup)
    if root is None or ".." in given.parts:
        return None
    folder = given if given.is_relative_to(root) else root / cgroup.lstrip("/")
    return folder if folder != root and folder.is_dir() else None


def _group_root() -> Path | None:
    """Return where the tree of control groups, version 2, is mounted."""
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(f"{folder}/cgroup.controllers"):
            return Path(folder)
    return None


def _group_cpu(folder: Path) -> float | None:
    """Return the CPU time of a control group in s; None where it is not told."""
    return _named(folder / "cpu.stat", "usage_usec", 1e-6)


def _group_memory(folder: Path) -> int:
    """Return the bytes of memory that only a control group's processes hold.

    A group without a memory controller does not tell: those of its processes, and of the groups in
    it, are added up.
    """
    told = _named(folder / "memory.stat", "anon", 1.0)
    if told is not None:
        return int(told)
    held = 0
    for place, _, _ in os.walk(folder):
        with suppress(OSError), open(f"{place}/cgroup.procs", "rb") as file:
            held += sum(private_memory(int(pid)) for pid in file.read().split())
    return held


def _named(path: Path, name: str, unit: float) -> float | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        word, _, value = line.partition(" ")
        if word == name:
            return int(value) * unit
    return None


def private_memory(pid: int) -> int:
    """Return the bytes of memory that a process shares with no file and no one."""
    try:
        with open(f"{PROC}/{pid}/statm", "rb") as file:
            words = file.read().split()
        return max(0, int(words[1]) - int(words[2])) * PAGE
    except (OSError, ValueError, IndexError):
        return 0
