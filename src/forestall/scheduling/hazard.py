"""The hazard predictor's way into a run and into its folder, from which it can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core._compile import records
from forestall.core.files.atomic import atomic_path
from forestall.core.files.guard import making
from forestall.core.files.held import Held
from forestall.core.kit import log as logs
from forestall.core.kit.folder import SUMMARY
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import MAX_SECONDS
from forestall.core.world.failures import expected_downtime
from forestall.prediction.models.hazard.fit import GapLaw
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.hazard.hazard_kernels import HAZARD, Hazard, hazard_of

if TYPE_CHECKING:
    from forestall.scheduling.simulation.parameters import Parameters

HAZARD_FILE = "hazard.csv"


def at_start(predictor: object, settings: Parameters, start: int) -> HazardPredictor:
    """Return what the predictor knows when a run begins, whose first event is at `start`.

    The run's failure log covers the time from 0, or from the start if that is earlier. Raises
    ParameterError where it is no HazardPredictor, or knows of what comes later.
    """
    if not isinstance(predictor, HazardPredictor):
        allowed = "a HazardPredictor that has learned from a training log"
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
        allowed = "trace, because the classic policy uses risks here"
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


def read_hazard(folder: Path, told: dict[str, Any], nodes: int) -> Hazard:
    """Return what was known of each of so many nodes when the run in this folder began.

    `told` is the entry `predictor` of its summary. Raises TraceError where the file is missing, or
    what it says, or the summary, cannot be.
    """
    path = folder / HAZARD_FILE
    names = HAZARD.names or ()
    log = logs.read_log(path, ("node", *names))
    every = np.ones(len(log), dtype=np.bool_)
    number = logs.whole(log, "node", path, bounds=(0, nodes), needed=every)
    if not np.array_equal(number, np.arange(nodes)):
        raise TraceError(
            path, f"expected nodes 0 to {nodes - 1}, each once, in order", field="node"
        )
    table, times = records(nodes, HAZARD), (1 - MAX_SECONDS, MAX_SECONDS)
    for name in names:
        if HAZARD[name].kind == "f":
            table[name] = logs.positive(log, name, path)
        else:
            bounds = (0, 2) if name == "fresh" else times
            table[name] = logs.whole(log, name, path, bounds=bounds, needed=every)
    with making(folder / SUMMARY, "summary of a run"):
        held = Held(told)
        law = GapLaw.held(held)
        return hazard_of(
            table, law.shape, law.prior_failures, law.prior_exposure, held.whole("downtime", 0)
        )
