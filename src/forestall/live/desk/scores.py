"""How well the word was kept, how well failures were foreseen, and what actions cost: from the
ledger, read once and then only from where it was read last."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from forestall.live.ledger.queries import TENTHS, LedgerQueries, SaidFailure
from forestall.live.ledger.rows import CycleRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.costs import CostBook
from forestall.model.live.desk import CostTold, DecileTold, PredictorTold
from forestall.reliability.shares import wilson


@dataclass
class _Failures:
    """Moments at which nodes failed, by name, in order."""

    at: dict[str, list[int]] = field(default_factory=dict)

    def add(self, node: str, moment: int) -> None:
        """Add one; they come in order."""
        self.at.setdefault(node, []).append(moment)

    def came(self, one: SaidFailure) -> bool:
        """Whether a failure that was foreseen came, between the moment at which it was told and the
        end of its window."""
        moments = self.at.get(one.node, [])
        k = bisect_left(moments, one.told)
        return k < len(moments) and moments[k] < one.end


class LedgerScores:
    """Figures over the whole ledger. Any thread may ask; all raise LedgerError."""

    def __init__(self, ledger: LiveLedger) -> None:
        self._ledger, self._queries = ledger, LedgerQueries(ledger.database)
        self._lock = threading.Lock()
        self._costs, self._cycles = CostBook(ledger), 0
        self._names: dict[int, list[str]] = {}
        self._failures = _Failures()

    def calibration(self) -> list[DecileTold]:
        """Return how well the word was kept, by tenths of what was said; those with none are left
        out."""
        counts: dict[int, dict[str, int]] = {}
        said: dict[int, float] = {}
        for one in self._queries.tenths():
            counts.setdefault(one.tenth, {})[one.outcome] = one.times
            if one.outcome != "void":
                said[one.tenth] = said.get(one.tenth, 0.0) + one.said
        return [_decile(tenth, counts[tenth], said.get(tenth, 0.0)) for tenth in sorted(counts)]

    def costs(self, now: int, out: Collection[str] | None) -> list[CostTold]:
        """Return what actions cost and saved by `now` (`forestall.live.rules.costs`); `out`: nodes
        that we took out of service and that are out still, None where nobody has looked."""
        with self._lock:
            return self._costs.told(now, out)

    def predictors(self, now: int) -> list[PredictorTold]:
        """Return the predictors' records by `now`."""
        with self._lock:
            self._read_failures()
            by: dict[str, list[SaidFailure]] = {}
            for one in self._queries.said_failures(now):
                by.setdefault(one.predictor, []).append(one)
            return [_score(name, told, self._failures) for name, told in sorted(by.items())]

    def _read_failures(self) -> None:
        """Read which nodes failed since the last time."""
        upto = self._ledger.count(CycleRow)
        for cycle in self._queries.failures(self._cycles, upto=upto):
            names = self._nodes_of(cycle.run)
            for event in cycle.events.get("events", ()):
                if event.get("kind") == "node_failed" and 0 <= event["key"] < len(names):
                    self._failures.add(names[event["key"]], int(event["time"]))
        self._cycles = upto

    def _nodes_of(self, run: int) -> list[str]:
        """Return the names of the nodes of a run, in the engine's order."""
        if run not in self._names:
            row = self._ledger.one(RunRow, run)
            self._names[run] = [] if row is None else [str(name) for name in row.snapshot["nodes"]]
        return self._names[run]


def _decile(tenth: int, counts: dict[str, int], said: float) -> DecileTold:
    kept = counts.get("kept", 0)
    made = kept + counts.get("missed", 0)
    low, high = tenth / TENTHS, (tenth + 1) / TENTHS
    least, most = wilson(kept, made)
    mean = said / made if made else (low + high) / 2
    return DecileTold(low, high, made, kept, counts.get("void", 0), mean, least, most)


def _score(name: str, told: Iterable[SaidFailure], failures: _Failures) -> PredictorTold:
    """Return a predictor's record over failures that it told of and that are over."""
    pairs = [(one.probability, failures.came(one)) for one in told]
    count = len(pairs)
    came = sum(true for _, true in pairs)
    said = sum(probability for probability, _ in pairs) / count
    brier = sum((probability - true) ** 2 for probability, true in pairs) / count
    return PredictorTold(name, count, came, said, brier)
