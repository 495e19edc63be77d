"""Probabilities that were said, judged by what happened."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JudgedProbabilities:
    """Probabilities of promises that were kept or missed.

    Attributes
    ----------
    count, kept : promises, and those kept
    said : mean probability, nan without promises
    brier : mean of (probability - kept)^2 (Brier, 1950), nan without promises
    spread : standard deviation of the probabilities: how far they tell promises apart
    rows : by decile of the probability
    """

    count: int
    kept: int
    said: float
    brier: float
    spread: float
    rows: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values; None for what is not known."""
        known = self.count > 0
        return {
            "promises": self.count,
            "kept": self.kept,
            "mean_said": self.said if known else None,
            "brier": self.brier if known else None,
            "spread": self.spread if known else None,
            "deciles": self.rows,
        }


def judged(said: Iterable[tuple[float, bool]]) -> JudgedProbabilities:
    """Return what probabilities come to, each with whether its promise was kept."""
    pairs = list(said)
    count, kept = len(pairs), sum(done for _, done in pairs)
    if not count:
        return JudgedProbabilities(0, 0, math.nan, math.nan, math.nan, [])
    mean = sum(chance for chance, _ in pairs) / count
    brier = sum((chance - done) ** 2 for chance, done in pairs) / count
    spread = math.sqrt(sum((chance - mean) ** 2 for chance, _ in pairs) / count)
    return JudgedProbabilities(count, kept, mean, brier, spread, _deciles(pairs))


def _deciles(pairs: list[tuple[float, bool]]) -> list[dict[str, Any]]:
    rows = []
    for decile in range(10):
        among = [one for one in pairs if min(int(10 * one[0]), 9) == decile]
        if among:
            kept = sum(done for _, done in among)
            rows.append(
                {
                    "from": decile / 10, "to": (decile + 1) / 10, "promises": len(among),
                    "kept": kept, "said_mean": sum(chance for chance, _ in among) / len(among),
                    "kept_share": kept / len(among),
                }
            )  # fmt: skip
    return rows
