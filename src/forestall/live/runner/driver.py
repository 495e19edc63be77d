"""The driver: runs a program, saves it at the right moments, and goes on with it."""

from __future__ import annotations

import fcntl
import os
import secrets
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from forestall.decide.vault.moments import Choice, Cost, Outlook, by_interval, by_risk
from forestall.live.guest.follow import Writer, followed
from forestall.live.runner.calls import Calls, answer, asked
from forestall.live.runner.held import Held, RunError
from forestall.live.runner.images import (
    FOLDER,
    ImageTold,
    fresh_image,
    size_of,
)
from forestall.live.runner.upload import Image, Upload
from forestall.live.runner.ways import Start, Way
from forestall.model.errors import ForestallError, InputError
from forestall.vault.collecting import forget
from forestall.vault.hosts.host import HostError
from forestall.vault.manifests import Manifest
from forestall.vault.pool import LostError
from forestall.vault.recovery import restore
from forestall.vault.repository import Vault
from forestall.vault.runs import RunHistory, RunLease, read_history, write_history
from forestall.vault.saving import SaveSettings

UNFINISHED: Final = 75
"""Exit code of a program that was saved and ended on request; the same command goes on with it."""
LOOK: Final = 0.5
"""s between two looks at most."""
BACK: Final = "back"
OUTPUT: Final = ("stdout", "stderr")
LOCK: Final = "lock"


@dataclass(frozen=True)
class RunRules:
    """How a program is run.

    Attributes
    ----------
    every : s of work between saves; None: by cost and risk; inf: only when asked
    keep : checkpoints that stay
    local : bytes that images may take on this host
    patience : s between SIGTERM and SIGKILL
    life : s without a sign of life after which another host may take the program over
    fresh : begin it again, whatever was saved
    save : how images are saved; its label is the run's
    """

    every: float | None = None
    keep: int = 3
    local: int = 1 << 40
    patience: float = 5.0
    life: float = 30.0
    fresh: bool = False
    save: SaveSettings = field(default_factory=SaveSettings)


@dataclass(frozen=True)
class Run:
    """What is run.

    Attributes
    ----------
    name : by which it is found again
    start : the program
    place : folder of its images, here
    """

    name: str
    start: Start
    place: Path


@dataclass
class Surroundings:
    """What a driver asks and tells.

    Attributes
    ----------
    outlook : returns how likely a failure is, from the run's history
    say : takes lines for people
    show : take what the program prints, where that goes into files
    requeues : whether a batch system starts this again, so that SIGUSR1 ends the program
    """

    outlook: Callable[[RunHistory], Outlook]
    say: Callable[[str], None] = lambda line: None
    show: tuple[Writer, ...] = ()
    requeues: bool = False


class Driver:
    """Runs one program until it ends.

    Attributes
    ----------
    history : what became of the run, this time included
    code : the exit code of the whole
    requeue : whether the batch system should start it again
    """

    def __init__(
        self, vault: Vault, run: Run, way: Way, rules: RunRules, around: Surroundings
    ) -> None:
        self.vault, self.run_of, self.way, self.rules, self.around = vault, run, way, rules, around
        self.history = RunHistory()
        self.cost = Cost()
        self.code, self.requeue = 0, False
        self._calls = Calls()
        self._upload: Upload | None = None
        self._waiting: list[str] = []  # words of those who asked for the save under way
        self._began: float | None = None
        self._before = self._saved = self._still = 0.0
        self._retry_at = 0.0
        self._told: set[str] = set()
        self._slot = 0

    @property
    def ran(self) -> float:
        """s that the program ran in all, without the times that had to be run again."""
        now = 0.0 if self._began is None else time.monotonic() - self._began - self._still
        return self._before + now

    # ----------------------------------------------------------------------------------- whole

    def run(self) -> int:
        """Run the program to its end, or until this is asked to end; return the exit code.

        Raises BusyError where another one runs it, LostError where too little of its checkpoints is
        left, StartError and RunError where it cannot be started or brought back.
        """
        place = self.run_of.place
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lease = RunLease(self.vault, self.run_of.name, self.rules.life, lambda: self.ran)
        with _locked(place), self._calls.listening():
            lease.take(self.around.say)
            try:
                with Held(alone=self.way.alone) as held:
                    self._start(held, lease)
                    with followed(self._shown()):
                        self._drive(held, lease)
                        self._end(held)
                    self._close(lease)
            finally:
                lease.close()
                for old in place.glob(f"*{BACK}-*"):
                    shutil.rmtree(old, ignore_errors=True)
        return self.code

    def _shown(self) -> list[tuple[Path, Writer]]:
        return list(zip(self._output(), self.around.show, strict=False))

    def _output(self) -> tuple[Path, ...]:
        return self.run_of.start.output

    # ----------------------------------------------------------------------------------- start

    def _start(self, held: Held, lease: RunLease) -> None:
        self.history = read_history(self.vault, self.run_of.name)
        words = self.run_of.start.words
        if self.rules.fresh or self.history.code is not None:
            if self.history.code is not None:
                self._say("it has finished before; it begins again")
            self._forget_all()
            self.history = RunHistory(words)
        found = self._found()
        if found is None:
            for path in self._output():
                path.write_bytes(b"")
            self.way.begin(held, self.run_of.start)
            self._say("started from its beginning")
        else:
            self._go_on(held, lease, *found)
        self._began = time.monotonic()
        self._saved = self._before
        self.history = replace(self.history, words=words, starts=self.history.starts + 1)
        self._write_history()

    def _go_on(self, held: Held, lease: RunLease, made: Manifest, image: Path) -> None:
        told = ImageTold.read(image)
        start = self.run_of.start
        if told.words != start.words or told.method != self.way.name:
            ours, theirs = " ".join(start.words), " ".join(told.words)
            raise InputError(f"{self.run_of.name} is another program: {theirs!r}, saved by "
                             f"{told.method}, not {ours!r} by {self.way.name}; give it another "
                             "{name}, or begin again by {fresh}")  # fmt: skip
        begun = time.monotonic()
        self.way.go_on(held, start, image, told, made.name)
        took = time.monotonic() - begun
        lost = max(self.history.ran, lease.left_at or 0.0) - told.ran
        gone = lease.left_at is not None
        self._before = told.ran
        self.history = replace(
            self.history, lost=self.history.lost + max(0.0, lost),
            evictions=self.history.evictions + gone, ran=told.ran,
        )  # fmt: skip
        self._say(f"went on from checkpoint {made.name} after {told.ran:.1f} s of running; "
                  f"{max(0.0, lost):.1f} s are run again; back in {took:.1f} s")  # fmt: skip
        shutil.rmtree(image.parent, ignore_errors=True)

    def _found(self) -> tuple[Manifest, Path] | None:
        """Return the newest checkpoint that can be recovered, and its image here. Raises LostError
        where there are some, and none can be."""
        first: LostError | None = None
        for one in reversed(self.vault.manifests(self.rules.save.label)):
            to = self.run_of.place / f"{BACK}-{secrets.token_hex(4)}"
            try:
                restore(self.vault, one.name, to)
            except LostError as error:
                self._say(f"checkpoint {one.name} cannot be recovered: {error}")
                first = first or error
                continue
            return one, to / FOLDER
        if first is not None:
            raise first
        return None

    def _forget_all(self) -> None:
        for one in self.vault.manifests(self.rules.save.label):
            forget(self.vault, one.name)

    # ------------------------------------------------------------------------------------ loop

    def _drive(self, held: Held, lease: RunLease) -> None:
        """Wait for the end of the program, or for somebody who asks for it, and save meanwhile."""
        calls = self._calls
        while held.code is None and not calls.ending and not lease.lost.is_set():
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
        if lease.lost.is_set():
            held.kill()
            raise RunError(f"{self.run_of.name} was taken over by another host: this one gave no "
                           f" sign of life for {self.rules.life:.0f} s")  # fmt: skip

    def _pause(self) -> float:
        """Return how long nothing need be looked at."""
        if self._upload is not None:
            return LOOK
        return min(LOOK, max(0.01, self._choice().interval - (self.ran - self._saved)))

    def _look(self, held: Held) -> None:
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

    def _choice(self) -> Choice:
        work = self.ran - self._saved
        if self.rules.every is not None:
            return by_interval(self.rules.every, work)
        return by_risk(self.cost, self.around.outlook(self.history), work)

    # ----------------------------------------------------------------------------------- saves

    def _save_now(self, held: Held, why: str) -> bool:
        """Make an image and begin to upload it; returns whether that was done."""
        if self._upload is not None:
            self._upload.join()
            self._settle()
        image = self._image(held, last=False)
        if image is None:
            return False
        self._say(f"saved: {why}; it stood still for {image.pause:.2f} s")
        self._upload = Upload(
            self.vault, image, self.rules.save, self.rules.keep, self._calls.wake
        )  # fmt: skip
        self._upload.start()
        return True

    def _image(self, held: Held, *, last: bool) -> Image | None:
        """Save the program on this host; None where that fails, which is told."""
        if held.code is not None or not self._room():
            return None
        self._slot = 1 - self._slot
        place = self.run_of.place / f"image-{self._slot}"
        ran = self.ran
        try:
            folder = fresh_image(place)
            kept = self.way.save(held, folder, last=last)
            start = self.run_of.start
            told = ImageTold(self.run_of.name, start.words, str(start.cwd), self.way.name,
                             kept.paths, ran, kept.facts)  # fmt: skip
            told.write(folder)
            image = Image(folder, ran, kept.pause, size_of(folder))
        except (ForestallError, OSError) as error:
            self._retry_at = time.monotonic() + 10
            if held.code is None:
                self._say(f"not saved: {error}")
            shutil.rmtree(place, ignore_errors=True)
            return None
        self._still += image.pause
        self.history = replace(self.history, still=self.history.still + image.pause)
        return image

    def _room(self) -> bool:
        """Return whether an image as large as the last one has room here."""
        place = self.run_of.place
        there = size_of(place)
        last = max((size_of(one) for one in place.glob("image-*")), default=0)
        free = shutil.disk_usage(place).free
        if there + last > self.rules.local or last > free:
            self._retry_at = time.monotonic() + 10
            self._once(f"not saved: images have {there + last:,} bytes here, and may have "
                       f"{min(self.rules.local, there + free):,}")  # fmt: skip
            return False
        return True

    def _settle(self) -> None:
        """Take in an upload that came to its end."""
        upload = self._upload
        if upload is None or upload.is_alive():
            return
        upload.join()
        self._upload = None
        shutil.rmtree(upload.image.folder.parent, ignore_errors=True)
        self.cost = self.cost.after(upload.image.pause, upload.overhead)
        if upload.made is None:
            self._retry_at = time.monotonic() + 10
            self._say(f"not in the vault: {upload.why}")
        else:
            self._saved = upload.image.ran
            figures, old = upload.made.figures, self.history
            self.history = replace(
                old, saves=old.saves + 1, read=old.read + upload.made.size,
                stored=old.stored + int(figures.get("stored", 0)), ran=self.ran,
            )  # fmt: skip
            self._write_history()
        if upload.said:
            self._once(f"old checkpoints stay: {upload.said}")
        self._answer_all(upload.why)

    def _answer_all(self, why: str) -> None:
        for word in self._waiting:
            with suppress(OSError):
                answer(self.run_of.place, word, why)
        self._waiting.clear()

    # ------------------------------------------------------------------------------------- end

    def _end(self, held: Held) -> None:
        """Save a program for the last time that is asked to end, and end it."""
        if held.code is not None:
            self._over_by_itself(held.code)
            return
        got = self._calls.got[0]
        image = self._image(held, last=True)
        if image is None and self._ended_meanwhile(held):
            return
        self._finish(held)
        saved = image is not None and self._last_upload(image)
        self.code = UNFINISHED if saved else 128 + got
        self._say(f"ended by {got.name}, " + (
            "saved: the same command goes on with it" if saved else "not saved"))  # fmt: skip
        self.requeue = saved and got is signal.SIGUSR1

    def _ended_meanwhile(self, held: Held) -> bool:
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
        upload = Upload(self.vault, image, self.rules.save, self.rules.keep, self._calls.wake)
        upload.start()
        while upload.is_alive():
            select.select([self._calls], [], [], LOOK)
            self._calls.heard()
            if len(self._calls.ending) > 1 and signal.SIGINT in self._calls.ending[1:]:
                upload.cancel()
        self._upload = upload
        self._settle()
        return upload.made is not None

    def _finish(self, held: Held) -> None:
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
        if code == 0:
            self.history = replace(self.history, code=0)
        elif code > 128:
            self.history = replace(self.history, evictions=self.history.evictions + 1)
        self._say(f"ended with code {code}")

    def _close(self, lease: RunLease) -> None:
        self.history = replace(self.history, ran=self.ran)
        self._write_history()
        if self.history.code == 0:
            with suppress(ForestallError):
                self._forget_all()

    def _write_history(self) -> None:
        try:
            write_history(self.vault, self.run_of.name, self.history)
        except HostError as error:
            self._once(f"its history was not written: {error}")

    # ------------------------------------------------------------------------------------ talk

    def _say(self, text: str) -> None:
        self.around.say(f"{self.run_of.name}: {text}")

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(text)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold a folder's lock. Raises InputError where another process has it."""
    handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{place.name} runs already on this host") from None
        yield
    finally:
        os.close(handle)


def is_driven(place: Path) -> bool:
    """Return whether a driver is at work on a folder."""
    try:
        with _locked(place):
            return False
    except InputError:
        return True
    except OSError:
        return False
