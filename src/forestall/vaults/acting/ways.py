"""Ways to save a program and to bring it back."""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from forestall.vaults.acting.held import HeldProgram, RunError
from forestall.vaults.acting.images import ImageTold, keep_files, put_back, signature

STABLE: Final = 0.3
"""s for which files that were written must not change to count as whole."""
LOOK: Final = 0.02
READY: Final = 10.0
"""s in which a program must have come so far that it catches the signal."""
RESTORED: Final = "FORESTALL_CHECKPOINT"
"""The variable by which a program that is started again hears from which checkpoint it goes on."""
SHELL: Final = "/bin/sh"


class SavedState(NamedTuple):
    """What became part of an image: where its files belong, and s that the program stood still."""

    paths: tuple[str, ...]
    pause: float


@dataclass(frozen=True)
class ProgramStart:
    """What is run: words, where, variables beside ours, and files for what it prints (none: it
    prints where we do)."""

    words: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    output: tuple[Path, ...] = ()


class SavingWay(ABC):
    """A way to save a program and to bring it back.

    `name` : in images; `alone` : whether the program needs process numbers of its own, and prints
    into files
    """

    name: ClassVar[str]
    alone: ClassVar[bool] = False

    def begin(self, held: HeldProgram, start: ProgramStart) -> None:
        """Start the program from its beginning. Raises StartError."""
        held.start(start.words, start.cwd, start.environment, start.output)

    @abstractmethod
    def save(self, held: HeldProgram, image: Path, *, last: bool) -> SavedState:
        """Save the program into an image; after the `last` one it is ended. Raises RunError where
        it could not be saved; it then goes on."""

    @abstractmethod
    def go_on(
        self, held: HeldProgram, start: ProgramStart, image: Path, told: ImageTold, name: str
    ) -> None:
        """Bring the program back from an image, that of the checkpoint `name`. Raises RunError."""


@dataclass(frozen=True)
class SelfSaving(SavingWay):
    """A program that saves itself into files, where it is told to: by a signal, and it is done when
    one of the files has changed and all are whole; or by a command, and it is done when that ends.

    Parameters
    ----------
    files : that it goes on from
    number : the signal; 0: by the command
    command : for the shell; FORESTALL_RUN_PID is the program's process
    timeout : s after which it was not saved
    """

    files: tuple[Path, ...]
    number: int = 0
    command: str = ""
    timeout: float = 600.0
    name: ClassVar[str] = "files"

    def save(self, held: HeldProgram, image: Path, *, last: bool) -> SavedState:
        """Tell it to save itself, wait until it did, and copy its files."""
        begun = time.monotonic()
        save = self._by_signal if self.number else self._by_command
        ended = save(held, image, begun + self.timeout)
        return SavedState(keep_files(self.files, image), ended - begun)

    def _by_signal(self, held: HeldProgram, image: Path, late: float) -> float:
        self._caught(held, min(late, time.monotonic() + READY))
        before = signature(self.files)
        held.send(self.number)
        now, since = before, time.monotonic()
        while now == before or time.monotonic() - since < STABLE:
            if held.code is not None:
                raise RunError(f"the program ended (code {held.code}) instead of saving itself")
            if time.monotonic() > late:
                what = "none of its files changed" if now == before else "its files still change"
                raise RunError(f"{what} within {self.timeout:g} s")
            held.wait(LOOK)
            seen = signature(self.files)
            if seen != now:
                now, since = seen, time.monotonic()
        return since

    def _caught(self, held: HeldProgram, late: float) -> None:
        """Wait until the program would survive the signal, as one does not that has only begun."""
        while held.code is None and not catches(held.pid, self.number):
            if time.monotonic() > late:
                name = signal.Signals(self.number).name
                raise RunError(f"the program does not catch {name}, which would end it")
            held.wait(LOOK)

    def _by_command(self, held: HeldProgram, image: Path, late: float) -> float:
        variables = {"FORESTALL_RUN_PID": str(held.pid)}
        log = image.parent / "save-command.log"
        log.unlink(missing_ok=True)
        number = held.begin_tool([SHELL, "-c", self.command], variables, log)
        code = held.wait_tool(number, late - time.monotonic())
        if code:
            raise RunError(f"the save command ended with code {code}: {last_line(log)}")
        if code is None:
            raise RunError(f"the save command takes longer than {self.timeout:g} s")
        return time.monotonic()

    def go_on(
        self, held: HeldProgram, start: ProgramStart, image: Path, told: ImageTold, name: str
    ) -> None:
        """Put its files back and start it."""
        put_back(told, image, self.files)
        variables = {**start.environment, RESTORED: name}
        held.start(start.words, start.cwd, variables, start.output)


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            mask = next(line for line in file if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


def last_line(log: Path) -> str:
    """Return the last line that is not empty of a file, what can be read of it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return "it said nothing"
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def checked_files(files: Sequence[Path]) -> tuple[Path, ...]:
    """Return files as absolute paths."""
    return tuple(Path(os.path.abspath(path)) for path in files)
