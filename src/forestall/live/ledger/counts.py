"""Counts of what stands in a ledger, brought up to date by reading only what is new.

Counts never fall, as rows are only added: so they are the same after a restart, and rates of them
are rates of what happened.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from forestall.core.model.live.counts import TENTHS, LedgerCounts
from forestall.live.ledger.database import Database
from forestall.live.ledger.rows import (
    ROWS,
    IntentRow,
    LedgerRow,
    LookRow,
    OutcomeRow,
    PromiseRow,
    StateRow,
)
from forestall.live.ledger.tables import TABLES


class LedgerCounter:
    """Counts the rows of a ledger. Any thread may ask; `counts` raises LedgerError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one = threading.Lock()
        self._upto: dict[str, int] = dict.fromkeys((kind.table for kind in ROWS), 0)
        self._looks: Counter[bool] = Counter()
        self._made: Counter[int] = Counter()
        self._ended: Counter[tuple[int, str]] = Counter()
        self._said: dict[int, float] = {}
        self._states: Counter[tuple[str, str]] = Counter()

    def counts(self) -> LedgerCounts:
        """Return the counts as they are now."""
        with self._one:
            with self._database.reading() as connection:
                upto = {kind.table: _last(connection, kind) for kind in ROWS}
                found = [list(connection.execute(one)) for one in self._questions(upto)]
            looks, made, ended, states = found
            self._looks.update({bool(whole): int(n) for whole, n in looks})
            self._made.update({int(tenth): int(n) for tenth, n in made})
            for tenth, outcome, n, said in ended:
                self._ended[int(tenth), str(outcome)] += int(n)
                if outcome != "void":
                    self._said[int(tenth)] = self._said.get(int(tenth), 0.0) + float(said)
            self._states.update({(str(role), str(state)): int(n) for role, state, n in states})
            self._upto = upto
            return LedgerCounts(
                dict(upto), dict(self._looks), dict(self._made), dict(self._ended),
                dict(self._said), dict(self._states),
            )  # fmt: skip

    def _questions(self, upto: Mapping[str, int]) -> tuple[Any, ...]:
        """Return the questions about looks, promises, outcomes and states that are new."""
        looks, promises, outcomes, states, intents = (
            TABLES[kind] for kind in (LookRow, PromiseRow, OutcomeRow, StateRow, IntentRow)
        )

        def new(table: sa.Table) -> sa.ColumnElement[bool]:
            return table.c.seq.between(self._upto[table.name] + 1, upto[table.name])

        tenth = _tenth(promises.c.probability)
        count = sa.func.count()
        said = sa.func.sum(promises.c.probability)
        return (
            sa.select(looks.c.whole, count).where(new(looks)).group_by(looks.c.whole),
            sa.select(tenth, count).where(new(promises)).group_by("tenth"),
            sa.select(tenth, outcomes.c.outcome, count, said)
            .join(promises, promises.c.id == outcomes.c.promise)
            .where(new(outcomes))
            .group_by("tenth", outcomes.c.outcome),
            sa.select(intents.c.role, states.c.state, count)
            .join(intents, intents.c.id == states.c.intent)
            .where(new(states))
            .group_by(intents.c.role, states.c.state),
        )


def _tenth(probability: sa.ColumnElement[Any]) -> sa.Label[int]:
    """Return in which tenth a probability lies; 1 lies in the last."""
    below = ((probability < (k + 1) / TENTHS, k) for k in range(TENTHS - 1))
    return sa.case(*below, else_=TENTHS - 1).label("tenth")


def _last(connection: sa.Connection, kind: type[LedgerRow]) -> int:
    """Return the number of the last row of a table."""
    return int(connection.scalar(sa.select(sa.func.max(TABLES[kind].c.seq))) or 0)
