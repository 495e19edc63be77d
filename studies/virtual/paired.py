"""Cells of the table of runs, and paired differences between them: the same seeds, jobs and
failures on both sides."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from studies.virtual.study import LOAD, MADE, SYNTHETIC

Floats = npt.NDArray[np.float64]

JOBS, TASKS, WORK = "job_completion", "task_completion", "work_completion"
"""What is compared: jobs and tasks completed in time, and the work of those tasks."""

WORDS: Final = {JOBS: "jobs", TASKS: "tasks", WORK: "work"}
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Cell:
    """What names the runs of a cell: all seeds of one case. The fields are those of `Case`."""

    strategy: str
    accuracy: float = -1.0
    rate: float = 1.0
    load: float = LOAD
    study: str = "grid"
    failures: str = MADE
    predictor: str = SYNTHETIC
    slack: float = 2.0
    misses: float = 0.0
    cost: int = 12
    error: str = "early"
    width: float = 1.0

    def at(self, **changes: Any) -> Cell:
        """Return the cell with other values."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval at 95 % (Student's t), the deviation of single seeds and
    their number."""

    mean: float
    low: float
    high: float
    deviation: float
    seeds: int

    @property
    def above(self) -> bool:
        """Whether it is above 0 by more than chance."""
        return self.low > 0

    @property
    def below(self) -> bool:
        """Whether it is below 0 by more than chance."""
        return self.high < 0


def mean_of(values: Floats) -> Mean:
    """Return the mean of float64[seeds]; of a single one the interval is without bound."""
    from scipy.stats import t

    count = len(values)
    middle = float(values.mean())
    if count < 2:
        return Mean(middle, -np.inf, np.inf, float("nan"), count)
    deviation = float(values.std(ddof=1))
    half = float(t.ppf((1 + LEVEL) / 2, count - 1)) * deviation / np.sqrt(count)
    return Mean(middle, middle - half, middle + half, deviation, count)


class Runs:
    """The table of runs, asked by cell."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table
        self._places: dict[tuple[Any, ...], list[int]] = {}
        names = list(Cell.__dataclass_fields__)
        order = table["seed"].arg_sort().to_list()
        keys = list(table.select(names).iter_rows())
        for place in order:
            self._places.setdefault(keys[place], []).append(place)

    def has(self, cell: Cell) -> bool:
        """Whether the cell was played."""
        return astuple(cell) in self._places

    def rows(self, cell: Cell) -> pl.DataFrame:
        """Return the runs of a cell in order of their seeds."""
        found = self.table[self._places.get(astuple(cell), [])]
        assert found["seed"].is_unique().all(), f"a seed twice in {cell}"
        return found

    def values(self, cell: Cell, measure: str) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return seeds int64[n] and values float64[n]."""
        rows = self.rows(cell)
        assert len(rows) > 0, f"not played: {cell}"
        return rows["seed"].to_numpy(), rows[measure].cast(pl.Float64).to_numpy()

    def mean(self, cell: Cell, measure: str) -> Mean:
        """Return the mean of a measure over seeds."""
        return mean_of(self.values(cell, measure)[1])

    def gain(self, cell: Cell, base: Cell, measure: str) -> Mean:
        """Return the mean of the differences cell - base over the seeds that both have."""
        (one, a), (two, b) = self.values(cell, measure), self.values(base, measure)
        _, i, j = np.intersect1d(one, two, return_indices=True)
        return mean_of(a[i] - b[j])
