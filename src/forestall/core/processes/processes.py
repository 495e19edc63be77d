"""Processes of a guest, found by descent and by their environment, and signals to no one else's.

Read from /proc, which needs no privileges.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from forestall.core.processes.usage import TICKS, private_memory

MARK: Final = "FORESTALL_GUEST"
"""The environment variable by which the processes of a guest are known, wherever they fled."""

_GONE: Final = "ZX"
_STOPPED: Final = "Tt"


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc told of it.

    Attributes
    ----------
    pid, parent, group, session : numbers; `group` is the process group
    state : the letter in /proc/PID/stat
    started : ticks after the machine's start; with `pid` it names a process for ever
    """

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: int

    @property
    def created(self) -> float:
        """Seconds after the machine's start."""
        return self.started / TICKS

    @property
    def alive(self) -> bool:
        """Whether it is more than an entry that waits for its parent."""
        return self.state not in _GONE

    @property
    def stopped(self) -> bool:
        """Whether a signal holds it."""
        return self.state in _STOPPED

    def threads(self) -> list[int]:
        """Return the numbers of its threads."""
        try:
            return [int(name) for name in os.listdir(f"/proc/{self.pid}/task")]
        except OSError:
            return []

    def memory(self) -> int:
        """Return the bytes of memory that it holds and shares with no one."""
        return private_memory(self.pid)

    def send(self, number: int) -> bool:
        """Send it a signal; whoever has its number by now gets none. Returns whether it was."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            now = look(self.pid)
            if now is None or now.started != self.started or not now.alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True


def look(pid: int) -> Process | None:
    """Return a process as it is now; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            rest = file.read().rpartition(b")")[2].split()
        return Process(
            pid, int(rest[1]), int(rest[2]), int(rest[3]), rest[0].decode(), int(rest[19])
        )
    except (OSError, ValueError, IndexError):
        return None


def is_there(pid: int, created: float) -> bool:
    """Return whether this very process is alive; `created` in s after the machine's start."""
    process = look(pid) if pid > 0 else None
    return process is not None and process.alive and abs(process.created - created) < 0.5 / TICKS


def everyone() -> dict[int, Process]:
    """Return all processes that can be seen, by number."""
    seen = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in seen if process is not None}


def descendants(root: int, without: Iterable[int] = ()) -> list[Process]:
    """Return the living processes below one, but not those `without` and what is below them."""
    left_out = frozenset(without)
    if os.path.exists(f"/proc/{root}/task/{root}/children"):
        return _by_children(root, left_out)
    return _by_parents(root, left_out, everyone())


def _by_children(root: int, left_out: frozenset[int]) -> list[Process]:
    found, waiting = [], [root]
    while waiting:
        for pid in _children(waiting.pop()):
            process = None if pid in left_out else look(pid)
            if process is not None:
                waiting.append(pid)
                if process.alive:
                    found.append(process)
    return found


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process, as the kernel lists them."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        pass
    return found


def _by_parents(root: int, left_out: frozenset[int], table: Mapping[int, Process]) -> list[Process]:
    below: dict[int, list[Process]] = {}
    for process in table.values():
        below.setdefault(process.parent, []).append(process)
    found, waiting = [], [root]
    while waiting:
        for process in below.get(waiting.pop(), ()):
            if process.pid not in left_out:
                waiting.append(process.pid)
                if process.alive:
                    found.append(process)
    return found


def marked(mark: str, without: Iterable[int] = ()) -> list[Process]:
    """Return the living processes that were started with this guest's mark in their environment,
    as far as their environment may be read."""
    wanted, left_out = f"{MARK}={mark}".encode(), frozenset(without)
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in left_out:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                ours = wanted in file.read().split(b"\0")
        except OSError:
            continue
        process = look(int(name)) if ours else None
        if process is not None and process.alive:
            found.append(process)
    return found


def name_self(name: str) -> None:
    """Give this process a name that `ps` and `top` show; where that fails it keeps its own."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w", encoding="utf-8") as file:
        file.write(name[:15])
