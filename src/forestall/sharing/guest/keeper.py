"""The keeper: parent of a guest, which stops it and ends it where its manager does not come back.

A process of its own, so that it outlives the manager; small, and with nothing but the standard
library. It takes the manager's orders over a socket whose end tells it that the manager is gone.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from forestall.core.model.errors import ForestallError
from forestall.core.processes import priority
from forestall.core.processes.files import (
    KEEPER_LOCK,
    STDERR,
    STDOUT,
    GuestFiles,
    GuestState,
    boot_id,
    changed,
)
from forestall.core.processes.processes import MARK, Process, name_self
from forestall.core.processes.usage import GuestProcesses, started_at
from forestall.sharing.agent.guests import register_guest
from forestall.sharing.guest.body import Body
from forestall.sharing.guest.cgroup import ControlGroup
from forestall.sharing.guest.link import Link, Message, listen
from forestall.sharing.guest.plan import StayPlan
from forestall.sharing.guest.second import Second, let_go
from forestall.sharing.guest.spawn import SHELL, Program, SpawnError, spawn

TICK: Final = 1.0
"""s between two looks at the guest's processes."""
UNCALLED: Final = 20.0
"""s after which a keeper whom no manager calls goes."""
QUICK: Final = 0.01
"""s between two looks while processes are ending."""
KEPT: Final = ("keeper", "keeper_created", "pid", "created", "cgroup")
"""What of its facts a keeper writes into the guest's record."""
CHECKPOINT_PID: Final = "FORESTALL_GUEST_PID"


class Hook:
    """A checkpoint command at work."""

    def __init__(self, process: Process, timeout: float) -> None:
        self.process = process
        self.began = time.monotonic()
        self.late = self.began + timeout


class Keeper:
    """Keeps one guest for one stay.

    Parameters
    ----------
    plan : what it was told
    listener : where managers call
    second : what ends the guest where this process is killed
    """

    def __init__(self, plan: StayPlan, listener: socket.socket, second: Second) -> None:
        self.plan, self.listener, self.second = plan, listener, second
        self.files: GuestFiles = plan.files
        self.body = _body(plan)
        self.raisable = self.body.threads is False or priority.can_raise()
        self.link: Link | None = None
        self.first: Process | None = None
        self.hook: Hook | None = None
        self.code: int | None = None
        self.by_itself = self.ended_in_hook = False  # before it was asked to; as its hook ran
        self.saved: bool | None = None  # what became of the last checkpoint
        self.saved_at = 0.0  # when the last good one was made, Unix s
        self.final = self.asked = self.over = False
        self.kill_at = math.inf
        self.gone_at = time.monotonic() + UNCALLED  # when it acts without a manager
        self.heard_at = time.monotonic()
        self.told_to_end = False  # by a signal
        self.next_look = math.inf
        self.cpu = 0.0
        self.killed = self.left = 0
        self._tell_second()
        self._orders: dict[str, Callable[..., None]] = {
            "nothing": _nothing,
            "start": self.start,
            "posture": self.posture,
            "checkpoint": self.checkpoint,
            "end": self.end,
            "hurry": self.hurry,
        }

    # ------------------------------------------------------------------------------- the loop

    def run(self, woken: int) -> None:
        """Keep the guest until nothing is left of it. `woken` is a file that signals write to."""
        while not self.over:
            files: list[Any] = [self.listener, woken]
            if self.link is not None:
                files.append(self.link)
            ready = select.select(files, [], [], self._pause())[0]
            if woken in ready:
                os.read(woken, 4096)
            if self.link is not None and (self.link in ready or self._silent()):
                self._hear()
            if self.listener in ready:
                self._called()
            self._reap()
            self._step()
        self._leave()

    def _pause(self) -> float:
        if self.asked:
            return QUICK
        due = [self.gone_at, self.next_look, time.monotonic() + 3600.0]
        if self.link is not None:
            due.append(self.heard_at + self.plan.silence + QUICK)
        if self.hook is not None and not self.body.stopped:
            due.append(self.hook.late)
        return max(0.0, min(due) - time.monotonic())

    def _silent(self) -> bool:
        """Return whether the manager hangs or stands still: that is as if it were gone."""
        assert self.link is not None
        if time.monotonic() - self.heard_at > self.plan.silence:
            self.link.broken = True
        return self.link.broken

    def _step(self) -> None:
        now = time.monotonic()
        if self.second.gone():
            self._new_second()
        if self.told_to_end:
            self.end(checkpoint=True)
        if self.first is None:
            if self.link is None and now >= self.gone_at:
                self.over = True
            return
        if self.hook is not None and now >= self.hook.late and not self.body.stopped:
            seconds = now - self.hook.began
            self._end_hook(f"it took longer than {seconds:.0f} s, and was ended", ok=False)
        if now >= self.gone_at:
            self.gone_at = math.inf
            self._note(GuestState.ENDING, f"no manager returned within {self.plan.grace:g} s")
            self.end(checkpoint=True)
        if self.code is not None and not self.asked and self.hook is None:
            self.left = len(self.body.members())
            self._ask_to_end()
        if self.asked:
            members = self.body.members()
            if not members and self.code is not None:
                self.over = True
            elif now >= self.kill_at:
                self.killed += self.body.kill(self.first)
        elif now >= self.next_look:
            self._look(now)

    def _look(self, now: float) -> None:
        if self.hook is not None and self.body.stopped:
            self.hook.late += TICK  # its time does not run while it stands still
        self.next_look = now + TICK
        members = self.body.keep()
        if self.link is not None:
            self._tell("facts", memory=sum(map(Process.memory, members)), processes=len(members))

    # --------------------------------------------------------------------------------- orders

    def _called(self) -> None:
        made = self.listener.accept()[0]
        if self.link is not None and not self.link.broken:
            made.close()  # there is one already
            return
        self.link = Link(made)
        self.gone_at, self.heard_at = math.inf, time.monotonic()
        self._tell("hello", **self._facts())

    def _facts(self) -> Message:
        group, first = self.body.group, self.first
        return {
            "keeper": os.getpid(),
            "keeper_created": started_at(os.getpid()),
            "pid": 0 if first is None else first.pid,
            "created": 0.0 if first is None else first.created,
            "cgroup": None if group is None else group.path,
            "raisable": self.raisable,
            "why_low": "" if self.raisable else priority.why_not_raised(),
            "stopped": self.body.stopped,
            "low": self.body.low,
            "final": self.final,
            "saved_at": self.saved_at,
            "id": self.plan.id,
            "command": self.plan.command,
            "cwd": self.plan.cwd,
        }

    def _hear(self) -> None:
        link = self.link
        assert link is not None
        for order in link.receive():
            self.heard_at = time.monotonic()
            self._orders[order.pop("do")](**order)
        if link.broken:
            link.close()
            self.link = None
            self._alone()

    def _alone(self) -> None:
        """The manager is gone: the guest stands still, for a while."""
        if self.first is None:
            self.over = True
        elif not self.asked and not (self.final and self.hook is not None):
            self.body.stop()
            self.gone_at = time.monotonic() + self.plan.grace
            why = f"its manager is gone; ended in {self.plan.grace:g} s if none comes"
            self._note(GuestState.UNWATCHED, why)

    def start(self) -> None:
        """Start the guest, stopped by nothing and at lowest priority."""
        self.body.level = priority.NICE
        if self.body.group is not None:
            self.body.group.set_level(priority.NICE)
        try:
            self.first = spawn(self._program(self.plan.command), self.body)
        except SpawnError as error:
            self._tell("not started", why=str(error))
            self.over = True
            return
        self.next_look = 0.0
        self._tell_second()
        trouble = ""
        group = self.body.group
        try:
            keeper = GuestProcesses.of(
                os.getpid(), None if group is None else group.path, self.first.pid
            )
            register_guest(self.files.folder, self.plan.id, keeper)
        except (ForestallError, OSError) as error:
            trouble = str(error)
        self._tell("started", trouble=trouble, **self._facts())

    def posture(self, stop: bool, level: int) -> None:
        """Stop the guest or let it go on, so many nice values below normal."""
        if self.final or self.asked or self.first is None:
            return
        level = level if self.raisable else priority.NICE
        if level >= self.body.level:
            self.body.set_level(level)
        if stop:
            self.body.stop()
        if level < self.body.level:
            self.body.set_level(level)
        if not stop:
            self.body.go()
        self._tell("posture", stopped=self.body.stopped, low=self.body.low)

    def checkpoint(self) -> None:
        """Run the checkpoint command."""
        if self.hook is not None or self.first is None or self.code is not None or self.asked:
            return
        try:
            process = spawn(self._program([SHELL, "-c", self.plan.hook]), self.body)
        except SpawnError as error:
            self._hooked(0.0, str(error), ok=False)
            return
        self.hook = Hook(process, self.plan.hook_timeout)

    def end(self, checkpoint: bool) -> None:
        """End the guest, after its checkpoint if it has one to make."""
        if self.final or self.asked:
            return
        self.final, self.gone_at = True, math.inf
        if self.first is None:
            self.over = True
            return
        self.body.set_level(priority.NICE)
        self.body.go()
        if self.hook is None and checkpoint and self.plan.hook:
            self.checkpoint()
        if self.hook is None:
            self._ask_to_end()

    def hurry(self) -> None:
        """End the guest without more waiting."""
        self.final = True
        if self.hook is not None:
            self._end_hook("it was not waited for", ok=False)
        self._ask_to_end()
        self.kill_at = 0.0

    def _program(self, words: list[str]) -> Program:
        environment = dict(os.environ) | self.plan.environment
        environment[MARK] = self.plan.id
        if self.first is not None:
            environment[CHECKPOINT_PID] = str(self.first.pid)
        place = self.files.place
        return Program(words, self.plan.cwd, environment, place / STDOUT, place / STDERR)

    # ----------------------------------------------------------------------------------- ends

    def _ask_to_end(self) -> None:
        if not self.asked:
            self.asked = True
            self.kill_at = time.monotonic() + self.plan.patience
            self.body.ask_to_end()

    def _reap(self) -> None:
        """Wait for every child that ended, those of others that came to this keeper too."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code
            if pid == self.second.pid:
                self._new_second()
                continue
            self.cpu += used.ru_utime + used.ru_stime
            if self.first is not None and pid == self.first.pid:
                self.code = code
                self.by_itself, self.ended_in_hook = not self.asked, self.hook is not None
            elif self.hook is not None and pid == self.hook.process.pid:
                self._end_hook("" if code == 0 else f"it ended with code {code}", ok=code == 0)

    def _end_hook(self, why: str, *, ok: bool) -> None:
        hook = self.hook
        assert hook is not None
        self.hook = None
        for one in self.body.members():  # what it left, or it itself
            if one.session == hook.process.pid:
                one.send(signal.SIGKILL)
        self._hooked(time.monotonic() - hook.began, why, ok=ok)

    def _hooked(self, seconds: float, why: str, *, ok: bool) -> None:
        self.saved = ok
        self.saved_at = round(time.time(), 3) if ok else self.saved_at
        facts = {"ok": ok, "why": why, "seconds": round(seconds, 3)}
        self._tell("checkpoint", **facts)
        if self.link is None:
            record = self.files.read()
            text = f"checkpoint made in {seconds:.1f} s" if ok else f"no checkpoint: {why}"
            state = GuestState.ENDING if self.final or record is None else record.state
            self._note(state, text, **({"checkpoint": self.saved_at} if ok else {}))
        if self.final:
            self._ask_to_end()

    def _outcome(self) -> GuestState:
        """Return what became of the guest: a guest that ends while its checkpoint is made is taken
        as ended by that, unless the checkpoint failed because it had finished."""
        ended_by_hook = self.ended_in_hook and bool(self.saved)
        if self.by_itself and not (self.final and ended_by_hook):
            if self.code == 0:
                return GuestState.FINISHED
            if not self.final and not (ended_by_hook and (self.code or 0) > 128):
                return GuestState.FAILED
        return GuestState.ENDED

    def _leave(self) -> None:
        """Look for what fled, tell the last word, and clear up."""
        if self.first is not None:
            self.killed += self.body.kill(self.first)
            state = self._outcome()
            facts: Message = {
                "state": str(state),
                "code": self.code,
                "cpu": round(self.cpu, 2),
                "left": self.left,
                "killed": self.killed,
            }
            self._clear()
            if self.link is not None:
                self._tell("ended", **facts)
            else:
                code = self.code if state is not GuestState.ENDED else None
                why = "ended without a manager"
                self._note(state, why, exit_code=code, add_cpu=self.cpu, pid=0)
        else:
            self._clear()
        self.second.dismiss()

    def _clear(self) -> None:
        self.listener.close()
        if self.body.group is not None:
            self.body.group.remove()
        with suppress(OSError):
            (self.files.place.parent / f"{self.plan.id}.json").unlink()

    # --------------------------------------------------------------------------------- others

    def _tell(self, event: str, **facts: Any) -> None:
        if self.link is not None:
            self.link.send(event=event, **facts)

    def _note(self, state: GuestState, why: str, add_cpu: float = 0.0, **changes: Any) -> None:
        """Write down what no manager does; a disk that is full is no reason to leave a guest."""
        with suppress(ForestallError, OSError):
            self.files.log(state, why)
        with suppress(ForestallError, OSError):
            record = self.files.read()
            if record is not None and record.id == self.plan.id:
                cpu = round(record.cpu + add_cpu, 2)
                facts = self._facts()
                changes = {
                    "cpu": cpu,
                    "pgid": facts["pid"],
                    "boot": boot_id(),
                    **{key: facts[key] for key in KEPT},
                    **changes,
                }
                self.files.write(changed(record, state=state, why=why, **changes), alone=True)

    def _new_second(self) -> None:
        self.second.lost()
        self.second = Second.fork_below(self.plan, self._close_all)
        self.body.without = {self.second.pid}
        self._tell_second()

    def _tell_second(self) -> None:
        group = self.body.group
        first = 0 if self.first is None else self.first.pid
        self.second.told(first, None if group is None else group.path)

    def _close_all(self) -> None:
        """Close what a child of ours must not hold open."""
        self.listener.close()
        if self.link is not None:
            self.link.close()


def _body(plan: StayPlan) -> Body:
    """Return the body of a guest that is to be started: with the means that there are here."""
    group = ControlGroup.make(f"forestall-{plan.id}") if plan.cgroup else None
    shares = group is not None and group.has_priority
    threads = not shares or priority.can_raise()
    return Body(
        mark=plan.id,
        root=os.getpid(),
        group=group,
        threads=threads,
        nice=os.nice(0),
        session=priority.session_nice(os.getpid()) or 0,
    )


def main() -> int:
    """Keep the guest that standard input tells of; on standard output comes one word: ready."""
    plan = StayPlan.of_line(sys.stdin.buffer.readline())
    try:
        if _locked(plan.files) is None:  # the second holds it, too, until nothing is left
            raise OSError(f"{plan.files.place}: another keeper runs this guest")
        second = Second.fork_above(plan)
    except (ForestallError, OSError) as error:
        _answer({"error": str(error)})
        return 1
    name_self("forestall-keep")
    priority.adopt_orphans()
    hear, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        keeper = Keeper(plan, listen(plan.files.place), second)
    except (ForestallError, OSError) as error:
        _answer({"error": str(error)})
        return 1
    signal.signal(signal.SIGTERM, lambda *_: setattr(keeper, "told_to_end", True))
    _answer({"error": ""})
    keeper.run(hear)
    return 0


def _locked(files: GuestFiles) -> int | None:
    """Return the handle of the lock that says that a guest is kept; None where another keeps it."""
    late = time.monotonic() + 5
    while (handle := files.lock(KEEPER_LOCK)) is None and time.monotonic() < late:
        time.sleep(0.05)
    return handle


def _answer(answer: Message) -> None:
    """Tell whoever started this process, and let go of its files."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    let_go()


def _nothing(*_: Any) -> None:
    """A signal that only wakes the loop, or a message that only says that its sender is there."""
