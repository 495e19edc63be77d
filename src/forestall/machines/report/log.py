"""The log of a run of virtual machines, and its replay through an engine that Python drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from forestall.core.files.documents import json_of
from forestall.core.files.guard import within
from forestall.core.kit import log as logs
from forestall.core.kit.checked import checked
from forestall.core.kit.log import Column
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.core.model.virtual import (
    FAR,
    PROCESSOR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.core.streams import stream
from forestall.machines.engine.engine import VirtualEngine
from forestall.machines.rules.own import OwnStrategy, Strategy
from forestall.machines.simulation.outcome import VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.run import new_state

if TYPE_CHECKING:
    from forestall.machines.simulation.outcome import VirtualOutcome

_TIMED = (TaskEventKind.FORESEEN, TaskEventKind.NODE_FAILED)
_WORDS = {"kind": TaskDecisionKind, "reason": TaskReason}


class About(NamedTuple):
    """The job and the task that an event is about; what was asked for where it is submitted; else
    ""."""

    job: int | str = ""
    task: int | str = ""
    size: int | str = ""
    work: float | str = ""
    deadline: int | str = ""


EVENTS = (
    Column("time"),
    Column("event", "kind", logs.word),
    Column("job", "about.job"),
    Column("task", "about.task"),
    Column("node", lambda event: event.key if event.kind.about_node else ""),
    Column("at", lambda event: event.at if event.kind in _TIMED and event.at != FAR else ""),
    Column("size", "about.size"),
    Column("work", "about.work"),
    Column("deadline", "about.deadline"),
    Column("decisions"),
)
DECISIONS = (
    Column("time"),
    Column("decision", "kind", logs.word),
    Column("job", of_jobs=True),
    *(Column(name, written=logs.blank) for name in ("task", "source", "node")),
    Column("rate", written=lambda rate: rate / PROCESSOR if rate else ""),
    Column("deadline"),
    Column("at", written=lambda at: "" if at in (-1, FAR) else at),
    Column("reason", written=logs.word),
    Column("why"),
)


def write_task_log(outcome: VirtualOutcome, folder: Path) -> None:
    """Write `events.csv` (what the engine was told) and `decisions.csv` (what it answered); rates
    in processors."""
    log, ids = outcome.log, outcome.workload.jobs.job.tolist()
    told = logs.records_of(log.events, {"kind": TaskEventKind}, about=_about(outcome))
    logs.write_lines(folder / logs.EVENT_LOG, logs.log_lines(EVENTS, told))
    taken = logs.answers_of(TaskDecision, log.events, log.decisions, _WORDS)
    logs.write_lines(folder / logs.DECISION_LOG, logs.log_lines(DECISIONS, taken, ids))


def _about(outcome: VirtualOutcome) -> Iterator[About]:
    """Return what each event is about."""
    workload, events = outcome.workload, outcome.log.events
    ids, size = workload.jobs.job.tolist(), workload.jobs.size
    work = (workload.work / PROCESSOR).tolist()
    asked = list(zip(size.tolist(), work, workload.deadline.tolist(), strict=True))
    first = np.concatenate(([0], np.cumsum(size)))
    owner = np.searchsorted(first, events["key"], side="right") - 1
    columns = (events["kind"], events["key"], owner, events["key"] - first[owner])
    for code, key, job, number in zip(*(column.tolist() for column in columns), strict=True):
        kind = TaskEventKind(code)
        if kind.about_node or kind is TaskEventKind.PASS:
            yield About()
        elif kind is TaskEventKind.SUBMITTED:
            yield About(ids[key], "", *asked[key])
        elif kind.about_job:
            yield About(ids[key])
        else:
            yield About(ids[job], number)


def replay_tasks(folder: Path, strategy: Strategy | None = None) -> list[str]:
    """Drive an engine from `events.csv` of a run's folder; return the lines of `decisions.csv`
    anew. A run with a strategy in Python needs it again.

    Only the events and the parameters go in. Raises TraceError where the folder has no event log,
    or one that an engine cannot have been told.
    """
    path = folder / logs.EVENT_LOG
    events = logs.read_log(path, logs.names_of(EVENTS))
    summary = json_of((folder / "summary.json").read_text(encoding="utf-8"))
    with within(folder / "summary.json"):
        parameters = checked(VirtualParameters, summary["parameters"])
    workload = _workload(events, path)
    more = stream(parameters.seed, "virtual", "random-moves")
    own = None if strategy is None else OwnStrategy(strategy)
    engine = VirtualEngine.of(new_state(workload, parameters, own), more, own)
    events_told = logs.told(events, path, logs.names_of(EVENTS)[:6], _event_of(workload.jobs))
    taken = logs.driven(path, events_told, lambda one: engine.handle([one], one.time))
    return list(logs.log_lines(DECISIONS, taken, workload.jobs.job.tolist()))


def _workload(events: pl.DataFrame, path: Path) -> VirtualWorkload:
    """Return the jobs as their submissions tell of them."""
    asked = {"job": pl.Int64, "time": pl.Int64, "size": pl.Int64, "work": pl.Float64}
    new = events.filter(pl.col("event") == "submitted").select(
        pl.col(name).cast(kind, strict=False)
        for name, kind in {**asked, "deadline": pl.Int64}.items()
    )
    if not len(new) or any(new.null_count().row(0)):
        raise TraceError(path, "has submissions with missing numbers")
    submit, size = new["time"].to_numpy(), new["size"].to_numpy()
    if (submit[1:] < submit[:-1]).any() or (size < 1).any():
        raise TraceError(path, "has jobs without tasks, or out of order of submission")
    unknown = np.full(len(new), UNKNOWN)
    jobs = Jobs(new["job"].to_numpy(), submit, size, runtime=unknown, estimate=unknown)
    work = np.rint(new["work"].to_numpy() * PROCESSOR).astype(np.int64)
    return VirtualWorkload(jobs, new["deadline"].to_numpy(), work, Cleaning())


def _event_of(jobs: Jobs) -> Callable[..., TaskEvent]:
    """Return what makes an event, as the engine is told it, of the cells of a row."""
    position = {job: k for k, job in enumerate(jobs.job.tolist())}
    first = np.concatenate(([0], np.cumsum(jobs.size))).tolist()

    def made(time: int, name: str, job: int, task: int, node: int, at: int | None) -> TaskEvent:
        kind = TaskEventKind[name.upper()]
        if kind.about_node:
            key = int(node)
        elif kind is TaskEventKind.PASS:
            key = 0
        elif kind.about_job:
            key = position[job]
        else:
            key = first[position[job]] + int(task)
        far = FAR if kind is TaskEventKind.FORESEEN else -1
        return TaskEvent(int(time), kind, key, far if at is None else int(at))

    return made
