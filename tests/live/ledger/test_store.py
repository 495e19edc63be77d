"""The ledger: rows are added once, all of a call or none, and never changed by anyone."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from forestall.core.model.errors import LedgerError, ParameterError
from forestall.core.model.live.intents import IntentState
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import (
    ROWS,
    ApprovalRow,
    CycleRow,
    IntentRow,
    LedgerRow,
    OfferRow,
    OutcomeRow,
    PromiseRow,
    RunRow,
    StateRow,
)
from forestall.live.ledger.store import LiveLedger, SettledPromise
from forestall.live.ledger.tables import METADATA
from live.ledger.ledger_cases import day, drain, offer, promise
from postgresql_server.server import PostgresqlServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.started_or_skipped() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database, of both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    running: PostgresqlServer = request.getfixturevalue("server")
    return running.new_database()


@pytest.fixture
def ledger(url: str) -> Iterator[LiveLedger]:
    with LiveLedger(url) as opened:
        yield opened


def everything(ledger: LiveLedger) -> dict[str, list[LedgerRow]]:
    return {kind.table: list(ledger.read(kind)) for kind in ROWS}


def test_what_is_added_comes_back(ledger: LiveLedger, url: str) -> None:
    added = [row for rows in day() for row in rows]
    for rows in day():
        ledger.add(*rows)
    found = everything(ledger)
    assert found == {k.table: [row for row in added if type(row) is k] for k in ROWS}
    with LiveLedger(url, writes=False) as reader:
        assert everything(reader) == found
        balance = check(reader)
        with pytest.raises(LedgerError, match="opened read-only"):
            reader.add(offer("x"))
    assert balance.adds_up, balance.wrong
    assert balance.promises == {"open": 0, "kept": 3, "missed": 0, "void": 0}
    assert balance.intents == {"confirmed": 3}


@pytest.mark.parametrize("content", [b"", b"\n", b"no ledger at all" * 400])
def test_a_file_that_is_none_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not a ledger"):
        LiveLedger(f"sqlite:///{path}", writes=False)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_the_same_again_is_there_once(ledger: LiveLedger) -> None:
    for rows in day():
        ledger.add(*rows)
        ledger.add(*rows)
    before = everything(ledger)
    for rows in day():
        ledger.add(*rows)
    assert everything(ledger) == before


def test_another_row_in_its_place_is_refused(ledger: LiveLedger) -> None:
    ledger.add(offer("o1"), promise(offer("o1")))
    for other, column in (
        (replace(offer("o1"), deadline=7), "deadline"),
        (replace(promise(offer("o1")), owner="eve"), "owner"),
    ):
        with pytest.raises(LedgerError, match=f"exists already with another {column}; nothing is"):
            ledger.add(offer("o2"), other)
    assert ledger.count(OfferRow) == 1, "all of a call or none"


def test_rows_that_contradict_what_stands_there(ledger: LiveLedger) -> None:
    made, intent = offer("o1"), drain()
    ledger.add(made, IntentRow.of(intent))
    refused: list[tuple[LedgerRow, str]] = [
        (promise(offer("o2")), "no such offer"),
        (
            promise(made, at=made.expires),
            "the offer expired 1970-01-01 00:11 UTC; it was",
        ),
        (replace(promise(made), probability=0.99), "its probability is 0.99, and 0.9 was offered"),
        (OutcomeRow("p-o1", 9, "kept", "", 8), "no such promise"),
        (StateRow(intent.id, "written", 1, ""), "written at first is not legal"),
        (StateRow(intent.id, "nonsense", 1, ""), "expected proposed"),
        (CycleRow(1, 1, 1, [], []), "cannot be written"),
        (StateRow("0" * 16, "proposed", 1, ""), "cannot be written"),
    ]
    for row, why in refused:
        with pytest.raises(LedgerError, match=why):
            ledger.add(row)
    ledger.add(promise(made), StateRow(intent.id, "proposed", 1, ""))
    with pytest.raises(LedgerError, match="nobody approved it"):
        ledger.add(StateRow(intent.id, "approved", 1, ""))
    with pytest.raises(LedgerError, match="carried out after proposed is not legal"):
        ledger.add(StateRow(intent.id, "carried out", 1, ""))
    with pytest.raises(LedgerError):
        ledger.add(replace(promise(made), id="again"))  # an offer is accepted once
    with pytest.raises(
        LedgerError, match="kept, but it ended 1970-01-01 01:25 UTC, 1 s after its deadline"
    ):
        ledger.add(OutcomeRow("p-o1", 6000, "kept", "", 5101))
    assert check(ledger).adds_up


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None, True])
def test_values_that_no_database_holds(ledger: LiveLedger, value: object) -> None:
    with pytest.raises(ParameterError, match=r"offers\.probability"):
        ledger.add(replace(offer("o1"), probability=value))


def test_texts_and_numbers_at_the_edge(ledger: LiveLedger) -> None:
    odd = "'; DROP TABLE offers; -- \u2603 \U0001f600 %s %(x)s :x \\ \" \n"
    large = 2**63 - 1
    ledger.add(replace(offer(odd), deadline=large, reasons=["\0", odd], before=5e-324))
    [found] = ledger.read(OfferRow)
    assert (found.id, found.deadline, found.before) == (odd, large, 5e-324)
    assert found.reasons == ["\0", odd]
    for bad in (replace(offer("a\0b")), replace(offer("a\ud800")), replace(offer("a"), at=2**63)):
        with pytest.raises(ParameterError):
            ledger.add(bad)
    with pytest.raises(ParameterError, match=r"offers\.record"):
        ledger.add(replace(offer("b"), record={"x": float("nan")}))


def test_no_statement_changes_it(ledger: LiveLedger) -> None:
    """Whoever has the database's password and goes around the API."""
    for rows in day():
        ledger.add(*rows)
    before = everything(ledger)
    replaced = ""
    if ledger.database.is_file:
        replaced = "INSERT OR REPLACE INTO {0} SELECT * FROM {0}"
    for kind in ROWS:
        for statement in ("UPDATE {0} SET version = 9", "DELETE FROM {0}", replaced):
            if statement:
                with pytest.raises(LedgerError, match=r"never changed|only added|accepted once"), (
                    ledger.database.writing()
                ) as connection:  # fmt: skip
                    connection.execute(sa.text(statement.format(kind.table)))
    if not ledger.database.is_file:
        with pytest.raises(LedgerError, match="never changed"), (
            ledger.database.writing()
        ) as connection:  # fmt: skip
            connection.execute(sa.text("TRUNCATE runs CASCADE"))
    else:
        with pytest.raises(LedgerError, match="only added"), (
            ledger.database.writing()
        ) as connection:  # fmt: skip
            connection.execute(
                sa.text("INSERT OR REPLACE INTO runs VALUES (2, 1, 1, 0, 'x', '{}', '{}')")
            )
    with pytest.raises(LedgerError, match="only added"), ledger.database.writing() as connection:
        connection.execute(sa.text("INSERT INTO runs VALUES (7, 1, 7, 0, 'x', '{}', '{}')"))
    assert everything(ledger) == before
    assert check(ledger).adds_up


def test_one_writer_and_any_readers(ledger: LiveLedger, url: str) -> None:
    ledger.add(offer("o1"))
    with pytest.raises(LedgerError, match="another process writes to it"):
        LiveLedger(url)
    with LiveLedger(url, writes=False) as reader:
        assert reader.count(OfferRow) == 1
        ledger.add(offer("o2"))
        assert reader.count(OfferRow) == 2
    ledger.close()
    with LiveLedger(url) as next_one:
        next_one.add(offer("o3"))
        assert next_one.count(OfferRow) == 3


def test_the_migrations_make_what_the_rows_say(ledger: LiveLedger) -> None:
    with ledger.database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, METADATA) == []


def test_questions(ledger: LiveLedger) -> None:
    for rows in day():
        ledger.add(*rows)
    assert ledger.open_promises() == []
    open_one = promise(offer("o1-later", 100, 0.95))
    ledger.add(open_one)
    assert ledger.open_promises() == [open_one]
    assert list(ledger.settled()) == [SettledPromise(0.9, 0.93, True, "kept")] * 3
    assert ledger.one(PromiseRow, "p-o2") == promise(offer("o2", 200))
    assert ledger.one(PromiseRow, "nothing") is None
    assert [row.at for row in ledger.read(RunRow)] == [10]
    late = drain("n9", 500, 900)
    ledger.add(IntentRow.of(late), StateRow(late.id, "proposed", 501, ""))
    ledger.add(ApprovalRow(late.id, 502, "bob", 1, ""), StateRow(late.id, "approved", 502, ""))
    [(row, state)] = ledger.latest_states(IntentState.PROPOSED, IntentState.APPROVED)
    assert (row.intent(), state.state, state.at) == (late, "approved", 502)
    assert [row.target for row, _ in ledger.written_since(202)] == ["n2", "n3"]
    assert ledger.latest_states(IntentState.WRITTEN) == []


def test_the_checker_sees_what_does_not_add_up(tmp_path: Path) -> None:
    """Somebody took the triggers away and wrote what they liked."""
    path = tmp_path / "ledger.db"
    with LiveLedger(f"sqlite:///{path}") as ledger:
        for rows in day():
            ledger.add(*rows)
    wrong = {
        "UPDATE promises SET probability = 0.5 WHERE seq = 1": "its probability is 0.5",
        "DELETE FROM offers WHERE seq = 3": "found row 4, expected 3",
        "DELETE FROM offers WHERE id = 'o1'": "no such offer",
        "UPDATE outcomes SET ended = 99999999 WHERE seq = 1": "kept, but it ended",
        "UPDATE intents SET target = 'n7' WHERE seq = 1": "its content belongs to the id",
        "DELETE FROM states WHERE state = 'approved'": "rows",
        "UPDATE states SET state = 'failed' WHERE seq = 4": "carried out|failed",
        "DELETE FROM approvals": "approved by nobody",
        "UPDATE states SET at = 10000 WHERE state = 'written'": "h after it had expired",
        "DELETE FROM runs": "there is no such run",
        "UPDATE intents SET role = 'keeper'": "a keeper may not drain",
        "UPDATE cycles SET events = '{ }' WHERE seq = 1": "not canonical",
        "DELETE FROM intents WHERE seq = 3": "there is no such intent",
        "DELETE FROM states": "has no state",
        "UPDATE outcomes SET promise = 'p9' WHERE seq = 3": "no such promise",
    }
    for statement, why in wrong.items():
        spoilt = tmp_path / "spoilt.db"
        source, copy = sqlite3.connect(path), sqlite3.connect(spoilt)
        source.backup(copy)
        names = copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            copy.execute(f"DROP TRIGGER {name}")
        copy.execute(statement)
        copy.commit()
        copy.close()
        source.close()
        with LiveLedger(f"sqlite:///{spoilt}", writes=False) as ledger:
            told = check(ledger)
        assert not told.adds_up, statement
        assert any(_fits(why, line) for line in told.wrong), (statement, told.wrong)
        spoilt.unlink()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE looks SET at = 'soon' WHERE seq = 2",
            "looks is damaged: row 2: at: 'soon' is not",
        ),
        ("UPDATE looks SET mark = '[1]' WHERE seq = 2", "looks is damaged: row 2: mark: "),
        ("UPDATE offers SET record = '{}' WHERE seq = 1", "offers is damaged: row o1: low"),
        ("UPDATE promises SET probability = 9e999 WHERE seq = 1", "row p-o1: probability: inf is"),
        ("UPDATE promises SET consents = '[1]' WHERE seq = 1", "row p-o1: consents: 1 is not"),
        ("UPDATE offers SET seq = 'x' WHERE seq = 1", "offers is damaged: seq: 'x' is not"),
    ],
)
def test_values_of_another_kind(tmp_path: Path, statement: str, said: str) -> None:
    path = tmp_path / "ledger.db"
    with LiveLedger(f"sqlite:///{path}") as ledger:
        for rows in day():
            ledger.add(*rows)
    with sqlite3.connect(path) as base:
        for (name,) in base.execute(
            "SELECT name FROM sqlite_master WHERE type='trigger'"
        ).fetchall():
            base.execute(f"DROP TRIGGER {name}")
        base.execute(statement)
    with (
        LiveLedger(f"sqlite:///{path}", writes=False) as ledger,
        pytest.raises(LedgerError) as caught,
    ):
        tuple((ledger.count(kind), list(ledger.read(kind))) for kind in ROWS)
    assert said in str(caught.value)


def _fits(why: str, line: str) -> bool:
    return why == "rows" or any(part in line for part in why.split("|"))


def test_a_ledger_of_a_newer_forestall(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    LiveLedger(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE alembic_version SET version_num = '9999'")
    for writes in (True, False):
        with pytest.raises(LedgerError, match=r"newer forestall \(step 9999\)"):
            LiveLedger(f"sqlite:///{path}", writes=writes)


def test_what_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        LiveLedger(f"sqlite:///{tmp_path / 'none.db'}", writes=False)
    with pytest.raises(Exception, match="cannot be written: No such file"):
        LiveLedger(f"sqlite:///{tmp_path / 'no' / 'ledger.db'}")
    text = tmp_path / "text.db"
    text.write_text("this is no database, and long enough to be taken for one" * 30)
    with pytest.raises(LedgerError, match="not a database"):
        LiveLedger(f"sqlite:///{text}")
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(LedgerError, match="not a ledger"):
        LiveLedger(f"sqlite:///{other}", writes=False)


def test_a_ledger_whose_own_words_are_spoilt(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    LiveLedger(f"sqlite:///{path}").close()
    whole = path.read_bytes()
    assert b"CREATE TABLE approvals" in whole
    path.write_bytes(whole.replace(b"CREATE TABLE approvals", b"CR\xa0ATE TABLE approvals"))
    for writes in (True, False):
        with pytest.raises(LedgerError, match=r"ledger\.db: cannot be (read|written): 'utf-8'"):
            LiveLedger(f"sqlite:///{path}", writes=writes)


@pytest.mark.parametrize(
    "url", ["ledger.db", "sqlite://", "sqlite:///:memory:", "mysql://a/b", "", "postgresql://h"]
)
def test_other_urls(url: str) -> None:
    with pytest.raises(ParameterError, match=r"ledger: .* expected sqlite:///PATH or postgresql"):
        LiveLedger(url)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(LedgerError) as caught:
        LiveLedger("postgresql://ann:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)
    assert "postgresql://ann:***@127.0.0.1:1/x: cannot be written" in str(caught.value)
    with pytest.raises(ParameterError) as other:
        LiveLedger("mysql://ann:secret@host/x")
    assert "secret" not in str(other.value)


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600
