"""A learner's way into a run and into its folder, from which its answers can be had back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core.files import budget
from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.files.guard import making
from forestall.core.files.held import Held
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.observations import Observations
from forestall.core.model.units import MAX_SECONDS
from forestall.core.world.failures import expected_downtime
from forestall.prediction.given.beside import NOTHING, Beside
from forestall.prediction.given.predictor_files import described, spoken
from forestall.prediction.models import settings as check
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.tabulated import CHUNK, Tabulated, moments, tabulate
from forestall.scheduling.engine.plugin import Placement, Plugin

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.prediction.models.base import Predictor
    from forestall.scheduling.simulation.parameters import Parameters

TABLE_FILE = "predictions.npz"
WHAT = "forestall table of predictions"
VERSION = 1
WORKED_OUT = 16
"""Bytes that a cell takes while it is worked out, about."""


def answers(
    learner: Learner,
    settings: Parameters,
    log: Failures,
    start: int,
    beside: Beside = NOTHING,
) -> Tabulated:
    """Return what the learner will say during a run whose first event is at `start`, each answer
    from what came before it: failures, and the events and metrics `beside` them.

    Raises ParameterError where it knows of what comes later, or the run does not suit it.
    """
    if learner.seen.end > start:
        raise ParameterError(
            "predictor",
            f"{learner.name} with failures up to {_when(learner.seen.end, log)}",
            f"one that has seen nothing after the run begins, at {_when(start, log)} "
            "(predict train {until})",
        )
    if not settings.entry.promises:
        raise ParameterError("policy", settings.policy, f"promise, with predictor {learner.name}")
    if settings.repeat_failures:
        allowed = f"false, with predictor {learner.name}: it learns from failures as they come"
        raise ParameterError("repeat_failures", True, allowed)
    last = int(log.time[-1]) + 1 if len(log) else start
    end = max(start + 1, last, log.span if len(log) else 0)
    if not beside:
        later = Observations.of(log, begin=start, end=end, nodes=settings.nodes)
        return _tabulated(learner, later, settings.nodes)
    beside.check(learner)
    since = learner.seen.end
    whole = beside.observed(log, since, max(end, beside.end + 1), settings.nodes)
    learner = learner.copy()
    learner.observe(whole.between(since, start))
    return _tabulated(learner, whole.between(start, whole.end), settings.nodes)


def _tabulated(learner: Learner, later: Observations, nodes: int) -> Tabulated:
    """Return what a learner will say; MemoryLimitError where that would be too much."""
    horizons = len(learner.horizons)
    every = max(learner.seen.nodes, later.nodes)
    rows = len(moments(later, every * horizons))
    size = 4 * rows * nodes * horizons + WORKED_OUT * max(CHUNK, every * horizons)
    what = f"the predictor's table of {rows:,} moments, {nodes:,} nodes and {horizons} horizons"
    budget.require(size, what, count=nodes, of="{nodes}")
    return tabulate(learner, later, nodes)


def _when(time: int, log: Failures) -> str:
    return f"{time} s" if log.origin is None else spoken(time, log.origin)


def plugin_of(
    predictor: Predictor | None, placement: Placement | None, settings: Parameters, period: int = 0
) -> Plugin:
    """Return what answers instead of compiled predictors and placement rules. Raises
    ParameterError for another policy than the promise."""
    if not settings.entry.promises:
        raise ParameterError(
            "policy", settings.policy, "promise, with a predictor or placement of your own"
        )
    return Plugin(predictor, placement, expected_downtime(settings), period)


def described_run(learner: Learner) -> dict[str, Any]:
    """Return what `summary.json` says of the predictor."""
    return {**described(learner), "kind": "learned"}


def write_table(table: Tabulated, path: Path) -> None:
    """Write the answers of a run."""
    values = {"horizons": list(table.horizons)}
    write_bundle(path, WHAT, VERSION, values, {"times": table.times, "hazard": table.hazard})


def read_table(folder: Path, nodes: int) -> Tabulated:
    """Return the answers of the run in this folder, of so many nodes. Raises TraceError where they
    are missing, or cannot be."""
    path = folder / TABLE_FILE
    if not path.exists():
        raise TraceError(path, "is missing; simulate with {log_events} writes it")
    values, arrays = read_bundle(path, WHAT, VERSION)
    with making(path, WHAT):
        held = Held(values, arrays)
        horizons = check.seconds(held.listed("horizons"))
        times = held.array(
            "times", np.int64, None, least=-MAX_SECONDS, most=MAX_SECONDS, rising=True
        )
        held.hold("times", len(times) > 0, "at least one moment")
        shape = (len(times), nodes, len(horizons))
        hazard = held.array("hazard", np.float32, *shape, least=0, rising=True)
        held.hold("horizons", horizons[-1] < MAX_SECONDS, f"seconds below {MAX_SECONDS}")
    return Tabulated(times, hazard, tuple(horizons))
