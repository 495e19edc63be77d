"""A ledger at which its process dies, whose disk is full, and whose server goes away and comes
back: at writes that are drawn, or that are named."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from forestall.core.model.errors import LedgerError
from forestall.core.model.live.intents import IntentState
from forestall.live.ledger.rows import IntentRow, LedgerRow, PromiseRow, StateRow
from forestall.live.ledger.store import LiveLedger, R, SettledPromise
from forestall.slurm.simulation.cluster import Killed


class Fate(StrEnum):
    """What happens at a write."""

    BEFORE = "killed before it"
    AFTER = "killed after it"
    FULL = "the disk is full"
    GONE = "the server goes away before it"
    UNHEARD = "the server goes away after it"


FATES = tuple(Fate)
FateOf = Callable[[int], Fate | None]
AWAY = 7
"""Calls at most that find no server."""


def drawn(seed: int, share: float) -> FateOf:
    """Return fates of which a share of the writes has one."""
    chance = random.Random(f"{seed} ledger")
    return lambda _: chance.choice(FATES) if chance.random() < share else None


def named(write: int, fate: Fate) -> FateOf:
    """Return one fate, of the k-th write."""
    return lambda number: fate if number == write else None


class MortalLedger(LiveLedger):
    """What is asked of it goes to a ledger that outlives the process, if nothing comes between.

    `number` counts the calls that add; `met` are the fates so far, by the kinds of rows.
    """

    def __init__(self, kept: LiveLedger, fate_of: FateOf) -> None:
        self.writes, self.kept, self.fate_of = True, kept, fate_of
        self.number = self.away = 0
        self.met: list[str] = []

    def close(self) -> None:
        """What is kept outlives it."""

    def add(self, *rows: LedgerRow) -> None:
        self._reach()
        if not rows:
            return
        self.number += 1
        fate = self.fate_of(self.number)
        if fate is None:
            self.kept.add(*rows)
            return
        self.met.append(f"{fate} {rows[0].table}")
        if fate in (Fate.AFTER, Fate.UNHEARD):
            self.kept.add(*rows)
        if fate in (Fate.BEFORE, Fate.AFTER):
            raise Killed(f"{fate}: write {self.number}, {rows[0].table}")
        self.away = 0 if fate is Fate.FULL else 1 + self.number % AWAY
        raise LedgerError("mortal", f"cannot be written: {fate}")

    def _reach(self) -> None:
        if self.away:
            self.away -= 1
            raise LedgerError("mortal", "cannot be reached")

    def read(self, kind: type[R], *, after: int = 0, **equal: Any) -> Iterator[R]:
        self._reach()
        return self.kept.read(kind, after=after, **equal)

    def one(self, kind: type[R], *key: Any) -> R | None:
        self._reach()
        return self.kept.one(kind, *key)

    def count(self, kind: type[LedgerRow]) -> int:
        self._reach()
        return self.kept.count(kind)

    def open_promises(self) -> list[PromiseRow]:
        self._reach()
        return self.kept.open_promises()

    def settled(self) -> Iterator[SettledPromise]:
        self._reach()
        return self.kept.settled()

    def latest_states(self, *among: IntentState) -> list[tuple[IntentRow, StateRow]]:
        self._reach()
        return self.kept.latest_states(*among)

    def written_since(self, moment: int) -> list[tuple[IntentRow, StateRow]]:
        self._reach()
        return self.kept.written_since(moment)
