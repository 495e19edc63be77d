"""What was found: simulated runs by case, and what was measured in network namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

import forestall as fs
from studies.kit.means import Mean, mean_of
from studies.vault import measured as measuring
from studies.vault.network import why_not
from studies.vault.plan import Plan

TABLE: Final = "network.csv"


@dataclass(frozen=True)
class Measured:
    """What was measured with real daemons: rows of `measured.TESTS`; where they come from, and why
    there are none."""

    rows: pl.DataFrame
    source: str = ""
    why: str = ""

    @property
    def there(self) -> bool:
        """Whether anything was measured."""
        return not self.rows.is_empty()

    def values(self, column: str, **named: Any) -> list[float]:
        """Return the values of a column of the rows with these values."""
        found = self.rows
        for name, value in named.items():
            if name not in found.columns:
                return []
            found = found.filter(pl.col(name) == value)
        return [float(one) for one in found[column].drop_nulls().to_list()]

    def mean(self, column: str, **named: Any) -> float:
        """Return their mean, nan without any."""
        values = self.values(column, **named)
        return float(np.mean(values)) if values else float("nan")


def left_out(why: str) -> Measured:
    """Return what there is where nothing was measured."""
    return Measured(pl.DataFrame(), why=why)


def asked(value: str | None, quick: bool, progress: measuring.Tell) -> Measured:
    """Return the measurements that were asked for: "measure", "none", or a folder of an earlier
    study."""
    wanted = value or ("none" if quick else "measure")
    if wanted == "none":
        return left_out("it was not asked for (--network)")
    if wanted != "measure":
        return read(Path(wanted))
    why = why_not()
    if why:
        return left_out(f"no network namespaces can be had: {why}")
    rows = measuring.measured(measuring.LITTLE if quick else measuring.Load(), progress)
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Measured(table, "measured on the machine that ran this")


def read(folder: Path) -> Measured:
    """Return what an earlier study measured. Raises TraceError."""
    path = folder / TABLE if folder.is_dir() else folder
    try:
        table = pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise fs.errors.TraceError(path, f"cannot be read: {error}") from None
    if "test" not in table.columns or "layout" not in table.columns:
        raise fs.errors.TraceError(path, "is no table of this study: it lacks test or layout")
    return Measured(table, "as an earlier run of the study measured it")


@dataclass(frozen=True)
class Found:
    """All of it."""

    plan: Plan
    runs: pl.DataFrame
    measured: Measured

    @property
    def sets(self) -> list[str]:
        """The sets of hosts, in order."""
        return list(dict.fromkeys(self.runs["hosts_of"].to_list()))

    def by_seed(self, hosts_of: str, layout: str, size: int, measure: str) -> dict[int, float]:
        """Return a measure of the runs of a layout by seed."""
        mine = self.runs.filter(
            (pl.col("hosts_of") == hosts_of)
            & (pl.col("layout") == layout)
            & (pl.col("size") == size)
        ).drop_nulls(measure)
        return dict(zip(mine["seed"].to_list(), mine[measure].to_list(), strict=True))

    def mean(self, hosts_of: str, layout: str, size: int, measure: str) -> Mean:
        """Return the mean of a measure over seeds."""
        values = list(self.by_seed(hosts_of, layout, size, measure).values())
        return mean_of(values or [float("nan")])

    def shorter(self, hosts_of: str, one: str, base: str, size: int) -> Mean:
        """Return by which share the makespan of a layout is shorter than that of another."""
        mine, other = (self.by_seed(hosts_of, x, size, "makespan") for x in (one, base))
        return mean_of([1 - mine[k] / other[k] for k in mine if k in other] or [float("nan")])
