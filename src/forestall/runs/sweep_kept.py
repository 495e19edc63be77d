"""Finished points of a sweep, a line each, so that a stopped sweep goes on where it was.

The first line says which sweep it is. A line that is not whole, as a machine that lost power leaves
it, does not count: its point is done again.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.folders import filling
from forestall.core.model.errors import InputError, TraceError, UnwritableError

POINTS = "points.jsonl"
ABOUT = "sweep.json"
"""Written last of all files of a sweep: where it is, they belong together."""
Measures = dict[str, Any]


class Kept:
    """The file of finished points of one sweep, held by one process at a time.

    Attributes
    ----------
    done : measures of the finished points by number
    """

    def __init__(self, folder: Path, fingerprint: str, count: int, *, force: bool = False) -> None:
        self._path = folder / POINTS
        self._fingerprint = fingerprint
        self.done: dict[int, Measures] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
        except OSError as error:
            raise TraceError(folder, f"cannot be written: {error.strerror or error}") from None
        try:
            if self._path.exists() and not force:
                self.done = read_points(self._path, fingerprint, count)
                self._write()
            else:  # the files of another sweep are none of this one's
                with filling(folder, (POINTS, ABOUT), locked=True) as fresh:
                    (fresh / POINTS).write_bytes(self._lines())
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            os.close(self._lock)
            raise TraceError(folder, f"cannot be written: {error.strerror or error}") from None
        except BaseException:
            os.close(self._lock)
            raise

    def add(self, finished: Iterable[tuple[int, Measures]]) -> None:
        """Keep some points: they are on the disk when this returns."""
        lines = []
        for number, measures in finished:
            self.done[number] = measures
            lines.append(line_of({"point": number, "measures": measures}))
        try:
            rest = memoryview(b"".join(lines))
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UnwritableError(self._path, error) from None

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if kind is None:
            self._write()
        os.close(self._lock)

    def _write(self) -> None:
        """Write the file anew, the points in order."""
        with atomic_path(self._path) as beside:
            beside.write_bytes(self._lines())

    def _lines(self) -> bytes:
        lines = [line_of({"sweep": self._fingerprint})]
        lines += [line_of({"point": k, "measures": self.done[k]}) for k in sorted(self.done)]
        return b"".join(lines)


def line_of(value: Mapping[str, Any]) -> bytes:
    """Return a line with its checksum."""
    text = json.dumps(value, allow_nan=False)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def value_of(line: bytes) -> dict[str, Any] | None:
    """Return what a line says, None where it is damaged."""
    check, _, text = line.partition(b" ")
    if not text.endswith(b"\n") or check != f"{zlib.crc32(text[:-1]):08x}".encode():
        return None
    value = json_of(text)
    return value if isinstance(value, dict) else None


def read_points(path: Path, fingerprint: str, count: int) -> dict[int, Measures]:
    """Return the whole points in a file; InputError where it is of another sweep."""
    with path.open("rb") as file:
        first = value_of(file.readline()) or {}
        if first.get("sweep") != fingerprint:
            raise InputError(
                f"{path.parent}: holds a sweep of other logs, parameters or another version; "
                "choose another folder, or use {force} to start over"
            )
        values = [value for value in map(value_of, file) if value is not None]
    return {v["point"]: v["measures"] for v in values if _is_point(v, count)}


def _is_point(told: Mapping[str, Any], count: int) -> bool:
    """Whether a line is a point and its measures; one that is none is played again."""
    point, measures = told.get("point"), told.get("measures")
    if type(point) is not int or not 0 <= point < count or not isinstance(measures, dict):
        return False
    return all(isinstance(one, int | float | str | None) for one in measures.values())


def is_sweep_folder(folder: Path) -> bool:
    """Return whether a folder holds a sweep of ours."""
    return (folder / POINTS).is_file()


def _locked(folder: Path) -> int:
    """Return a lock on a folder, held until closed; InputError where another process has it."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InputError(f"{folder}: another sweep is writing here") from None
    return lock
