"""What a desk reads from a ledger: promises, calibration, predictors; in SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.core.model.live.intents import IntentState
from forestall.core.proportions import wilson
from forestall.live.desk.scores import LedgerScores
from forestall.live.ledger.queries import LedgerQueries
from forestall.live.ledger.rows import (
    CycleRow,
    IntentRow,
    OutcomeRow,
    PredictionRow,
    RunRow,
    StateRow,
)
from forestall.live.ledger.store import LiveLedger
from live.ledger.ledger_cases import day, drain, offer, promise
from postgresql_server.server import PostgresqlServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.started_or_skipped() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveLedger]:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    if request.param == "postgresql":
        running: PostgresqlServer = request.getfixturevalue("server")
        url = running.new_database()
    with LiveLedger(url) as opened:
        yield opened


def settled(ledger: LiveLedger, name: str, said: float, outcome: str, owner: str = "ann") -> None:
    """Write a promise, and what became of it; "": it is open."""
    made = offer(name, 100, said)
    one = replace(promise(made), owner=owner)
    ledger.add(made, one)
    if outcome:
        ended = one.deadline - 1 if outcome == "kept" else -1
        ledger.add(OutcomeRow(one.id, 6000, outcome, "", ended))


def test_calibration_by_tenths(ledger: LiveLedger) -> None:
    for k, (said, outcome) in enumerate(
        [(0.95, "kept"), (1.0, "kept"), (0.9, "missed"), (0.91, "void"), (0.3, "missed"),
         (0.29, "kept"), (0.05, "void"), (0.6, ""), (0.0, "kept")]
    ):  # fmt: skip
        settled(ledger, f"o{k}", said, outcome)
    told = LedgerScores(ledger).calibration()
    assert [(one.low, one.made, one.kept, one.void) for one in told] == [
        (0.0, 1, 1, 1), (0.2, 1, 1, 0), (0.3, 1, 0, 0), (0.9, 3, 2, 1),
    ]  # fmt: skip
    last = told[-1]
    assert last.said == pytest.approx((0.95 + 1.0 + 0.9) / 3)
    assert (last.least, last.most) == wilson(2, 3)
    assert told[0].said == 0.0


def test_promises_of_one_and_of_all(ledger: LiveLedger) -> None:
    settled(ledger, "a1", 0.9, "kept")
    settled(ledger, "a2", 0.9, "")
    settled(ledger, "b1", 0.9, "", owner="bob")
    ask = LedgerQueries(ledger.database)
    names = [one.promise.id for one in ask.promises(None, ended=True, most=10)]
    assert names == ["p-b1", "p-a2", "p-a1"]
    assert [one.promise.id for one in ask.promises(None, ended=True, most=2)] == names[:2]
    mine = ask.promises("ann", ended=True, most=10)
    assert [(one.promise.id, one.outcome and one.outcome.outcome) for one in mine] == [
        ("p-a2", None), ("p-a1", "kept"),
    ]  # fmt: skip
    assert [one.promise.id for one in ask.promises("ann", ended=False, most=10)] == ["p-a2"]
    assert ask.promises("eve", ended=True, most=10) == []
    assert [one.offer.id for one in ask.promises(None, ended=True, most=9, begins="p-a")] == [
        "a2", "a1",
    ]  # fmt: skip
    assert ask.promises(None, ended=True, most=9, begins="p_") == []  # no pattern
    assert ask.promises(None, ended=True, most=9, begins="%") == []
    assert [ask.open_count(who) for who in (None, "ann", "bob", "eve")] == [2, 1, 1, 0]


def test_intents_with_the_states_they_are_in(ledger: LiveLedger) -> None:
    for rows in day(3):
        ledger.add(*rows)
    waits = replace(drain("n9", 500, 900), promise="p-o1")
    ledger.add(IntentRow.of(waits), StateRow(waits.id, "proposed", 500, "why"))
    ask = LedgerQueries(ledger.database)
    told = ask.intents(most=10)
    assert [(one.intent.target, one.state.state) for one in told] == [
        ("n9", "proposed"), ("n3", "confirmed"), ("n2", "confirmed"), ("n1", "confirmed"),
    ]  # fmt: skip
    assert [one.intent.target for one in ask.intents(most=1)] == ["n9"]
    assert ask.waiting_count(600) == 1
    assert ask.waiting_count(900) == 0  # expired
    assert ask.intent(waits.id) == told[0]
    assert ask.intent("0") is None
    assert ask.serving(["p-o1", "p-o2"]) == {"p-o1": [told[0]]}
    assert told[1].state.state == IntentState.CONFIRMED
    assert ask.last_moment() == 500


def test_a_predictor_is_held_to_what_came(ledger: LiveLedger) -> None:
    failed = [{"kind": "node_failed", "key": 1, "time": 250}]
    ledger.add(
        RunRow(1, 10, "1.0", {}, {"nodes": ["n1", "n2"]}),
        CycleRow(1, 1, 100, {"now": 100, "events": []}, []),
        PredictionRow(1, 100, "hazard", "n1", 200, 300, 0.4),
        PredictionRow(1, 100, "hazard", "n2", 200, 300, 0.7),
        CycleRow(2, 1, 200, {"now": 200, "events": []}, []),
        PredictionRow(2, 200, "hazard", "n2", 200, 300, 0.8),  # the same failure, told again
        PredictionRow(2, 200, "other", "n2", 260, 300, 0.5),
        CycleRow(3, 1, 260, {"now": 260, "events": failed}, []),
        PredictionRow(3, 260, "hazard", "n1", 5000, 9000, 0.9),  # not over yet
    )
    scores = LedgerScores(ledger)
    for _ in range(2):  # what was read is not counted twice
        hazard, other = scores.predictors(1000)
        assert (hazard.name, hazard.told, hazard.came) == ("hazard", 2, 1)
        assert hazard.said == pytest.approx(0.6)
        assert hazard.brier == pytest.approx((0.4**2 + 0.2**2) / 2)
        assert (other.told, other.came, other.brier) == (1, 1, 0.25)
    ledger.add(CycleRow(4, 1, 6000, {"now": 6000, "events": [{**failed[0], "key": 0,
                                                              "time": 5500}]}, []))  # fmt: skip
    assert [(one.told, one.came) for one in scores.predictors(9000)] == [(3, 2), (1, 1)]


def test_an_empty_ledger(ledger: LiveLedger) -> None:
    scores, ask = LedgerScores(ledger), LedgerQueries(ledger.database)
    assert scores.calibration() == scores.predictors(10) == scores.costs(10, set()) == []
    assert ask.last_moment() == ask.open_count(None) == ask.waiting_count(0) == 0
    assert ask.promises(None, ended=True, most=10) == []
