"""What was decided and what came of it: lines of JSON that are only ever added to."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forestall.model.errors import TraceError

Entry = Mapping[str, Any]


class Ledger:
    """A file of entries, each on the disk before the call that adds it returns.

    A process that dies while it writes leaves half a line at the end: that is not read, and goes
    when the next entry is added. Several processes may add to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = self._lines = 0

    def add(self, what: str, time: float, **facts: Any) -> Entry:
        """Add an entry and return it. Raises TraceError where it cannot be written."""
        entry = {"time": round(time, 3), "what": what, **facts}
        line = json.dumps(entry, allow_nan=False, ensure_ascii=False) + "\n"
        try:
            with self.path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                _cut_torn_line(file.fileno())
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise TraceError(self.path, f"cannot be written: {error.strerror or error}") from None
        return entry

    def news(self) -> list[Entry]:
        """Return the whole entries that were added since the last call, by anyone, oldest first.

        Raises TraceError for a line that is no entry.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TraceError(self.path, f"cannot be read: {error.strerror or error}") from None
        if not whole:
            return []
        lines = whole.split(b"\n")
        entries = [self._entry(line, self._lines + k) for k, line in enumerate(lines, 1)]
        self._read += len(whole) + 1
        self._lines += len(lines)
        return entries

    def _entry(self, line: bytes, number: int) -> Entry:
        try:
            entry = json.loads(line)
            if isinstance(entry["what"], str) and isinstance(entry["time"], int | float):
                return dict(entry)
        except (ValueError, KeyError, TypeError):
            pass
        raise TraceError(
            self.path, "is no entry of a ledger: an object with time and what", line=number
        )


def _cut_torn_line(handle: int) -> None:
    """Cut off what follows the last whole line of a file."""
    size = end = os.fstat(handle).st_size
    while end > 0:
        begin = max(end - 4096, 0)
        found = os.pread(handle, end - begin, begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    if end < size:
        os.ftruncate(handle, end)
