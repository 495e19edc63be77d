"""Planned outages on their way into a run and into its folder, from which they can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from forestall.app.kit import log as logs
from forestall.app.kit.log import Column
from forestall.decide.promise.planned_risk_kernels import Planned
from forestall.model.failures import PlannedOutages
from forestall.simulate.promise.prepare import planned_by

if TYPE_CHECKING:
    from forestall.engine.promise.state import Prediction
    from forestall.simulate.promise.parameters import Parameters

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


def read_planned(folder: Path) -> PlannedOutages | None:
    """Return the planned outages of the run in this folder; None where there were none."""
    path = folder / MAINTENANCE_FILE
    if not path.exists():
        return None
    rows = logs.read_log(path, logs.names_of(COLUMNS))
    return PlannedOutages(*(rows[name].to_numpy() for name in logs.names_of(COLUMNS)))
