"""What others ask of a driver: signals, and a file by which a process of this host asks for a
save; and the lock by which they know that there is one."""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import InputError
from forestall.vaults.acting.held import RunError

ASK, ANSWER, LOCK = "ask", "answer", "lock"
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a program, after one more save."""
ASKING: Final = (signal.SIGUSR1,)
"""The signal that asks for a save."""


class Calls:
    """Signals that came, in order; a pipe can be read when there are new ones."""

    def __init__(self) -> None:
        self.got: list[signal.Signals] = []
        self._hear, self._tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @contextmanager
    def listening(self, numbers: Sequence[signal.Signals]) -> Iterator[None]:
        """Take these signals; those that are ignored (nohup) stay so, and in another thread than
        the main one they are others' matter."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                if signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, self._take)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def close(self) -> None:
        """Let go of its files."""
        os.close(self._hear)
        os.close(self._tell)

    def _take(self, number: int, _: object) -> None:
        self.got.append(signal.Signals(number))
        self.wake()

    def wake(self) -> None:
        """Have whoever waits look again; any thread may call it."""
        with suppress(OSError):
            os.write(self._tell, b".")

    def fileno(self) -> int:
        """The file that can be read when there is something new."""
        return self._hear

    def heard(self) -> None:
        """Wait for what comes after this."""
        with suppress(BlockingIOError):
            os.read(self._hear, 4096)

    @property
    def ending(self) -> list[signal.Signals]:
        """Those that end the program."""
        return [one for one in self.got if one in ENDING]


def asked(place: Path) -> str | None:
    """Return the word of a process that asks for a save; it is asked once. None: nobody does."""
    try:
        word = (place / ASK).read_text(encoding="ascii")
        (place / ASK).unlink()
    except OSError:
        return None
    return word


def answer(place: Path, told: Iterable[tuple[str, str]]) -> None:
    """Tell those who asked, by their words, what became of it: "" where all is well. Raises
    OSError."""
    lines = (f"{word} {' '.join(why.split())}\n" for word, why in told)
    with atomic_path(place / ANSWER, sync=False) as beside:
        beside.write_text("".join(lines), encoding="utf-8")


def asking(place: Path) -> str:
    """Return a command for the shell that does what `ask` does and costs next to nothing, for those
    who have next to no processor; it waits for ever."""
    return (
        f'cd {shlex.quote(str(place))} && w="$$-$(date +%s)" && printf %s "$w" > ".ask-$w" && '
        f'{{ until ln ".ask-$w" {ASK} 2>/dev/null; do sleep 0.1; done; rm ".ask-$w"; '
        rf'until grep -qs "^$w " {ANSWER}; do sleep 0.1; done; grep -q "^$w \$" {ANSWER}; }}'
    )


def ask(place: Path, timeout: float, lives: Callable[[], bool]) -> None:
    """Ask the driver of a run to save now, and wait until it did. Raises RunError."""
    word = secrets.token_hex(8)
    beside = place / f".{ASK}-{word}"
    late = time.monotonic() + timeout
    left = False  # one word lies there at a time, until the driver takes it
    try:
        beside.write_text(word, encoding="ascii")
        while time.monotonic() < late and lives():
            left = left or _linked(beside, place / ASK)
            why = _answered(place, word)
            if why:
                raise RunError(f"it was not saved: {why}")
            if why is not None:
                return
            time.sleep(0.05)
    except OSError as error:
        raise RunError(f"{place}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            beside.unlink()
            if left and (place / ASK).read_text(encoding="ascii") == word:
                (place / ASK).unlink()
    gone = "it no longer runs here" if not lives() else f"it was not saved in {timeout:g} s"
    raise RunError(gone)


def _linked(beside: Path, to: Path) -> bool:
    """Return whether a file got this name; False where it is taken. Raises OSError."""
    try:
        to.hardlink_to(beside)
    except FileExistsError:
        return False
    return True


def _answered(place: Path, word: str) -> str | None:
    """Return what was answered to a word; None: nothing yet."""
    with suppress(OSError):
        for line in (place / ANSWER).read_text(encoding="utf-8").splitlines():
            to, _, why = line.partition(" ")
            if to == word:
                return why
    return None


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold a folder's lock. Raises InputError where another process has it."""
    handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{place.name} already runs on this host") from None
        yield
    finally:
        os.close(handle)


def is_driven(place: Path) -> bool:
    """Return whether a driver is at work on a folder."""
    try:
        with locked(place):
            return False
    except InputError:
        return True
    except OSError:
        return False
