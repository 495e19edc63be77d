"""Saving a program as it is, by CRIU: with its memory, its threads, all that it started, and the
files that it writes to, as they were when all stood still."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from forestall.vaults.acting.held import HeldProgram, RunError
from forestall.vaults.acting.images import PROCESS, ImageTold, keep_files, put_back
from forestall.vaults.acting.ways import ProgramStart, SavedState, SavingWay
from forestall.vaults.adapters.criu import command


@dataclass(frozen=True)
class CriuWay(SavingWay):
    """CRIU.

    Parameters
    ----------
    program : the command
    files : saved along with those that the program writes to, such as what it only reads
    timeout : s after which it was not saved
    """

    program: str = "criu"
    files: tuple[Path, ...] = ()
    timeout: float = 600.0
    name: ClassVar[str] = "criu"
    alone: ClassVar[bool] = True

    def save(self, held: HeldProgram, image: Path, *, last: bool) -> SavedState:
        """Save the processes; the files are copied while they stand still."""
        folder, place = image / PROCESS, image.parent
        folder.mkdir(mode=0o700)
        hook = place / command.HOOK
        command.write_hook(hook)
        begun = time.monotonic()
        with _pipes(place) as (frozen, go):
            variables = {"FORESTALL_FROZEN": str(frozen), "FORESTALL_GO": str(go)}
            words = command.dump(self.program, held.pid, folder, hook, last=last)
            tool = held.begin_tool(words, variables, place / "criu.log")
            still = self._frozen(held, tool, frozen, begun)
            paths: tuple[str, ...] = ()
            try:
                if still:
                    wanted = [*map(Path, held.open_files()), *self.files]
                    paths = keep_files(list(dict.fromkeys(wanted)), image)
            except BaseException:
                _answer(go, "stop")
                held.wait_tool(tool, self.timeout)
                raise
            if still:
                _answer(go, "go")
            code = held.wait_tool(tool, self.timeout)
        if code or not still:
            said = f"takes longer than {self.timeout:g} s" if code is None else command.failure(
                folder / command.DUMP_LOG)  # fmt: skip
            raise RunError(f"criu dump: {said}")
        (folder / command.DUMP_LOG).unlink(missing_ok=True)
        pause = command.frozen_time(folder)
        return SavedState(paths, time.monotonic() - begun if pause is None else pause)

    def _frozen(self, held: HeldProgram, tool: int, frozen: Path, begun: float) -> bool:
        """Wait until all stands still; False where CRIU gave up before."""
        handle = os.open(frozen, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while held.tool_code(tool) is None and not held.gone:
                ready = select.select([handle, held.fileno()], [], [], 1.0)[0]
                if handle in ready and os.read(handle, 64):
                    return True
                if held.fileno() in ready:
                    held.hear()
                if time.monotonic() - begun > self.timeout:
                    return False
            return False
        finally:
            os.close(handle)

    def go_on(
        self, held: HeldProgram, start: ProgramStart, image: Path, told: ImageTold, name: str
    ) -> None:
        """Put the files back and bring the processes back. Raises RunError."""
        put_back(told, image)
        folder, place = image / PROCESS, image.parent
        pidfile = place / command.PIDFILE
        pidfile.unlink(missing_ok=True)
        words = command.restore(self.program, folder, pidfile)
        code = held.wait_tool(held.begin_tool(words, {}, place / "criu.log"), self.timeout)
        if code is None:
            raise RunError(f"criu restore: takes longer than {self.timeout:g} s")
        if code:
            raise RunError(f"criu restore: {command.failure(folder / command.RESTORE_LOG)}")
        try:
            pid = int(pidfile.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise RunError(f"criu restore: its report cannot be read: {error}") from None
        held.adopt(pid)


@contextmanager
def _pipes(place: Path) -> Iterator[tuple[Path, Path]]:
    """Give two named pipes by which the hook and we talk."""
    frozen, go = place / "frozen", place / "go"
    for path in (frozen, go):
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
    try:
        yield frozen, go
    finally:
        for path in (frozen, go):
            path.unlink(missing_ok=True)


def _answer(go: Path, word: str) -> None:
    """Tell the hook; where it is gone there is nobody to be told."""
    with suppress(OSError):
        handle = os.open(go, os.O_RDWR | os.O_NONBLOCK)  # never waits for a reader
        try:
            os.write(handle, f"{word}\n".encode())
            late = time.monotonic() + 10
            while time.monotonic() < late and _unread(handle):
                time.sleep(0.001)
        finally:
            os.close(handle)


def _unread(handle: int) -> bool:
    return bool(select.select([handle], [], [], 0)[0])
