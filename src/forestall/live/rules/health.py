"""What the site's own check says of nodes: a line for each, from a command or a file.

A line is ``NODE: TEXT``, also for several nodes (``n[01-04]: TEXT``). A TEXT of ``ok`` says that a
node is well; any other says what is wrong. Nodes without a line are not judged.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand

WELL: Final = "ok"
_MOST_LINES: Final = 200_000
_MOST_TEXT: Final = 160


class HealthLines(Protocol):
    """Whoever knows how nodes are."""

    def lines(self, now: int) -> Mapping[str, str] | None:
        """Return what is said of each node that was judged; None where nobody knows at the moment.
        `now` is s since 1970."""


def read_lines(text: str) -> dict[str, str]:
    """Return what lines say, by node; lines of another form say nothing.

    >>> read_lines("n1: ok\\nn[2-3]: check_fs_mount: /scratch not mounted\\n")["n3"]
    'check_fs_mount: /scratch not mounted'
    """
    found = dict[str, str]()
    for line in text.splitlines()[:_MOST_LINES]:
        names, colon, said = line.partition(": ")
        words = " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())
        if not colon or not words or not names.strip():
            continue
        try:
            found.update(dict.fromkeys(expand(names.strip()), words[:_MOST_TEXT]))
        except ParameterError:
            continue
    return found


class HealthFile:
    """Lines in a file that the site's check writes anew again and again.

    Parameters
    ----------
    old : s after which the file is too old to say anything
    wall : the clock of files, s since 1970; None: that of who asks
    """

    def __init__(
        self, path: Path, old: int = 900, *, wall: Callable[[], float] | None = None
    ) -> None:
        self._path, self._old, self._wall = path, old, wall

    def lines(self, now: int) -> Mapping[str, str] | None:
        """Return what the file says; None where it is not there, or too old."""
        try:
            at = now if self._wall is None else self._wall()
            if at - self._path.stat().st_mtime > self._old:
                return None
            return read_lines(self._path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None


class HealthCommand:
    """A command of the site's that prints lines; never run through a shell.

    Parameters
    ----------
    arguments : the program and what it is given
    every : s between two runs of it
    limit : s that it may take
    wall : the clock of `every`, s; None: that of who asks
    """

    def __init__(
        self,
        arguments: Sequence[str],
        every: int = 300,
        limit: float = 20,
        *,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._arguments, self._every, self._limit = list(arguments), every, limit
        self._wall = wall
        self._last: tuple[float, Mapping[str, str] | None] | None = None

    def lines(self, now: int) -> Mapping[str, str] | None:
        """Return what it printed last; None where it failed, or took too long."""
        at = now if self._wall is None else self._wall()
        if self._last is None or not 0 <= at - self._last[0] < self._every:
            self._last = at, self._run()
        return self._last[1]

    def _run(self) -> Mapping[str, str] | None:
        try:
            done = subprocess.run(
                self._arguments, capture_output=True, timeout=self._limit, check=True,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return None
        return read_lines(done.stdout.decode("utf-8", "replace"))
