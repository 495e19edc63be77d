"""Counts of what stands in a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

TENTHS: Final = 10


@dataclass(frozen=True)
class LedgerCounts:
    """Counts of a ledger.

    Attributes
    ----------
    rows : by table
    looks : by whether they were whole
    made : promises by tenth of the probability that was said (0: below 0.1)
    ended : promises by tenth and outcome
    said : sums of the probabilities of those that were kept or missed, by tenth
    states : how often intents came into a state, by role and state
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    looks: Mapping[bool, int] = field(default_factory=dict)
    made: Mapping[int, int] = field(default_factory=dict)
    ended: Mapping[tuple[int, str], int] = field(default_factory=dict)
    said: Mapping[int, float] = field(default_factory=dict)
    states: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def kept_share(self, tenth: int) -> float | None:
        """Return the share of promises of a tenth that were kept, of those kept or missed."""
        kept, missed = (self.ended.get((tenth, one), 0) for one in ("kept", "missed"))
        return kept / (kept + missed) if kept + missed else None

    def said_mean(self, tenth: int) -> float | None:
        """Return the mean probability that was said to those that were kept or missed."""
        settled = sum(self.ended.get((tenth, one), 0) for one in ("kept", "missed"))
        return self.said.get(tenth, 0.0) / settled if settled else None

    @property
    def calibration_error(self) -> float | None:
        """Mean difference of said and kept shares, weighted by promises; None where none is
        settled."""
        total, apart = 0, 0.0
        for tenth in range(TENTHS):
            kept, said = self.kept_share(tenth), self.said_mean(tenth)
            if kept is None or said is None:
                continue
            settled = sum(self.ended.get((tenth, one), 0) for one in ("kept", "missed"))
            total, apart = total + settled, apart + settled * abs(kept - said)
        return apart / total if total else None
