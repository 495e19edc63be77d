"""System events as they are written: the new lines of a log (journal, syslog, any form that event
logs have), since the last look at it."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from forestall.core.model.errors import InputError
from forestall.core.model.ras import RasLog
from forestall.logs.ras.read import ras_format, read_ras

MOST: Final = 16 * 2**20
"""Bytes that are read at a look, at most; of more only the last."""


class EventTail:
    """The lines that came to a file since it was last asked.

    A file that was rotated (another one of the name, or a shorter one) is read from its begin. The
    first question finds the end: what was there before is not news.

    Parameters
    ----------
    path : of the log; it need not be there yet
    form : name of its form, "" to guess it
    """

    def __init__(self, path: Path, form: str = "") -> None:
        self._path, self._form = path, form
        self._file: tuple[int, int] | None = None
        self._begun = False

    def new(self, now: int) -> RasLog | None:
        """Return what was written since the last question, by its own clock; None where nothing
        was, or nothing that is a record. `now`, s since 1970, tells the year of times without."""
        lines = self._lines()
        if not lines:
            return None
        form = self._form or ras_format(self._path) or ""
        with tempfile.NamedTemporaryFile(suffix=self._path.suffix) as room:
            room.write(lines)
            room.flush()
            year = datetime.fromtimestamp(now, UTC).year
            try:
                return read_ras(room.name, format=form or None, year=year)
            except InputError:
                return None

    def _lines(self) -> bytes:
        """Return the whole lines that are new."""
        try:
            with self._path.open("rb") as file:
                told = os.fstat(file.fileno())
                begin = self._begin(told)
                if told.st_size - begin > MOST:
                    begin = told.st_size - MOST
                file.seek(begin)
                text = file.read(MOST)
        except OSError:
            return b""
        whole = text[: text.rfind(b"\n") + 1]
        self._file = told.st_ino, begin + len(whole)
        return whole

    def _begin(self, told: os.stat_result) -> int:
        """Return from where on a file is news."""
        first, self._begun = not self._begun, True
        if first:
            return told.st_size
        if self._file is None or self._file[0] != told.st_ino or told.st_size < self._file[1]:
            return 0
        return self._file[1]
