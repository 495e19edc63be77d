"""Whether the engine decides again as the ledger says it did, byte for byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from forestall.core.model.live.canonical import canonical
from forestall.live.ledger.rows import CycleRow
from forestall.live.replays.recorded import Recorded
from forestall.live.slurm.mind import played
from forestall.scheduling.engine.engine import Engine

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class CycleDifference:
    """The first decision of a cycle that differs: which one, as it was recorded and as it came out
    (None: there is none)."""

    cycle: int
    run: int
    at: int
    place: int
    recorded: str | None
    replayed: str | None


@dataclass
class PlayedAgain:
    """What a replay came to.

    Attributes
    ----------
    cycles, runs : how many were played
    begin, end : of the cycles, s since 1970
    events, decisions : how many of each kind
    different : cycles with another decision
    first : where they differ first
    """

    cycles: int = 0
    runs: int = 0
    begin: int = 0
    end: int = 0
    events: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    different: int = 0
    first: CycleDifference | None = None

    def count(self, row: CycleRow, decided: list[dict[str, Any]]) -> None:
        """Count a cycle, and compare what was decided now with what was recorded."""
        self.begin = self.begin or row.at
        self.end = max(self.end, row.at)
        self.cycles += 1
        self.events.update(str(one["kind"]) for one in row.events["events"])
        self.decisions.update(str(one["kind"]) for one in row.decisions)
        if canonical(decided) != canonical(row.decisions):
            self.different += 1
            self.first = self.first or _difference(row, decided)


def play_again(recorded: Recorded, progress: Progress | None = None) -> PlayedAgain:
    """Play all cycles, each run with an engine as it began. Raises LedgerError for damage."""
    found, run, engine = PlayedAgain(), 0, None
    for row in recorded.cycles():
        if engine is None or row.run != run:
            run, engine = row.run, recorded.engine(row.run)
            found.runs += 1
        made = decided(recorded, engine, row)
        with recorded.damage(f"cycle {row.number}"):
            found.count(row, made)
        if progress is not None:
            progress(row.number, recorded.last)
    return found


def decided(recorded: Recorded, engine: Engine, row: CycleRow) -> list[dict[str, Any]]:
    """Return what an engine decides when it is told a cycle."""
    with recorded.damage(f"cycle {row.number}"):
        return played(engine, row.events)


def _difference(row: CycleRow, decided: list[dict[str, Any]]) -> CycleDifference:
    pairs = zip_longest(row.decisions, decided)
    for place, (was, now) in enumerate(pairs):
        told = tuple(None if one is None else canonical(one) for one in (was, now))
        if told[0] != told[1]:
            return CycleDifference(row.number, row.run, row.at, place, *told)
    raise AssertionError("some decision differs")
