"""What a ledger recorded, read to be played again: damage is one line that names the row.

A ledger may be written to meanwhile: it is read up to the cycle that was its last at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from forestall.core.model.errors import ForestallError, LedgerError
from forestall.live.ledger.rows import CycleRow, LedgerRow, OfferRow, OutcomeRow, PromiseRow, RunRow
from forestall.live.ledger.store import LiveLedger, broken_offer, broken_outcome
from forestall.scheduling.engine.engine import Engine

R = TypeVar("R", bound=LedgerRow)
_OF_DAMAGE: Final = (
    ValueError, LookupError, TypeError, AttributeError, AssertionError, OverflowError
)  # fmt: skip
"""What comes of data of another form than it was written in."""


@dataclass(frozen=True)
class RecordedPromise:
    """A promise, the offer that it was, and what became of it (None: it is open)."""

    promise: PromiseRow
    offer: OfferRow
    outcome: OutcomeRow | None

    @property
    def kept(self) -> bool | None:
        """Whether it was kept; None where it is open or void."""
        known = self.outcome is not None and self.outcome.outcome in ("kept", "missed")
        return self.outcome.outcome == "kept" if known and self.outcome is not None else None

    @property
    def unlike(self) -> list[str]:
        """Return where the promise is not its offer, or its outcome not what became of it."""
        wrong = [broken_offer(self.promise, self.offer)]
        if self.outcome is not None:
            wrong.append(broken_outcome(self.outcome, self.promise))
        return [f"promise {self.promise.id}: {one}" for one in wrong if one]


class Recorded:
    """A ledger as it stood when this was made. Raises LedgerError where it is damaged."""

    def __init__(self, ledger: LiveLedger) -> None:
        self._ledger, self.name = ledger, ledger.database.name
        self.last = ledger.count(CycleRow)
        self.runs = {row.number: row for row in self.rows(RunRow)}

    def rows(self, kind: type[R]) -> Iterator[R]:
        """Yield all rows of a kind."""
        with self.damage(kind.table):
            yield from self._ledger.read(kind)

    def cycles(self) -> Iterator[CycleRow]:
        """Yield the cycles, each once, in their order."""
        expected = 1
        for row in self.rows(CycleRow):
            if row.number > self.last:
                return
            if row.number != expected or row.run not in self.runs:
                told = f"found cycle {row.number}, expected {expected}"
                raise LedgerError(self.name, told if row.run in self.runs else
                                  f"cycle {row.number}: there is no run {row.run}")  # fmt: skip
            expected += 1
            yield row

    def promises(self) -> list[RecordedPromise]:
        """Return the promises with their offers, oldest first."""
        promises = list(self.rows(PromiseRow))
        wanted = {one.offer for one in promises}
        offers = {row.id: row for row in self.rows(OfferRow) if row.id in wanted}
        outcomes = {row.promise: row for row in self.rows(OutcomeRow)}
        for one in promises:
            if one.offer not in offers:
                raise LedgerError(self.name, f"promise {one.id}: there is no offer {one.offer}")
        return [RecordedPromise(one, offers[one.offer], outcomes.get(one.id)) for one in promises]

    def engine(self, run: int) -> Engine:
        """Return the engine with which a run began."""
        with self.damage(f"run {run}"):
            return Engine.restore(self.runs[run].snapshot["engine"])

    def nodes(self, run: int) -> tuple[str, ...]:
        """Return the names of the nodes of a run, in the engine's order."""
        with self.damage(f"run {run}"):
            return tuple(str(name) for name in self.runs[run].snapshot["nodes"])

    @contextmanager
    def damage(self, what: str) -> Iterator[None]:
        """Tell what cannot be read or played as damage of that part of the ledger."""
        try:
            yield
        except LedgerError:
            raise
        except (ForestallError, *_OF_DAMAGE) as bad:
            said = str(bad).partition("\n")[0] or type(bad).__name__
            raise LedgerError(self.name, f"{what} is damaged: {said[:120]}") from None


def moment_of(told: Mapping[str, Any]) -> int:
    """Return when an engine was told a cycle, s since 1970."""
    return int(told["now"])
