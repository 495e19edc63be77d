"""Counts of a ledger are those of its rows, however often they are asked for in between."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from forestall.core.model.errors import LedgerError
from forestall.core.model.live.counts import TENTHS, LedgerCounts
from forestall.live.ledger.counts import LedgerCounter
from forestall.live.ledger.rows import ROWS, IntentRow, LookRow, OutcomeRow, PromiseRow, StateRow
from forestall.live.ledger.store import LiveLedger
from live.ledger.ledger_cases import day, offer, promise


def plain(ledger: LiveLedger) -> LedgerCounts:
    """The same, by reading everything."""
    promises = {one.id: one for one in ledger.read(PromiseRow)}
    roles = {one.id: one.role for one in ledger.read(IntentRow)}
    ended: Counter[tuple[int, str]] = Counter()
    said: dict[int, float] = {}
    for one in ledger.read(OutcomeRow):
        probability = promises[one.promise].probability
        tenth = min(int(10 * probability + 1e-9), TENTHS - 1)
        ended[tenth, one.outcome] += 1
        if one.outcome != "void":
            said[tenth] = said.get(tenth, 0.0) + probability
    return LedgerCounts(
        {kind.table: ledger.count(kind) for kind in ROWS},
        Counter(bool(one.whole) for one in ledger.read(LookRow)),
        Counter(min(int(10 * one.probability + 1e-9), TENTHS - 1) for one in promises.values()),
        ended,
        {tenth: pytest.approx(total) for tenth, total in said.items()},
        Counter((roles[one.intent], one.state) for one in ledger.read(StateRow)),
    )


def test_counts_of_days(tmp_path: Path) -> None:
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        counter = LedgerCounter(ledger.database)
        assert counter.counts() == plain(ledger)
        for rows in day(4):
            ledger.add(*rows)
            assert counter.counts() == plain(ledger)
        assert LedgerCounter(ledger.database).counts() == counter.counts()
        assert counter.counts().looks == {True: 4}
        assert counter.counts().states["warden", "confirmed"] == 4


def test_probabilities_and_outcomes_of_all_kinds(tmp_path: Path) -> None:
    rng = random.Random(3)
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        counter = LedgerCounter(ledger.database)
        for number in range(120):
            probability = rng.choice([0.0, 0.1, 0.25, 0.3, 0.7, 0.95, 1.0, round(rng.random(), 3)])
            made = offer(f"o{number}", 100, probability)
            ledger.add(made, promise(made))
            how = rng.choice(["kept", "missed", "void", ""])
            if how:
                ledger.add(OutcomeRow(f"p-o{number}", 5000, how, "", 200 if how == "kept" else -1))
            if number % 30 == 0:
                ledger.add(LookRow(number + 1, number, number % 2, 4, 9, {}, "late"))
                assert counter.counts() == plain(ledger)
        assert counter.counts() == plain(ledger)


def test_the_calibration_error_is_the_mean_difference_by_tenths() -> None:
    counts = LedgerCounts(
        ended={(9, "kept"): 80, (9, "missed"): 20, (5, "kept"): 55, (5, "missed"): 45,
               (5, "void"): 1000},
        said={9: 95.0, 5: 55.0},
    )  # fmt: skip
    assert counts.kept_share(9) == pytest.approx(0.8)
    assert counts.said_mean(9) == pytest.approx(0.95)
    assert counts.calibration_error == pytest.approx((100 * 0.15 + 100 * 0.0) / 200)
    assert LedgerCounts().calibration_error is None
    assert counts.kept_share(0) is None


def test_a_ledger_that_went_away_is_an_error_and_nothing_is_counted_twice(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with LiveLedger(f"sqlite:///{path}") as ledger:
        for rows in day(2):
            ledger.add(*rows)
        counter = LedgerCounter(ledger.database)
        before = counter.counts()
        path.rename(tmp_path / "away")
        with pytest.raises(LedgerError):
            counter.counts()
        (tmp_path / "away").rename(path)
        assert counter.counts() == before
