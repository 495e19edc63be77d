"""What a run of virtual machines was worth: completion rates, lost work, moves, capacity used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.virtual import FAR, PROCESSOR
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.core.world.failures import outage_seconds
from forestall.core.world.sums import exact_sum, spread
from forestall.machines.simulation.prepare import capacities
from forestall.machines.simulation.tables import (
    DROPPED,
    JOB_FATES,
    MOVE_ENDS,
    TaskFates,
    job_fates,
    lived_stays,
    task_fates,
    task_of,
)

if TYPE_CHECKING:
    from forestall.machines.simulation.outcome import VirtualOutcome

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

ACCOUNT = ("useful", "lost", "stopped", "paused", "idle", "down", "total")


def in_processors(value: int) -> float:
    """Return thousandths as a number of at most three decimals."""
    return value / PROCESSOR


# -------------------------------------------------------------------------------- a task's stays


@dataclass(frozen=True)
class Chains:
    """The stays that ran (no reservations) in order of (task, time).

    Attributes
    ----------
    runs : RUN[m]
    task : int64[m], number among all tasks
    part : int64[m], rises by one where a task begins or restarts
    before : int64[m], work that counted when the stay began, thousandths of a processor-second
    """

    runs: npt.NDArray[Any]
    task: Int
    part: Int
    before: Int


def chains(outcome: VirtualOutcome, lived: npt.NDArray[Any]) -> Chains:
    """Return these stays (none of them CANCELLED, in order of their ends) task by task."""
    task = task_of(outcome, lived)
    order = np.argsort(task, kind="stable")
    runs, task = lived.take(order), task[order]
    fresh = np.ones(len(runs), dtype=np.bool_)
    fresh[1:] = task[1:] != task[:-1]
    part = np.cumsum(fresh | (runs["begun"] == Begun.RESTARTED))
    return Chains(runs, task, part, _within(runs["work"] - runs["lost"], fresh))


def _within(values: Int, fresh: Bool) -> Int:
    """Return the sum of what comes before each value in its group; `fresh` marks the first ones."""
    before = np.cumsum(values) - values
    starts = np.flatnonzero(fresh)
    counts = np.diff(np.append(starts, len(values)))
    return before - np.repeat(before[starts], counts)


def planned_ends(outcome: VirtualOutcome, chain: Chains) -> Int:
    """Return when each stay would have ended had nothing befallen its node or it, s.

    With checkpoints, n of them lie in x seconds of progress that begin p seconds after the last:
    0 where x <= I - p, else 1 + (x - (I - p) - 1) // I; each takes O s more.
    """
    runs, parameters = chain.runs, outcome.parameters
    left = outcome.workload.work[runs["job"]] - chain.before
    need = -(-left // runs["rate"])
    ends: Int = runs["runs_from"] + need
    if parameters.checkpoint == "none":
        return ends
    every = parameters.checkpoint_interval
    fresh = np.ones(len(runs), dtype=np.bool_)
    fresh[1:] = chain.part[1:] != chain.part[:-1]
    # A stay with another one after it made whole seconds of progress.
    phase = _within(runs["work"] // runs["rate"] - runs["checkpoints"] * every, fresh)
    count = np.where(need > every - phase, 1 + (need - (every - phase) - 1) // every, 0)
    ends += count * parameters.checkpoint_overhead
    return ends


def kept_work(chain: Chains) -> Int:
    """Return what of each stay's work was not lost later: a loss takes what was done last."""
    runs = chain.runs
    fresh = np.ones(len(runs), dtype=np.bool_)
    fresh[1:] = chain.part[1:] != chain.part[:-1]
    starts = np.flatnonzero(fresh)
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    counts = np.diff(np.append(starts, len(runs)))
    kept = np.repeat(np.add.reduceat(runs["work"] - runs["lost"], starts), counts)
    return np.clip(kept - _within(runs["work"], fresh), 0, runs["work"])


# --------------------------------------------------------------------------------------- capacity


def down_seconds(
    outcome: VirtualOutcome, start: int, end: int, which: npt.NDArray[np.bool_]
) -> int:
    """Return the seconds within [start, end) in which nodes were down, summed over those nodes of
    which `which`, bool[nodes], holds."""
    log, struck = outcome.failures, outcome.struck
    struck = struck[which[log.node[struck["number"]]]]
    number, time = struck["number"], struck["time"]
    return outage_seconds(log.node[number], time, log.downtime[number], start, end)


def processor_seconds(outcome: VirtualOutcome, fates: TaskFates) -> dict[str, int]:
    """Return where all capacity from the first submission to the end went, in thousandths of a
    processor-second: useful + lost + stopped + paused + idle + down = total.

    useful : work of tasks that did all of theirs, also after the deadline
    lost : work that failures took
    stopped : other work of tasks that did not end
    paused : held by tasks that made no progress: moves and their reservations, checkpoints, what
        was left of a last second
    down : of nodes that were down
    """
    runs, parameters = outcome.runs, outcome.parameters
    start = int(outcome.workload.jobs.submit[0])
    span = max(outcome.end - start, 0)
    capacity = capacities(parameters)
    held = exact_sum(runs["rate"] * (runs["end"] - runs["start"]))
    whole = np.where(fates.finished, fates.work, 0)
    account = {
        "useful": exact_sum(whole),
        "lost": exact_sum(fates.lost),
        "stopped": exact_sum(np.where(fates.finished, 0, fates.done)),
        "paused": held - exact_sum(runs["work"]),
        "idle": 0,
        "down": sum(
            int(size) * down_seconds(outcome, start, start + span, capacity == size)
            for size in np.unique(capacity)
        ),
        "total": int(capacity.sum()) * span,
    }
    assert account["useful"] + account["lost"] + account["stopped"] == exact_sum(runs["work"]), (
        "the work of stays does not add up to that of tasks"
    )
    account["idle"] = account["total"] - held - account["down"]
    assert account["idle"] >= 0, "more capacity was held than there was"
    assert account["paused"] >= 0, "stays did more work than their rate allows"
    return account


# ------------------------------------------------------------------------------------------ moves


@dataclass(frozen=True)
class Flights:
    """Moves that left their source: task; whether a failure was foreseen there; whether the source
    failed before the task would have ended there; s without progress."""

    task: Int
    fled: Bool
    needed: Bool
    still: Int


def flights(outcome: VirtualOutcome) -> Flights:
    """Return every move that left its node (a live one that broke did not)."""
    none = np.zeros(0, dtype=np.int64)
    if not len(outcome.moves):
        return Flights(none, none > 0, none > 0, none)
    runs = lived_stays(outcome)
    moved = np.zeros(len(outcome.workload.jobs), dtype=np.bool_)
    moved[outcome.moves["job"]] = True
    chain = chains(outcome, runs[moved[runs["job"]]])
    here = np.flatnonzero(chain.runs["begun"] == Begun.MIGRATED)
    source, target = chain.runs[here - 1], chain.runs[here]
    would = planned_ends(outcome, chain)[here - 1]
    if outcome.parameters.past_deadline == "stop":
        would = np.minimum(would, outcome.workload.deadline[source["job"]])
    fails = _next_failure(outcome, source["node"].astype(np.int64), source["end"])
    still = np.minimum(target["runs_from"], target["end"]) - source["end"]
    task = chain.task[here]
    eased = outcome.moves[outcome.moves["predicted"] == FAR]
    for_load = set(zip(task_of(outcome, eased).tolist(), eased["time"].tolist(), strict=True))
    begun = zip(task.tolist(), target["start"].tolist(), strict=True)
    fled = np.array([one not in for_load for one in begun], dtype=np.bool_)
    return Flights(task, fled, fails < would, np.maximum(still, 0))


def _next_failure(outcome: VirtualOutcome, node: Int, after: Int) -> Int:
    """Return the first second, from `after` on, in which each node failed; far where none."""
    far = np.iinfo(np.int64).max
    time = outcome.struck["time"]
    if not len(time):
        return np.full(len(node), far)
    failing = outcome.failures.node[outcome.struck["number"]]
    low = int(min(time.min(), after.min(initial=time.min())))
    width = int(max(time.max(), after.max(initial=time.max()))) - low + 1
    keys = failing * width + (time - low)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], node * width + (after - low), side="left")
    row = order[np.minimum(at, len(order) - 1)]
    found = (at < len(order)) & (failing[row] == node)
    return np.where(found, time[row], far)


def move_measures(outcome: VirtualOutcome, fates: TaskFates) -> dict[str, Any]:
    """Return what the migrations cost and bought.

    migrations : moves begun; migration_outcomes counts them by what became of them
    migrations_failed : those that a failure broke
    migration_time : s that tasks stood still for moves; migration_work, the processor-seconds that
        were held for them at their targets before they made progress there
    tasks_saved : tasks completed that had left a node, which then failed before they would have
        ended there
    moves_in_vain : moves for a failure off a node that did not fail before the task would have
        ended there
    """
    moves, runs = outcome.moves, outcome.runs
    counted = np.bincount(moves["outcome"], minlength=len(MOVE_ENDS))
    flown = flights(outcome)
    arriving = runs[runs["begun"] == Begun.MIGRATED]
    until = np.minimum(arriving["runs_from"], arriving["end"])
    held = exact_sum(arriving["rate"] * (until - arriving["start"]))
    saved = np.unique(flown.task[flown.fled & flown.needed & fates.completed[flown.task]])
    return {
        "migrations": len(moves),
        "migrations_failed": int(counted[MoveEnd.TARGET_FAILED] + counted[MoveEnd.SOURCE_FAILED]),
        "migration_outcomes": dict(zip(MOVE_ENDS, counted.tolist(), strict=True)),
        "migration_time": int(flown.still.sum()),
        "migration_work": in_processors(held),
        "tasks_saved": len(saved),
        "moves_in_vain": int((flown.fled & ~flown.needed).sum()),
    }


# --------------------------------------------------------------------------------------- measures


def least_reliable_share(outcome: VirtualOutcome, fates: TaskFates) -> float | None:
    """Return the share of useful work done on the least reliable quarter of the nodes.

    Those are the nodes / 4 (rounded up) with the most failures played, ties by the lower node
    number. None where no work was useful.
    """
    nodes = outcome.parameters.nodes
    failed = np.bincount(outcome.failures.node[outcome.struck["number"]], minlength=nodes)
    worst = np.zeros(nodes, dtype=np.bool_)
    worst[np.argsort(-failed, kind="stable")[: -(-nodes // 4)]] = True
    lived = lived_stays(outcome)
    task = task_of(outcome, lived)
    several = np.bincount(task, minlength=len(fates.fate))[task] > 1
    alone = ~several & fates.finished[task]  # all that was done in the only stay was of use
    chain = chains(outcome, lived[several])
    useful = np.where(fates.finished[chain.task], kept_work(chain), 0)
    node, work = lived["node"][alone], lived["work"][alone]
    whole = exact_sum(work) + exact_sum(useful)
    mine = exact_sum(work[worst[node]]) + exact_sum(useful[worst[chain.runs["node"]]])
    return mine / whole if whole else None


def _job_counts(outcome: VirtualOutcome) -> dict[str, int]:
    counted = np.bincount(job_fates(outcome), minlength=len(JOB_FATES))
    return {
        "jobs_count": len(outcome.workload.jobs),
        "jobs_completed": int(counted[JOB_FATES.index("completed")]),
        "jobs_late": int(counted[JOB_FATES.index("late")]),
        "jobs_dropped": int(counted[JOB_FATES.index("dropped")]),
    }


def _task_counts(fates: TaskFates) -> dict[str, int]:
    counted = np.bincount(fates.fate, minlength=DROPPED + 1)
    return {
        "tasks_count": len(fates.fate),
        "tasks_completed": int(counted[Ended.COMPLETED]),
        "tasks_late": int(counted[Ended.LATE]),
        "tasks_aborted": int(counted[Ended.ABORTED]),
        "tasks_stopped": int(counted[Ended.STOPPED]),
        "tasks_dropped": int(counted[DROPPED]),
    }


def measures(outcome: VirtualOutcome, fates: TaskFates | None = None) -> dict[str, Any]:
    """Return all measures of a run; times in s, work in processor-seconds, shares from 0 to 1.

    `fates` are the run's `task_fates`, where they are at hand. The rates are None where there is no
    job, the wait where none was placed. A job or task counts as completed where it ended by the
    deadline.
    """
    jobs, fates = outcome.workload.jobs, fates or task_fates(outcome)
    counted = {**_job_counts(outcome), **_task_counts(fates)}
    placed = outcome.jobs["dropped"] == 0
    wait = (outcome.jobs["start"] - jobs.submit)[placed]
    account = processor_seconds(outcome, fates) if len(jobs) else dict.fromkeys(ACCOUNT, 0)
    count, tasks = counted["jobs_count"], counted["tasks_count"]
    return {
        "job_completion_rate": counted["jobs_completed"] / count if count else None,
        "task_completion_rate": counted["tasks_completed"] / tasks if tasks else None,
        **counted,
        "utilization": account["useful"] / account["total"] if account["total"] else 0.0,
        "lost_work": in_processors(account["lost"]),
        "stopped_work": in_processors(account["stopped"]),
        "makespan": max(outcome.end - int(jobs.submit[0]), 0) if count else 0,
        "wait": spread(wait) if len(wait) else None,
        "restarts": int(fates.restarts.sum()),
        "checkpoints": int(fates.checkpoints.sum()),
        **move_measures(outcome, fates),
        "failures_played": len(outcome.struck),
        "failures_hit": int((outcome.struck["tasks"] > 0).sum()),
        "least_reliable_share": least_reliable_share(outcome, fates),
        "processor_seconds": {name: in_processors(account[name]) for name in ACCOUNT},
    }
