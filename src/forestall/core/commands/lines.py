"""What a manager of processes says, as it comes."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from forestall.core.commands import UNUSABLE, complain
from forestall.core.commands.screen import say

Writer = Callable[[bytes], None]


class Lines:
    """Prints what a manager says as it comes, on standard error; if quiet, only why there is no
    guest. A terminal or a reader that went away ends the printing, never the guest."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._last = quiet, ""

    def __call__(self, line: str) -> None:
        self._last = line
        if not self._quiet:
            say(line, error=True)
            sys.stderr.flush()

    def always(self, line: str) -> None:
        """Print a line that quiet does not keep back."""
        say(line, error=True)
        sys.stderr.flush()

    def shown(self, output: str) -> tuple[Writer, Writer] | None:
        """Return what shows the guest's output and errors here."""
        if output == "file":
            return None
        return (functools.partial(_copy, sys.stdout), functools.partial(_copy, sys.stderr))

    def end(self, code: int) -> int:
        """Return the exit code."""
        return complain(self._last) if self._quiet and code == UNUSABLE else code


def _copy(stream: TextIO, chunk: bytes) -> None:
    with _still_there(stream):
        stream.buffer.write(chunk)
        stream.buffer.flush()


@contextmanager
def _still_there(stream: TextIO) -> Iterator[None]:
    """Print; where nobody reads any more, what is printed from now on goes nowhere: the rest that
    is kept of it must not raise again at the end. Raises OSError."""
    try:
        yield
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
        raise
