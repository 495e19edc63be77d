"""The files of a run of virtual machines as the certifier reads them, sharing nothing with what
wrote them. Rates and work are read as whole thousandths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from forestall.core.certify import sheet as read
from forestall.core.certify.finding import Finding
from forestall.core.certify.folder import RunFolder, Summary, table
from forestall.core.certify.sheet import NONE, Bool, Int, Rows, Sheet
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import MAX_SECONDS
from forestall.core.model.virtual import TaskDecisionKind, TaskEventKind, parse_node_sizes
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.rules.entries import MIGRATIONS, STRATEGIES

PARTS = 1000
"""Rates and work are held as whole thousandths of a processor, of a processor-second."""
JOB_FATES = ("completed", "late", "uncompleted", "dropped")
TASK_FATES = (*read.spelled(Ended), "dropped")
DROPPED = len(Ended)
RATES: Final = ("job_completion_rate", "task_completion_rate", "utilization")


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
class OfTasks(Rows):
    """A table of tasks; `job` is the position of the job, `number` that within it, `index` that
    among all tasks."""

    job: Int = read.job()
    number: Int = read.column(_task, "task")
    index: Int = read.column(_index, there=False)

    def note(self, finding: Finding, bad: Bool, text: str, **values: Any) -> None:
        """Note rows in which something is wrong with their task; see `Rows.where`."""
        self.where(finding, bad, "task {number} of job {job} " + text, **values)


@dataclass(frozen=True)
class TaskRows(OfTasks):
    """`tasks.csv`."""

    FILE: ClassVar = "tasks.csv"
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

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        never = (self.fate == Ended.MOVED) | (self.fate == Ended.CANCELLED)
        sheet.refuse(never, "outcome", "a final outcome of a task")
        for name in ("node", "start", "end", "rate"):
            odd = sheet.empty(name) != (self.fate == DROPPED)
            sheet.refuse(odd, name, "consistent with the outcome (empty for dropped tasks only)")


@dataclass(frozen=True)
class StayRows(OfTasks):
    """`runs.csv`: every stay of a task on a node."""

    FILE: ClassVar = "runs.csv"
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

    @property
    def over(self) -> Bool:
        """Whether its task did all its work, in time or late."""
        done: Bool = (self.ended == Ended.COMPLETED) | (self.ended == Ended.LATE)
        return done


@dataclass(frozen=True)
class MoveRows(OfTasks):
    """`migrations.csv`; `predicted` is NONE where empty."""

    FILE: ClassVar = "migrations.csv"
    time: Int = read.seconds()
    source: Int = read.whole(0, "nodes")
    target: Int = read.whole(0, "nodes")
    end: Int = read.seconds()
    predicted: Int = read.whole(-read.MAX_AMOUNT, read.MAX_AMOUNT, empty=True)
    outcome: Int = read.words(read.spelled(MoveEnd, " "))

    def note(self, finding: Finding, bad: Bool, text: str, **values: Any) -> None:
        """Note moves of which the text holds."""
        before = "the move of task {number} of job {job} at {time} "
        self.where(finding, bad, before + text, **values)


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


# ---------------------------------------------------------------------------------------- the log


def _index_or_none(sheet: Sheet, _: str) -> Int:
    """Return the number of each row's task among all tasks, NONE where it tells of none."""
    job = sheet.jobs("job", sheet.given["ids"], empty=True)
    number = sheet.whole("task", empty=True)
    first, size = sheet.given["jobs"].first, sheet.given["jobs"].size
    there = (job != NONE) & (number != NONE)
    sheet.refuse(there & (number >= size[np.maximum(job, 0)]), "task", "a task of its job")
    return np.where(there, first[np.maximum(job, 0)] + number, NONE)


@dataclass(frozen=True)
class TaskEventRows(Rows):
    """`events.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "events.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(TaskEventKind), "event")
    job: Int = read.job(empty=True)
    index: Int = read.column(_index_or_none, "task")
    node: Int = read.whole(0, "nodes", empty=True)
    at: Int = read.whole(-read.MAX_AMOUNT, read.MAX_AMOUNT, empty=True)
    size: Int = read.whole(1, empty=True)
    work: Int = read.parts(3, empty=NONE)
    deadline: Int = read.seconds(empty=True)
    decisions: Int = read.whole()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        of_node = np.isin(self.kind, [kind for kind in TaskEventKind if kind.about_node])
        of_job = np.isin(self.kind, [kind for kind in TaskEventKind if kind.about_job])
        submitted = self.kind == TaskEventKind.SUBMITTED
        known = ~of_node & (self.kind != TaskEventKind.PASS)
        there = {"node": of_node, **dict.fromkeys(("size", "work", "deadline"), submitted)}
        sheet.only_where({**there, "job": known, "task": known & ~of_job})


@dataclass(frozen=True)
class TaskDecisionRows(Rows):
    """`decisions.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "decisions.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(TaskDecisionKind), "decision")
    job: Int = read.job()
    index: Int = read.column(_index_or_none, "task")
    source: Int = read.whole(0, "nodes", empty=True)
    node: Int = read.whole(0, "nodes", empty=True)
    rate: Int = read.parts(3, empty=0)
    deadline: Int = read.seconds(empty=True)


# ------------------------------------------------------------------------------------- parameters


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
    parameters: dict[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return what the summary says; measures that have to be there are looked for."""
        p, parameters = "parameters.", summary.value("parameters", (dict,), "parameters")
        for name in RATES:
            summary.measure(name)

        def seconds(name: str, least: int = 0) -> int:
            return summary.whole(p + name, least, MAX_SECONDS)

        migrates, copy, still = _transfer(summary)
        cost = seconds("migration_cost") if "tau" in parameters else 0
        bounded = "overload_limit" in parameters
        nodes = summary.whole(p + "nodes", 1, read.MAX_NODES)
        capacity, memory = _machine(summary, nodes)
        periodic = summary.word(p + "checkpoint", ("none", "periodic")) == "periodic"
        return cls(
            nodes=nodes,
            capacity=capacity,
            memory=memory,
            most=round(PARTS * summary.number(p + "task_processors", 0, 2**20)),
            least=round(PARTS * summary.number(p + "least_rate", 0, 2**20)),
            migrates=migrates,
            copy=copy,
            still=still,
            lead=seconds("lead") if summary.told(p + "lead") else max(copy + still, cost),
            stops=summary.word(p + "past_deadline", ("stop", "run")) == "stop",
            backfill=summary.flag(p + "backfill"),
            interval=seconds("checkpoint_interval", 1) if periodic else 0,
            overhead=seconds("checkpoint_overhead") if periodic else 0,
            limit=round(PARTS * summary.number(p + "overload_limit", 0, 1)) if bounded else 0,
            hold=seconds("overload_hold", 1) if bounded else 0,
            parameters=parameters,
        )


def _machine(summary: Summary, nodes: int) -> tuple[Int, Int]:
    """Return int64[nodes], what each node has, thousandths of a processor, and how many machines
    its memory holds (2**31: it does not count)."""
    p, text = "parameters.", summary.value("parameters", (dict,), "parameters").get("node_sizes")
    if text is None:
        each = PARTS * summary.whole(p + "processors_per_node", 1, 2**20)
        return np.full(nodes, each), np.full(nodes, 2**31)
    try:
        sizes = parse_node_sizes(str(text))
    except ParameterError as error:
        raise TraceError(summary.path, str(error), field=p + "node_sizes") from None
    counts = [size.nodes for size in sizes]
    if sum(counts) != nodes:
        wrong = f"{text!r} does not describe {nodes} nodes"
        raise TraceError(summary.path, wrong, field=p + "node_sizes")
    machine = None
    if summary.told(p + "vm_memory"):
        machine = summary.number(p + "vm_memory", 1e-9, 2**31)
    holds = [
        2**31 if size.memory is None or machine is None else int(size.memory // machine)
        for size in sizes
    ]
    return np.repeat([PARTS * size.processors for size in sizes], counts), np.repeat(holds, counts)


def _transfer(summary: Summary) -> tuple[bool, int, int]:
    """Return whether tasks migrate, s of copying while they run, and s of standstill."""
    p = "parameters."
    kind = summary.word(p + "migration", tuple(MIGRATIONS))
    strategy = STRATEGIES.chosen(summary.word(p + "strategy", tuple(STRATEGIES), own=True))
    migrates = kind != "none" and not (strategy.draws and summary.flag(p + "random_stays"))
    cost = summary.whole(p + "migration_cost", 0, MAX_SECONDS)
    most = summary.number(p + "max_downtime", 0, MAX_SECONDS)
    if not summary.told(p + "vm_memory"):
        return (migrates, 0, cost) if kind != "pre-copy" else (migrates, cost, math.ceil(most))
    memory, link = (
        summary.number(p + "vm_memory", 0, 2**31), summary.number(p + "link", 1e-9, 2**31)
    )  # fmt: skip
    if kind != "pre-copy":
        return migrates, 0, math.ceil(memory / link)
    # At most 29 rounds that send at most three times the memory; each sends what the last let dirty
    dirty = summary.number(p + "dirty_rate", 0, 2**31)
    copying, sent, left, rounds = 0.0, 0.0, memory, 0
    while left / link > most and sent + left <= 3 * memory and rounds < 29:
        copying, sent, rounds = copying + left / link, sent + left, rounds + 1
        left = min(memory, dirty * (left / link))
    return migrates, math.ceil(copying), math.ceil(left / link)


class VirtualRun(RunFolder):
    """The files of a run."""

    jobs = table(JobRows, alone=True)
    tasks = table(TaskRows)
    stays = table(StayRows)
    moves = table(MoveRows)
    failures = table(FailureRows)
    events = table(TaskEventRows)
    decisions = table(TaskDecisionRows)

    @cached_property
    def given(self) -> Given:
        """What the summary gives."""
        return Given.of(self.summary)

    @property
    def known(self) -> dict[str, Any]:
        """See `RunFolder`."""
        return {"jobs": self.jobs, "ids": self.jobs.name, "nodes": self.given.nodes}
