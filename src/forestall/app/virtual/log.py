"""The log of a run of virtual machines, and its replay through an engine that Python drives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forestall.app.kit.checked import checked
from forestall.app.kit.log import csv_lines, read_log, write_lines
from forestall.decide.virtual.own import OwnStrategy, Strategy
from forestall.model.cleaning import Cleaning
from forestall.model.errors import ParameterError, TraceError
from forestall.model.jobs import UNKNOWN, Jobs
from forestall.model.virtual import (
    FAR,
    PROCESSOR,
    TaskDecision,
    TaskDecisionKind,
    TaskEvent,
    TaskEventKind,
    TaskReason,
)
from forestall.simulate.virtual.outcome import VirtualWorkload
from forestall.simulate.virtual.parameters import VirtualParameters

if TYPE_CHECKING:
    from forestall.simulate.virtual.outcome import VirtualOutcome

EVENTS = (*("time", "event", "job", "task", "node", "at", "size", "work", "deadline", "decisions"),)
DECISIONS = (
    *("time", "decision", "job", "task", "source", "node", "rate", "deadline", "at"),
    *("reason", "why"),
)
_TIMED = (TaskEventKind.FORESEEN, TaskEventKind.NODE_FAILED)
_FIELDS = ("kind", "reason", "job", "task", "source", "node", "rate", "deadline", "at")


def write_task_log(outcome: VirtualOutcome, folder: Path) -> None:
    """Write `events.csv` (what the engine was told) and `decisions.csv` (what it answered)."""
    write_lines(folder / "events.csv", _event_lines(outcome))
    ids = outcome.workload.jobs.job
    write_lines(folder / "decisions.csv", decision_lines(_decisions(outcome), ids))


def _event_lines(outcome: VirtualOutcome) -> Iterator[str]:
    workload = outcome.workload
    ids, size = workload.jobs.job.tolist(), workload.jobs.size.tolist()
    work = (workload.work / PROCESSOR).tolist()
    deadline = workload.deadline.tolist()
    first = np.concatenate(([0], np.cumsum(workload.jobs.size)))
    log = outcome.log.events
    owner = (np.searchsorted(first, log["key"], side="right") - 1).tolist()

    def rows() -> Iterator[tuple[Any, ...]]:
        columns = (log[name].tolist() for name in ("time", "kind", "key", "at", "decisions"))
        for place, (time, code, key, at, count) in enumerate(zip(*columns, strict=True)):
            kind = TaskEventKind(code)
            job, task, node = "", "", ""
            if kind.about_node:
                node = key
            elif kind.about_job:
                job = ids[key]
            elif kind is not TaskEventKind.PASS:
                number = owner[place]
                job, task = ids[number], key - int(first[number])
            told = at if kind in _TIMED and at != FAR else ""
            new = kind is TaskEventKind.SUBMITTED
            asked = (size[key], work[key], deadline[key]) if new else ("", "", "")
            yield (time, kind.name.lower(), job, task, node, told, *asked, count)

    return csv_lines(EVENTS, rows())


def _decisions(outcome: VirtualOutcome) -> Iterator[TaskDecision]:
    log = outcome.log
    times = np.repeat(log.events["time"], log.events["decisions"]).tolist()
    columns = (log.decisions[name].tolist() for name in _FIELDS)
    for time, kind, reason, *numbers in zip(times, *columns, strict=True):
        yield TaskDecision(time, TaskDecisionKind(kind), TaskReason(reason), *numbers)


def decision_lines(decisions: Iterable[TaskDecision], ids: Any) -> Iterator[str]:
    """Return the lines of `decisions.csv`; rates in processors."""

    def blank(value: int) -> int | str:
        return "" if value < 0 else value

    def rows() -> Iterator[tuple[Any, ...]]:
        for d in decisions:
            yield (
                d.time,
                d.kind.name.lower(),
                int(ids[d.job]),
                blank(d.task),
                blank(d.source),
                blank(d.node),
                d.rate / PROCESSOR if d.rate else "",
                d.deadline,
                "" if d.at in (-1, FAR) else d.at,
                d.reason.name.lower(),
                d.why,
            )

    return csv_lines(DECISIONS, rows())


def replay_tasks(folder: Path, strategy: Strategy | None = None) -> list[str]:
    """Drive an engine from `events.csv` of a run's folder; return the lines of `decisions.csv`
    anew. A run with a strategy in Python needs it again.

    Only the events and the parameters go in. Raises TraceError where the folder has no event log,
    or one that an engine cannot have been told.
    """
    from forestall.engine.virtual.engine import VirtualEngine
    from forestall.simulate.virtual.run import new_state
    from forestall.traces.streams import stream

    path = folder / "events.csv"
    events = read_log(path)
    missing = [name for name in EVENTS if name not in events.columns]
    if missing:
        raise TraceError(path, f"lacks column {', '.join(missing)}")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    parameters = checked(VirtualParameters, summary["parameters"])
    workload = _workload(events, path)
    more = stream(parameters.seed, "virtual", "random-moves")
    own = None if strategy is None else OwnStrategy(strategy)
    engine = VirtualEngine.of(new_state(workload, parameters, own), more, own)
    told = enumerate(_told(events, workload.jobs, path), 2)

    def decide() -> Iterator[TaskDecision]:
        for line, event in told:
            try:
                yield from engine.handle(event)
            except ParameterError as error:
                raise TraceError(path, f"cannot be: {error}", line=line) from None

    return list(decision_lines(decide(), workload.jobs.job))


def _workload(events: pl.DataFrame, path: Path) -> VirtualWorkload:
    """Return the jobs as their submissions tell of them."""
    asked = {"job": pl.Int64, "time": pl.Int64, "size": pl.Int64, "work": pl.Float64}
    new = events.filter(pl.col("event") == "submitted").select(
        pl.col(name).cast(kind, strict=False)
        for name, kind in {**asked, "deadline": pl.Int64}.items()
    )
    if not len(new) or any(new.null_count().row(0)):
        raise TraceError(path, "lacks numbers of jobs that are submitted")
    submit, size = new["time"].to_numpy(), new["size"].to_numpy()
    if (submit[1:] < submit[:-1]).any() or (size < 1).any():
        raise TraceError(path, "has jobs without tasks, or not in order of submission")
    unknown = np.full(len(new), UNKNOWN)
    jobs = Jobs(new["job"].to_numpy(), submit, size, runtime=unknown, estimate=unknown)
    work = np.rint(new["work"].to_numpy() * PROCESSOR).astype(np.int64)
    return VirtualWorkload(jobs, new["deadline"].to_numpy(), work, Cleaning())


def _told(events: pl.DataFrame, jobs: Jobs, path: Path) -> Iterator[TaskEvent]:
    """Yield the events as the engine is told them."""
    position = {job: k for k, job in enumerate(jobs.job.tolist())}
    first = np.concatenate(([0], np.cumsum(jobs.size))).tolist()
    columns = (events[name].to_list() for name in EVENTS[:6])
    for line, (time, name, job, task, node, at) in enumerate(zip(*columns, strict=True), 2):
        try:
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
            event = TaskEvent(int(time), kind, key, far if at is None else int(at))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TraceError(path, "is no event of a run", line=line) from None
        yield event
