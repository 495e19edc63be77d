"""Means over seeds with their intervals, and tables of runs that are asked by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import stdtrit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Floats = npt.NDArray[np.float64]
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval at 95 % (Student's t), the deviation of single seeds (nan
    of one alone) and their number."""

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


def mean_of(values: Sequence[float] | Floats) -> Mean:
    """Return the mean of float64[seeds]; of a single one the interval is without bound."""
    found = np.asarray(values, dtype=np.float64)
    count, middle = len(found), float(found.mean())
    if count < 2:
        return Mean(middle, -np.inf, np.inf, float("nan"), count)
    deviation = float(found.std(ddof=1))
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2) * deviation / np.sqrt(count))
    return Mean(middle, middle - half, middle + half, deviation, count)


class Chosen:
    """For the dataclass that names the runs of a cell, all seeds of one case: cells with other
    values."""

    def at(self, **changes: Any) -> Self:
        """Return the cell with other values."""
        return replace(self, **changes)  # type: ignore[type-var]


Cell = TypeVar("Cell", bound="DataclassInstance")


class Runs(Generic[Cell]):
    """A table of runs, a row for each seed of each cell.

    Parameters
    ----------
    table : with the fields of cells, `seed`, and measures
    cell : the dataclass of cells
    also : columns that tell runs apart beside those fields; methods that take `more` want a value
        for each
    """

    def __init__(self, table: pl.DataFrame, cell: type[Cell], *also: str) -> None:
        self.table = table
        keys = [*(field.name for field in fields(cell)), *also]
        assert table.select(*keys, "seed").is_unique().all(), "a seed twice"
        places: dict[tuple[Any, ...], list[int]] = {}
        named = list(table.select(keys).iter_rows())
        for place in table["seed"].arg_sort().to_list():
            places.setdefault(named[place], []).append(place)
        self._places = places

    def key(self, cell: Cell, *more: Any) -> tuple[Any, ...]:
        """Return the values that the runs of a cell have."""
        return (*astuple(cell), *more)

    def has(self, cell: Cell, *more: Any) -> bool:
        """Whether the cell was played."""
        return self.key(cell, *more) in self._places

    def rows(self, cell: Cell, *more: Any) -> pl.DataFrame:
        """Return the runs of a cell in order of their seeds."""
        assert self.has(cell, *more), f"not played: {cell}"
        return self.table[self._places[self.key(cell, *more)]]

    def values(self, cell: Cell, measure: str, *more: Any) -> dict[int, float]:
        """Return a measure by seed; runs that do not have it are left out."""
        rows = self.rows(cell, *more).select("seed", pl.col(measure).cast(pl.Float64))
        return dict(rows.drop_nulls().iter_rows())

    def mean(self, cell: Cell, measure: str, *more: Any) -> Mean:
        """Return the mean of a measure over seeds."""
        return mean_of(list(self.values(cell, measure, *more).values()))

    def gain(self, cell: Cell, base: Cell, measure: str, *more: Any) -> Mean:
        """Return the mean of the paired differences cell - base over the seeds that both have."""
        one, two = (self.values(c, measure, *more) for c in (cell, base))
        return mean_of([one[seed] - two[seed] for seed in one if seed in two])
