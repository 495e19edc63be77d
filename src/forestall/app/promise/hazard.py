"""The hazard predictor's way into a run and into its folder, from which it can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forestall._compile import records
from forestall.model.errors import ParameterError, TraceError
from forestall.predict.hazard.hazard import HazardPredictor
from forestall.predict.hazard.hazard_kernels import HAZARD, Hazard, hazard_of
from forestall.simulate.kit.failures import expected_downtime
from forestall.traces.files.atomic import atomic_path

if TYPE_CHECKING:
    from forestall.simulate.promise.parameters import Parameters

HAZARD_FILE = "hazard.csv"


def at_start(predictor: object, settings: Parameters, start: int) -> HazardPredictor:
    """Return what the predictor knows when a run begins, whose first event is at `start`.

    The run's failure log covers the time from 0, or from the start if that is earlier. Raises
    ParameterError where it is no HazardPredictor, or knows of what comes later.
    """
    if not isinstance(predictor, HazardPredictor):
        allowed = "a HazardPredictor that has learnt from a training log"
        raise ParameterError("predictor", "hazard", allowed)
    if predictor.end > start:
        raise ParameterError(
            "predictor",
            f"{predictor!r} with failures up to {predictor.end} s",
            f"one that has seen nothing after the run begins, at {start} s; fit(history, end=0) "
            "moves a history",
        )
    risky = settings.checkpoint == "risk" or settings.placement != "first"
    if not settings.entry.promises and risky:
        allowed = "trace, where a classic policy asks for risks"
        raise ParameterError("predictor", "hazard", allowed)
    since = start if predictor.end > 0 else min(start, 0)
    return predictor.for_run(settings.nodes, since, expected_downtime(settings))


def described(predictor: HazardPredictor) -> dict[str, Any]:
    """Return the law of the hazards and what it was learnt from, as `summary.json` has them."""
    return {
        "name": "hazard",
        "shape": predictor.shape,
        "prior_failures": predictor.prior_failures,
        "prior_exposure": predictor.prior_exposure,
        "downtime": predictor.downtime,
        "trained_failures": predictor.trained,
        "trained_from": predictor.begin,
        "trained_to": predictor.end,
    }


def write_hazard(predictor: HazardPredictor, path: Path) -> None:
    """Write what was known of each node when the run began."""
    table = predictor.known()
    columns = {name: np.asarray(table[name]).copy() for name in HAZARD.names or ()}
    lines = [",".join(("node", *columns))]
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    lines += [",".join((str(k), *map(repr, row))) for k, row in enumerate(rows)]
    with atomic_path(path) as place:
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_hazard(folder: Path, told: dict[str, Any]) -> Hazard:
    """Return what was known of each node when the run in this folder began.

    `told` is the entry `predictor` of its summary. Raises TraceError where the file is missing.
    """
    path = folder / HAZARD_FILE
    if not path.exists():
        raise TraceError(path, "is missing; simulate with {log_events} writes it")
    types = {
        name: pl.Float64 if HAZARD[name].kind == "f" else pl.Int64 for name in HAZARD.names or ()
    }
    try:
        frame = pl.read_csv(path, schema_overrides=types, glob=False)
        table = records(len(frame), HAZARD)
        for name in types:
            table[name] = frame[name].to_numpy()
    except pl.exceptions.PolarsError as error:
        raise TraceError(path, f"cannot be read as CSV: {str(error).splitlines()[0]}") from None
    return hazard_of(
        table,
        float(told["shape"]),
        float(told["prior_failures"]),
        float(told["prior_exposure"]),
        int(told["downtime"]),
    )
