"""What happened, as tables: jobs, runs, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.model.nodes import Requests
from forestall.core.world.columns import kinds, whole

if TYPE_CHECKING:
    from forestall.scheduling.simulation.run import Outcome
    from forestall.scheduling.simulation.shared import Allocations

Int = npt.NDArray[np.int64]
PART = 65_536
"""Runs whose hostlists are written at a time."""


def hostlists(ranges: Int, first: Int, count: Int) -> pl.Series:
    """Return the node set of each run as a hostlist such as ``0-3,7``.

    Parameters
    ----------
    ranges : int64[k, 2], half-open ranges of node numbers
    first, count : int64[m], where each run's ranges begin and how many they are
    """
    # In parts: joining strings takes many times the room of the result.
    parts = [
        _hostlists(ranges, first[k : k + PART], count[k : k + PART])
        for k in range(0, max(len(first), 1), PART)
    ]
    return pl.concat(parts)


def _hostlists(ranges: Int, first: Int, count: Int) -> pl.Series:
    order = np.repeat(np.arange(len(first)), count)
    offset = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    mine = ranges[np.repeat(first, count) + offset]
    low, high = pl.Series(mine[:, 0]), pl.Series(mine[:, 1] - 1)
    parts = pl.DataFrame({"run": order, "low": low, "high": high}).with_columns(
        pl.when(pl.col("low") == pl.col("high"))
        .then(pl.col("low").cast(pl.String))
        .otherwise(pl.format("{}-{}", "low", "high"))
        .alias("part")
    )
    joined = parts.group_by("run", maintain_order=True).agg(pl.col("part").str.join(","))
    every = pl.DataFrame({"run": np.arange(len(first))})
    return every.join(joined, on="run", how="left", maintain_order="left")["part"].fill_null("")


def runs_table(outcome: Outcome) -> pl.DataFrame:
    """Return ``job,start,end,outcome,checkpoints,lost,nodes``, in order of start; s and node-s.

    Where nodes are shared, with what a run had of them. With a vault also ``resumed``, the work
    that the run began with, s, and ``unrecovered``, what had been saved beyond it and could not be
    had, node-s.
    """
    runs, ids = outcome.runs, outcome.workload.jobs.job
    finished = outcome.jobs["finish"][runs["job"]] == runs["end"]
    last = outcome.jobs["run"][runs["job"]] == np.arange(len(runs))
    stored = {}
    if outcome.saves is not None:
        size = outcome.workload.jobs.size[runs["job"]]
        stored = {**whole(runs, "resumed"), "unrecovered": runs["unrecovered"] * size}
    table = pl.DataFrame(
        {
            "job": ids[runs["job"]],
            **whole(runs, "start", "end"),
            "outcome": np.where(finished & last, "finished", "failed"),
            **whole(runs, "checkpoints", "lost"),
            **stored,
            "nodes": hostlists(*_node_ranges(outcome)),
        }
    )
    return table if outcome.taken is None else table.with_columns(_taken(outcome, outcome.taken))


def _node_ranges(outcome: Outcome) -> tuple[Int, Int, Int]:
    """Return the ranges of nodes of runs, and where each run's begin and how many they are; where
    nodes are shared, nodes in a row are put together."""
    runs, ranges = outcome.runs, outcome.ranges
    if outcome.taken is None:
        return ranges, runs["first_range"], runs["ranges"]
    owner = np.repeat(np.arange(len(runs)), runs["ranges"])
    fresh = np.ones(len(ranges), np.bool_)
    fresh[1:] = (owner[1:] != owner[:-1]) | (ranges[1:, 0] != ranges[:-1, 1])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(ranges)) - 1
    count = np.bincount(owner[first], minlength=len(runs))
    merged = np.column_stack((ranges[first, 0], ranges[last, 1]))
    return merged, np.cumsum(count) - count, count


def _taken(outcome: Outcome, taken: Allocations) -> list[pl.Series]:
    """Return what each run had of shared nodes: `lost` in node-equivalent s, `share` in node
    equivalents, all of each resource, and `units`, its tasks on each node ("" where it has one unit
    on each)."""
    runs, machine = outcome.runs, taken.machine
    owner = np.repeat(np.arange(len(runs)), runs["ranges"])
    amounts = np.zeros((len(runs), len(machine.resources)), dtype=np.int64)
    np.add.at(amounts, owner, taken.amounts)
    more = np.unique(owner[taken.units != 1])
    units = np.full(len(runs), "", dtype=object)
    for run in more.tolist():
        first = int(runs["first_range"][run])
        units[run] = " ".join(map(str, taken.units[first : first + int(runs["ranges"][run])]))
    return [
        pl.Series("lost", np.round(runs["lost"] * taken.size, 3)),
        pl.Series("share", np.round(taken.size, 6)),
        *(pl.Series(name, amounts[:, k]) for k, name in enumerate(machine.resources)),
        pl.Series("units", units.tolist(), dtype=pl.String),
    ]


def jobs_table(outcome: Outcome, runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per job, in submit order; deadline, promise and kept are null where nothing
    was promised. Times in s, `lost` in node-s, `nodes` those of the last run."""
    jobs, truth = outcome.workload.jobs, outcome.jobs
    promised = pl.Series(outcome.deadlines >= 0)
    kept = (truth["finish"] <= outcome.deadlines).astype(np.int64)
    table = pl.DataFrame(
        {
            "job": jobs.job,
            "submit": jobs.submit,
            "size": jobs.size,
            "runtime": jobs.runtime,
            "start": truth["first_start"].copy(),
            **whole(truth, "last_start", "finish"),
            "deadline": outcome.deadlines,
            "promise": outcome.promises,
            "kept": kept,
            **whole(truth, "restarts", "checkpoints", "skipped", "lost"),
            "nodes": runs["nodes"].gather(truth["run"].copy()),
        }
    )
    hidden = [pl.when(promised).then(pl.col(c)).alias(c) for c in ("deadline", "promise", "kept")]
    table = table.with_columns(hidden)
    if outcome.taken is None:
        return table
    lost = np.bincount(
        outcome.runs["job"], outcome.runs["lost"] * outcome.taken.size, minlength=len(jobs)
    )
    asked = (jobs.requests or Requests.whole_nodes(len(jobs))).columns()
    share = outcome.taken.size[truth["run"]]
    return table.with_columns(
        pl.Series("lost", np.round(lost, 3)),
        pl.Series("share", np.round(share, 6)),
        *(pl.Series(f"asked_{name}", column) for name, column in asked.items()),
    )


def users_table(outcome: Outcome) -> pl.DataFrame:
    """Return one row per job that a user thought of, in submit order: what its user wanted and was
    shown, and what was taken; nulls where the user left. Times in s; values in the population's
    units."""
    bargains, population, work = outcome.bargains, outcome.parameters.population, outcome.whole
    assert bargains is not None, "users bargain in this run"
    assert population is not None, "users bargain in this run"
    assert work is not None, "users bargain in this run"
    names = np.array([one.name for one in population.kinds])
    took = pl.Series(bargains["row"] > 0)
    table = pl.DataFrame(
        {
            "job": work.jobs.job,
            "submit": work.jobs.submit,
            "size": work.jobs.size,
            "runtime": work.jobs.runtime,
            "kind": names[bargains["kind"]],
            **{n: bargains[n].copy() for n in ("least", "value")},
            **whole(bargains, "soonest", "latest", "asked", "shown", "row", "deadline"),
            **{n: bargains[n].copy() for n in ("probability", "worth")},
        }
    )
    hidden = ("row", "deadline", "probability", "worth")
    return table.with_columns(pl.when(took).then(pl.col(c)).alias(c) for c in hidden)


def failures_table(outcome: Outcome) -> pl.DataFrame:
    """Return ``time,node,downtime,detectability,kind,job,lost`` of each failure that was played;
    `job` is null where it hit none. Where nodes are shared, it is the first that was hit, and
    `jobs` is how many were."""
    played, log = outcome.played, outcome.failures
    number = played["number"].copy()
    hit = pl.Series(played["job"] >= 0)
    ids = outcome.workload.jobs.job
    table = pl.DataFrame(
        {
            "time": played["time"].copy(),
            "node": log.node[number],
            "downtime": log.downtime[number],
            "detectability": log.detectability[number],
            "kind": kinds(log, number),
            "job": ids[np.maximum(played["job"], 0)],
            "lost": played["lost"].copy(),
        }
    ).with_columns(pl.when(hit).then(pl.col("job")).alias("job"))
    if outcome.taken is None:
        return table
    runs = outcome.runs[outcome.runs["struck"] >= 0]
    size = outcome.taken.size[outcome.runs["struck"] >= 0]
    lost = np.bincount(runs["struck"], runs["lost"] * size, minlength=len(played))
    return table.with_columns(
        pl.Series("lost", np.round(lost, 3)),
        pl.Series("jobs", np.bincount(runs["struck"], minlength=len(played))),
    )
