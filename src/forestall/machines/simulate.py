"""Virtual machines as one function: place tasks on shared nodes, move them before failures, and
account for the deadlines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from forestall.core.files import budget
from forestall.core.kit.checked import checked
from forestall.core.kit.model import COMPILED
from forestall.core.kit.own import own_of
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.core.model.units import MAX_SECONDS
from forestall.core.model.virtual import FAR, PROCESSOR
from forestall.core.world.failures import prepare_failures
from forestall.logs.given import failures_of, jobs_of
from forestall.machines.keywords import VirtualKeywords
from forestall.machines.predictions import predictions_for
from forestall.machines.report.result import VirtualResult
from forestall.machines.rules.own import OwnStrategy, Strategy
from forestall.machines.simulation.outcome import VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import prepare_virtual
from forestall.machines.simulation.run import first_moment, play_virtual
from forestall.prediction.given.learned import by_name
from forestall.prediction.models.hazard.hazard import HazardPredictor

if TYPE_CHECKING:
    from forestall.core.clock.progress import Progress
    from forestall.machines.predictions import TimesToFailure

NAMED: Final = ("synthetic", "recorded", "hazard")
"""Predictors that a name is enough for."""
TASK, NODE = 250, 200
"""Bytes that a task and a node take in a run, about: arrays, tables, and what is written."""
MOST_FAILURES: Final = 20_000_000
"""Failures of a log that is repeated, at most."""


def simulate_virtual(
    jobs: Jobs | str | Path | Any,
    failures: Failures | str | Path | Any | None = None,
    *,
    predictor: TimesToFailure | Predictions | str | Path | None = None,
    strategy: Strategy | str = "best-fit",
    log_events: bool = False,
    progress: Progress | None = None,
    **parameters: Unpack[VirtualKeywords],
) -> VirtualResult:
    """Run the tasks of jobs in virtual machines that share nodes and leave them before failures.

    Parameters
    ----------
    jobs : a Jobs, a path (SWF, CSV, Parquet), or a Polars or pandas table; the size of a job is its
        number of tasks
    failures : a Failures, a path, a table with time and node (and predicted), or None for no
        failures
    predictor : a HazardPredictor that was fitted on what came before, any trained predictor of
        `forestall predict list` or the file of one, or any object with `time_to_failure(nodes)`;
        or a Predictions, made beforehand for the nodes and the clock of the run;
        "synthetic" predictions (or None) are of the parameter `prediction_accuracy`, or the log's
        own where it has a column predicted, and "recorded" ones always those
    strategy : the name of one, a `fs.Strategy` of your own, or its class as "module:Class"
    log_events : keep what the engine was told and decided, for `events.csv` and `decisions.csv`
    progress : called periodically with the number of jobs done and of all jobs
    **parameters : see `forestall.machines.simulation.parameters.VirtualParameters`

    With `repeat_failures` the log starts again where it ends, up to the last deadline; where tasks
    run past it, up to the longest time more that a task can take.

    Raises InputError and its kin for unusable input. Source: Fu and Xu, ARES 2009.

    Examples
    --------
    >>> import forestall as fs
    >>> jobs = fs.Jobs.build(submit=[0], size=[2], runtime=[600], estimate=[1200])
    >>> failures = fs.Failures.build([300], [0], [60])
    >>> result = simulate_virtual(jobs, failures, nodes=3, prediction_accuracy=1.0)
    >>> result.job_completion_rate, result.measures["migrations"]
    (1.0, 0)
    """
    run_log = failures_of(failures)
    named: dict[str, Any] = {**parameters}
    if isinstance(predictor, str | Path):
        named, predictor = by_name(predictor, NAMED, named, run_log)
    if predictor is not None:
        own = "hazard" if type(predictor) is HazardPredictor else "learned"
        named = {"predictor": own, **named}
    decider = own_of("strategy", Strategy, strategy)  # type: ignore[type-abstract]
    name = strategy if decider is None else decider.name
    settings = checked(VirtualParameters, {"strategy": name, **named})
    log = prepare_failures(run_log, settings)
    given = jobs_of(jobs)
    tasks = int(given.size.sum())
    what = f"a run of {tasks:,} tasks on {settings.nodes:,} nodes"
    budget.require(needed(tasks, settings.nodes), what, count=tasks, of="tasks")
    workload = prepare_virtual(given, settings)
    end = horizon(workload, settings)
    if settings.repeat_failures:
        log = repeated(log, end)
    predictions = predictions_for(settings, log, first_moment(workload, log), end, predictor)
    with waiting(progress, "jobs") as bar:
        outcome = play_virtual(
            workload,
            log,
            predictions,
            settings,
            own=None if decider is None else OwnStrategy(decider),
            log_events=log_events,
            progress=bar,
        )
    sources = {"jobs": workload.jobs.source, "failures": log.source}
    return VirtualResult(outcome, sources, workload.cleaning + log.cleaning, predictor)


def needed(tasks: int, nodes: int) -> float:
    """Return the bytes that a run takes, about."""
    return COMPILED + TASK * tasks + NODE * nodes


def horizon(workload: VirtualWorkload, parameters: VirtualParameters) -> int:
    """Return the second after which no failure matters, nearly always: the last deadline; where
    tasks run past theirs, that and the longest time that one takes at the least rate."""
    last = int(workload.deadline.max())
    if parameters.past_deadline == "run":
        last += int(workload.work.max()) // round(parameters.least_rate * PROCESSOR) + 1
    return min(last, MAX_SECONDS - 1)


def repeated(failures: Failures, end: int) -> Failures:
    """Return the failures, again and again shifted by the span of the log, up to a time.

    Raises ParameterError where these would be too many.
    """
    if len(failures) == 0 or end < int(failures.time[0]):
        return failures
    times = (end - int(failures.time[0])) // failures.span + 1
    if times * len(failures) > MOST_FAILURES:
        allowed = f"a log with at most {MOST_FAILURES:,} failures up to the last deadline"
        raise ParameterError("repeat_failures", True, allowed)
    shift = np.repeat(np.arange(times, dtype=np.int64) * failures.span, len(failures))
    told = failures.predicted
    predicted = None if told is None else np.tile(told, times)
    every = replace(
        failures,
        time=np.tile(failures.time, times) + shift,
        node=np.tile(failures.node, times),
        downtime=np.tile(failures.downtime, times),
        detectability=np.tile(failures.detectability, times),
        kind=None if failures.kind is None else failures.kind * times,
        predicted=None if predicted is None else np.where(predicted < FAR, predicted + shift, FAR),
    )
    return every.take(every.time <= end)
