"""Whether the books add up: every rule of the ledger, looked for in all that stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from forestall.core.files.documents import json_of
from forestall.core.model.live.canonical import canonical
from forestall.core.model.live.intents import MAY, IntentState, Role
from forestall.core.model.units import format_duration
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
from forestall.live.ledger.store import OUTCOMES, LiveLedger, broken_offer, broken_outcome, illegal
from forestall.live.ledger.tables import TABLES


@dataclass(frozen=True)
class Balance:
    """What the books hold, and what of them does not add up.

    Attributes
    ----------
    rows : by table
    promises : by what became of them: open, kept, missed, void
    intents : by the state that they are in
    wrong : a sentence for each thing that does not add up; none: they add up
    """

    rows: Mapping[str, int]
    promises: Mapping[str, int]
    intents: Mapping[str, int]
    wrong: tuple[str, ...]

    @property
    def adds_up(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


@dataclass(frozen=True)
class _Books:
    """All that rules look at."""

    offers: Mapping[str, OfferRow]
    promises: Mapping[str, PromiseRow]
    outcomes: list[OutcomeRow]
    intents: Mapping[str, IntentRow]
    states: Mapping[str, list[StateRow]]
    approvals: Mapping[str, ApprovalRow]
    runs: Mapping[int, RunRow]
    cycles: list[CycleRow]


def check(ledger: LiveLedger) -> Balance:
    """Return what the books hold and whether they add up. Raises LedgerError where they cannot be
    read."""
    wrong = [line for kind in ROWS for line in _numbers(ledger, kind)]
    states: dict[str, list[StateRow]] = {}
    for row in ledger.read(StateRow):
        states.setdefault(row.intent, []).append(row)
    books = _Books(
        offers={row.id: row for row in ledger.read(OfferRow)},
        promises={row.id: row for row in ledger.read(PromiseRow)},
        outcomes=list(ledger.read(OutcomeRow)),
        intents={row.id: row for row in ledger.read(IntentRow)},
        states=states,
        approvals={row.intent: row for row in ledger.read(ApprovalRow)},
        runs={row.number: row for row in ledger.read(RunRow)},
        cycles=list(ledger.read(CycleRow)),
    )
    wrong += [line for rule in RULES for line in rule(books)]
    kinds = {one.promise: one.outcome for one in books.outcomes}
    became = [kinds.get(one, "open") for one in books.promises]
    now = [states[one][-1].state if one in states else "" for one in books.intents]
    return Balance(
        rows={kind.table: ledger.count(kind) for kind in ROWS},
        promises={name: became.count(name) for name in ("open", *OUTCOMES)},
        intents={str(name): now.count(name) for name in IntentState if name in now},
        wrong=tuple(wrong),
    )


def _numbers(ledger: LiveLedger, kind: type[LedgerRow]) -> Iterator[str]:
    """Rows are numbered from 1 without gaps, and their JSON is canonical."""
    table = TABLES[kind]
    texts = [name for name, one in kind.__dataclass_fields__.items() if one.type == "Json"]
    expected = 1
    with ledger.database.reading() as connection:
        found: Any = connection.execute(sa.select(table).order_by(table.c.seq)).mappings()
        for row in found:
            if row["seq"] != expected:
                yield f"{kind.table}: found row {row['seq']}, expected {expected}"
            expected = row["seq"] + 1
            for name in texts:
                if canonical(json_of(row[name])) != row[name]:
                    yield f"{kind.table}: {name} of row {row['seq']} is not canonical JSON"


def _promises(books: _Books) -> Iterator[str]:
    """Every promise is an offer that was accepted in time, once, with the words of the offer."""
    accepted: set[str] = set()
    for one in books.promises.values():
        offer = books.offers.get(one.offer)
        broken = "there is no such offer" if offer is None else broken_offer(one, offer)
        if broken:
            yield f"promise {one.id}: {broken}"
        if one.offer in accepted:
            yield f"promise {one.id}: the offer {one.offer} was accepted before"
        accepted.add(one.offer)


def _outcomes(books: _Books) -> Iterator[str]:
    """Every outcome is of a promise, its first, and none is known before the promise was made."""
    known: set[str] = set()
    for one in books.outcomes:
        promise = books.promises.get(one.promise)
        broken = "there is no such promise"
        if promise is not None:
            broken = "known before" if one.promise in known else broken_outcome(one, promise)
        if broken:
            yield f"outcome {one.outcome} of promise {one.promise}: {broken}"
        known.add(one.promise)


def _intents(books: _Books) -> Iterator[str]:
    """Every intent is what its id says, may be done by its role, and was proposed."""
    for one in books.intents.values():
        intent = one.intent()
        if intent.id != one.id:
            yield f"intent {one.id}: its content belongs to the id {intent.id}"
        if intent.action not in MAY[Role(one.role)]:
            yield f"intent {one.id}: a {one.role} may not {one.action}"
        if one.id not in books.states:
            yield f"intent {one.id}: has no state"


def _states(books: _Books) -> Iterator[str]:
    """States follow each other as they may; what was written had not expired; what was approved
    has a name to it."""
    for name, states in books.states.items():
        intent = books.intents.get(name)
        if intent is None:
            yield f"state {states[0].state} of {name}: there is no such intent"
            continue
        last = None
        for one in states:
            wrong = illegal(last, one.state)
            if wrong:
                yield f"intent {name}: {wrong}"
            if one.state == IntentState.WRITTEN and one.at >= intent.expires:
                late = format_duration(one.at - intent.expires)
                yield f"intent {name}: written {late} after it had expired"
            word = books.approvals.get(name)
            if one.state == IntentState.APPROVED and not (word and word.approved):
                yield f"intent {name}: approved by nobody"
            last = one.state


def _cycles(books: _Books) -> Iterator[str]:
    """Every cycle belongs to a run, and the runs' numbers grow."""
    for one in books.cycles:
        if one.run not in books.runs:
            yield f"cycle {one.number}: there is no such run"


RULES: Final[tuple[Callable[[_Books], Iterator[str]], ...]] = (
    _promises, _outcomes, _intents, _states, _cycles,
)  # fmt: skip
"""All rules; what breaks one is a sentence."""
