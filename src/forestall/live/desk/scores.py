"""How well the word was kept, how well failures were foreseen, and what actions cost: from the
ledger, read once and then only from where it was read last."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from forestall.core.model.live.desk import CostTold, DecileTold, PredictorTold
from forestall.core.proportions import wilson
from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.queries import TENTHS, LedgerQueries, SaidFailure
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.costs import CostBook


class LedgerScores:
    """Figures over the whole ledger. Any thread may ask; all raise LedgerError."""

    def __init__(self, ledger: LiveLedger) -> None:
        self._ledger, self._queries = ledger, LedgerQueries(ledger.database)
        self._lock = threading.Lock()
        self._failures = LedgerFailures(ledger)
        self._costs = CostBook(ledger, self._failures)

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
            self._failures.read()
            by: dict[str, list[SaidFailure]] = {}
            for one in self._queries.said_failures(now):
                by.setdefault(one.predictor, []).append(one)
            return [_score(name, told, self._failures) for name, told in sorted(by.items())]


def _decile(tenth: int, counts: dict[str, int], said: float) -> DecileTold:
    kept = counts.get("kept", 0)
    made = kept + counts.get("missed", 0)
    low, high = tenth / TENTHS, (tenth + 1) / TENTHS
    least, most = wilson(kept, made)
    mean = said / made if made else (low + high) / 2
    return DecileTold(low, high, made, kept, counts.get("void", 0), mean, least, most)


def _score(name: str, told: Iterable[SaidFailure], failures: LedgerFailures) -> PredictorTold:
    """Return a predictor's record over failures that it told of and that are over."""
    pairs = [
        (one.probability, failures.first(one.node, one.told, one.end) is not None) for one in told
    ]
    count = len(pairs)
    came = sum(true for _, true in pairs)
    said = sum(probability for probability, _ in pairs) / count
    brier = sum((probability - true) ** 2 for probability, true in pairs) / count
    return PredictorTold(name, count, came, said, brier)
