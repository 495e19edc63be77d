"""What others ask of a driver: signals, and a file by which a process of this host asks for a
save."""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from forestall.live.runner.held import RunError

ASK, ANSWER = "ask", "answer"
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Calls:
    """Signals that came, in order; a pipe can be read when there are new ones."""

    def __init__(self) -> None:
        self.got: list[signal.Signals] = []
        self._hear, self._tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals that end a program or ask for a save; those that are ignored (nohup)
        stay so, and in another thread than the main one they are others' matter."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (*ENDING, signal.SIGUSR1):
                if signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, self._take)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
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
