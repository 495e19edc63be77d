"""Killed at every write, with a full disk, with its server gone: no promise is lost, doubled or
changed.

A child writes a day of rows, one call after another, and says after each that it is done. What it
said is done must be there; of the call it was in, all or nothing. Then the day is written again.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from forestall.core.model.errors import LedgerError
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import ROWS, LedgerRow
from forestall.live.ledger.store import LiveLedger, _parts
from live.ledger.ledger_cases import day
from postgresql_server.server import PostgresqlServer

CALLS = list(day(2))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.started_or_skipped() as running:
        yield running


def written_by_child(url: str, disturb: Callable[[LiveLedger | None], None]) -> tuple[int, int]:
    """Return how many calls a child finished, and how it ended (a signal is negative)."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            disturb(None)
            with LiveLedger(url) as ledger:
                disturb(ledger)
                for rows in CALLS:
                    ledger.add(*rows)
                    os.write(writing, b".")
        except LedgerError:
            os._exit(3)
        except BaseException:  # a fork of the test run must not go on as one
            os._exit(4)
        os._exit(0)
    os.close(writing)
    done = 0
    while os.read(reading, 1):
        done += 1
    os.close(reading)
    return done, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def rows_of(ledger: LiveLedger) -> list[LedgerRow]:
    return [row for kind in ROWS for row in ledger.read(kind)]


def rows_in(calls: list[tuple[LedgerRow, ...]]) -> list[LedgerRow]:
    return [row for kind in ROWS for rows in calls for row in rows if type(row) is kind]


def check_and_go_on(url: str, done: int) -> None:
    """What was done is there, the next call is there or not, and all can be written again."""
    with LiveLedger(url) as ledger:
        found = rows_of(ledger)
        assert found in (rows_in(CALLS[:done]), rows_in(CALLS[: done + 1]))
        told = check(ledger)
        assert told.adds_up, told.wrong
        for rows in CALLS[done:]:
            ledger.add(*rows)
        assert rows_of(ledger) == rows_in(CALLS)
        assert check(ledger).adds_up


def killed_at(write: int, when: str) -> Callable[[LiveLedger | None], None]:
    """Return what kills this process at the k-th row or commit after the tables are made."""
    counted = 0

    def count(_: Any, *more: Any) -> None:
        nonlocal counted
        counted += when == "commit" or more[1].startswith("INSERT")
        if counted == write:
            os.kill(os.getpid(), signal.SIGKILL)

    def disturb(ledger: LiveLedger | None) -> None:
        if ledger is not None:
            sa.event.listen(ledger.database.engine, when, count)

    return disturb


def statements(rows: tuple[LedgerRow, ...]) -> int:
    """Return how many statements add rows: those of one kind are added at once."""
    return len(list(_parts([(row, {}) for row in rows])))


@pytest.mark.parametrize("when", ["before_cursor_execute", "after_cursor_execute", "commit"])
def test_killed_at_every_write(tmp_path: Path, when: str) -> None:
    write, ended = 1, -9
    while ended == -signal.SIGKILL:
        url = f"sqlite:///{tmp_path / f'{write}.db'}"
        done, ended = written_by_child(url, killed_at(write, when))
        check_and_go_on(url, done)
        write += 1
    assert (done, ended) == (len(CALLS), 0)
    writes = len(CALLS) if when == "commit" else sum(map(statements, CALLS))
    assert write == writes + 2, "killed at each of them, and once not at all"


def most_bytes(limit: int, *, die: bool) -> Callable[[LiveLedger | None], None]:
    """Return what lets no file grow beyond a size: a write is torn there, and kills or fails."""

    def disturb(ledger: LiveLedger | None) -> None:
        if ledger is None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if die else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    return disturb


@pytest.mark.parametrize("die", [True, False], ids=["killed", "full"])
def test_torn_at_every_size(tmp_path: Path, die: bool) -> None:
    """The log of SQLite may end anywhere, also in the middle of what makes the tables."""
    whole = tmp_path / "whole.db"
    assert written_by_child(f"sqlite:///{whole}", lambda ledger: None) == (len(CALLS), 0)
    limits = [0, 3000, 4200, 9000, *range(20_000, 600_000, 45_678), 10_000_000]
    ends = set()
    for limit in limits:
        url = f"sqlite:///{tmp_path / f'{limit}.db'}"
        done, ended = written_by_child(url, most_bytes(limit, die=die))
        ends.add(ended)
        check_and_go_on(url, done)
    assert ends == ({-signal.SIGXFSZ, 0} if die else {3, 0}), "some ended before, some did not"


def test_goes_on_once_there_is_room(tmp_path: Path) -> None:
    """The same ledger object, after its disk was full for a while."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    child = os.fork()
    if not child:
        failures = 0
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with LiveLedger(url) as ledger:
                for rows in CALLS:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
                    with pytest.raises(LedgerError):
                        ledger.add(*rows)
                    failures += 1
                    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
                    ledger.add(*rows)
        finally:
            os._exit(failures)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(CALLS)
    check_and_go_on(url, len(CALLS))


def test_killed_with_postgresql(server: PostgresqlServer) -> None:
    write, ended = 1, -9
    while ended == -signal.SIGKILL:
        url = server.new_database()
        done, ended = written_by_child(url, killed_at(write, "before_cursor_execute"))
        check_and_go_on(url, done)
        write += 4
    assert ended == 0


@pytest.mark.parametrize("when", ["before_cursor_execute", "after_cursor_execute", "commit"])
def test_postgresql_goes_away(server: PostgresqlServer, when: str) -> None:
    """It dies at some statement and comes back: the call fails, is repeated, and is there once."""
    url = server.new_database()
    with LiveLedger(url) as ledger:
        dies_at = {5, 40, 41, 90} if when != "commit" else {2, 9, 15}
        counted = 0

        def count(*_: Any) -> None:
            nonlocal counted
            counted += 1
            if counted in dies_at:
                server.stop()

        sa.event.listen(ledger.database.engine, when, count)
        failures = 0
        for rows in CALLS:
            while True:
                try:
                    ledger.add(*rows)
                    break
                except LedgerError:
                    failures += 1
                    with pytest.raises(LedgerError):
                        ledger.add(*rows)  # it is still away
                    server.start()
        sa.event.remove(ledger.database.engine, when, count)
        assert failures == len(dies_at)
        assert rows_of(ledger) == rows_in(CALLS)
        assert check(ledger).adds_up


def test_a_cut_connection_lets_another_writer_in(server: PostgresqlServer) -> None:
    """Who lost its lock with its connection, and finds another writer, writes no more."""
    url = server.new_database()
    with LiveLedger(url) as first:
        first.add(*CALLS[0])
        server.stop()
        server.start()
        with LiveLedger(url) as second:
            for _ in range(2):
                with pytest.raises(LedgerError):
                    first.add(*CALLS[1])
            second.add(*CALLS[1])
        first.add(*CALLS[2])
        assert rows_of(first) == rows_in(CALLS[:3])


def fill(path: Path) -> None:
    with suppress(OSError), path.open("ab", buffering=0) as file:
        while file.write(b"x" * 4096) == 4096:
            pass


def test_a_small_disk(tmp_path: Path) -> None:
    """A disk of its own that is full indeed."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.getuid() or os.system(f"mount -t tmpfs -o size=4m tmpfs {folder} 2>/dev/null"):
        pytest.skip("no right to mount a small disk")
    try:
        url, done = f"sqlite:///{folder / 'ledger.db'}", 0
        ballast = folder / "ballast"
        with LiveLedger(url) as ledger:
            ballast.write_bytes(b"x" * 10_000)
            with pytest.raises(LedgerError, match=r"full|disk I/O"):  # noqa: PT012
                fill(ballast)
                for rows in CALLS:
                    ledger.add(*rows)
                    done += 1
            ballast.unlink()
            ledger.add(*CALLS[done])
        check_and_go_on(url, done + 1)
    finally:
        os.system(f"umount -l {folder}")


def test_the_log_is_kept_in_wal_mode(tmp_path: Path) -> None:
    with LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}"):
        base = sqlite3.connect(tmp_path / "ledger.db")
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        base.close()
