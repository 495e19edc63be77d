"""How the promises that are over were kept: by deciles of what was said, and the correction that
follows from it."""

from __future__ import annotations

from typing import Final

from forestall.core.model.quotes import DecileRecord
from forestall.live.ledger.store import LiveLedger, SettledPromise
from forestall.site.learning.turnaround.books.correction import Correction

TENTHS: Final = 10


class PromiseRecord:
    """The record of a ledger: read whole once, then told what is booked.

    Void promises count for nothing. Only what an engine said is corrected by it: a book of jobs
    corrects itself.
    """

    def __init__(self, ledger: LiveLedger) -> None:
        self._made, self._kept = [0] * TENTHS, [0] * TENTHS
        self._correction = Correction()
        self.add(*ledger.settled())

    def add(self, *settled: SettledPromise) -> None:
        """Take in promises that are over, in the order in which that was booked."""
        known = [one for one in settled if one.outcome != "void"]
        for one in known:
            tenth = _tenth(one.probability)
            self._made[tenth] += 1
            self._kept[tenth] += one.outcome == "kept"
        held = [one for one in known if one.held]
        self._correction.learn(
            [one.before for one in held], [one.outcome == "kept" for one in held]
        )

    def of(self, probability: float) -> DecileRecord:
        """Return what became of promises of the decile of this probability."""
        tenth = _tenth(probability)
        return DecileRecord(
            tenth / TENTHS, (tenth + 1) / TENTHS, self._made[tenth], self._kept[tenth]
        )

    def corrected(self, probability: float) -> float:
        """Return an engine's probability as it is said: lower, where earlier ones were kept less
        often than that."""
        return self._correction.of(probability)


def _tenth(probability: float) -> int:
    return min(int(TENTHS * probability), TENTHS - 1)
