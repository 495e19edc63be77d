"""The table of runs, asked by case, and paired differences: the same hosts and jobs on both
sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from studies.cycle_sharing.runs import ALL
from studies.cycle_sharing.study import LOAD, SCRATCH, SEEN

Floats = npt.NDArray[np.float64]
LEVEL: Final = 0.95
LONG: Final = 4 * 3600
"""Jobs from this run time on are long, s."""


@dataclass(frozen=True)
class Cell:
    """What names the runs of a cell, all seeds of it; the fields are those of `Case`. `hosts` is
    that of most runs of the set where it is 0."""

    hosts_of: str
    scheduler: str
    restart: str = SCRATCH
    load: float = LOAD
    hosts: int = 0
    learning: str = SEEN


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval at 95 % (Student's t) and their number."""

    mean: float
    low: float
    high: float
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
    from scipy.special import stdtrit

    count = len(values)
    middle = float(values.mean())
    if count < 2:
        return Mean(middle, -np.inf, np.inf, count)
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(count))
    return Mean(middle, middle - half, middle + half, count)


class Runs:
    """The table of runs."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table
        first = table.group_by("hosts_of", maintain_order=True).agg(pl.col("hosts").first())
        self._usual = dict(first.iter_rows())
        keys = ["hosts_of", "scheduler", "restart", "load", "hosts", "learning", "length"]
        names = [*keys, "seed"]
        assert table.select(names).is_unique().all(), "a seed twice"
        self._parts = {
            key: part.sort("seed") for key, part in table.group_by(keys, maintain_order=True)
        }

    @property
    def sets(self) -> list[str]:
        """The sets of hosts, in order."""
        return list(self._usual)

    def lengths(self) -> list[int]:
        """The run times of jobs, s."""
        found = self.table["length"].unique().sort().to_list()
        return [length for length in found if length != ALL]

    def counts(self, name: str) -> list[int]:
        """The numbers of hosts that a set was played with, rising."""
        mine = self.table.filter(pl.col("hosts_of") == name)
        return [int(count) for count in mine["hosts"].unique().sort().to_list()]

    def pools(self, name: str) -> list[tuple[float, int, str]]:
        """The loads, numbers of hosts and restarts that a set was played with."""
        mine = self.table.filter(pl.col("hosts_of") == name)
        places = mine.select("load", "hosts", "restart").unique(maintain_order=True)
        return places.sort("hosts", "load", maintain_order=True).rows()

    def _key(self, cell: Cell, length: int) -> tuple[Any, ...]:
        hosts = cell.hosts or self._usual.get(cell.hosts_of, 0)
        return (
            cell.hosts_of, cell.scheduler, cell.restart, cell.load, hosts, cell.learning, length
        )  # fmt: skip

    def has(self, cell: Cell, length: int = ALL) -> bool:
        """Whether the cell was played."""
        return self._key(cell, length) in self._parts

    def rows(self, cell: Cell, length: int = ALL) -> pl.DataFrame:
        """Return the runs of a cell in order of their seeds."""
        assert self.has(cell, length), f"not played: {cell}"
        return self._parts[self._key(cell, length)]

    def values(self, cell: Cell, measure: str, length: int = ALL) -> dict[int, float]:
        """Return a measure by seed; runs that do not have it are left out."""
        rows = self.rows(cell, length).select("seed", pl.col(measure).cast(pl.Float64))
        return dict(rows.drop_nulls().iter_rows())

    def mean(self, cell: Cell, measure: str, length: int = ALL) -> Mean:
        """Return the mean of a measure over seeds."""
        return mean_of(np.array(list(self.values(cell, measure, length).values())))

    def gain(self, cell: Cell, base: Cell, measure: str, length: int = ALL) -> Mean:
        """Return the mean of the differences cell - base over the seeds that both have."""
        one, two = self.values(cell, measure, length), self.values(base, measure, length)
        return mean_of(np.array([one[seed] - two[seed] for seed in one if seed in two]))

    def gain_of(self, cell: Cell, one: str, two: str, length: int = ALL) -> Mean:
        """Return the mean over seeds of the difference one - two of two measures of a cell."""
        a, b = self.values(cell, one, length), self.values(cell, two, length)
        return mean_of(np.array([a[seed] - b[seed] for seed in a if seed in b]))

    def shorter(self, cell: Cell, base: Cell, length: int = ALL) -> Mean:
        """Return by which share the makespan of `cell` is shorter than that of `base`: the mean
        over the seeds that both have."""
        one, two = (self.values(c, "makespan", length) for c in (cell, base))
        return mean_of(np.array([1 - one[seed] / two[seed] for seed in one if seed in two]))

    def shorter_by_seed(self, cell: Cell, base: Cell, lengths: Sequence[int]) -> Mean:
        """Return the same for the mean over some run times, each counting alike."""
        every = [self._ratios(cell, base, length) for length in lengths]
        shared = [s for s in every[0] if all(s in one for one in every)]
        return mean_of(np.array([np.mean([1 - one[s] for one in every]) for s in shared]))

    def slope(self, cell: Cell, base: Cell, *, relative: bool = False) -> Mean:
        """Return how much the makespan of `cell` over that of `base` grows with each hour of run
        time, h (`relative`: as a share of that of base): a straight line for each seed."""
        lengths = self.lengths()
        every = [(self.values(cell, "makespan", x), self.values(base, "makespan", x))
                 for x in lengths]  # fmt: skip
        shared = [s for s in every[0][0] if all(s in one and s in two for one, two in every)]
        at = np.array(lengths) / 3600
        found = []
        for seed in shared:
            gap = [one[seed] / two[seed] - 1 if relative else one[seed] - two[seed]
                   for one, two in every]  # fmt: skip
            found.append(float(np.polyfit(at, np.array(gap), 1)[0]))
        return mean_of(np.array(found))

    def _ratios(self, cell: Cell, base: Cell, length: int) -> dict[int, float]:
        one, two = (self.values(c, "makespan", length) for c in (cell, base))
        return {seed: one[seed] / two[seed] for seed in one if seed in two}
