"""Questions to a ledger that its database answers by itself: a year of rows is never read whole.

What grows with every row is asked for only from a row on (`after`), so that whoever asks again adds
what is new to what he has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from forestall.core.model.live.intents import IntentState
from forestall.live.ledger.database import Database
from forestall.live.ledger.rows import (
    CycleRow,
    IntentRow,
    OfferRow,
    OutcomeRow,
    PredictionRow,
    PromiseRow,
    RunRow,
    StateRow,
)
from forestall.live.ledger.tables import TABLES, row_of

TENTHS: Final = 10
_CHUNK: Final = 1000


class BookedPromise(NamedTuple):
    """A promise, the offer that it was, and what became of it; None: it is open."""

    promise: PromiseRow
    offer: OfferRow
    outcome: OutcomeRow | None


class BookedIntent(NamedTuple):
    """An intent and the state that it is in now."""

    intent: IntentRow
    state: StateRow


class TenthCount(NamedTuple):
    """Promises with a probability in one tenth (0: below 0.1) that ended in one way, and the sum
    of those probabilities."""

    tenth: int
    outcome: str
    times: int
    said: float


class SaidFailure(NamedTuple):
    """A failure of a node that was foreseen: first told at `told`, expected in [start, end), with
    the probability that was told last."""

    predictor: str
    node: str
    told: int
    start: int
    end: int
    probability: float


class LedgerQueries:
    """Questions to the database of a ledger. Any thread may ask; each raises LedgerError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def promises(
        self, owner: str | None, *, ended: bool, most: int, begins: str = ""
    ) -> list[BookedPromise]:
        """Return promises, the newest first.

        Parameters
        ----------
        owner : None: anybody's
        ended : also those that are over
        begins : of their ids
        """
        promises, outcomes = TABLES[PromiseRow], TABLES[OutcomeRow]
        query = (
            sa.select(promises.c.id)
            .outerjoin(outcomes, outcomes.c.promise == promises.c.id)
            .order_by(promises.c.seq.desc())
            .limit(most)
        )
        if owner is not None:
            query = query.where(promises.c.owner == owner)
        if not ended:
            query = query.where(outcomes.c.promise.is_(None))
        if begins:
            query = query.where(promises.c.id.startswith(begins, autoescape=True))
        with self._database.reading() as connection:
            names = [str(one[0]) for one in connection.execute(query)]
            found = _by_key(connection, PromiseRow, "id", names)
            offers = _by_key(connection, OfferRow, "id", [one.offer for one in found.values()])
            ends = _by_key(connection, OutcomeRow, "promise", names)
        return [
            BookedPromise(found[name], offers[found[name].offer], ends.get(name)) for name in names
        ]

    def open_count(self, owner: str | None) -> int:
        """Return how many promises are open."""
        promises, outcomes = TABLES[PromiseRow], TABLES[OutcomeRow]
        known = sa.exists().where(outcomes.c.promise == promises.c.id)
        query = sa.select(sa.func.count()).select_from(promises).where(~known)
        if owner is not None:
            query = query.where(promises.c.owner == owner)
        with self._database.reading() as connection:
            return int(connection.scalar(query) or 0)

    def serving(self, promises: Iterable[str]) -> dict[str, list[BookedIntent]]:
        """Return the intents that serve promises, oldest first, by promise."""
        names = list(promises)
        with self._database.reading() as connection:
            rows = _by_key(connection, IntentRow, "id", names, "promise")
            found = self._with_states(connection, rows)
        told: dict[str, list[BookedIntent]] = {}
        for one in found:
            told.setdefault(one.intent.promise, []).append(one)
        return told

    def intents(self, *, most: int) -> list[BookedIntent]:
        """Return the intents that were decided on last, the newest first."""
        table = TABLES[IntentRow]
        query = sa.select(table).order_by(table.c.seq.desc()).limit(most)
        with self._database.reading() as connection:
            rows = {one["id"]: row_of(IntentRow, one)
                    for one in connection.execute(query).mappings()}  # fmt: skip
            return self._with_states(connection, rows)

    def intent(self, name: str) -> BookedIntent | None:
        """Return one intent, None where it is not there."""
        with self._database.reading() as connection:
            rows = _by_key(connection, IntentRow, "id", [name])
            return next(iter(self._with_states(connection, rows)), None)

    def _with_states(
        self, connection: sa.Connection, rows: Mapping[str, IntentRow]
    ) -> list[BookedIntent]:
        """Return intents with the states that they are in now, in the order of `rows`."""
        states = TABLES[StateRow]
        last: dict[str, StateRow] = {}
        for names in _chunks(list(rows)):
            query = sa.select(states).where(states.c.intent.in_(names)).order_by(states.c.seq)
            for one in connection.execute(query).mappings():
                last[one["intent"]] = row_of(StateRow, one)
        return [BookedIntent(row, last[name]) for name, row in rows.items() if name in last]

    def waiting_count(self, now: int) -> int:
        """Return how many intents wait for a person's word: proposed, and not expired."""
        intents, states = TABLES[IntentRow], TABLES[StateRow]
        later = sa.exists().where(
            states.c.intent == intents.c.id, states.c.state != str(IntentState.PROPOSED)
        )
        query = sa.select(sa.func.count()).select_from(intents).where(
            intents.c.expires > now, ~later
        )  # fmt: skip
        with self._database.reading() as connection:
            return int(connection.scalar(query) or 0)

    def tenths(self) -> list[TenthCount]:
        """Return how promises ended, by tenths of what was said."""
        promises, outcomes = TABLES[PromiseRow], TABLES[OutcomeRow]
        said = promises.c.probability
        tenth = sa.case(
            *((said < (k + 1) / TENTHS, k) for k in range(TENTHS - 1)), else_=TENTHS - 1
        )
        query = (
            sa.select(tenth.label("tenth"), outcomes.c.outcome, sa.func.count(), sa.func.sum(said))
            .join(outcomes, outcomes.c.promise == promises.c.id)
            .group_by("tenth", outcomes.c.outcome)
        )
        with self._database.reading() as connection:
            found = connection.execute(query)
            return [TenthCount(int(k), str(how), int(n), float(p)) for k, how, n, p in found]

    def said_failures(self, before: int) -> list[SaidFailure]:
        """Return the failures that were foreseen, each once, of which the time is over by
        `before`."""
        table = TABLES[PredictionRow]
        which = (table.c.predictor, table.c.subject, table.c.start, table.c.end)
        last = (
            sa.select(sa.func.max(table.c.seq).label("seq"), sa.func.min(table.c.at).label("told"))
            .where(table.c.end <= before)
            .group_by(*which)
            .subquery()
        )
        query = sa.select(
            table.c.predictor, table.c.subject, last.c.told, table.c.start, table.c.end,
            table.c.probability,
        ).join(last, last.c.seq == table.c.seq)  # fmt: skip
        with self._database.reading() as connection:
            return [SaidFailure(*one) for one in connection.execute(query.order_by(table.c.seq))]

    def last_moment(self) -> int:
        """Return when something was written last, s since 1970; 0 where nothing was."""
        found = [0]
        with self._database.reading() as connection:
            for kind in (RunRow, CycleRow, OfferRow, PromiseRow, StateRow):
                table = TABLES[kind]
                last = sa.select(table.c.at).order_by(table.c.seq.desc()).limit(1)
                found.append(int(connection.scalar(last) or 0))
        return max(found)


def _by_key(
    connection: sa.Connection, kind: Any, key: str, values: list[str], column: str = ""
) -> dict[str, Any]:
    """Return rows by their key, where a column (that key's by default) is one of `values`."""
    table, found = TABLES[kind], {}
    for some in _chunks(values):
        query = sa.select(table).where(table.c[column or key].in_(some)).order_by(table.c.seq)
        for one in connection.execute(query).mappings():
            found[one[key]] = row_of(kind, one)
    return found


def _chunks(values: list[str]) -> Iterator[list[str]]:
    for k in range(0, len(values), _CHUNK):
        yield values[k : k + _CHUNK]
