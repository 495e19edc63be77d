"""Planned outages on their way into a run and into its folder, from which they can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall.app.kit import log as logs
from forestall.app.kit.log import Column
from forestall.decide.promise.planned_risk_kernels import Planned
from forestall.model.errors import TraceError
from forestall.model.failures import PlannedOutages
from forestall.model.units import MAX_SECONDS
from forestall.simulation.promise.prepare import planned_by

if TYPE_CHECKING:
    from forestall.engine.promise.state import Prediction
    from forestall.simulation.promise.parameters import Parameters

MAINTENANCE_FILE = "maintenance.csv"
COLUMNS = (Column("time"), Column("until"), Column("node"))


def beside_planned(
    prediction: Prediction, outages: PlannedOutages, settings: Parameters
) -> Prediction:
    """Return a prediction that also knows of planned outages; with a classic policy, which asks for
    no risks, they come without being foreseen."""
    if not settings.entry.promises:
        return prediction
    return Planned(prediction, planned_by(outages))


def table_of(outages: PlannedOutages) -> pl.DataFrame:
    """Return ``time,until,node`` of each planned outage."""
    return pl.DataFrame({"time": outages.time, "until": outages.until, "node": outages.node})


def read_planned(folder: Path, nodes: int) -> PlannedOutages | None:
    """Return the planned outages of the run in this folder, of so many nodes; None where there were
    none. Raises TraceError for what can be none."""
    path = folder / MAINTENANCE_FILE
    if not path.exists():
        return None
    rows = logs.read_log(path, logs.names_of(COLUMNS))
    every, times = np.ones(len(rows), dtype=np.bool_), (1 - MAX_SECONDS, MAX_SECONDS)
    bounds = {"time": times, "until": times, "node": (0, nodes)}
    time, until, node = (
        logs.whole(rows, name, path, bounds=bounds[name], needed=every)
        for name in logs.names_of(COLUMNS)
    )
    made = PlannedOutages.of(
        (int(a), int(b), (int(k),)) for a, b, k in zip(time, until, node, strict=True)
    )
    same = all(
        np.array_equal(mine, told)
        for mine, told in ((made.time, time), (made.until, until), (made.node, node))
    )
    if not same or (until <= time).any():
        raise TraceError(path, "expected outages in order of time and node, apart on each node")
    return made
