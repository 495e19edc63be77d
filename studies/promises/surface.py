"""The runs of the grid as arrays over seed, accuracy and risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from studies.kit.means import Floats
from studies.promises.study import PERIODIC, SIZES


def gains_elsewhere(runs: pl.DataFrame, log: str, point: tuple[float, float]) -> Floats | None:
    """Return how much QoS at (a, U) is better than without prediction, float64[start, seed], with
    the year of failures begun at each of several times; None where that was not played."""
    mine = runs.filter((pl.col("study") == "rolled") & (pl.col("log") == log))
    base = mine.filter(pl.col("accuracy") == 0).select("shift", base="qos")
    some = mine.filter((pl.col("accuracy") == point[0]) & (pl.col("risk") == point[1]))
    if len(some) == 0 or len(base) == 0:
        return None
    both = some.join(base, on="shift").sort("shift", "seed")
    gains = (both["qos"] - both["base"]).to_numpy()
    found: Floats = gains.reshape(both["shift"].n_unique(), -1)
    return found


@dataclass(frozen=True)
class Surface:
    """The grid of one job log.

    Attributes
    ----------
    log : its name
    tenths_a, tenths_u : accuracies and risks of the grid in exact tenths, ascending
    qos, utilization, idle : float64[seed, a, U], shares; the last of node-time from the first
        submission to the last end
    lost : float64[seed, a, U], node-hours
    periodic : QoS and lost work, node-hours, of checkpoints at each request and no prediction;
        None where that was not played
    """

    log: str
    tenths_a: tuple[int, ...]
    tenths_u: tuple[int, ...]
    qos: Floats
    utilization: Floats
    lost: Floats
    idle: Floats
    periodic: tuple[float, float] | None = None

    def a(self, tenths: int) -> int:
        """Return the place of an accuracy, given in tenths."""
        return self.tenths_a.index(tenths)

    def u(self, tenths: int) -> int:
        """Return the place of a risk, given in tenths."""
        return self.tenths_u.index(tenths)

    def measure(self, name: str) -> Floats:
        """Return one of qos, utilization, lost."""
        found: Floats = {"qos": self.qos, "utilization": self.utilization, "lost": self.lost}[name]
        return found


def surface(runs: pl.DataFrame, log: str, study: str = "grid") -> Surface:
    """Return the grid of a log from the table of runs; every seed must have played all of it."""
    mine = runs.filter((pl.col("study") == study) & (pl.col("log") == log)).with_columns(
        a=(pl.col("accuracy") * 10).round().cast(pl.Int64),
        u=(pl.col("risk") * 10).round().cast(pl.Int64),
    )
    mine = mine.sort("seed", "a", "u")
    tenths_a, tenths_u = (tuple(mine[c].unique().sort().to_list()) for c in ("a", "u"))
    shape = (mine["seed"].n_unique(), len(tenths_a), len(tenths_u))
    qos, utilization, lost, idle = (
        mine[c].cast(pl.Float64).to_numpy().reshape(shape)
        for c in ("qos", "utilization", "lost_work", "idle")
    )
    return Surface(
        log, tenths_a, tenths_u, qos, utilization, lost / 3600, idle, _periodic(runs, log)
    )


def _periodic(runs: pl.DataFrame, log: str) -> tuple[float, float] | None:
    some = runs.filter((pl.col("variant") == PERIODIC) & (pl.col("log") == log))
    if len(some) == 0:
        return None
    return float(some["qos"][0]), float(some["lost_work"][0]) / 3600


def sizes_of(runs: pl.DataFrame, measure: str) -> dict[str, Floats] | None:
    """Return a measure of the runs with the log's sizes and with powers of two, float64[a, seed]
    each, accuracies from 0 on; None where that was not played."""
    mine = runs.filter((pl.col("study") == SIZES) & (pl.col("failures") == "log"))
    if len(mine) == 0:
        return None
    found = {}
    for (name,), rows in mine.sort("accuracy", "seed").group_by("sizes", maintain_order=True):
        seeds = rows["seed"].n_unique()
        each = [some[measure].cast(pl.Float64).to_numpy()
                for _, some in rows.group_by("accuracy", maintain_order=True)]  # fmt: skip
        found[str(name)] = np.array([np.broadcast_to(one, (seeds,)) for one in each])
    return found


def fragmented(runs: pl.DataFrame) -> dict[str, float]:
    """Return the share of node-time that is idle while jobs wait, by the sizes of jobs."""
    mine = runs.filter((pl.col("study") == SIZES) & (pl.col("failures") == "none"))
    return dict(zip(mine["sizes"].to_list(), mine["fragmented"].to_list(), strict=True))
