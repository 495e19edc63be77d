"""Standard output and error as commands write to them: whatever is printed goes through here.

Names from records are text, and no codes for a terminal: what would move a cursor or turn text
around stands as an escape, and what the encoding of an output lacks gets a plain stand-in. Output
that cannot be written ends a command with an exit code of its own.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, BinaryIO, Final, TextIO

from forestall.core.show.clean import ENCODING, encodable, in_lines


class OutputError(Exception):
    """Standard output cannot be written: its disk is full, it is closed, or its reader went away.

    It is neither an OSError nor one of ours: nothing between a print and `cli.main` may take it for
    a failure of its own.

    `out` : the stream; `errno` : the system's number of what was wrong, where there is one.
    """

    def __init__(self, out: GuardedStream, error: OSError | ValueError) -> None:
        self.out = out
        self.errno = getattr(error, "errno", None)
        super().__init__(getattr(error, "strerror", None) or str(error))


class GuardedStream(io.TextIOBase):
    """A text stream in front of another one.

    `must` : raise OutputError where it cannot be written; else what cannot be is dropped: a remark
    on standard error never ends the work that it is about.
    """

    def __init__(self, under: TextIO, *, must: bool) -> None:
        super().__init__()
        self.under: Final = under
        self.own_codes = False
        self._must = must

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream behind it."""
        return getattr(self.under, "encoding", None) or "utf-8"

    @property
    def buffer(self) -> BinaryIO:
        """Where bytes go that are not ours: they are written as they are."""
        return self.under.buffer

    def write(self, text: str) -> int:
        """Write a text that is safe to show."""
        shown = text if self.own_codes else in_lines(text)
        self._do(self.under.write, encodable(shown, self.encoding))
        return len(text)

    def write_utf8(self, text: str) -> None:
        """Write a text in a format that is UTF-8 whatever the encoding of other output is."""
        if not hasattr(self.under, "buffer"):
            self.write(text)
            return
        self.flush()
        self._do(self.under.buffer.write, in_lines(text).encode())

    def flush(self) -> None:
        """Have all of it written."""
        self._do(self.under.flush)

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return not self.under.closed and self.under.isatty()

    def fileno(self) -> int:
        """Return its descriptor."""
        return self.under.fileno()

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def give_up(self) -> None:
        """Have nothing more written: Python would complain of what is left when it ends."""
        with suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.under.fileno())
            os.close(nothing)

    def close(self) -> None:
        """Leave the stream behind it open: it is not ours."""

    def _do(self, what: Any, *given: Any) -> None:
        try:
            what(*given)
        except (OSError, ValueError) as error:  # ValueError: it is closed
            if self._must:
                raise OutputError(self, error) from error
            if getattr(error, "errno", None) != errno.ENOSPC:  # a disk may have room again
                self.give_up()


@contextmanager
def own_codes() -> Iterator[None]:
    """What is printed within holds codes of our own for a terminal, and no names that were not
    cleaned."""
    streams = [one for one in (sys.stdout, sys.stderr) if isinstance(one, GuardedStream)]
    for one in streams:
        one.own_codes = True
    try:
        yield
    finally:
        for one in streams:
            one.own_codes = False


@contextmanager
def guarded() -> Iterator[GuardedStream]:
    """Have all that is printed go through `GuardedStream`; gives that of standard output."""
    _hold_descriptors()
    if isinstance(sys.stdout, GuardedStream):  # a command within a command
        yield sys.stdout
        return
    out, err = _output(sys.stdout, 1), _output(sys.stderr, 2)
    before = ENCODING.set(out.encoding)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield out
            try:
                err.under.flush()
            except (OSError, ValueError):
                err.give_up()
    finally:
        ENCODING.reset(before)


def _output(stream: TextIO | None, number: int) -> GuardedStream:
    """Return what stands before a standard stream, which is None where it was closed."""
    if stream is None:
        stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    return GuardedStream(stream, must=number == 1)


def _hold_descriptors() -> None:
    """Take the places of standard streams that were closed when we were started, with what cannot
    be read or written: no file that is opened later may get their numbers, and our output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
