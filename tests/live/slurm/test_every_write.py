"""The process dies, the disk is full, the database is gone: at every write of the ledger, one after
another. No promise is lost, doubled or changed, no action is repeated, and the books add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from forestall.live.ledger.check import check
from forestall.live.ledger.store import LiveLedger
from forestall.slurm.simulation.cluster import Killed
from live.slurm.mortal_ledger import FATES, FateOf, named
from live.slurm.scenarios import Scenario, play_small, played_out
from postgresql_server.server import PostgresqlServer

STEPS = 6


def scenario(
    seed: int, fate_of: FateOf | None = None, ledger: LiveLedger | None = None
) -> Scenario:
    return Scenario(seed, calm=seed % 5 == 0, nodes=6, asks=0.6, fate_of=fate_of, ledger=ledger)


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("seed", [5, 11, 13])
def test_at_every_write(seed: int, fate: str) -> None:
    writes = played_out(scenario(seed), STEPS).mortal.number
    assert writes > 20
    for write in range(1, writes + 1):
        one = played_out(scenario(seed, named(write, fate)), STEPS)
        assert len(one.mortal.met) <= 1


@pytest.mark.parametrize("first", range(0, 1000, 200))
def test_at_writes_that_are_drawn(first: int) -> None:
    """Several of them in a scenario, with all else that goes wrong."""
    for seed in range(first, first + 200):
        play_small(seed)


class Disturbed:
    """A real ledger in which the k-th event of a kind does something.

    what : an event of SQLAlchemy's engine
    """

    def __init__(self, url: str, what: str, deed: Callable[[sa.Connection], None], at: int) -> None:
        self.ledger, self.seen, self._at, self._deed = LiveLedger(url), 0, at, deed
        sa.event.listen(self.ledger.database.engine, what, self._happens)

    def _happens(self, connection: sa.Connection, *more: Any) -> None:
        writes = not more or str(more[1]).startswith("INSERT")
        if writes and not connection.get_execution_options().get("reads"):
            self.seen += 1
            if self.seen == self._at:
                self._deed(connection)


@contextmanager
def played_on(url: str, what: str, deed: Callable[[sa.Connection], None], at: int) -> Iterator[int]:
    """Play a scenario on a real ledger that is disturbed once; yield how many such events came."""
    one = Disturbed(url, what, deed, at)
    try:
        played = played_out(scenario(11, ledger=one.ledger), STEPS)
        balance = check(one.ledger)
        assert balance.wrong == ()
        assert balance.promises["open"] == 0
        assert sum(balance.promises.values()) == len(played.accepted)
        yield one.seen
    finally:
        one.ledger.close()


def dies(_: sa.Connection) -> None:
    raise Killed("killed within a write")


@pytest.mark.parametrize("what", ["before_cursor_execute", "after_cursor_execute", "commit"])
def test_dies_within_a_write_of_a_real_ledger(what: str, tmp_path: Path) -> None:
    """Between two rows of one call, and before it is committed."""
    with played_on(f"sqlite:///{tmp_path}/whole.db", what, dies, 0) as writes:
        assert writes > 20
    for at in range(1, writes + 1, 11):
        with played_on(f"sqlite:///{tmp_path}/{at}.db", what, dies, at):
            pass


def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    """SQLite may not make its file larger, from one write on for some writes."""
    said = 0
    for first in (3, 21):
        with LiveLedger(f"sqlite:///{tmp_path}/{first}.db") as ledger:
            writes = count(1)

            def fills(connection: sa.Connection, first: int = first) -> None:
                if not connection.get_execution_options().get("reads"):
                    is_full = 0 <= next(writes) - first < 150  # noqa: B023
                    most = 1 if is_full else 2**30  # 1: as many pages as there are
                    connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

            sa.event.listen(ledger.database.engine, "begin", fills)
            played = played_out(scenario(11, ledger=ledger), 5 * STEPS)
            said += sum("is full" in line for line in played.story)
            assert check(ledger).wrong == ()
    assert said > 2


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.started_or_skipped() as running:
        yield running


@pytest.mark.parametrize("what", ["before_cursor_execute", "after_cursor_execute", "commit"])
def test_postgresql_goes_away_in_the_middle(server: PostgresqlServer, what: str) -> None:
    """It dies in a write, and is back some steps later."""
    goes = lambda _: server.stop()  # noqa: E731
    for at in (3, 31):
        one = Disturbed(server.new_database(), what, goes, at)
        played = scenario(11, ledger=one.ledger)
        away = 0
        for _ in range(4 * STEPS):
            if server.is_away and away == 2:
                server.start()
            away += server.is_away
            _step(played, server)
        if server.is_away:
            server.start()
        with played.told():
            played.settle()
        assert one.seen >= at
        assert check(one.ledger).wrong == ()
        one.ledger.close()


def _step(played: Scenario, server: PostgresqlServer) -> None:
    """A step whose rules are only looked at while the books can be read."""
    rules, played.check = played.check, lambda: None  # type: ignore[method-assign]
    try:
        played.step()
    finally:
        played.check = rules  # type: ignore[method-assign]
    if not server.is_away:
        played.check()
