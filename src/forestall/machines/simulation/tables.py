"""What happened to tasks in virtual machines, as tables: jobs, tasks, stays, moves, failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.model.virtual import FAR, PROCESSOR
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.core.world.columns import in_units, kinds, known, whole, words
from forestall.machines.simulation.fates_kernels import tally

if TYPE_CHECKING:
    from forestall.machines.simulation.outcome import VirtualOutcome

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

NEVER = -1
"""Stands for what a task that was never placed does not have."""


def _word(value: str) -> str:
    return value.lower().replace("_", " ")


BEGUN = tuple(_word(one.name) for one in Begun)
ENDED = tuple(_word(one.name) for one in Ended)
MOVE_ENDS = tuple(_word(one.name) for one in MoveEnd)
DROPPED = len(ENDED)
FATES = (*ENDED, "dropped")
"""What becomes of a task, by code: how its last stay ended, or that it was never placed."""


@dataclass(frozen=True)
class TaskFates:
    """Every task of every job, in order of (job, task); all arrays int64[tasks].

    Attributes
    ----------
    job, number : position of the job, and of the task within it
    work : whole work; `done` what of it counts in the end, `lost` what failures took; thousandths
        of a processor-second
    node, rate : of the last stay, thousandths of a processor (NEVER, 0: never placed)
    start, end : of the first and the last stay, s (NEVER: never placed)
    fate : position in FATES
    migrations : moves begun
    restarts, checkpoints : how many
    """

    job: Int
    number: Int
    work: Int
    done: Int
    lost: Int
    node: Int
    rate: Int
    start: Int
    end: Int
    fate: Int
    migrations: Int
    restarts: Int
    checkpoints: Int

    @property
    def completed(self) -> Bool:
        """Whether each task did all its work by the deadline."""
        yes: Bool = self.fate == Ended.COMPLETED
        return yes

    @property
    def finished(self) -> Bool:
        """Whether each task did all its work, by the deadline or after it."""
        yes: Bool = self.completed | (self.fate == Ended.LATE)
        return yes


def first_tasks(outcome: VirtualOutcome) -> Int:
    """Return the number of each job's first task among all tasks, and the number of all tasks."""
    return np.concatenate(([0], np.cumsum(outcome.workload.jobs.size)))


def task_of(outcome: VirtualOutcome, rows: npt.NDArray[Any]) -> Int:
    """Return the number among all tasks of each row's task (RUN or MOVE)."""
    number: Int = first_tasks(outcome)[rows["job"]] + rows["task"]
    return number


def lived_stays(outcome: VirtualOutcome) -> npt.NDArray[Any]:
    """Return the stays (RUN) that were no mere reservations, in order of their ends."""
    reserved = outcome.runs["ended"] == Ended.CANCELLED
    return outcome.runs[~reserved] if reserved.any() else outcome.runs


def task_fates(outcome: VirtualOutcome) -> TaskFates:
    """Return what became of every task. A reservation that was never run on counts for nothing."""
    size = outcome.workload.jobs.size
    first = first_tasks(outcome)
    count = int(first[-1])
    job = np.repeat(np.arange(len(size)), size)
    start = np.full(count, NEVER)
    latest = np.empty((4, count), dtype=np.int64)
    latest[:] = np.array([[NEVER], [0], [NEVER], [DROPPED]])
    totals = np.zeros((4, count), dtype=np.int64)
    tally(task_of(outcome, outcome.runs), outcome.runs, start, latest, totals)
    node, rate, end, fate = latest
    done, lost, restarts, checkpoints = totals
    return TaskFates(
        job=job,
        number=np.arange(count) - first[job],
        work=outcome.workload.work[job],
        done=done - lost,
        lost=lost,
        node=node,
        rate=rate,
        start=start,
        end=end,
        fate=fate,
        migrations=np.bincount(task_of(outcome, outcome.moves), minlength=count),
        restarts=restarts,
        checkpoints=checkpoints,
    )


def thousandths(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return values counted in thousandths in their unit: to the last of them below 2^50, some
    35,000 processor-years."""
    return in_units(values, PROCESSOR)


def tasks_table(outcome: VirtualOutcome, fates: TaskFates) -> pl.DataFrame:
    """Return a row for every task of every job, in order of (job, task).

    Times in s, rates in processors, work in processor-seconds; `node`, `start`, `end` and `rate`
    are null where the task was never placed. `node` and `rate` are those of the last stay. `done`
    is what of its work counts in the end: all of it where it ended, what it had done where it was
    stopped, what was saved where it was aborted.
    """
    placed = fates.node >= 0
    return pl.DataFrame(
        {
            "job": outcome.workload.jobs.job[fates.job],
            "task": fates.number,
            "node": known(fates.node, placed),
            "start": known(fates.start, placed),
            "end": known(fates.end, placed),
            "rate": known(thousandths(fates.rate), placed),
            "work": thousandths(fates.work),
            "done": thousandths(fates.done),
            "outcome": words(FATES, fates.fate),
            "migrations": fates.migrations,
            "restarts": fates.restarts,
            "checkpoints": fates.checkpoints,
            "lost": thousandths(fates.lost),
        }
    )


def runs_table(outcome: VirtualOutcome) -> pl.DataFrame:
    """Return every stay of a task on a node, in order of their ends.

    `start` to `end` is when its rate (processors) was held there, `runs_from` since when it made
    progress there, s. `work` done in the stay and `lost` at its end are processor-seconds.
    """
    runs = outcome.runs
    return pl.DataFrame(
        {
            "job": outcome.workload.jobs.job[runs["job"]],
            **whole(runs, "task", "node", "start", "runs_from", "end"),
            "rate": thousandths(runs["rate"]),
            "work": thousandths(runs["work"]),
            "begun": words(BEGUN, runs["begun"]),
            "outcome": words(ENDED, runs["ended"]),
            "lost": thousandths(runs["lost"]),
            **whole(runs, "checkpoints"),
        }
    )


def job_sums(outcome: VirtualOutcome, values: Int) -> Int:
    """Return the sum over the tasks of each job."""
    first = first_tasks(outcome)
    total = np.concatenate(([0], np.cumsum(values)))
    return total[first[1:]] - total[first[:-1]]


JOB_FATES = ("completed", "late", "uncompleted", "dropped")


def job_fates(outcome: VirtualOutcome) -> Int:
    """Return what became of each job, as a position in JOB_FATES.

    completed: all tasks by the deadline; late: all, some after it; dropped: never placed.
    """
    truth, size = outcome.jobs, outcome.workload.jobs.size
    done, late = truth["done"], truth["late"]
    return np.select(
        [truth["dropped"] != 0, done == size, done + late == size], [3, 0, 1], default=2
    ).astype(np.int64)


def jobs_table(outcome: VirtualOutcome, fates: TaskFates) -> pl.DataFrame:
    """Return one row per job, in submit order; times in s, `lost` in processor-seconds.

    `size` is the number of tasks, `runtime` theirs at the full rate. `start` (of the first task)
    and `finish` (of the last) are null where the job was dropped; `completed` is 1 where all tasks
    ended by the deadline.
    """
    jobs, truth = outcome.workload.jobs, outcome.jobs
    fate = job_fates(outcome)
    placed = fate != JOB_FATES.index("dropped")
    return pl.DataFrame(
        {
            "job": jobs.job,
            "submit": jobs.submit,
            "size": jobs.size,
            "runtime": jobs.runtime,
            "deadline": outcome.workload.deadline,
            "start": known(truth["start"], placed),
            "finish": known(truth["finish"], placed),
            "completed": (fate == JOB_FATES.index("completed")).astype(np.int64),
            "tasks_completed": truth["done"].copy(),
            "outcome": words(JOB_FATES, fate),
            "lost": thousandths(job_sums(outcome, fates.lost)),
            "restarts": job_sums(outcome, fates.restarts),
            "migrations": job_sums(outcome, fates.migrations),
        }
    )


def migrations_table(outcome: VirtualOutcome) -> pl.DataFrame:
    """Return every move in order of their beginning: when, s; which task; from where to where; when
    it ended or broke; the predicted time that it fled (null: none); what became of it."""
    moves = outcome.moves
    return pl.DataFrame(
        {
            "time": moves["time"].copy(),
            "job": outcome.workload.jobs.job[moves["job"]],
            **whole(moves, "task", "source", "target", "end"),
            "predicted": known(moves["predicted"], moves["predicted"] < FAR),
            "outcome": words(MOVE_ENDS, moves["outcome"]),
        }
    )


def foretold(outcome: VirtualOutcome) -> Int:
    """Return the predicted time that was in force when each failure came, FAR where there was none.

    A prediction is in force from the second after `known` (one of the failure's own second speaks
    of the next) until the node's next one, or its next failure.
    """
    struck, table = outcome.struck, outcome.predictions
    time, node = struck["time"], outcome.failures.node[struck["number"]]
    told = np.full(len(struck), FAR)
    if not len(table) or not len(struck):
        return told
    order = np.lexsort((np.arange(len(struck)), time, node))
    since = np.full(len(struck), np.iinfo(np.int64).min)
    again = node[order][1:] == node[order][:-1]
    since[order[1:][again]] = time[order[:-1][again]]
    by_node = np.lexsort((np.arange(len(table)), table.known, table.node))
    low = int(min(table.known.min(), time.min()))
    width = int(max(table.known.max(), time.max())) - low + 2
    keys = table.node[by_node] * width + (table.known[by_node] - low)
    at = np.searchsorted(keys, node * width + (time - low), side="left") - 1
    row = by_node[np.maximum(at, 0)]
    holds = (at >= 0) & (table.node[row] == node) & (table.known[row] >= since)
    told[holds] = table.expected[row[holds]]
    return told


def failures_table(outcome: VirtualOutcome) -> pl.DataFrame:
    """Return each failure that was played: when, s; node; seconds down; the predicted time in force
    then (null: none was foreseen); kind; tasks that it aborted; processor-seconds that they
    lost."""
    struck, log = outcome.struck, outcome.failures
    number = struck["number"].copy()
    told = foretold(outcome)
    return pl.DataFrame(
        {
            "time": struck["time"].copy(),
            "node": log.node[number],
            "downtime": log.downtime[number],
            "predicted": known(told, told < FAR),
            "kind": kinds(log, number),
            "tasks": struck["tasks"].copy(),
            "lost": thousandths(struck["lost"]),
        }
    )
