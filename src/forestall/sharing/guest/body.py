"""All processes of one guest as one body: stopped, continued, lowered, raised and ended together.

Linux stops and ends processes one by one while others are being made; each step here is repeated
until a look finds nothing new. A control group does it at once, where there is one.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Final

from forestall.core.processes.priority import (
    NICE,
    lower_thread,
    set_io,
    set_priorities,
    set_session,
)
from forestall.core.processes.processes import Process, descendants, everyone, look, marked
from forestall.sharing.guest.cgroup import ControlGroup

ROUNDS: Final = 50
"""Looks after which a body that makes processes faster than they are stopped is given up."""
_SHARE: Final = 0.003
"""Of one processor that regular looks for processes may take."""


@dataclass
class Body:
    """The processes below a keeper, and those of its control group.

    Parameters
    ----------
    mark : of the environment of all of them
    root : the keeper's number; 0: it is gone, and the mark and the session have to do
    group : the control group, if any
    threads : whether policies and nice values are set, not only shares of groups
    nice, session : what is normal for a thread and for a session
    level : nice values that it is below normal; `NICE`: at the lowest priority there is
    """

    mark: str
    root: int
    group: ControlGroup | None = None
    threads: bool = True
    nice: int = 0
    session: int = 0
    without: set[int] = field(default_factory=set)
    level: int = 0
    stopped: bool = False
    _held: dict[int, int] = field(default_factory=dict)  # whom a signal of ours stopped
    _seen: list[Process] = field(default_factory=list)
    _next_look: float = 0.0
    _set: set[tuple[int, int]] = field(default_factory=set)

    def members(self, *, all_of_them: bool = True) -> list[Process]:
        """Return the living processes.

        Unless all are asked for, those of the control group, or those that the last look found
        where it is too early for another: looking must cost next to nothing.
        """
        if self.group is not None and not all_of_them:
            found = [look(pid) for pid in self.group.pids()]
            return [one for one in found if one is not None and one.alive]
        if not all_of_them and time.monotonic() < self._next_look:
            again = [(one, look(one.pid)) for one in self._seen]
            return [now for old, now in again if now and now.started == old.started and now.alive]
        began = time.monotonic()
        self._seen = descendants(self.root, self.without) if self.root else marked(self.mark)
        if self.group is not None:
            known = {one.pid for one in self._seen}
            more = [look(pid) for pid in self.group.pids() if pid not in known]
            self._seen += [one for one in more if one is not None and one.alive]
        ended = time.monotonic()
        self._next_look = ended + (ended - began) / _SHARE
        return self._seen

    # -------------------------------------------------------------------------- stop and go

    def stop(self) -> None:
        """Stop every process; called again, it stops those that are not."""
        self.stopped = True
        if self.group is not None and self.group.freeze(on=True):
            return
        for _ in range(ROUNDS):
            running = [one for one in self.members() if not one.stopped]
            for one in running:
                if one.send(signal.SIGSTOP):
                    self._held[one.pid] = one.started
            if not running:
                return
            time.sleep(0.001)

    def go(self) -> None:
        """Let every process go on that `stop` stopped; what the guest itself stopped stays so."""
        self.stopped = False
        if self.group is not None:
            self.group.freeze(on=False)
        for pid, started in self._held.items():
            one = look(pid)
            if one is not None and one.started == started:
                one.send(signal.SIGCONT)
        self._held.clear()

    # ---------------------------------------------------------------------------- priority

    @property
    def low(self) -> bool:
        """Whether it is at the lowest priority."""
        return self.level >= NICE

    def set_level(self, level: int) -> None:
        """Give every process a priority, 0 (normal) to `NICE` (the lowest there is); called again,
        the new ones too."""
        if level != self.level:
            self._set.clear()
            if self.group is not None:
                self.group.set_level(level)
        self.level = level
        for _ in range(ROUNDS):
            fresh = [
                one
                for one in self.members(all_of_them=False)
                if (one.pid, one.session) not in self._set
            ]
            set_priorities(
                fresh, level=level, threads=self.threads, nice=self.nice, session=self.session
            )
            self._set |= {(one.pid, one.session) for one in fresh}
            if not fresh:
                return

    def keep(self) -> list[Process]:
        """Stop and lower what came since the last call, as the body is; returns its processes."""
        members = self.members(all_of_them=False)
        if (
            self.stopped
            and (self.group is None or not self.group.frozen())
            and any(not one.stopped for one in members)
        ):
            self.stop()
        alive = {(one.pid, one.session) for one in members}
        self._set &= alive
        if self.level and alive - self._set:
            self.set_level(self.level)
        return members

    # --------------------------------------------------------------------------------- end

    def ask_to_end(self) -> None:
        """Let every process go on and send it SIGTERM."""
        members = self.members()
        for one in members:
            one.send(signal.SIGTERM)
        self.go()
        for one in members:  # what the guest itself had stopped hears of it, too
            if one.stopped:
                one.send(signal.SIGCONT)

    def kill(self, first: Process | None = None) -> int:
        """Kill every process, wherever it fled; returns how many were there.

        `first` is the guest's first process, whose session is the guest's. Children must be waited
        for by their parent, or they stay as entries that are not alive.
        """
        killed: set[tuple[int, int]] = set()
        for _ in range(ROUNDS):
            if self.group is not None:
                killed |= {(one.pid, one.started) for one in self.members(all_of_them=False)}
                self.group.kill()
            found = self._everywhere(first)
            for one in found:
                one.send(signal.SIGKILL)
            if not found:
                break
            killed |= {(one.pid, one.started) for one in found}
            time.sleep(0.002)
        return len(killed)

    def _everywhere(self, first: Process | None) -> list[Process]:
        left_out = self.without | {os.getpid(), self.root}
        found = {one.pid: one for one in (*self.members(), *marked(self.mark, left_out))}
        if first is not None:
            for one in everyone().values():
                same = one.session == first.pid and one.started >= first.started
                if one.alive and same:
                    found[one.pid] = one
        return [one for one in found.values() if one.pid not in left_out]


def lower_self(body: Body) -> None:
    """Begin a process of a body as low as the body goes; for a child before its program runs."""
    set_session(os.getpid(), NICE)
    set_io(0, idle=True)
    if body.threads:
        lower_thread(0)
