"""The book of storage hosts: what this machine saw of them, in a small file that several processes
read and write, SQLite's.

    looks      (host, at): whether it answered, how loaded it was, since when it has been running
    paths      host: bytes and seconds of what was sent to it, each halved as time goes by
    downs      when this machine went down, until when
    beats      when this machine was last seen running and when before that, by which start of it
    saves      by label: when it was last saved, and bytes that were new
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import TraceError, of_system
from forestall.vaults.hosts.host import HostLook
from forestall.vaults.stores.paths import StorePath

HALF: Final = 1800.0
"""s after which what was measured of a path counts half."""
OFTEN: Final = 3600
"""s between two times that this machine was said to run, at most, for it to count as watched."""
KEPT: Final = 35 * 86_400
"""s for which looks are kept."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS looks (host TEXT, at INTEGER, answered INTEGER, load REAL, since REAL,
    PRIMARY KEY (host, at)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS paths (host TEXT PRIMARY KEY, bytes REAL, seconds REAL, at REAL);
CREATE TABLE IF NOT EXISTS downs (at INTEGER PRIMARY KEY, until INTEGER);
CREATE TABLE IF NOT EXISTS saves (label TEXT PRIMARY KEY, at INTEGER, bytes REAL);
CREATE TABLE IF NOT EXISTS beats (one INTEGER PRIMARY KEY, boot TEXT, at INTEGER, before INTEGER);
"""


class Looks(NamedTuple):
    """What was seen of a host: when (s since 1970, ascending), whether it answered (0 or 1), its
    load, and since when it had been running; nan where it is not known."""

    at: Ints
    answered: Floats
    load: Floats
    since: Floats


class StoreBook:
    """What this machine saw of storage hosts. Any thread or process may use it.

    Raises TraceError for a file that is no such book, or cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with of_system(path, "cannot be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._said():
            self._base = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._base.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def add_looks(
        self, looks: Iterable[tuple[str, int, HostLook | None]], *, over: bool = True
    ) -> None:
        """Write down what hosts said of themselves: (host, s since 1970, look); None: it did not
        answer. What was seen at the same time is written `over`, or stays."""
        rows = []
        for host, at, look in looks:
            told: tuple[float | None, ...] = (None, None)
            if look is not None:
                told = (_or_none(load_of(look)), _or_none(look.since))
            rows.append((host, at, int(look is not None), *told))
        with self._writing() as base:
            how = "REPLACE" if over else "IGNORE"
            base.executemany(f"INSERT OR {how} INTO looks VALUES (?, ?, ?, ?, ?)", rows)

    def add_transfer(self, host: str, at: float, moved: float, seconds: float) -> None:
        """Write down how long so many bytes took."""
        if not (moved > 0 and seconds > 0):
            return
        with self._writing() as base:
            row = base.execute("SELECT bytes, seconds, at FROM paths WHERE host = ?", (host,))
            old = row.fetchone() or (0.0, 0.0, at)
            left = 2.0 ** (-max(at - old[2], 0.0) / HALF)
            base.execute(
                "INSERT OR REPLACE INTO paths VALUES (?, ?, ?, ?)",
                (host, old[0] * left + moved, old[1] * left + seconds, max(at, old[2])),
            )

    def beat(self, boot: str, at: int, started: int) -> None:
        """Say that this machine runs; where it is another start of it, it was down since that was
        last said. Only where it had been said often is known when that began.

        Parameters
        ----------
        boot : tells one start of the machine from another
        started : when that was, s since 1970
        """
        with self._writing() as base:
            last = base.execute("SELECT boot, at, before FROM beats").fetchone()
            if last is not None and last[0] != boot and last[1] - last[2] <= OFTEN:
                base.execute(
                    "INSERT OR REPLACE INTO downs VALUES (?, ?)", (last[1], max(started, last[1]))
                )
            same = last is not None and last[0] == boot
            before = last[1] if same else at - OFTEN - 1  # longer ago than counts
            base.execute("INSERT OR REPLACE INTO beats VALUES (1, ?, ?, ?)", (boot, at, before))
            base.execute("DELETE FROM looks WHERE at < ?", (at - KEPT,))
            base.execute("DELETE FROM downs WHERE at < ?", (at - KEPT,))

    def add_downs(self, downs: Sequence[tuple[int, int]]) -> None:
        """Write down when this machine went down, until when."""
        with self._writing() as base:
            base.executemany("INSERT OR REPLACE INTO downs VALUES (?, ?)", downs)

    def add_save(self, label: str, at: int, size: float) -> None:
        """Write down when a label was saved, and how many bytes were new."""
        with self._writing() as base:
            base.execute("INSERT OR REPLACE INTO saves VALUES (?, ?, ?)", (label, at, size))

    def last_save(self, label: str) -> tuple[int, float] | None:
        """Return when a label was last saved and how many bytes were new; None: never."""
        for at, size in self._rows("SELECT at, bytes FROM saves WHERE label = ?", label):
            return int(at), size
        return None

    def looks(self, host: str, since: int = 0) -> Looks:
        """Return what was seen of a host since a time."""
        rows = self._rows(
            "SELECT at, answered, load, since FROM looks WHERE host = ? AND at >= ? ORDER BY at",
            host, since,
        )  # fmt: skip
        table = np.array([[np.nan if x is None else x for x in row] for row in rows], float)
        table = table.reshape(len(rows), 4)
        return Looks(table[:, 0].astype(np.int64), table[:, 1], table[:, 2], table[:, 3])

    def path_to(self, host: str) -> StorePath | None:
        """Return what is known of the path to a host, None where nothing is."""
        for moved, seconds, at in self._rows(
            "SELECT bytes, seconds, at FROM paths WHERE host = ?", host
        ):
            if moved > 0 and seconds > 0:
                return StorePath(moved / seconds, at)
        return None

    def downs(self) -> list[tuple[int, int]]:
        """Return when this machine went down, until when, ascending."""
        return [(int(at), int(until)) for at, until in
                self._rows("SELECT at, until FROM downs ORDER BY at")]  # fmt: skip

    def _rows(self, question: str, *given: object) -> list[tuple[float, ...]]:
        with self._lock, self._said():
            rows = self._base.execute(question, given).fetchall()
        # SQLite keeps a text in a column of numbers.
        if not all(one is None or isinstance(one, int | float) for row in rows for one in row):
            raise TraceError(self.path, "the book of storage hosts: a text in place of a number")
        return rows

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of it, or nothing."""
        with self._lock, self._said(), self._base:
            self._base.execute("BEGIN IMMEDIATE")
            yield self._base

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise TraceError(self.path, f"the book of storage hosts: {error}") from None


def load_of(look: HostLook) -> float:
    """Return how loaded a host is, 0 to 1: its disk, or its clients; nan where it does not say."""
    clients = look.clients / look.limit if look.limit > 0 else math.nan
    known = [one for one in (look.io, clients) if not math.isnan(one)]
    return max(known) if known else math.nan


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
