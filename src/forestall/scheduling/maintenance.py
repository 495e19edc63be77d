"""Planned outages on their way into a run and into its folder, from which they can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall.core.kit import log as logs
from forestall.core.kit.log import Column
from forestall.core.model.errors import TraceError
from forestall.core.model.failures import PlannedOutages
from forestall.core.model.units import MAX_SECONDS
from forestall.scheduling.rules.planned_risk_kernels import Planned
from forestall.scheduling.simulation.prepare import planned_by

if TYPE_CHECKING:
    from forestall.scheduling.engine.state import Prediction
    from forestall.scheduling.simulation.parameters import Parameters

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
