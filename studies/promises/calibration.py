"""Are the promises honest? What was promised beside what was kept, at one accuracy and risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

CALIBRATED: Final = ((0.7, 0.9), (0.7, 0.0))
"""Where promises are looked at: (a, U). At U = 0.9 none is below 0.9."""


@dataclass(frozen=True)
class Bin:
    """Promises in [low, high), or of exactly 1 where both are 1, over all draws of detectabilities.

    `promised` is their mean, `kept` the share kept, `kept_work` the same by work; `struck` the
    share of the jobs that a failure struck, `saved` the share of the struck that were in time even
    so (None where none was).
    """

    log: str
    accuracy: float
    risk: float
    low: float
    high: float
    promises: int
    promised: float
    kept: float
    struck: float
    saved: float | None
    kept_work: float

    @property
    def name(self) -> str:
        """The range as text."""
        if self.low == 1:
            return "exactly 1"
        return f"{self.low:g} to {self.high:g}"


def calibration(promises: pl.DataFrame, log: str, accuracy: float, risk: float) -> list[Bin]:
    """Return the bins of one log, accuracy and risk, pooled over the seeds, from low to high."""
    mine = promises.filter(
        (pl.col("log") == log) & (pl.col("accuracy") == accuracy) & (pl.col("risk") == risk)
    )
    counts = ("promises", "promised", "kept", "struck", "struck_and_kept", "work", "work_kept")
    pooled = mine.group_by("low", "high").agg(pl.col(*counts).sum()).sort("low")
    return [
        Bin(
            log, accuracy, risk, row["low"], row["high"], row["promises"],
            row["promised"] / row["promises"],
            row["kept"] / row["promises"],
            row["struck"] / row["promises"],
            row["struck_and_kept"] / row["struck"] if row["struck"] else None,
            row["work_kept"] / row["work"],
        )
        for row in pooled.iter_rows(named=True)
    ]  # fmt: skip
