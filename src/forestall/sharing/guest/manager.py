"""The manager: watches the owner's load, and lowers, stops, continues, ends and resumes a guest."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from forestall.core.model.errors import ForestallError
from forestall.core.model.units import format_duration
from forestall.core.processes.files import GuestFiles, GuestState, StayRecord, boot_id, changed
from forestall.core.processes.priority import NICE
from forestall.core.processes.usage import started_at
from forestall.sharing.guest.eyes import Eyes, machine_memory
from forestall.sharing.guest.link import Message
from forestall.sharing.guest.plan import StayPlan
from forestall.sharing.guest.policy import Allowed, Judge, Verdict
from forestall.sharing.guest.settings import GuestSettings
from forestall.sharing.guest.spawn import SHELL
from forestall.sharing.guest.stay import Stay, ended_by_hand
from forestall.sharing.guest.tell import Teller

CHECKPOINT: Final = "FORESTALL_GUEST_CHECKPOINT"
NOT_WAITED: Final = 75
"""Exit code where the host is not free and the guest does not wait: try again later (EX_TEMPFAIL of
sysexits.h)."""
BROKEN: Final = 2
INTERRUPTED: Final = 130
LOST_AT_MOST: Final = 3
"""Stays in a row whose keeper was killed, after which the guest is given up."""
HURRY: Final = "not waited for"
_SLACK: Final = 5.0


class Manager:
    """Runs one guest until it has finished, or until it is told to stop.

    The caller holds the guest's lock (`GuestFiles.managed`).

    Parameters
    ----------
    files, record, settings : of the guest
    eyes : what looks at the host
    say : is given a line at each change

    Attributes
    ----------
    record : as it is now
    """

    def __init__(
        self,
        files: GuestFiles,
        record: StayRecord,
        settings: GuestSettings,
        eyes: Eyes,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.files, self.settings, self._eyes, self._say = files, settings, eyes, say
        own = os.getpid()
        if record.boot != boot_id():  # these numbers mean nothing any more
            record = changed(record, pid=0, pgid=0, cgroup=None, keeper=0)
        self.record = changed(
            record,
            settings=settings.to_json(),
            manager=own,
            manager_created=started_at(own),
            boot=boot_id(),
            exit_code=None,
        )
        self._memory = machine_memory()[1]
        self._judge = Judge(settings, self._memory, self.record.memory)
        self._teller = Teller(settings.tell, record.cwd)
        self._stay: Stay | None = None
        self._posture: tuple[Allowed, int] | None = None
        self._ran = self._lost = 0.0  # s since the last checkpoint; keepers lost in a row
        self._saving = False
        self._starting: Message = {}  # what to tell when it has started
        self._code: int | None = None
        self._stop = ""
        self._late = 0.0
        self._troubles: set[str] = set()
        self._hear, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def stop(self, why: str, *, hurry: bool = False) -> None:
        """Have `run` end the guest and return; asked again with `hurry`, it does not wait for a
        checkpoint. May be called by a signal."""
        if not self._stop:
            self._stop = why
        elif hurry:
            self._stop = HURRY
        with suppress(OSError):  # a signal may come when all is over
            os.write(self._wake, b".")

    def run(self) -> int:
        """Run the guest; returns the exit code of its first process, or one of this module's.

        Raises TraceError where its record cannot be written at the start; later that is told and
        the guest goes on.
        """
        self._adopt()
        self.files.write(self.record)
        due = time.monotonic() + self.settings.every
        try:
            while self._code is None:
                self._listen(due)
                if self._code is None and time.monotonic() >= due:
                    due = max(due + self.settings.every, time.monotonic())
                    self._tick()
            return self._code
        finally:
            self._give_up()
            self.record = changed(self.record, manager=0)
            self._write()
            trouble = self._teller.finish()
            if trouble:
                self._trouble(trouble)
            os.close(self._hear)
            os.close(self._wake)

    # ------------------------------------------------------------------------------- decide

    def _tick(self) -> None:
        """Look at the host and act on it."""
        stay = self._stay
        if self._stop:
            if stay is not None:
                stay.order("nothing")
            return
        sight = self._eyes.look()
        held = 0.0 if stay is None else float(stay.facts.get("memory", 0))
        if held > self.record.memory:
            self.record = changed(self.record, memory=held)
        verdict = self._judge.see(sight, held / self._memory)
        facts = {
            "host": verdict.state, "load": _figure(sight.load),
            "guest_load": _figure(sight.guest_load), "free_memory": _figure(sight.available),
        }  # fmt: skip
        trouble = self._teller.go_on()
        if trouble:
            self._trouble(trouble)
        if stay is None:
            self._consider(verdict, self._judge.calm(sight.boot), facts)
            return
        stay.order("nothing")
        if self.record.state is GuestState.ENDING or self._starting:
            return
        if verdict.allowed is Allowed.NOTHING:
            self._evict(verdict, facts)
        else:
            self._put(verdict, facts)
            self._save_now_and_then()

    def _consider(self, verdict: Verdict, calm: bool, facts: Message) -> None:
        """Start the guest if the host is free for it."""
        if verdict.allowed >= Allowed.CRAWL and calm:
            self._start(verdict, facts)
        elif not self.settings.wait:
            self._change(GuestState.ENDED, f"the host is not free: {verdict.why}", **facts)
            self._code = NOT_WAITED
        elif self.record.state is not GuestState.WAITING or not self.record.why:
            why = verdict.why
            if verdict.allowed >= Allowed.CRAWL:
                why = f"the host is free again, not yet for {self.settings.calm:g} s"
            self._change(GuestState.WAITING, why, **facts)

    def _put(self, verdict: Verdict, facts: Message) -> None:
        """Have the guest run or stand as the verdict allows."""
        stay = self._stay
        assert stay is not None
        allowed = verdict.allowed
        level = NICE if allowed is Allowed.STAND else verdict.level
        if not stay.facts.get("raisable", False):
            allowed, level = min(allowed, Allowed.CRAWL), NICE
        if (allowed, level) == self._posture:
            return
        stay.order("posture", stop=allowed is Allowed.STAND, level=level)
        before, self._posture = self._posture, (allowed, level)
        state = {
            Allowed.STAND: GuestState.STOPPED, Allowed.CRAWL: GuestState.LOWERED,
            Allowed.RUN: GuestState.NORMAL,
        }[allowed]  # fmt: skip
        stood = before is not None and before[0] is Allowed.STAND
        why = f"continued: {verdict.why}" if stood else verdict.why
        if state is not self.record.state or (before and before[1] != level):
            self._change(state, why, **facts)

    def _evict(self, verdict: Verdict, facts: Message) -> None:
        assert self._stay is not None
        made = " after its checkpoint" if self.settings.checkpoint else ""
        self._change(GuestState.ENDING, f"{verdict.state}: {verdict.why}; ended{made}", **facts)
        self._end()

    def _end(self) -> None:
        assert self._stay is not None
        self._stay.order("end", checkpoint=True)
        rules = self.settings
        self._late = time.monotonic() + rules.checkpoint_timeout + rules.patience + _SLACK

    def _save_now_and_then(self) -> None:
        if self._posture is not None and self._posture[0] >= Allowed.CRAWL:
            self._ran += self.settings.every
        if self._saving or not 0 < self.settings.checkpoint_every <= self._ran:
            return
        assert self._stay is not None
        self._saving = True
        self._stay.order("checkpoint")

    # ---------------------------------------------------------------------------- the keeper

    def _start(self, verdict: Verdict, facts: Message) -> None:
        """Start a keeper and the guest."""
        record, rules = self.record, self.settings
        resumed = record.checkpoint > 0
        words = [SHELL, "-c", rules.resume] if resumed and rules.resume else record.command
        plan = StayPlan(
            folder=str(self.files.folder.resolve()),
            name=record.name,
            id=record.id,
            command=words,
            cwd=record.cwd,
            environment={CHECKPOINT: "1"} if resumed else {},
            hook=rules.checkpoint,
            hook_timeout=rules.checkpoint_timeout,
            grace=rules.grace,
            patience=rules.patience,
            silence=max(rules.silence, 5 * rules.every),
            cgroup=rules.cgroup,
        )
        try:
            self._stay = stay = Stay.begin(plan)
        except ForestallError as error:
            resume = f"`forestall guest resume {record.name}` continues it"
            self._change(GuestState.ENDED, f"{error}; {resume}")  # not for want of the guest
            self._code = BROKEN
            return
        self._kept(stay, attempts=record.attempts + 1)
        self._write()  # before there is a guest: whoever comes after this manager must find it
        stay.order("start")
        self._saving, self._ran = False, 0.0
        self._posture = (Allowed.CRAWL, NICE)
        how = "resumed from its checkpoint" if resumed else "started"
        if record.attempts and not resumed:
            how = "restarted from the beginning"
        stays = "" if stay.facts["raisable"] else f"; it stays there: {stay.facts['why_low']}"
        self._starting = {"why": f"{how} at lowest priority: {verdict.why}{stays}", **facts}

    def _adopt(self) -> None:
        """Take over a guest that runs already, or what is left of one."""
        stay = Stay.found(self.files)
        self._reread()
        if stay is not None:
            self._taken(stay, "adopted by a new manager")
        elif self.record.state.over:
            self._was_over()
        elif self.record.state.running:
            self._swept("its keeper is gone")
            self._code = self._code if self._stop else None  # one that does not wait begins at once

    def _reread(self) -> None:
        """Take from the disk what a keeper without a manager wrote there."""
        with suppress(ForestallError):
            known, mine = self.files.taken_over(), self.record
            if known is not None and known.id == mine.id:
                self.record = changed(
                    mine,
                    state=known.state,
                    why=known.why,
                    since=known.since,
                    exit_code=known.exit_code,
                    checkpoint=max(mine.checkpoint, known.checkpoint),
                    cpu=max(mine.cpu, known.cpu),
                )

    def _taken(self, stay: Stay, how: str) -> None:
        """Go on with a keeper that was without a manager."""
        self._stay, self._posture, self._saving, self._starting = stay, None, False, {}
        self._kept(stay, checkpoint=max(self.record.checkpoint, stay.facts["saved_at"]))
        if stay.facts["final"]:
            self._change(GuestState.ENDING, f"{how}; it is being ended")
            self._late = time.monotonic() + self.settings.checkpoint_timeout + _SLACK
        else:
            self._change(GuestState.STOPPED, how)

    def _was_over(self) -> None:
        """The guest has ended by itself while nobody managed it."""
        record = self.record
        self._code = BROKEN if record.exit_code is None else record.exit_code
        self._tell_user(f"{record.state}: {record.why}")

    def _kept(self, stay: Stay, **changes: Any) -> None:
        """Note what the keeper told of the processes."""
        facts = stay.facts
        self.record = changed(
            self.record,
            pid=facts.get("pid", 0),
            created=facts.get("created", 0.0),
            pgid=facts.get("pid", 0),
            cgroup=facts.get("cgroup"),
            keeper=facts["keeper"],
            keeper_created=facts["keeper_created"],
            **changes,
        )

    def _listen(self, due: float) -> None:
        """Hear the keeper, and signals, until the next look at the host is due."""
        while self._code is None:
            left = due - time.monotonic()
            if self._stop:
                self._stopping()
                left = min(left, 0.05)
            files: list[Any] = [self._hear] if self._stay is None else [self._hear, self._stay.link]
            ready = select.select(files, [], [], max(0.0, left))[0]
            if self._hear in ready:
                os.read(self._hear, 64)
            stay = self._stay
            if stay is not None:
                for message in stay.events(0.0):
                    self._heard(message)
                if stay.link.broken and self._stay is stay:
                    self._broken_off()
                elif self._late and time.monotonic() > self._late and self._stay is stay:
                    self._late = 0.0
                    self._swept("its keeper does not answer")
            if time.monotonic() >= due:
                return

    def _heard(self, message: Message) -> None:
        what, stay = message["event"], self._stay
        assert stay is not None
        if what == "started":
            self._kept(stay)
            self._change(GuestState.LOWERED, **self._starting)
            self._starting = {}
            if message["trouble"]:
                self._trouble(f"the agent does not know of the guest: {message['trouble']}")
        elif what == "not started":
            self._gone(GuestState.FAILED, f"cannot be started: {message['why']}", None)
            self._code = BROKEN
        elif what == "checkpoint":
            self._saved(message)
        elif what == "ended":
            self._ended(message)

    def _saved(self, message: Message) -> None:
        self._saving, self._ran = False, 0.0
        seconds = message["seconds"]
        if message["ok"]:
            self.record = changed(self.record, checkpoint=round(time.time(), 3))
            self._change(self.record.state, f"checkpoint made in {seconds:.1f} s")
        else:
            older = "; the previous one remains" if self.record.checkpoint else ""
            self._change(self.record.state, f"no checkpoint: {message['why']}{older}")

    def _ended(self, message: Message) -> None:
        """Note the last word of the keeper."""
        state, code = GuestState(message["state"]), message["code"]
        cpu, more, self._lost = message["cpu"], "", 0
        left = max(message["left"], message["killed"])
        if left and state is not GuestState.ENDED:
            more = f"; {left} {'process' if left == 1 else 'processes'} that it left ended with it"
        elif message["killed"]:
            more = f"; killed {self.settings.patience:g} s after it was asked to end"
        used = f"{cpu_time(cpu)}{more}"
        total = round(self.record.cpu + cpu, 2)
        self.record = changed(self.record, cpu=total)
        if state is GuestState.FINISHED:
            self._gone(state, f"finished with code 0; {used}", 0)
            self._code = 0
        elif state is GuestState.FAILED:
            what = f"signal {code - 128}" if code > 128 else f"code {code}"
            self._gone(state, f"ended by itself with {what}; {used}", code)
            self._code = code
        else:
            self._was_ended(f"it used {used}")

    def _was_ended(self, why: str) -> None:
        """The guest has not finished: wait for the host, or leave."""
        self._late = 0.0
        if self._stop or not self.settings.wait:
            resume = f"`forestall guest resume {self.record.name}` continues it"
            self._gone(GuestState.ENDED, f"{why}; {resume}", None)
            self._code = INTERRUPTED if self._stop else NOT_WAITED
            return
        self._gone(GuestState.WAITING, f"{why}; waits for the host to be free", None)

    def _gone(self, state: GuestState, why: str, code: int | None) -> None:
        """No process of the guest is left."""
        if self._stay is not None:
            self._stay.close()
        self._stay = self._posture = None
        self._change(
            state, why, record={"exit_code": code, "pid": 0, "pgid": 0, "keeper": 0, "cgroup": None}
        )

    def _broken_off(self) -> None:
        """The connection ended without a last word: the keeper was killed, or it took this manager
        for gone, as where that stood still, and went on alone."""
        stay = self._stay
        assert stay is not None
        again = Stay.found(self.files) if self.record.kept() else None
        self._reread()
        stay.link.close()
        if again is not None:
            stay.link, stay.facts = again.link, again.facts
            self._taken(stay, "its manager continues")
        elif self.record.state.over:
            stay.close()
            self._was_over()
        elif self.record.state is GuestState.ENDED:
            self._was_ended(self.record.why)
        else:
            self._swept("its keeper was killed")

    def _swept(self, why: str) -> None:
        """End what is left of a guest that nobody keeps."""
        plan = StayPlan(str(self.files.folder), self.record.name, self.record.id, [], "/")
        killed = ended_by_hand(plan, self.record)
        self._lost += 1
        count = (
            f"{killed} {'process' if killed == 1 else 'processes'}" if killed else "what it left"
        )
        words = f"{why}; {count} ended with it"
        if self._lost > LOST_AT_MOST:
            self._gone(GuestState.FAILED, f"{words}; given up after {LOST_AT_MOST} times", None)
            self._code = BROKEN
        else:
            self._was_ended(words)

    # ------------------------------------------------------------------------------- the end

    def _stopping(self) -> None:
        """Do what `stop` asked for."""
        if self._stay is None:
            self._change(GuestState.ENDED, self._stop)
            self._code = INTERRUPTED
        elif self._stop == HURRY:
            self._stay.order("hurry")
            self._late = min(self._late or math.inf, time.monotonic() + _SLACK)
        elif self.record.state is not GuestState.ENDING:
            made = " after its checkpoint" if self.settings.checkpoint else ""
            self._change(GuestState.ENDING, f"{self._stop}; ended{made}")
            self._end()

    def _give_up(self) -> None:
        """Leave no guest behind where this manager fails; the keeper does that once it is gone."""
        if self._stay is not None:
            self._stay.link.close()

    # -------------------------------------------------------------------------------- telling

    def _change(
        self, state: GuestState, why: str, record: dict[str, Any] | None = None, **facts: Any
    ) -> None:
        """Note a change on the disk, on the terminal and to whoever is told."""
        self.record = changed(self.record, state=state, why=why, **(record or {}))
        self._write()
        kept = {key: value for key, value in facts.items() if value is not None}
        try:
            self.files.log(state, why, attempt=self.record.attempts, **kept)
        except ForestallError as error:
            self._trouble(str(error))
        self._tell_user(f"{state}: {why}")
        change = {"time": round(time.time(), 3), "guest": self.record.name, "id": self.record.id}
        trouble = self._teller.tell(change | {"state": str(state), "why": why} | kept)
        if trouble:
            self._trouble(trouble)

    def _write(self) -> None:
        try:
            self.files.write(self.record)
        except ForestallError as error:
            self._trouble(str(error))

    def _trouble(self, text: str) -> None:
        """Tell what went wrong and stops nothing, once."""
        if text not in self._troubles:
            self._troubles.add(text)
            end = "" if self.record.state.over else "; the guest continues"
            self._tell_user(f"{text}{end}")

    def _tell_user(self, text: str) -> None:
        """Say a line; a terminal or a reader that is gone is no reason to leave the guest."""
        with suppress(OSError):
            self._say(f"{datetime.now(UTC):%H:%M:%S} {self.record.name}: {text}")


def cpu_time(seconds: float) -> str:
    """Return an amount of CPU time in words, such as ``0.3 s of CPU time``."""
    short = f"{seconds:.1f} s" if seconds < 120 else format_duration(seconds)
    return f"{short} of CPU time"


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
