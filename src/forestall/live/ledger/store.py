"""The ledger: rows are added, all of a call or none, and read; nothing else can be done."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from itertools import groupby
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

import sqlalchemy as sa

from forestall.core.model.errors import LedgerError, ParameterError
from forestall.core.model.live.intents import LEGAL, IntentState
from forestall.core.model.units import format_duration, told_moment
from forestall.live.ledger.database import Database
from forestall.live.ledger.rows import (
    ApprovalRow,
    CycleRow,
    IntentRow,
    LedgerRow,
    OfferRow,
    OutcomeRow,
    PromiseRow,
    StateRow,
)
from forestall.live.ledger.tables import TABLES, row_of, values

R = TypeVar("R", bound=LedgerRow)
OUTCOMES: Final = ("kept", "missed", "void")
_CHUNK: Final = 1000
_JUDGED: Final = (PromiseRow, OutcomeRow, StateRow)
"""Kinds whose rows are held against what stands there: one after the other."""
_Told = tuple[LedgerRow, dict[str, Any]]


class SettledPromise(NamedTuple):
    """A promise that is over: what was said, that before correction, whether an engine planned its
    start, and what became of it."""

    probability: float
    before: float
    held: bool
    outcome: str


class LiveLedger:
    """A ledger, by the URL of its database: ``sqlite:///PATH`` or ``postgresql://...``.

    One process writes to it at a time; any number may read meanwhile. Threads of one process may
    share a ledger. All that is added is on the disk once `add` returns; after an error, or a death
    of the process, the same is added again: what is there already is not added twice.

    Parameters
    ----------
    url : of the database; passwords in it are never shown
    writes : be its writer, and bring it up to date; else read only

    Raises LedgerError where it cannot be opened so, ParameterError for another URL.
    """

    def __init__(self, url: str, *, writes: bool = True) -> None:
        self.database = Database(url)
        self.writes = writes
        self._one = threading.Lock()
        try:
            if writes:
                self.database.prepare()
            else:
                self.database.check_current()
        except BaseException:
            self.database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it; another process may write to it then."""
        self.database.close()

    def add(self, *rows: LedgerRow) -> None:
        """Add rows, all or none, in this order; those that are there already are passed over.

        Raises LedgerError where they cannot be written, where another row stands instead of
        one, or where one contradicts what stands there (`forestall.live.ledger.check` has the
        rules); ParameterError for a value that cannot be kept.
        """
        if not self.writes:
            raise LedgerError(self.database.name, "was opened read-only")
        told = [(row, values(row)) for row in rows]
        with self._one, self.database.writing() as connection:
            for part in _parts(told):
                self._add_part(connection, part)

    def read(self, kind: type[R], *, after: int = 0, **equal: Any) -> Iterator[R]:
        """Yield the rows of a kind in the order in which they were added.

        Parameters
        ----------
        after : number of the row after which they begin
        equal : columns and the values that they must have
        """
        table = TABLES[kind]
        wanted = [table.c[name] == value for name, value in equal.items()]
        while True:
            query = sa.select(table).where(table.c.seq > after, *wanted)
            with self.database.reading() as connection:
                found = connection.execute(query.order_by(table.c.seq).limit(_CHUNK))
                rows = found.mappings().all()
                made = [row_of(kind, one) for one in rows]
            yield from made
            if len(rows) < _CHUNK:
                return
            after = rows[-1]["seq"]

    def one(self, kind: type[R], *key: Any) -> R | None:
        """Return the row of a kind with a key, or None."""
        return next(self.read(kind, **dict(zip(kind.key, key, strict=True))), None)

    def cycles_telling(self, *kinds: str, after: int, upto: int) -> Iterator[CycleRow]:
        """Yield the cycles (after, upto] whose events name one of these kinds at least; the
        database looks for the words."""
        table = TABLES[CycleRow]
        named = sa.or_(*(table.c.events.contains(kind) for kind in kinds))
        while True:
            query = sa.select(table).where(table.c.seq > after, table.c.seq <= upto, named)
            with self.database.reading() as connection:
                found = connection.execute(query.order_by(table.c.seq).limit(_CHUNK))
                rows = found.mappings().all()
                made = [row_of(CycleRow, one) for one in rows]
            yield from made
            if len(rows) < _CHUNK:
                return
            after = rows[-1]["seq"]

    def count(self, kind: type[LedgerRow]) -> int:
        """Return how many rows of a kind there are."""
        with self.database.reading() as connection:
            last = sa.func.coalesce(sa.func.max(TABLES[kind].c.seq), 0)
            found = connection.scalar(sa.select(last))
            if not isinstance(found, int):
                allowed = "the number of its last row"
                raise ParameterError(f"{kind.table} is damaged: seq", found, allowed)
            return found

    def open_promises(self) -> list[PromiseRow]:
        """Return the promises of which no outcome is known, oldest first."""
        promises, outcomes = TABLES[PromiseRow], TABLES[OutcomeRow]
        known = sa.exists().where(outcomes.c.promise == promises.c.id)
        query = sa.select(promises).where(~known).order_by(promises.c.seq)
        with self.database.reading() as connection:
            return [row_of(PromiseRow, one) for one in connection.execute(query).mappings()]

    def settled(self) -> Iterator[SettledPromise]:
        """Yield the promises that are over, in the order in which their outcomes were added."""
        offers, promises, outcomes = TABLES[OfferRow], TABLES[PromiseRow], TABLES[OutcomeRow]
        query = (
            sa.select(promises.c.probability, offers.c.before, offers.c.held, outcomes.c.outcome)
            .join(promises, promises.c.id == outcomes.c.promise)
            .join(offers, offers.c.id == promises.c.offer)
            .order_by(outcomes.c.seq)
        )
        with self.database.reading() as connection:
            for row in connection.execute(query):
                yield SettledPromise(float(row[0]), float(row[1]), bool(row[2]), str(row[3]))

    def latest_states(self, *among: IntentState) -> list[tuple[IntentRow, StateRow]]:
        """Return the intents that are in one of these states now, with that state."""
        return self._intents(TABLES[StateRow].c.state.in_([str(state) for state in among]), True)

    def written_since(self, moment: int) -> list[tuple[IntentRow, StateRow]]:
        """Return the intents that were written at `moment` or later, whatever came of them."""
        states = TABLES[StateRow]
        written = (states.c.state == str(IntentState.WRITTEN)) & (states.c.at >= moment)
        return self._intents(written, False)

    def _intents(
        self, wanted: sa.ColumnElement[bool], latest: bool
    ) -> list[tuple[IntentRow, StateRow]]:
        """Return intents with those of their states that are wanted, in the order of states."""
        intents, states = TABLES[IntentRow], TABLES[StateRow]
        if latest:
            later = states.alias()
            after = (later.c.intent == states.c.intent) & (later.c.seq > states.c.seq)
            wanted = wanted & ~sa.exists().where(after)
        query = sa.select(states.c.intent).where(wanted).order_by(states.c.seq)
        with self.database.reading() as connection:
            moved = connection.execute(
                query.add_columns(*(states.c[name] for name in ("state", "at", "why")))
            ).mappings()
            told = [row_of(StateRow, one) for one in moved]
            found = connection.execute(
                sa.select(intents).where(intents.c.id.in_(query.with_only_columns(states.c.intent)))
            ).mappings()
            rows = {one["id"]: row_of(IntentRow, one) for one in found}
        return [(rows[state.intent], state) for state in told]

    def _add_part(self, connection: sa.Connection, part: list[_Told]) -> None:
        """Add rows of one kind that are not there yet, numbered after the last."""
        kind = type(part[0][0])
        table, there, new = TABLES[kind], _there(connection, part), list[dict[str, Any]]()
        for row, cells in part:
            key = _key(kind, cells)
            if key in there:
                self._check_same(row, cells, there[key])
                continue
            self._refuse(connection, row)
            there[key] = cells
            new.append(cells)
        if new:
            last = connection.scalar(sa.select(sa.func.coalesce(sa.func.max(table.c.seq), 0))) or 0
            rows = [{"seq": number, **cells} for number, cells in enumerate(new, last + 1)]
            connection.execute(table.insert(), rows)

    def _check_same(
        self, row: LedgerRow, cells: Mapping[str, Any], found: Mapping[Any, Any]
    ) -> None:
        """Raise LedgerError where another row has the key of one."""
        other = [name for name, value in cells.items() if found[name] != value]
        if other and other != ["version"]:
            key = ", ".join(str(cells[name]) for name in row.key)
            told = f"{row.table} {key} exists already with another {other[0]}; nothing is changed"
            raise LedgerError(self.database.name, told)

    def _refuse(self, connection: sa.Connection, row: LedgerRow) -> None:
        """Raise LedgerError for a row that contradicts what stands there."""
        why = ""
        if isinstance(row, PromiseRow):
            found = _found(connection, OfferRow, id=row.offer)
            why = "there is no such offer" if found is None else broken_offer(row, found)
        elif isinstance(row, OutcomeRow):
            promise = _found(connection, PromiseRow, id=row.promise)
            why = "there is no such promise" if promise is None else broken_outcome(row, promise)
        elif isinstance(row, StateRow):
            last = _last_state(connection, row.intent)
            why = illegal(last, row.state)
            if not why and row.state == IntentState.APPROVED:
                word = _found(connection, ApprovalRow, intent=row.intent)
                why = "" if word is not None and word.approved else "nobody approved it"
        if why:
            key = " ".join(str(getattr(row, name)) for name in row.key)
            raise LedgerError(self.database.name, f"{row.table} {key}: {why}")


def broken_offer(promise: PromiseRow, offer: OfferRow) -> str:
    """Return what of a promise is not what was offered; "": nothing."""
    if promise.at >= offer.expires:
        late = format_duration(promise.at - offer.expires)
        return f"the offer expired {told_moment(offer.expires)}; it was accepted {late} later"
    for name in ("deadline", "probability"):
        said, offered = getattr(promise, name), getattr(offer, name)
        if said != offered:
            return f"its {name} is {said}, and {offered} was offered"
    return ""


def broken_outcome(outcome: OutcomeRow, promise: PromiseRow) -> str:
    """Return what of an outcome cannot be; "": nothing."""
    if outcome.outcome not in OUTCOMES:
        return f"expected one of {', '.join(OUTCOMES)}"
    if outcome.outcome == "kept" and not 0 <= outcome.ended <= promise.deadline:
        if outcome.ended < 0:
            return "kept, but it has no end"
        late = format_duration(outcome.ended - promise.deadline)
        return f"kept, but it ended {told_moment(outcome.ended)}, {late} after its deadline"
    return ""


def illegal(last: str | None, state: str) -> str:
    """Return why a state may not follow another (None: the first); "" where it may."""
    known = list(IntentState)
    allowed = LEGAL[None if last is None else IntentState(last)]
    if state in known and IntentState(state) in allowed:
        return ""
    after = "at first" if last is None else f"after {last}"
    return f"{state} {after} is not legal; expected {', '.join(allowed) or 'nothing more'}"


def _found(connection: sa.Connection, kind: type[R], **equal: Any) -> R | None:
    table = TABLES[kind]
    wanted = [table.c[name] == value for name, value in equal.items()]
    found = connection.execute(sa.select(table).where(*wanted)).mappings().first()
    return None if found is None else row_of(kind, found)


def _last_state(connection: sa.Connection, intent: str) -> str | None:
    states = TABLES[StateRow]
    query = sa.select(states.c.state).where(states.c.intent == intent)
    return connection.scalar(query.order_by(states.c.seq.desc()).limit(1))


def _parts(told: list[_Told]) -> Iterator[list[_Told]]:
    """Yield rows in their order, those of one kind together that can be added at once: each
    statement is a wait for Python's lock."""
    for kind, group in groupby(told, key=lambda one: type(one[0])):
        rows = list(group)
        size = 1 if kind in _JUDGED or len(kind.key) > 1 else _CHUNK
        yield from (rows[k : k + size] for k in range(0, len(rows), size))


def _key(kind: type[LedgerRow], cells: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(cells[name] for name in kind.key)


def _there(
    connection: sa.Connection, part: list[_Told]
) -> dict[tuple[Any, ...], Mapping[Any, Any]]:
    """Return those of some rows of one kind that are there already, by their keys."""
    kind = type(part[0][0])
    table = TABLES[kind]
    if len(part) == 1:
        same = [table.c[name] == part[0][1][name] for name in kind.key]
    else:
        (name,) = kind.key
        same = [table.c[name].in_([cells[name] for _, cells in part])]
    found = connection.execute(sa.select(table).where(*same)).mappings()
    return {_key(kind, one): one for one in found}
