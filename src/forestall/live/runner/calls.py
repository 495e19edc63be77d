"""What others ask of a driver: signals, and a file by which a process of this host asks for a
save; and the lock by which they know that there is one."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from forestall.live.runner.held import RunError
from forestall.model.errors import InputError

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


def answer(place: Path, word: str, why: str) -> None:
    """Tell whoever asked what became of it: "" where all is well. Raises OSError."""
    beside = place / f".{ANSWER}-{secrets.token_hex(4)}"
    beside.write_text(json.dumps({"word": word, "why": why}), encoding="utf-8")
    beside.replace(place / ANSWER)


def asking(place: Path) -> str:
    """Return a command for the shell that does what `ask` does and costs next to nothing, for those
    who have next to no processor; it waits for ever."""
    return (
        f'cd {shlex.quote(str(place))} && w="$$-$(date +%s)" && printf %s "$w" > ".ask-$w" && '
        f'mv ".ask-$w" {ASK} && until grep -qs "\\"$w\\"" {ANSWER}; do sleep 0.1; done && '
        f'grep -q \'"why": ""\' {ANSWER}'
    )


def ask(place: Path, timeout: float, lives: Callable[[], bool]) -> None:
    """Ask the driver of a run to save now, and wait until it did. Raises RunError."""
    word = secrets.token_hex(8)
    try:
        beside = place / f".{ASK}-{word}"
        beside.write_text(word, encoding="ascii")
        beside.replace(place / ASK)
    except OSError as error:
        raise RunError(f"{place}: {error.strerror or error}") from None
    late = time.monotonic() + timeout
    while time.monotonic() < late and lives():
        with suppress(OSError, ValueError):
            told = json.loads((place / ANSWER).read_bytes())
            if told.get("word") == word:
                if told["why"]:
                    raise RunError(f"it was not saved: {told['why']}")
                return
        time.sleep(0.05)
    with suppress(OSError):
        (place / ASK).unlink()
    gone = "nobody runs it here any more" if not lives() else f"it was not saved in {timeout:g} s"
    raise RunError(gone)


@contextmanager
def locked(place: Path) -> Iterator[None]:
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
        with locked(place):
            return False
    except InputError:
        return True
    except OSError:
        return False
