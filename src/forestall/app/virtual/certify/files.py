"""The files of a run of virtual machines as the certifier reads them, sharing nothing with what
wrote them.

`jobs.csv`, `tasks.csv`, `runs.csv`, `migrations.csv`, `failures.csv` and `summary.json`; whatever
cannot be what it should be is a TraceError that names the file, the line and the field. Rates and
work are read as whole thousandths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from forestall.app.kit.sheet import (
    MAX_AMOUNT,
    MAX_COUNT,
    MAX_NODES,
    Bool,
    Int,
    Sheet,
    read_summary,
    value_of,
)
from forestall.decide.virtual.entries import MIGRATIONS, STRATEGIES
from forestall.model.errors import TraceError
from forestall.model.units import MAX_SECONDS

JOB_FATES = ("completed", "late", "uncompleted", "dropped")
STAY_ENDS = ("completed", "moved", "aborted", "stopped", "late", "cancelled")
COMPLETED, MOVED, ABORTED, STOPPED, LATE, CANCELLED = range(6)
TASK_FATES = (*STAY_ENDS, "dropped")
DROPPED = 6
BEGINNINGS = ("placed", "migrated", "restarted")
PLACED, MIGRATED, RESTARTED = range(3)
MOVE_ENDS = ("arrived", "target failed", "source failed", "ended first", "deadline first")
ARRIVED, TARGET_FAILED, SOURCE_FAILED, ENDED_FIRST, DEADLINE_FIRST = range(5)


@dataclass(frozen=True)
class JobRows:
    """`jobs.csv`; `start` and `finish` are NONE where empty; `first` is the number of each job's
    first task among all tasks, and of all tasks."""

    name: Int
    submit: Int
    size: Int
    runtime: Int
    deadline: Int
    start: Int
    finish: Int
    completed: Bool
    done: Int
    fate: Int
    lost: Int
    restarts: Int
    migrations: Int
    first: Int


@dataclass(frozen=True)
class TaskRows:
    """`tasks.csv`; `index` is the number of each row's task among all tasks, `job` the position of
    its job."""

    job: Int
    number: Int
    index: Int
    node: Int
    start: Int
    end: Int
    rate: Int
    work: Int
    done: Int
    fate: Int
    migrations: Int
    restarts: Int
    checkpoints: Int
    lost: Int


@dataclass(frozen=True)
class StayRows:
    """`runs.csv`, and in which line of it each row stands."""

    job: Int
    number: Int
    index: Int
    node: Int
    start: Int
    runs_from: Int
    end: Int
    rate: Int
    work: Int
    begun: Int
    ended: Int
    lost: Int
    checkpoints: Int
    line: Int

    def __len__(self) -> int:
        return len(self.job)

    def take(self, rows: Int | Bool) -> StayRows:
        """Return some of the rows."""
        return StayRows(*(values[rows] for values in vars(self).values()))


@dataclass(frozen=True)
class MoveRows:
    """`migrations.csv`; `predicted` is NONE where empty."""

    time: Int
    job: Int
    number: Int
    index: Int
    source: Int
    target: Int
    end: Int
    predicted: Int
    outcome: Int

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class FailureRows:
    """`failures.csv`: every failure that was played."""

    time: Int
    node: Int
    downtime: Int
    tasks: Int
    lost: Int


@dataclass(frozen=True)
class Given:
    """What the certifier takes from the parameters in `summary.json`: rates in thousandths; `copy`
    and `still`, s, of a migration (copy 0: stop and copy); `lead`, s; `interval` of checkpoints,
    s, 0 where there are none, and what each takes."""

    nodes: int
    capacity: int
    most: int
    least: int
    migrates: bool
    copy: int
    still: int
    lead: int
    stops: bool
    backfill: bool
    interval: int
    overhead: int


@dataclass(frozen=True)
class VirtualFolder:
    """All files of a run's folder."""

    jobs: JobRows
    tasks: TaskRows
    stays: StayRows
    moves: MoveRows
    failures: FailureRows
    given: Given
    summary: Mapping[str, Any]
    path: Path


# ------------------------------------------------------------------------------------ the summary


class _Parameters:
    def __init__(self, path: Path, summary: Any) -> None:
        self.path, self.summary = path, summary

    def number(self, name: str, least: float, below: float) -> float:
        keys = f"parameters.{name}"
        value = value_of(self.path, self.summary, keys, (int, float), "a number")
        if not least <= value < below:
            raise TraceError(self.path, f"{value!r} is not {least} to {below}", field=keys)
        return float(value)

    def whole(self, name: str, least: int, below: int) -> int:
        value = self.number(name, least, below)
        if value != int(value):
            raise TraceError(self.path, f"{value!r} is not whole", field=f"parameters.{name}")
        return int(value)

    def word(self, name: str, known: Sequence[str]) -> str:
        keys = f"parameters.{name}"
        value: str = value_of(self.path, self.summary, keys, (str,), "a word")
        if value not in known:
            raise TraceError(self.path, f"{value!r} is none of {', '.join(known)}", field=keys)
        return value

    def flag(self, name: str) -> bool:
        keys = f"parameters.{name}"
        return bool(value_of(self.path, self.summary, keys, (bool,), "true or false"))

    def told(self, name: str) -> bool:
        kinds = (int, float, type(None))
        keys = f"parameters.{name}"
        return value_of(self.path, self.summary, keys, kinds, "a number or null") is not None


def _transfer(asked: _Parameters) -> tuple[bool, int, int]:
    """Return whether tasks migrate, s of copying while they run, and s of standstill."""
    kind = asked.word("migration", tuple(MIGRATIONS))
    strategy = asked.word("strategy", tuple(STRATEGIES))
    migrates = kind != "none" and (strategy != "random" or asked.flag("random_migrates"))
    cost = asked.whole("migration_cost", 0, MAX_SECONDS)
    most = asked.number("max_downtime", 0, MAX_SECONDS)
    if not asked.told("vm_memory"):
        return (migrates, 0, cost) if kind != "pre-copy" else (migrates, cost, math.ceil(most))
    memory, link = asked.number("vm_memory", 0, 2**31), asked.number("link", 1e-9, 2**31)
    if kind != "pre-copy":
        return migrates, 0, math.ceil(memory / link)
    # At most 29 rounds that send at most three times the memory; each sends what the last let dirty
    dirty = asked.number("dirty_rate", 0, 2**31)
    copying, sent, left, rounds = 0.0, 0.0, memory, 0
    while left / link > most and sent + left <= 3 * memory and rounds < 29:
        copying, sent, rounds = copying + left / link, sent + left, rounds + 1
        left = min(memory, dirty * (left / link))
    return migrates, math.ceil(copying), math.ceil(left / link)


def _given(path: Path, summary: Any) -> Given:
    asked = _Parameters(path, summary)
    migrates, copy, still = _transfer(asked)
    lead = asked.whole("lead", 0, MAX_SECONDS) if asked.told("lead") else copy + still
    periodic = asked.word("checkpoint", ("none", "periodic")) == "periodic"
    return Given(
        nodes=asked.whole("nodes", 1, MAX_NODES),
        capacity=1000 * asked.whole("processors_per_node", 1, 2**20),
        most=round(1000 * asked.number("task_processors", 0, 2**20)),
        least=round(1000 * asked.number("least_rate", 0, 2**20)),
        migrates=migrates,
        copy=copy,
        still=still,
        lead=lead,
        stops=asked.word("past_deadline", ("stop", "run")) == "stop",
        backfill=asked.flag("backfill"),
        interval=asked.whole("checkpoint_interval", 1, MAX_SECONDS) if periodic else 0,
        overhead=asked.whole("checkpoint_overhead", 0, MAX_SECONDS) if periodic else 0,
    )


def is_virtual(folder: Path) -> bool:
    """Return whether the summary in a folder says that it is of a run of virtual machines."""
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(summary, dict) and summary.get("model") == "virtual"


# ------------------------------------------------------------------------------------- the tables


def _read_jobs(folder: Path) -> JobRows:
    sheet = Sheet(folder, "jobs")
    if not len(sheet):
        raise TraceError(sheet.path, "holds no jobs")
    sheet.refuse(~sheet.frame["job"].is_first_distinct(), "job", "a job of its own")
    size = sheet.whole("size", 1, 2**31)
    first = np.concatenate(([0], np.cumsum(size)))
    if first[-1] >= MAX_COUNT:
        raise TraceError(sheet.path, f"{first[-1]} tasks are too many", field="size")
    return JobRows(
        name=sheet.whole("job", -MAX_AMOUNT, MAX_AMOUNT),
        submit=sheet.seconds("submit"),
        size=size,
        runtime=sheet.whole("runtime", 1, MAX_SECONDS),
        deadline=sheet.seconds("deadline"),
        start=sheet.seconds("start", empty=True),
        finish=sheet.seconds("finish", empty=True),
        completed=sheet.whole("completed", 0, 2) == 1,
        done=sheet.whole("tasks_completed"),
        fate=sheet.words("outcome", JOB_FATES),
        lost=sheet.amounts("lost"),
        restarts=sheet.whole("restarts"),
        migrations=sheet.whole("migrations"),
        first=first,
    )


def _tasks_of(sheet: Sheet, jobs: JobRows) -> tuple[Int, Int, Int]:
    """Return the position of each row's job, the task's number in it, and among all tasks."""
    job = sheet.jobs(jobs.name)
    number = sheet.whole("task")
    sheet.refuse(number >= jobs.size[job], "task", "a task of its job, which jobs.csv gives a size")
    return job, number, jobs.first[job] + number


def _read_tasks(folder: Path, jobs: JobRows, nodes: int) -> TaskRows:
    sheet = Sheet(folder, "tasks")
    job, number, index = _tasks_of(sheet, jobs)
    fate = sheet.words("outcome", TASK_FATES)
    sheet.refuse((fate == MOVED) | (fate == CANCELLED), "outcome", "what becomes of a task")
    node = sheet.whole("node", 0, nodes, empty=True)
    dropped = fate == DROPPED
    for name in ("node", "start", "end", "rate"):
        empty = sheet.frame[name].is_null().to_numpy()
        sheet.refuse(empty != dropped, name, "empty just where the task was dropped")
    return TaskRows(
        *(job, number, index, node),
        start=sheet.seconds("start", empty=True),
        end=sheet.seconds("end", empty=True),
        rate=sheet.amounts("rate", empty=True),
        work=sheet.amounts("work"),
        done=sheet.amounts("done"),
        fate=fate,
        migrations=sheet.whole("migrations"),
        restarts=sheet.whole("restarts"),
        checkpoints=sheet.whole("checkpoints"),
        lost=sheet.amounts("lost"),
    )


def _read_stays(folder: Path, jobs: JobRows, nodes: int) -> StayRows:
    sheet = Sheet(folder, "runs")
    return StayRows(
        *_tasks_of(sheet, jobs),
        node=sheet.whole("node", 0, nodes),
        start=sheet.seconds("start"),
        runs_from=sheet.seconds("runs_from"),
        end=sheet.seconds("end"),
        rate=sheet.amounts("rate"),
        work=sheet.amounts("work"),
        begun=sheet.words("begun", BEGINNINGS),
        ended=sheet.words("outcome", STAY_ENDS),
        lost=sheet.amounts("lost"),
        checkpoints=sheet.whole("checkpoints"),
        line=np.arange(len(sheet)) + 2,
    )


def _read_moves(folder: Path, jobs: JobRows, nodes: int) -> MoveRows:
    sheet = Sheet(folder, "migrations")
    time = sheet.seconds("time")
    return MoveRows(
        time,
        *_tasks_of(sheet, jobs),
        source=sheet.whole("source", 0, nodes),
        target=sheet.whole("target", 0, nodes),
        end=sheet.seconds("end"),
        predicted=sheet.whole("predicted", -MAX_AMOUNT, MAX_AMOUNT, empty=True),
        outcome=sheet.words("outcome", MOVE_ENDS),
    )


def _read_failures(folder: Path, nodes: int) -> FailureRows:
    sheet = Sheet(folder, "failures")
    return FailureRows(
        time=sheet.seconds("time"),
        node=sheet.whole("node", 0, nodes),
        downtime=sheet.whole("downtime", 0, MAX_SECONDS),
        tasks=sheet.whole("tasks"),
        lost=sheet.amounts("lost"),
    )


def read_virtual_folder(folder: Path) -> VirtualFolder:
    """Return what the files of this folder say."""
    path = folder / "summary.json"
    summary = read_summary(path)
    given = _given(path, summary)
    jobs = _read_jobs(folder)
    return VirtualFolder(
        jobs,
        _read_tasks(folder, jobs, given.nodes),
        _read_stays(folder, jobs, given.nodes),
        _read_moves(folder, jobs, given.nodes),
        _read_failures(folder, given.nodes),
        given,
        summary,
        path,
    )
