"""The files of a run of virtual machines as the certifier reads them, sharing nothing with what
wrote them: `jobs.csv`, `tasks.csv`, `runs.csv`, `migrations.csv`, `failures.csv` and
`summary.json`. Rates and work are read as whole thousandths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.sheet import Int, Rows, Sheet, Summary
from forestall.model.errors import ParameterError, TraceError
from forestall.model.units import MAX_SECONDS
from forestall.model.virtual import parse_node_sizes
from forestall.model.virtual_books import Begun, Ended, MoveEnd

PARTS = 1000
"""Rates and work are held as whole thousandths of a processor, of a processor-second."""
JOB_FATES = ("completed", "late", "uncompleted", "dropped")
TASK_FATES = (*read.spelled(Ended), "dropped")
DROPPED = len(Ended)


@dataclass(frozen=True)
class JobRows(Rows):
    """`jobs.csv`; `start` and `finish` are NONE where empty."""

    FILE: ClassVar = "jobs.csv"
    name: Int = read.number_of_job()
    submit: Int = read.seconds()
    size: Int = read.whole(1, 2**31)
    runtime: Int = read.whole(1, MAX_SECONDS)
    deadline: Int = read.seconds()
    start: Int = read.seconds(empty=True)
    finish: Int = read.seconds(empty=True)
    completed: Int = read.whole(0, 2)
    done: Int = read.whole(named="tasks_completed")
    fate: Int = read.words(JOB_FATES, "outcome")
    lost: Int = read.parts(3)
    restarts: Int = read.whole()
    migrations: Int = read.whole()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        if self.first[-1] >= read.MAX_COUNT:
            raise TraceError(sheet.path, f"{self.first[-1]} tasks are too many", field="size")

    @cached_property
    def first(self) -> Int:
        """The number of each job's first task among all tasks, and of all tasks."""
        return np.concatenate(([0], np.cumsum(self.size)))


def _task(sheet: Sheet, name: str) -> Int:
    """Return the number of each row's task within its job."""
    number = sheet.whole(name)
    size = sheet.given["jobs"].size[sheet.jobs("job", sheet.given["ids"])]
    sheet.refuse(number >= size, name, "a task of its job, whose size is in jobs.csv")
    return number


def _index(sheet: Sheet, _: str) -> Int:
    """Return the number of each row's task among all tasks."""
    first: Int = sheet.given["jobs"].first[sheet.jobs("job", sheet.given["ids"])]
    return first + sheet.whole("task")


@dataclass(frozen=True)
class TaskRows(Rows):
    """`tasks.csv`; `job` is the position of the job."""

    FILE: ClassVar = "tasks.csv"
    job: Int = read.job()
    number: Int = read.column(_task, "task")
    index: Int = read.column(_index, there=False)
    fate: Int = read.words(TASK_FATES, "outcome")
    node: Int = read.whole(0, "nodes", empty=True)
    start: Int = read.seconds(empty=True)
    end: Int = read.seconds(empty=True)
    rate: Int = read.parts(3, empty=0)
    work: Int = read.parts(3)
    done: Int = read.parts(3)
    migrations: Int = read.whole()
    restarts: Int = read.whole()
    checkpoints: Int = read.whole()
    lost: Int = read.parts(3)
    line: Int = read.line()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        never = (self.fate == Ended.MOVED) | (self.fate == Ended.CANCELLED)
        sheet.refuse(never, "outcome", "a final outcome of a task")
        for name in ("node", "start", "end", "rate"):
            odd = sheet.empty(name) != (self.fate == DROPPED)
            sheet.refuse(odd, name, "consistent with the outcome (empty for dropped tasks only)")


@dataclass(frozen=True)
class StayRows(Rows):
    """`runs.csv`: every stay of a task on a node."""

    FILE: ClassVar = "runs.csv"
    job: Int = read.job()
    number: Int = read.column(_task, "task")
    index: Int = read.column(_index, there=False)
    node: Int = read.whole(0, "nodes")
    start: Int = read.seconds()
    runs_from: Int = read.seconds()
    end: Int = read.seconds()
    rate: Int = read.parts(3)
    work: Int = read.parts(3)
    begun: Int = read.words(read.spelled(Begun))
    ended: Int = read.words(read.spelled(Ended), "outcome")
    lost: Int = read.parts(3)
    checkpoints: Int = read.whole()
    line: Int = read.line()


@dataclass(frozen=True)
class MoveRows(Rows):
    """`migrations.csv`; `predicted` is NONE where empty."""

    FILE: ClassVar = "migrations.csv"
    time: Int = read.seconds()
    job: Int = read.job()
    number: Int = read.column(_task, "task")
    index: Int = read.column(_index, there=False)
    source: Int = read.whole(0, "nodes")
    target: Int = read.whole(0, "nodes")
    end: Int = read.seconds()
    predicted: Int = read.whole(-read.MAX_AMOUNT, read.MAX_AMOUNT, empty=True)
    outcome: Int = read.words(read.spelled(MoveEnd, " "))
    line: Int = read.line()


@dataclass(frozen=True)
class FailureRows(Rows):
    """`failures.csv`: every failure that was played."""

    FILE: ClassVar = "failures.csv"
    BESIDES: ClassVar = ("kind",)
    time: Int = read.seconds()
    node: Int = read.whole(0, "nodes")
    downtime: Int = read.whole(0, MAX_SECONDS)
    predicted: Int = read.whole(-read.MAX_AMOUNT, read.MAX_AMOUNT, empty=True)
    tasks: Int = read.whole()
    lost: Int = read.parts(3)


@dataclass(frozen=True)
class Given:
    """What the certifier takes from the parameters in `summary.json`: rates in thousandths; `copy`
    and `still`, s, of a migration (copy 0: stop and copy); `lead`, s; `interval` of checkpoints,
    s, 0 where there are none, and what each takes; `limit` of a node's load, thousandths (0: none),
    and `hold`, s. Where what a move takes is learnt, `lead` is the longest that it can be."""

    nodes: int
    capacity: Int
    memory: Int
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
    limit: int
    hold: int

    @classmethod
    def of(cls, said: Summary) -> Self:
        """Return what the summary says."""
        p = "parameters."
        migrates, copy, still = _transfer(said)
        told = said.told(p + "lead")
        given = said.value("parameters", (dict,), "parameters")
        cost = said.whole(p + "migration_cost", 0, MAX_SECONDS) if "tau" in given else 0
        bounded = "overload_limit" in given
        nodes = said.whole(p + "nodes", 1, read.MAX_NODES)
        capacity, memory = _machine(said, nodes)
        periodic = said.word(p + "checkpoint", ("none", "periodic")) == "periodic"
        return cls(
            nodes=nodes,
            capacity=capacity,
            memory=memory,
            most=round(PARTS * said.number(p + "task_processors", 0, 2**20)),
            least=round(PARTS * said.number(p + "least_rate", 0, 2**20)),
            migrates=migrates,
            copy=copy,
            still=still,
            lead=said.whole(p + "lead", 0, MAX_SECONDS) if told else max(copy + still, cost),
            stops=said.word(p + "past_deadline", ("stop", "run")) == "stop",
            backfill=said.flag(p + "backfill"),
            interval=said.whole(p + "checkpoint_interval", 1, MAX_SECONDS) if periodic else 0,
            overhead=said.whole(p + "checkpoint_overhead", 0, MAX_SECONDS) if periodic else 0,
            limit=round(PARTS * said.number(p + "overload_limit", 0, 1)) if bounded else 0,
            hold=said.whole(p + "overload_hold", 1, MAX_SECONDS) if bounded else 0,
        )


def _machine(said: Summary, nodes: int) -> tuple[Int, Int]:
    """Return int64[nodes], what each node has, thousandths of a processor, and how many machines
    its memory holds (2**31: it does not count)."""
    p = "parameters."
    told = said.value("parameters", (dict,), "parameters").get("node_sizes")
    if told is None:
        each = PARTS * said.whole(p + "processors_per_node", 1, 2**20)
        return np.full(nodes, each), np.full(nodes, 2**31)
    try:
        sizes = parse_node_sizes(str(told))
    except ParameterError as error:
        raise TraceError(said.path, str(error), field=p + "node_sizes") from None
    counts = [one.nodes for one in sizes]
    if sum(counts) != nodes:
        raise TraceError(
            said.path, f"{told!r} does not describe {nodes} nodes", field=p + "node_sizes"
        )
    machine = said.number(p + "vm_memory", 1e-9, 2**31) if said.told(p + "vm_memory") else None
    holds = [
        2**31 if one.memory is None or machine is None else int(one.memory // machine)
        for one in sizes
    ]
    return np.repeat([PARTS * one.processors for one in sizes], counts), np.repeat(holds, counts)


def _transfer(said: Summary) -> tuple[bool, int, int]:
    """Return whether tasks migrate, s of copying while they run, and s of standstill."""
    p = "parameters."
    kind = said.word(p + "migration", ("stop-and-copy", "pre-copy", "none"))
    strategies = ("random", "first-fit", "best-fit", "omniscient")
    strategy = said.word(p + "strategy", strategies, own=True)
    migrates = kind != "none" and (strategy != "random" or not said.flag(p + "random_stays"))
    cost = said.whole(p + "migration_cost", 0, MAX_SECONDS)
    most = said.number(p + "max_downtime", 0, MAX_SECONDS)
    if not said.told(p + "vm_memory"):
        return (migrates, 0, cost) if kind != "pre-copy" else (migrates, cost, math.ceil(most))
    memory, link = said.number(p + "vm_memory", 0, 2**31), said.number(p + "link", 1e-9, 2**31)
    if kind != "pre-copy":
        return migrates, 0, math.ceil(memory / link)
    # At most 29 rounds that send at most three times the memory; each sends what the last let dirty
    dirty = said.number(p + "dirty_rate", 0, 2**31)
    copying, sent, left, rounds = 0.0, 0.0, memory, 0
    while left / link > most and sent + left <= 3 * memory and rounds < 29:
        copying, sent, rounds = copying + left / link, sent + left, rounds + 1
        left = min(memory, dirty * (left / link))
    return migrates, math.ceil(copying), math.ceil(left / link)


@dataclass(frozen=True)
class VirtualRun:
    """All files of a run's folder."""

    jobs: JobRows
    tasks: TaskRows
    stays: StayRows
    moves: MoveRows
    failures: FailureRows
    given: Given
    summary: Summary

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what the files of this folder say."""
        summary = Summary.of(folder)
        given = Given.of(summary)
        jobs = JobRows.read(folder)
        known = {"jobs": jobs, "ids": jobs.name, "nodes": given.nodes}
        return cls(
            jobs,
            TaskRows.read(folder, **known),
            StayRows.read(folder, **known),
            MoveRows.read(folder, **known),
            FailureRows.read(folder, nodes=given.nodes),
            given,
            summary,
        )

    def names(self, rows: TaskRows | StayRows | MoveRows) -> Int:
        """Return the job of each row."""
        return self.jobs.name[rows.job]
