"""The driver: runs a program, saves it at the right moments, and goes on with it."""

from __future__ import annotations

import select
import shutil
import signal
import time
from collections import deque
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ForestallError, InputError
from forestall.core.processes.files import boot_id
from forestall.core.processes.follow import Writer, followed
from forestall.core.show.words import counted
from forestall.vaults.acting.calls import ASKING, ENDING, Calls, answer, asked, locked
from forestall.vaults.acting.held import HeldProgram, RunError
from forestall.vaults.acting.images import ImageTold, fresh_image, printed, remove_image, size_of
from forestall.vaults.acting.plan import RunPlan, RunRules, Surroundings
from forestall.vaults.acting.resume import BACK, IMAGES, ResumePoint, local_image, newest_checkpoint
from forestall.vaults.acting.upload import Image, KeptNewest, Upload
from forestall.vaults.acting.ways import SavingWay
from forestall.vaults.collecting import forget
from forestall.vaults.hosts.host import HostError
from forestall.vaults.repository import Vault
from forestall.vaults.rules.moments import Cost, SaveChoice, by_interval, by_risk
from forestall.vaults.runs import RunHistory, RunLease, read_history, write_history

UNFINISHED: Final = 75
"""Exit code of a program that was saved and ended on request; the same command goes on with it."""
LOOK: Final = 0.5
"""s between two looks at most."""
AGAIN: Final = 10.0
"""s until a save is tried again that failed."""
OUTPUT: Final = ("stdout", "stderr")


class Driver:
    """Runs one program until it ends.

    Attributes
    ----------
    history : what became of the run, this time included
    code : the exit code of the whole
    failed_saves : how many failed this time
    shortfalls : what was promised and not kept, in words
    requeue : whether the batch system should start it again
    """

    def __init__(
        self, vault: Vault, run: RunPlan, way: SavingWay, rules: RunRules, around: Surroundings
    ) -> None:
        self.vault, self.run_of, self.way, self.rules, self.around = vault, run, way, rules, around
        self.history = RunHistory()
        self.shortfalls: list[str] = []
        self.cost = Cost()
        self.code, self.requeue = 0, False
        self._calls = Calls()
        self._upload: Upload | None = None
        self._waiting: list[str] = []  # words of those who asked for the save under way
        self._answered: deque[tuple[str, str]] = deque(maxlen=16)
        self._began: float | None = None
        self._before = self._saved = self._still = 0.0
        self._retry_at = 0.0
        self._told: set[str] = set()
        self._printed: list[tuple[Path, int]] = []
        self.failed_saves, self._why_failed = 0, ""
        self._leaves = ""
        self._slot = self._size = 0
        self._made: list[str] = []  # checkpoints of this time, oldest first

    @property
    def ran(self) -> float:
        """s that the program ran in all, without the times that had to be run again."""
        now = 0.0 if self._began is None else time.monotonic() - self._began - self._still
        return self._before + now

    # ----------------------------------------------------------------------------------- whole

    def run(self) -> int:
        """Run the program to its end, or until this is asked to end; return the exit code.

        Raises RunBusyError where another one runs it, LostError where too little of its checkpoints
        is left, StartError and RunError where it cannot be started or brought back.
        """
        place = self.run_of.place
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lease = RunLease(self.vault, self.run_of.name, self.rules.life, lambda: self.ran)
        with locked(place), closing(self._calls), self._calls.listening(ASKING):
            lease.take(self.around.say)
            try:
                self.history = read_history(self.vault, self.run_of.name)
                if self._was_over():
                    return 0
                found = self._prepare()
                with self._calls.listening(ENDING), HeldProgram(alone=self.way.alone) as held:
                    self._start(held, lease, found)
                    with followed(*self._shown()):
                        self._drive(held, lease)
                        while not self._end(held):
                            self._drive(held, lease)
                    self._close()
            finally:
                self._abandon()
                lease.close()
        return self.code

    def _shown(self) -> tuple[list[tuple[Path, Writer]], list[int]]:
        """Return what shows what is printed from the program's start on."""
        both = list(zip(self._printed, self.around.show, strict=False))
        return [(path, writer) for (path, _), writer in both], [at for (_, at), _ in both]

    # ----------------------------------------------------------------------------------- start

    def _was_over(self) -> bool:
        """Whether the program finished: then it is not begun again."""
        if self.history.code is None or self.rules.fresh:
            return False
        self._check_words(self.history.words, "which finished")
        self._forget_all()
        self._say(f"it finished before, with code {self.history.code}, and is not started again; "
                  "--fresh starts it over")  # fmt: skip
        return True

    def _check_words(self, words: tuple[str, ...], what: str) -> None:
        """Raise InputError where the run of this name has another command line."""
        if words != self.run_of.start.words:
            ours, theirs = " ".join(self.run_of.start.words), " ".join(words)
            raise InputError(f"{self.run_of.name} is another program: {theirs!r}, {what}, not "
                             f"{ours!r}; choose another {{name}}, or start over with "
                             "{fresh}")  # fmt: skip

    def _prepare(self) -> ResumePoint | None:
        """Return what to go on from; None for the beginning."""
        words = self.run_of.start.words
        if self.rules.fresh:
            self._forget_all()
            self.history = RunHistory(words, written=self.history.written)
        else:
            local = local_image(self.run_of, self.history.last)
            if local is not None:
                return local
        for old in self.run_of.place.glob(IMAGES):
            remove_image(old)
        return newest_checkpoint(
            self.vault, self.rules.saving.label, self.history.last, self.run_of.place,
            self._fall_short,
        )  # fmt: skip

    def _start(self, held: HeldProgram, lease: RunLease, found: ResumePoint | None) -> None:
        words = self.run_of.start.words
        if found is None:
            for path in self.run_of.start.output:
                path.write_bytes(b"")
            self._printed = [(path, 0) for path in self.run_of.start.output]
            self.way.begin(held, self.run_of.start)
            self._say("started from its beginning")
        else:
            self._go_on(held, lease, found)
        self._began = time.monotonic()
        self._saved = self._before
        self.history = replace(self.history, words=words, starts=self.history.starts + 1)
        self._write_history()

    def _go_on(self, held: HeldProgram, lease: RunLease, found: ResumePoint) -> None:
        image = found.image
        told = ImageTold.read(image)
        start = self.run_of.start
        self._check_words(told.words, f"saved by {told.method}")
        if told.method != self.way.name:
            raise InputError(f"{self.run_of.name} was saved by {told.method}, not by "
                             f"{self.way.name}; choose another {{name}}, or start over with "
                             "{fresh}")  # fmt: skip
        self._printed = printed(told, image, start.output)
        begun = time.monotonic()
        try:
            self.way.go_on(held, start, image, told, found.name)
        except RunError:
            if found.local:  # what is in the vault was checked
                remove_image(image.parent)
            raise
        took = time.monotonic() - begun
        lost = max(self.history.ran, lease.left_at or 0.0) - told.ran
        gone = lease.left_at is not None
        self._before = told.ran
        self.history = replace(
            self.history, lost=self.history.lost + max(0.0, lost),
            evictions=self.history.evictions + gone, ran=told.ran,
        )  # fmt: skip
        what = found.name if found.local else f"checkpoint {found.name}"
        self._say(
            f"continued from {what} after {told.ran:.1f} s of running; {max(0.0, lost):.1f} s are "
            f"repeated; back in {took:.1f} s"
        )
        if found.local:
            self._slot = int(image.parent.name.removeprefix("image-"))
            self._begin_upload(Image(image, told.ran, 0.0))
        else:
            remove_image(image.parent)

    def _forget_all(self) -> None:
        for one in self.vault.manifests(self.rules.saving.label):
            forget(self.vault, one.name)

    # ------------------------------------------------------------------------------------ loop

    def _drive(self, held: HeldProgram, lease: RunLease) -> None:
        """Wait for the end of the program, or for somebody who asks for it, and save meanwhile."""
        calls, self._leaves = self._calls, ""
        while held.code is None and not (calls.ending or self._leaves or lease.lost.is_set()):
            ready = select.select([held.fileno(), calls.fileno()], [], [], self._pause())[0]
            if held.fileno() in ready:
                held.hear()
            if calls.fileno() in ready:
                calls.heard()
            self._settle()
            if signal.SIGUSR1 in calls.got:
                if self.around.requeues:
                    return
                calls.got.remove(signal.SIGUSR1)
                self._save_now(held, "it was asked for by SIGUSR1")
            if held.code is None and not calls.ending:
                self._look(held)
                if time.monotonic() >= self._retry_at:
                    self._leaves = self.around.leaving()
        if lease.lost.is_set():
            held.kill()
            raise RunError(f"{self.run_of.name} was taken over by another host: this one sent "
                           f"no heartbeat for {self.rules.life:.0f} s")  # fmt: skip

    def _pause(self) -> float:
        """Return how long nothing need be looked at."""
        if self._upload is not None:
            return LOOK
        return min(LOOK, max(0.01, self._choice().interval - (self.ran - self._saved)))

    def _look(self, held: HeldProgram) -> None:
        word = asked(self.run_of.place)
        if word is not None:
            self._waiting.append(word)
            if not self._save_now(held, "it was asked for"):
                self._answer_all("the program could not be saved")
        elif self._upload is None and time.monotonic() >= self._retry_at:
            choice = self._choice()
            if choice.save:
                self._save_now(held, choice.why)
            elif self.ran - self._saved >= choice.interval:
                self._once(choice.why)

    def _choice(self) -> SaveChoice:
        work = self.ran - self._saved
        if self.rules.every is not None:
            return by_interval(self.rules.every, work)
        return by_risk(self.cost, self.around.outlook(self.history), work)

    # ----------------------------------------------------------------------------------- saves

    def _save_now(self, held: HeldProgram, why: str) -> bool:
        """Make an image and begin to upload it; returns whether that was done."""
        if self._upload is not None:
            self._upload.join()
            self._settle()
        image = self._image(held, last=False)
        if image is None:
            return False
        self._say(f"saved: {why}; paused for {image.pause:.2f} s")
        self._begin_upload(image)
        return True

    def _begin_upload(self, image: Image) -> Upload:
        keeping = KeptNewest(self.rules.keep, tuple(self._made))
        self._upload = Upload(self.vault, image, self.rules.saving, keeping, self._calls.wake)
        self._upload.start()
        return self._upload

    def _image(self, held: HeldProgram, *, last: bool) -> Image | None:
        """Save the program on this host; None where that fails, which is told. The last image may
        be as large as it is: there is no other."""
        if held.code is not None or not (last or self._room()):
            return None
        self._slot = 1 - self._slot
        place = self.run_of.place / f"image-{self._slot}"
        ran = self.ran
        try:
            folder = fresh_image(place)
            kept = self.way.save(held, folder, last=last)
            start = self.run_of.start
            told = ImageTold(self.run_of.name, start.words, str(start.cwd), self.way.name,
                             kept.paths, ran, boot_id(), self.history.last)  # fmt: skip
            told.write(folder)
            image = Image(folder, ran, kept.pause)
            self._size = size_of(folder)
            if self._size > self.rules.local and not last:
                raise RunError(f"its image takes {self._size:,} bytes here, and may take "
                               f"{self.rules.local:,}")  # fmt: skip
        except (ForestallError, OSError) as error:
            if held.code is None:
                self._say(f"not saved: {error}")
                self._save_failed(str(error))
            remove_image(place)
            return None
        self._still += image.pause
        self.history = replace(self.history, still=self.history.still + image.pause)
        return image

    def _room(self) -> bool:
        """Return whether an image as large as the last one has room here."""
        place = self.run_of.place
        there, free = size_of(place), shutil.disk_usage(place).free
        if there + self._size <= self.rules.local and self._size <= free:
            return True
        most = min(self.rules.local, there + free)
        why = f"images would take {there + self._size:,} bytes here, and may take {most:,}"
        self._once(f"not saved: {why}")
        self._save_failed(why)
        return False

    def _save_failed(self, why: str) -> None:
        self._retry_at = time.monotonic() + AGAIN
        self.failed_saves, self._why_failed = self.failed_saves + 1, why

    def _settle(self) -> None:
        """Take in an upload that came to its end."""
        upload = self._upload
        if upload is None or upload.is_alive():
            return
        upload.join()
        self._upload = None
        if upload.image.pause:
            self.cost = self.cost.after(upload.image.pause, upload.overhead)
        if upload.made is None:
            self._say(f"not in the vault: {upload.why}")
            if not upload.cancelled:
                self._save_failed(upload.why)
        else:
            remove_image(upload.image.folder.parent)
            self._saved = upload.image.ran
            self._made.append(upload.made.name)
            self._say(f"checkpoint {upload.made.name} is in the vault")
            figures, old = upload.made.figures, self.history
            self.history = replace(
                old, saves=old.saves + 1, read=old.read + upload.made.size,
                stored=old.stored + int(figures.get("stored", 0)), ran=self.ran,
                last=upload.made.name,
            )  # fmt: skip
            self._write_history()
        if upload.said:
            self._fall_short(f"old checkpoints are not removed: {upload.said}")
        self._answer_all(upload.why)

    def _answer_all(self, why: str) -> None:
        if not self._waiting:
            return
        self._answered.extend((word, why) for word in self._waiting)
        self._waiting.clear()
        with suppress(OSError):
            answer(self.run_of.place, self._answered)

    # ------------------------------------------------------------------------------------- end

    def _end(self, held: HeldProgram) -> bool:
        """Save a program for the last time that is asked to end, and end it. False: it was only to
        leave this host, and goes on here, as it could not be saved."""
        if held.code is not None:
            self._over_by_itself(held.code)
            return True
        got = None if self._leaves else self._calls.got[0]
        if got is None:
            self._say(f"leaves this host: {self._leaves}")
        image = self._image(held, last=True)
        if image is None and self._ended_meanwhile(held):
            return True
        if image is None and got is None:
            return False  # `_retry_at` says when that is tried again
        self._finish(held)
        saved = image is not None and self._last_upload(image)
        self.code = UNFINISHED if saved or got is None else 128 + got
        why = "left" if got is None else f"ended by {got.name}"
        self._say(f"{why}, " + (
            "saved: the same command continues it" if saved else "not saved"))  # fmt: skip
        self.requeue = saved and got in (signal.SIGUSR1, None) and self.around.requeues
        return True

    def _ended_meanwhile(self, held: HeldProgram) -> bool:
        """Take in that the program came to its end instead of being saved, where it did."""
        code = held.code
        if code is not None:
            self._over_by_itself(code)
        return code is not None

    def _last_upload(self, image: Image) -> bool:
        self._before = image.ran
        if self._upload is not None:
            self._upload.join()
            self._settle()
        upload = self._begin_upload(image)
        while upload.is_alive():
            select.select([self._calls], [], [], LOOK)
            self._calls.heard()
            if len(self._calls.ending) > 1 and signal.SIGINT in self._calls.ending[1:]:
                upload.cancel()
        self._settle()
        return upload.made is not None

    def _finish(self, held: HeldProgram) -> None:
        """End the program: politely where it was not saved as it is."""
        self._before, self._began, self._still = self.ran, None, 0.0
        if held.code is None and not self.way.alone:
            held.send(signal.SIGTERM)
            held.wait(self.rules.patience)
        held.kill()
        if held.code is None:
            held.wait(self.rules.patience)

    def _over_by_itself(self, code: int) -> None:
        """Take in that the program came to its end."""
        self._before, self._began, self._still = self.ran, None, 0.0
        self.code = code
        if self._upload is not None:
            self._upload.cancel() if code == 0 else None
            self._upload.join()
            self._settle()
        if code == 0 and not self._calls.ending:  # else the same signal may have ended it
            self.history = replace(self.history, code=0)
        elif code > 128:
            self.history = replace(self.history, evictions=self.history.evictions + 1)
        self._say(f"ended with code {code}")

    def _abandon(self) -> None:
        """Wait for nothing any more, and leave nothing here that has no use."""
        if self._upload is not None:
            self._upload.cancel()
            self._upload.join()
        for old in self.run_of.place.glob(f"*{BACK}-*"):
            shutil.rmtree(old, ignore_errors=True)

    def _close(self) -> None:
        """Write down what became of it; checkpoints of a program that finished go after that."""
        if self.failed_saves:
            made = counted(len(self._made), "checkpoint") if self._made else "no checkpoint"
            failed = counted(self.failed_saves, "save")
            self.shortfalls.insert(0, f"{failed} failed, {made} reached the vault; the last "
                                      f"failure: {self._why_failed}")  # fmt: skip
        self.history = replace(self.history, ran=self.ran)
        if self._write_history() and self.history.code == 0:
            for old in self.run_of.place.glob(IMAGES):
                remove_image(old)
            try:
                self._forget_all()
            except ForestallError as error:
                self._fall_short(f"its checkpoints are not removed: {error}")

    def _write_history(self) -> bool:
        self.history = replace(self.history, written=self.history.written + 1)
        try:
            write_history(self.vault, self.run_of.name, self.history)
        except HostError as error:
            self._fall_short(f"its history was not written: {error}")
            return False
        return True

    # ------------------------------------------------------------------------------------ talk

    def _say(self, text: str) -> None:
        self.around.say(f"{self.run_of.name}: {text}")

    def _fall_short(self, text: str) -> None:
        """Say what was promised and is not kept, now and at the end."""
        self._once(text)
        if text not in self.shortfalls:
            self.shortfalls.append(text)

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(text)
