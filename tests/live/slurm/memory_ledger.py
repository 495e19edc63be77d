"""A ledger in memory that refuses what a real one refuses: for bulk, where nothing is killed but
the controller."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from forestall.core.model.errors import LedgerError
from forestall.core.model.live.canonical import canonical
from forestall.core.model.live.intents import IntentState
from forestall.live.ledger.rows import (
    CycleRow,
    IntentRow,
    LedgerRow,
    OfferRow,
    OutcomeRow,
    PromiseRow,
    RunRow,
    StateRow,
)
from forestall.live.ledger.store import (
    LiveLedger,
    R,
    SettledPromise,
    broken_offer,
    broken_outcome,
    illegal,
)


class MemoryLedger(LiveLedger):
    """Rows by kind and key, in order; JSON as it would come back."""

    def __init__(self) -> None:
        self.writes = True
        self.rows: dict[type[LedgerRow], dict[tuple[Any, ...], Any]] = {}
        self.states: dict[str, list[StateRow]] = {}
        self.open: dict[str, PromiseRow] = {}

    def close(self) -> None:
        """Nothing is held."""

    def add(self, *rows: LedgerRow) -> None:
        for row in rows:
            self._add(_through_json(row))

    def _add(self, row: Any) -> None:
        table = self.rows.setdefault(type(row), {})
        key = tuple(getattr(row, name) for name in row.key)
        if key in table:
            if table[key] != row:
                raise LedgerError("memory", f"{row.table} {key} stands there with other words")
            return
        why = ""
        if isinstance(row, PromiseRow):
            why = broken_offer(row, self.rows[OfferRow][row.offer,])
            self.open[row.id] = row
        elif isinstance(row, OutcomeRow):
            why = broken_outcome(row, self.rows[PromiseRow][row.promise,])
            self.open.pop(row.promise, None)
        elif isinstance(row, StateRow):
            past = self.states.setdefault(row.intent, [])
            why = illegal(past[-1].state if past else None, row.state)
            past.append(row)
        if why:
            raise LedgerError("memory", f"{row.table} {key}: {why}")
        table[key] = row

    def read(self, kind: type[R], *, after: int = 0, **equal: Any) -> Iterator[R]:
        for row in list(self.rows.get(kind, {}).values())[after:]:
            if all(getattr(row, name) == value for name, value in equal.items()):
                yield row

    def one(self, kind: type[R], *key: Any) -> R | None:
        found: R | None = self.rows.get(kind, {}).get(key)
        return found

    def cycles_telling(self, *kinds: str, after: int, upto: int) -> Iterator[CycleRow]:
        for row in self.read(CycleRow, after=after):
            told = {one["kind"] for one in row.events["events"]}
            if row.number <= upto and not told.isdisjoint(kinds):
                yield row

    def count(self, kind: type[LedgerRow]) -> int:
        return len(self.rows.get(kind, {}))

    def open_promises(self) -> list[PromiseRow]:
        return list(self.open.values())

    def settled(self) -> Iterator[SettledPromise]:
        for one in self.read(OutcomeRow):
            promise = self.rows[PromiseRow][one.promise,]
            offer = self.rows[OfferRow][promise.offer,]
            yield SettledPromise(promise.probability, offer.before, bool(offer.held), one.outcome)

    def latest_states(self, *among: IntentState) -> list[tuple[IntentRow, StateRow]]:
        wanted = [str(one) for one in among]
        return [
            (self.rows[IntentRow][name,], past[-1])
            for name, past in self.states.items()
            if past[-1].state in wanted
        ]

    def written_since(self, moment: int) -> list[tuple[IntentRow, StateRow]]:
        return [
            (self.rows[IntentRow][one.intent,], one)
            for past in self.states.values()
            for one in past
            if one.state == IntentState.WRITTEN and one.at >= moment
        ]


def _through_json(row: LedgerRow) -> LedgerRow:
    if isinstance(row, RunRow):  # large, and never read by a controller
        return row
    names = _JSON.get(type(row))
    if names is None:
        fields = row.__dataclass_fields__.items()
        names = _JSON[type(row)] = tuple(name for name, one in fields if one.type == "Json")
    if not names:
        return row
    kept = object.__new__(type(row))
    vars(kept).update(vars(row))
    vars(kept).update({name: _plain(getattr(row, name)) for name in names})
    return kept


def _plain(value: Any) -> Any:
    """Return a value as JSON would give it back; what is not plain goes through it."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float and isfinite(value):
        return value
    if kind is list or kind is tuple:
        return [_plain(one) for one in value]
    if kind is dict and all(type(name) is str for name in value):
        return {name: _plain(one) for name, one in value.items()}
    return json.loads(canonical(value))


_JSON: dict[type[LedgerRow], tuple[str, ...]] = {}
"""The fields of each kind of row that are JSON."""
