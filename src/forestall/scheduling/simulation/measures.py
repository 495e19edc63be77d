"""What a run was worth: promises, utilization, lost work, waiting, calibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.nodes import MEMORY
from forestall.core.world.failures import outage_seconds
from forestall.core.world.sums import spread
from forestall.scheduling.simulation.nearness import nearness
from forestall.scheduling.simulation.saves import vault_measures

if TYPE_CHECKING:
    from forestall.scheduling.simulation.run import Outcome

Floats = npt.NDArray[np.float64]
SLOWDOWN_BOUND = 10
"""Shorter run times count as this many seconds in the bounded slowdown."""
BINS = 10


def quality_of_service(
    runtime: npt.ArrayLike, size: npt.ArrayLike, kept: npt.ArrayLike, promise: npt.ArrayLike
) -> float:
    """Return sum(e n q p) / sum(e n) (Oliner et al., DSN 2005, Equation 2).

    >>> quality_of_service([10, 10], [1, 3], [1, 0], [0.9, 1.0])
    0.225
    """
    work = np.asarray(runtime, dtype=np.float64) * np.asarray(size)
    return float((work * np.asarray(kept) * np.asarray(promise)).sum() / work.sum())


def calibration(promise: Floats, kept: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return, for each tenth of promised probability, the promises made, their mean and the share
    kept.

    Bins are [low, high), the last one [0.9, 1]. Means and shares are None where a bin is empty.
    """
    place = np.minimum((promise * BINS).astype(np.int64), BINS - 1)
    bins = []
    for k in range(BINS):
        mine = place == k
        count = int(mine.sum())
        bins.append(
            {
                "low": k / BINS,
                "high": (k + 1) / BINS,
                "count": count,
                "promised_mean": float(promise[mine].mean()) if count else None,
                "kept_share": float(kept[mine].mean()) if count else None,
            }
        )
    return bins


def down_seconds(outcome: Outcome, start: int, end: int) -> int:
    """Return the node-seconds within [start, end) in which nodes were down, overlaps counted
    once."""
    played, log = outcome.played, outcome.failures
    number = played["number"]
    return outage_seconds(log.node[number], played["time"], log.downtime[number], start, end)


def node_seconds(outcome: Outcome) -> dict[str, Any]:
    """Return where all node-seconds went: useful + lost + checkpoint_overhead + idle + down =
    total.

    The pause of a checkpoint that a later failure rolls back to counts as lost work, by the
    definition of lost work; all other pauses are checkpoint overhead, and so is what goes on from a
    vault's checkpoints, where the run comes to another one or to its end. Where nodes are shared,
    node-seconds are node equivalents times seconds; then what is left of a node counts as idle.
    """
    jobs, truth, runs = outcome.workload.jobs, outcome.jobs, outcome.runs
    start, end = int(jobs.submit.min()), int(truth["finish"].max())
    total = outcome.parameters.nodes * (end - start)
    size = outcome.sizes
    useful: Any = (jobs.runtime * size[truth["run"]]).sum()
    lost = truth["lost"].sum() if outcome.taken is None else (runs["lost"] * size).sum()
    busy = ((runs["end"] - runs["start"]) * size).sum()
    kind = int if outcome.taken is None else float
    useful, lost, busy = kind(useful), kind(lost), kind(busy)
    down = down_seconds(outcome, start, end)
    return {
        "useful": useful,
        "lost": lost,
        "checkpoint_overhead": busy - useful - lost,
        "idle": total - busy - down,
        "down": down,
        "total": total,
    }


def promises(outcome: Outcome) -> dict[str, Any]:
    """Return what the promises were worth; None throughout where the policy makes none."""
    jobs, deadline, promise = outcome.workload.jobs, outcome.deadlines, outcome.promises
    if bool(np.all(deadline < 0)):
        return {"qos": None, "promises_kept": None, "brier": None, "calibration": None}
    kept = (outcome.jobs["finish"] <= deadline).astype(np.int64)
    return {
        "qos": quality_of_service(jobs.runtime, outcome.sizes[outcome.jobs["run"]], kept, promise),
        "promises_kept": float(kept.mean()),
        "promised_mean": float(promise.mean()),
        "promises_below_wanted": int((promise < _wanted(outcome)).sum()),
        "brier": float(((promise - kept) ** 2).mean()),
        "calibration": calibration(promise, kept),
    }


def _wanted(outcome: Outcome) -> Floats | float:
    """Return the least promise that was taken: everybody's, or each user's own."""
    if outcome.bargains is None:
        return outcome.parameters.risk
    bargains = outcome.bargains
    return np.asarray(bargains["least"][bargains["row"] > 0])


def users(outcome: Outcome) -> dict[str, Any]:
    """Return what came of users who bargain, of all and by kind; nothing where none do.

    Values are in the units of the population: `value` is what all jobs would be worth done at once;
    `promised` sums probability times worth at the deadline over what was taken, `kept` the worth of
    promises kept.
    """
    bargains, population = outcome.bargains, outcome.parameters.population
    if bargains is None or population is None:
        return {}
    kept = np.zeros(len(bargains))
    kept[bargains["row"] > 0] = outcome.jobs["finish"] <= outcome.deadlines
    whole = _bargained(bargains, kept)
    kinds = {
        one.name: _bargained(bargains[bargains["kind"] == k], kept[bargains["kind"] == k])
        for k, one in enumerate(population.kinds)
    }
    return {"users": {**whole, "kinds": kinds}}


def _bargained(bargains: npt.NDArray[Any], kept: Floats) -> dict[str, Any]:
    took = bargains["row"] > 0
    mine = bargains[took]
    count = len(mine)
    return {
        "jobs": len(bargains),
        "took": count,
        "left": len(bargains) - count,
        "asked": int(bargains["asked"].sum()),
        "asked_again": int((bargains["asked"] > 1).sum()),
        "took_first": int((mine["row"] == 1).sum()),
        "taken_mean": math.fsum(mine["probability"]) / count if count else None,
        "value": math.fsum(bargains["value"]),
        "value_left": math.fsum(bargains["value"][~took]),
        "value_promised": math.fsum(mine["probability"] * mine["worth"]),
        "value_kept": math.fsum(bargains["worth"] * kept),
    }


def spared(outcome: Outcome) -> dict[str, Any]:
    """Return what spares did; nothing where a run has none.

    restarts : runs that began after a failure; at_once : of these, in the second of the failure
    on_spares : runs with a spare among their nodes
    """
    parameters, runs = outcome.parameters, outcome.runs
    if parameters.spares is None:
        return {}
    order = np.lexsort((runs["start"], runs["job"]))
    job, start, end = (runs[name][order] for name in ("job", "start", "end"))
    again = job[1:] == job[:-1]
    last = outcome.ranges[runs["first_range"] + runs["ranges"] - 1, 1]
    return {
        "spares": {
            "restarts": int(again.sum()),
            "at_once": int((again & (start[1:] == end[:-1])).sum()),
            "on_spares": int((last > parameters.ordinary).sum()),
        }
    }


def resources(outcome: Outcome) -> dict[str, Any]:
    """Return what became of each resource of a machine whose nodes are shared, in hours of it
    (memory: GiB-hours): what runs had, what of that was lost to failures, and what there was from
    the first submission to the last finish, outages included; nothing where jobs have nodes alone.
    """
    taken, runs = outcome.taken, outcome.runs
    if taken is None:
        return {}
    owner = np.repeat(np.arange(len(runs)), runs["ranges"])
    held, lost = (runs["end"] - runs["start"])[owner], runs["lost"][owner]
    span = int(outcome.jobs["finish"].max() - outcome.workload.jobs.submit.min())
    found: dict[str, Any] = {}
    for k, name in enumerate(taken.machine.resources):
        total = float(taken.machine.totals[k]) * span
        if total == 0:
            continue
        unit = 3600 * (1024 if k == MEMORY else 1)
        used = float((taken.amounts[:, k] * held).sum())
        found[name] = {
            "used_hours": used / unit,
            "lost_hours": float((taken.amounts[:, k] * lost).sum()) / unit,
            "total_hours": total / unit,
            "utilization": used / total,
        }
    return {"resources": found}


def measures(outcome: Outcome) -> dict[str, Any]:
    """Return all measures of a run; times in s, work in node-s, shares from 0 to 1."""
    jobs, truth = outcome.workload.jobs, outcome.jobs
    response = truth["finish"] - jobs.submit
    slowdown = np.maximum(1.0, response / np.maximum(jobs.runtime, SLOWDOWN_BOUND))
    account, near = node_seconds(outcome), outcome.parameters.near
    return {
        **promises(outcome),
        **users(outcome),
        **spared(outcome),
        "utilization": account["useful"] / account["total"],
        "lost_work": account["lost"],
        "jobs_count": len(jobs),
        "makespan": int(truth["finish"].max() - jobs.submit.min()),
        "wait": spread(truth["first_start"] - jobs.submit),
        "response": spread(response),
        "bounded_slowdown": spread(slowdown),
        "restarts": int(truth["restarts"].sum()),
        "checkpoints": int(truth["checkpoints"].sum()),
        "skipped_checkpoints": int(truth["skipped"].sum()),
        "failures_played": len(outcome.played),
        "failures_hit": int((outcome.played["job"] >= 0).sum()),
        "node_seconds": account,
        **({} if outcome.saves is None else {"vault": vault_measures(outcome)}),
        **resources(outcome),
        **({} if near is None else {"topology": nearness(outcome, near)}),
    }
