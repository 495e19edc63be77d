"""The table of runs, asked by case: the same hosts and jobs on both sides of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from studies.cycle_sharing.runs import ALL
from studies.cycle_sharing.study import LOAD, SCRATCH, SEEN
from studies.kit.means import Chosen, Mean, Runs, mean_of

LONG: Final = 4 * 3600
"""Jobs from this run time on are long, s."""


@dataclass(frozen=True)
class Cell(Chosen):
    """What names the runs of a cell, all seeds of it; the fields are those of `Case`. `hosts` is
    that of most runs of the set where it is 0."""

    hosts_of: str
    scheduler: str
    restart: str = SCRATCH
    load: float = LOAD
    hosts: int = 0
    learning: str = SEEN


class GuestRuns(Runs[Cell]):
    """The table of runs; a cell's are asked for one run time of the jobs, or for all together."""

    def __init__(self, table: pl.DataFrame) -> None:
        super().__init__(table, Cell, "length")
        first = table.group_by("hosts_of", maintain_order=True).agg(pl.col("hosts").first())
        self._usual = dict(first.iter_rows())

    def key(self, cell: Cell, *more: Any) -> tuple[Any, ...]:
        """Return the values that the runs of a cell have."""
        hosts = cell.hosts or self._usual.get(cell.hosts_of, 0)
        return super().key(replace(cell, hosts=hosts), *(more or (ALL,)))

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

    def gain_of(self, cell: Cell, one: str, two: str, length: int = ALL) -> Mean:
        """Return the mean over seeds of the difference one - two of two measures of a cell."""
        a, b = self.values(cell, one, length), self.values(cell, two, length)
        return mean_of([a[seed] - b[seed] for seed in a if seed in b])

    def shorter(self, cell: Cell, base: Cell, length: int = ALL) -> Mean:
        """Return by which share the makespan of `cell` is shorter than that of `base`: the mean
        over the seeds that both have."""
        one, two = (self.values(c, "makespan", length) for c in (cell, base))
        return mean_of([1 - one[seed] / two[seed] for seed in one if seed in two])

    def shorter_by_seed(self, cell: Cell, base: Cell, lengths: Sequence[int]) -> Mean:
        """Return the same for the mean over some run times, each counting alike."""
        every = [self._ratios(cell, base, length) for length in lengths]
        shared = [s for s in every[0] if all(s in one for one in every)]
        return mean_of([float(np.mean([1 - one[s] for one in every])) for s in shared])

    def rise(self, cell: Cell, column: str, one: int, two: int) -> Mean:
        """Return by how much a measure is more for jobs of run time `two` than of `one`."""
        a, b = self.values(cell, column, one), self.values(cell, column, two)
        return mean_of([b[seed] - a[seed] for seed in a if seed in b])

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
        return mean_of(found)

    def _ratios(self, cell: Cell, base: Cell, length: int) -> dict[int, float]:
        one, two = (self.values(c, "makespan", length) for c in (cell, base))
        return {seed: one[seed] / two[seed] for seed in one if seed in two}
