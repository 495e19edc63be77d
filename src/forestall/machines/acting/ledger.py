"""What was decided and what came of it: lines of JSON that are only ever added to."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from forestall.core.files.atomic import flush
from forestall.core.files.documents import json_of
from forestall.core.model.errors import TraceError, of_system

Entry = Mapping[str, Any]
_NUMBER = (int, float)
_MAYBE = (int, float, type(None))
_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "started": {"machine": str, "runtime": _MAYBE, "deadline": _MAYBE},
    **{what: {"machine": str} for what in ("ended", "stopped", "lost", "move", "stays")},
    **{what: {"node": str} for what in ("node failed", "node recovered")},
}
"""What an entry must have beside `time` and `what`, of those that are read again."""


class MachineLedger:
    """A file of entries, each on the disk before the call that adds it returns.

    A process that dies while it writes leaves half a line at the end: that is not read, and goes
    when the next entry is added. Several processes may add to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = self._lines = 0
        self._skipped: list[int] = []

    def add(self, what: str, time: float, **facts: Any) -> Entry:
        """Add an entry and return it. Raises TraceError where it cannot be written."""
        entry = {"time": round(time, 3), "what": what, **facts}
        append_line(self.path, json.dumps(entry, allow_nan=False, ensure_ascii=False))
        return entry

    def news(self) -> list[Entry]:
        """Return the whole entries that were added since the last call, by anyone, oldest first.

        Lines that are no entries are left out; `skipped` tells of them. Raises TraceError where the
        file cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
                self._read += len(whole) + 1 if whole else 0
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TraceError(self.path, f"cannot be read: {error.strerror or error}") from None
        entries = []
        for line in whole.split(b"\n") if whole else ():
            self._lines += 1
            entry = _entry(line)
            if entry is None:
                self._skipped.append(self._lines)
            else:
                entries.append(entry)
        return entries

    def skipped(self) -> str:
        """Return which lines were left out, in one line; empty where none was."""
        return skipped_text(self.path, self._skipped, "not an entry of a ledger")


def skipped_text(path: Path, lines: list[int], what: str) -> str:
    """Return which lines of a file were left out: the first of them, and how many."""
    if not lines:
        return ""
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return f"{path}:{lines[0]}: {what}{more}; left out"


def append_line(path: Path, line: str, *, head: str = "", end_torn: bool = False) -> None:
    """Add a line to a file, on the disk before this returns; others that do so wait meanwhile.

    Half a line at the end of the file goes, or is ended as if it were whole (`end_torn`). An empty
    file begins with the line `head`. Raises TraceError where the file cannot be written.
    """
    with of_system(path, "cannot be written"), path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not end_torn:
            _cut_torn_line(file.fileno())
        size = os.fstat(file.fileno()).st_size
        if not size and head:
            line = f"{head}\n{line}"
        elif size and os.pread(file.fileno(), 1, size - 1) != b"\n":
            line = f"\n{line}"
        file.write(f"{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())
        if not size:
            flush(path.parent)


def _entry(line: bytes) -> Entry | None:
    try:
        entry = json_of(line)
        fields = {"time": _NUMBER, **_FIELDS.get(entry["what"], {})}
        if isinstance(entry["what"], str) and all(
            isinstance(entry[name], kind) for name, kind in fields.items()
        ):
            return dict(entry)
    except (ValueError, KeyError, TypeError):
        pass
    return None


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
