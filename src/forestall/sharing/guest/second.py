"""The second: a process that does nothing but wait for the keeper's end, and then ends what the
keeper cannot end any more.

It is the keeper's parent, and whatever fled comes to it when the keeper is killed. Where it is
itself killed, a child of the keeper takes its place, which finds less: by the mark and the session.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from forestall.core.files.documents import json_of
from forestall.core.model.errors import ForestallError
from forestall.core.processes import priority
from forestall.core.processes.files import GuestState, changed
from forestall.core.processes.processes import look, name_self
from forestall.sharing.guest.body import Body
from forestall.sharing.guest.cgroup import ControlGroup
from forestall.sharing.guest.plan import StayPlan

GONE: Final = "its keeper was killed"
PARENT_GONE: Final = signal.SIGUSR1
"""Sent to a keeper by the kernel when its parent is killed."""
_OVER: Final = b"over"


class Second:
    """The keeper's side: a process at the other end of a pipe.

    Parameters
    ----------
    pid : its number
    tell : the pipe
    above : whether it is the keeper's parent, else a child
    """

    def __init__(self, pid: int, tell: int, *, above: bool) -> None:
        self.pid, self._tell, self._above = pid, tell, above

    @classmethod
    def fork_above(cls, plan: StayPlan) -> Second:
        """Fork: this process becomes the second and never returns; the child goes on as keeper."""
        priority.adopt_orphans()
        own = os.getpid()
        hear, tell = os.pipe2(os.O_CLOEXEC)
        keeper = os.fork()
        if keeper:
            code = 1
            try:
                os.close(tell)
                let_go()
                heard = _stand_by(hear)
                code = os.waitstatus_to_exitcode(_waited(keeper))
                if heard:  # else there never was anything to end
                    _end_all(plan, own, heard)
            finally:
                os._exit(code if code >= 0 else 128 - code)
        os.close(hear)
        signal.signal(PARENT_GONE, _nothing)
        priority.die_with_parent(PARENT_GONE)
        return cls(own, tell, above=True)

    @classmethod
    def fork_below(cls, plan: StayPlan, close: Callable[[], None]) -> Second:
        """Fork a second that is a child; `close` closes there what only the keeper may hold."""
        hear, tell = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                os.close(tell)
                close()
                heard = _stand_by(hear)
                if heard:
                    _end_all(plan, 0, heard)
            finally:
                os._exit(0)
        os.close(hear)
        return cls(pid, tell, above=False)

    def gone(self) -> bool:
        """Return whether the parent was killed; a child that was is the keeper's to wait for."""
        return self._above and os.getppid() != self.pid

    def told(self, first: int, cgroup: str | None) -> None:
        """Tell it the number of the guest's first process (0: none yet) and its control group."""
        with suppress(OSError):
            os.write(self._tell, json.dumps([first, cgroup]).encode() + b"\n")

    def dismiss(self) -> None:
        """Let it go: nothing is left to end."""
        with suppress(OSError):
            os.write(self._tell, _OVER)
        os.close(self._tell)
        if not self._above:
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)

    def lost(self) -> None:
        """Close its pipe: it is gone itself."""
        os.close(self._tell)


def let_go() -> None:
    """Let go of standard input and output: whoever started this process waits for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def _stand_by(hear: int) -> list[bytes]:
    """Wait for the keeper's end; returns the lines that it told, none if nothing is to be done."""
    with suppress(ValueError):
        signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    name_self("forestall-sweep")
    heard = b""
    while chunk := os.read(hear, 4096):
        heard += chunk
    return [] if heard.endswith(_OVER) else heard.split(b"\n")[:-1]


def _waited(keeper: int) -> int:
    """Wait for the keeper, and for whatever else ended; returns the keeper's status."""
    while True:
        pid, status = os.wait()
        if pid == keeper:
            return status


def _end_all(plan: StayPlan, root: int, heard: list[bytes]) -> None:
    """End what a killed keeper left; `root` is the process it came to, 0: none of ours."""
    told = [json_of(line) for line in heard]
    group = next((ControlGroup(path) for _, path in reversed(told) if path), None)
    number = told[-1][0]
    body = Body(plan.id, root, group)
    body.kill(look(number) if number else None)
    cleared(plan, body)


def _nothing(*_: object) -> None:
    """A signal that only wakes the loop."""


def cleared(plan: StayPlan, body: Body) -> None:
    """Remove what stands for a running guest; where nobody manages it, write down that it ended."""
    if body.group is not None:
        body.group.remove()
    with suppress(OSError):
        (plan.files.place.parent / f"{plan.id}.json").unlink()
    with suppress(ForestallError, OSError):
        record = plan.files.read()
        if record is not None and record.id == plan.id and not record.managed():
            plan.files.log(GuestState.ENDED, GONE)
            plan.files.write(changed(record, state=GuestState.ENDED, why=GONE), alone=True)
