"""The runs of the grid as arrays over seed, accuracy and risk."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from studies.kit.means import Floats


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
    qos, utilization : float64[seed, a, U], shares; lost : float64[seed, a, U], node-hours
    """

    log: str
    tenths_a: tuple[int, ...]
    tenths_u: tuple[int, ...]
    qos: Floats
    utilization: Floats
    lost: Floats

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
    qos, utilization, lost = (
        mine[c].cast(pl.Float64).to_numpy().reshape(shape)
        for c in ("qos", "utilization", "lost_work")
    )
    return Surface(log, tenths_a, tenths_u, qos, utilization, lost / 3600)
