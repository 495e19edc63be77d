"""The main job as one function: replay jobs on nodes that fail, and account for the promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from forestall.core.clock.progress import Progress
from forestall.core.files import budget
from forestall.core.kit.checked import checked
from forestall.core.kit.model import COMPILED
from forestall.core.kit.own import own_of
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.world.failures import expected_downtime, prepare_failures
from forestall.logs.given import failures_of
from forestall.logs.maintenance import read_maintenance
from forestall.logs.topology import read_topology
from forestall.logs.users import read_users
from forestall.prediction.given.beside import Beside
from forestall.prediction.given.learned import by_name
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.engine.own import AskedPolicy, Policy
from forestall.scheduling.engine.planned import WithPlanned
from forestall.scheduling.engine.plugin import Placement, Plugin
from forestall.scheduling.hazard import at_start
from forestall.scheduling.keywords import PromiseKeywords
from forestall.scheduling.learned import answers, plugin_of
from forestall.scheduling.machine import (
    NOT_ON_SHARED,
    check_own,
    check_placement,
    defaults_of,
    read_machine,
)
from forestall.scheduling.maintenance import beside_planned
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulation.parameters import NAMED, Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, prepare_jobs
from forestall.scheduling.simulation.run import first_moment, play
from forestall.scheduling.simulation.shared import demand_of, play_on_machine, sized
from forestall.slurm.sources.job_log import given_jobs

if TYPE_CHECKING:
    from forestall.core.model.failures import PlannedOutages
    from forestall.core.model.metrics import Metrics
    from forestall.core.model.ras import RasLog
    from forestall.prediction.models.base import Predictor
    from forestall.prediction.models.tabulated import Tabulated
    from forestall.scheduling.engine.state import Prediction

JOB, NODE = 600, 200
"""Bytes that a job and a node take in a run, about: arrays, tables, and what is written."""
WITH_BESIDE: Final = "a predictor that has learned, with {events} or {metrics}"


def simulate(
    jobs: Jobs | str | Path | Any,
    failures: Failures | str | Path | Any | None = None,
    *,
    policy: str | Policy = "promise",
    predictor: TracePredictor | HazardPredictor | Learner | Predictor | str | None = None,
    placement: str | Placement | None = None,
    events: RasLog | str | Path | None = None,
    metrics: Metrics | str | Path | None = None,
    maintenance: str | Path | None = None,
    log_events: bool = False,
    progress: Progress | None = None,
    **parameters: Unpack[PromiseKeywords],
) -> Result:
    """Replay jobs on a cluster that fails, negotiate a promise with each, and account for them.

    Parameters
    ----------
    jobs : a Jobs, a path (SWF, CSV, Parquet, what sacct wrote), or a Polars or pandas table
    failures : a Failures, a path, a table with time and node, or None for no failures
    policy : "promise", "fcfs", "easy", "conservative", a policy of your own (an object of a
        subclass of `fs.Policy`), or its class as "module:Class"
    predictor : a TracePredictor (its accuracy counts), a HazardPredictor that was fitted on what
        came before (it is left as it is), any trained predictor of `forestall predict list` or the
        file of one, or any object with the methods of `forestall.prediction.models.base.Predictor`;
        None or "trace" means a trace predictor of the parameter `accuracy`
    placement : "fault-aware", "least", "first", or a function (free, size, risk, start, end) ->
        nodes; None means fault-aware for the promise policy and first for the classic ones
    events, metrics : what a trained predictor uses besides failures: logs, or their files; at any
        time it knows only earlier records
    maintenance : planned outages, which occur and are predicted with probability 1: a CSV file
        start,end[,nodes], or text such as "10d/10d8h 0-15; 20d/20d4h"
    log_events : keep what the engine was told and decided, for `events.csv` and `decisions.csv`
    progress : called periodically with the number of jobs done and of all jobs
    machine : nodes with cores, memory and GPUs, which jobs share: a Machine, a file (CSV, TOML,
        `scontrol show node`), or text such as "nodes=32 cores=64 memory=512G gpus=8"; jobs that
        say nothing of what they ask for take whole nodes. For promises and classic policies
    **parameters : see `forestall.scheduling.simulation.parameters.Parameters`

    Raises InputError and its kin for unusable input.

    Examples
    --------
    >>> import forestall as fs
    >>> jobs = fs.Jobs.build(submit=[0, 10], size=[2, 4], runtime=[600, 60])
    >>> result = fs.simulate(jobs, nodes=4, risk=0.9)
    >>> result.jobs["finish"].to_list(), result.qos
    ([600, 660], 1.0)
    """
    run_log, spec = failures_of(failures), None
    own_rule = own_of("policy", Policy, policy)
    named = {"policy": policy if own_rule is None else own_rule.name, **parameters}
    if (given_machine := named.pop("machine", None)) is not None:
        spec = read_machine(given_machine)
        check_own(own_rule, placement, log_events=log_events)
        named = {**defaults_of(spec), **named}
    own_placement = placement if callable(placement) else None
    if own_placement is None and placement is not None:
        named["placement"] = placement
    settings, asks = _settings_of(named, predictor, run_log)
    check_placement(settings, spec)
    log = prepare_failures(run_log, settings)
    given = _fitting(given_jobs(jobs), settings.nodes)
    outages, played = None, log
    if maintenance is not None:
        outages, played = _planned(maintenance, log, settings)
    workload = prepare_jobs(given if spec is None else sized(given, spec), log, settings)
    workload, demand = (workload, None) if spec is None else demand_of(workload, spec)
    period = log.span if settings.repeat_failures else 0
    start = first_moment(workload, played)
    beside = Beside.of(run_log, events, metrics)
    learnt = at_start(asks, settings, start) if settings.predictor == "hazard" else None
    known = None if isinstance(asks, TracePredictor) else learnt or asks
    table = _table(known, settings, log, start, beside)
    own = None if known is learnt or table is not None else known
    asked = None if own_rule is None else AskedPolicy(own_rule, workload.jobs.user)
    plugin = _plugin(own, own_placement, outages, settings, period)
    prediction = _prediction(learnt, table, settings, log, period)
    if outages is not None:
        prediction = beside_planned(prediction, outages, settings)
    if demand is not None and plugin is not None:
        raise ParameterError("predictor", predictor, NOT_ON_SHARED)
    with waiting(progress, "jobs") as bar:
        if demand is not None:
            outcome = play_on_machine(workload, demand, played, settings, prediction, bar)
        else:
            outcome = play(
                workload, played, settings, prediction,
                plugin=plugin, policy=asked, population=settings.population, log_events=log_events,
                progress=bar,
            )  # fmt: skip
    sources = {"jobs": workload.jobs.source, "failures": log.source}
    sources |= {} if spec is None else {"machine": spec.source}
    cleaning = workload.cleaning + played.cleaning
    return Result(outcome, sources, cleaning, plugin is not None, known, table, outages)


def needed(jobs: int, nodes: int) -> float:
    """Return the bytes that a run takes, about."""
    return COMPILED + JOB * jobs + NODE * nodes


def _fitting(jobs: Jobs, nodes: int) -> Jobs:
    """Return the jobs, where a run of them fits into memory; else raise MemoryLimitError."""
    what = f"a run of {len(jobs):,} jobs on {nodes:,} nodes"
    budget.require(needed(len(jobs), nodes), what, count=len(jobs), of="jobs")
    return jobs


def _settings_of(
    parameters: dict[str, Any], predictor: Any, run_log: Failures
) -> tuple[Parameters, Any]:
    """Return checked parameters, and what predicts, made of its name or file where it has one."""
    if isinstance(predictor, str | Path):
        parameters, predictor = by_name(predictor, NAMED, parameters, run_log)
    if isinstance(predictor, Learner):
        parameters = {"predictor": "learned", **parameters}
    elif isinstance(predictor, TracePredictor):
        parameters = {"accuracy": predictor.accuracy, **parameters}
    elif type(predictor) is HazardPredictor:  # a class below it is a predictor of the user's own
        parameters = {"predictor": "hazard", **parameters}
    if parameters.get("users") is not None:
        parameters["users"] = read_users(parameters["users"]).text
    if parameters.get("topology") is not None:
        parameters["topology"] = read_topology(parameters["topology"]).text
    settings = checked(Parameters, parameters)
    for name in ("users", "topology", "topology_slack"):
        given = getattr(settings, name)
        if given is not None and not settings.entry.promises:
            raise ParameterError(name, given, "only with {policy} promise")
    if settings.topology_slack is not None and settings.topology is None:
        raise ParameterError("topology_slack", settings.topology_slack, "given with {topology}")
    return settings, predictor


def _table(
    known: Any, settings: Parameters, log: Failures, start: int, beside: Beside
) -> Tabulated | None:
    """Return what a trained predictor answers during a run; None for other predictors."""
    if isinstance(known, Learner):
        return answers(known, settings, log, start, beside)
    if settings.predictor == "learned":
        raise ParameterError("predictor", "learned", "a trained predictor, or the file of one")
    if beside:
        raise ParameterError("predictor", settings.predictor, WITH_BESIDE)
    return None


def _plugin(
    own: Any, placement: Any, outages: PlannedOutages | None, settings: Parameters, period: int
) -> Plugin | None:
    """Return the user's own predictor and placement, None where both are compiled."""
    if own is not None and outages is not None:
        own = WithPlanned(own, outages, expected_downtime(settings))
    if own is None and placement is None:
        return None
    _check_compiled(settings, own)
    return plugin_of(own, placement, settings, period)


def _check_compiled(settings: Parameters, own: Any) -> None:
    """Raise ParameterError for what only compiled predictors and rules of placement can be asked
    for."""
    if settings.topology is not None:
        allowed = "none, with a predictor or placement of your own"
        raise ParameterError("topology", settings.topology, allowed)
    if own is not None and settings.placement == "least":
        raise ParameterError("placement", "least", "fault-aware or first, with your own predictor")


def _planned(
    maintenance: str | Path, log: Failures, settings: Parameters
) -> tuple[PlannedOutages, Failures]:
    """Return planned outages, and the failures of a run with them among them."""
    if settings.repeat_failures:
        raise ParameterError("repeat_failures", True, "false, with {maintenance}")
    outages, left_out = read_maintenance(maintenance, log, settings.nodes)
    played = outages.among(log)
    return outages, replace(played, cleaning=played.cleaning + left_out)


def _prediction(
    learnt: HazardPredictor | None,
    table: Tabulated | None,
    settings: Parameters,
    log: Failures,
    period: int,
) -> Prediction:
    """Return what is predicted, as arrays for compiled code."""
    if table is not None:
        return table.arrays(expected_downtime(settings))
    if learnt is None:
        return foreseen_by(TracePredictor(settings.accuracy), log, period)
    return learnt.arrays() if settings.entry.promises else foreseen_by(None, log, period)
