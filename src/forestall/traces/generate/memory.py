"""A machine whose nodes lose memory to jobs that do not give it back, and jobs that die of it.

After Brandt et al. (Sandia, 2010), Sections 4.1 to 4.4: 288 nodes, 4,178 jobs in 16 days, active
memory sampled every 60 s. What was put in is known: which node had lost how much when, and which
jobs were killed for it.

Jobs come in campaigns: one user's jobs that follow each other a second apart on the same nodes
(some four of them, so that 4,178 jobs are answered for by some 1,019 idle periods, as in the
paper). All other ends of jobs are drawn for whole campaigns and without a look at memory; so
without a relation an idle period's memory says nothing about the jobs it answers for, however
many these are.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.errors import ParameterError, of_system
from forestall.model.metrics import Metrics
from forestall.model.site.job_records import JobRecords
from forestall.traces.files.atomic import atomic_path
from forestall.traces.jobs.job_records import write_job_records
from forestall.traces.metrics.write import write_metrics
from forestall.traces.streams import stream

with lazily():
    import polars as pl

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

DAY: Final = 86_400
PAPER_JOBS: Final = 4178
STATES: Final = {
    "COMPLETED": 3267,
    "FAILED": 562,
    "NODE_FAIL": 18,
    "CANCELLED": 154,
    "TIMEOUT": 177,
}
"""Ends of the paper's 4,178 jobs."""

FAILED_CAMPAIGNS: Final = 479 / 1019
"""Share of campaigns with a failed job: the paper's Case I among Cases I and II."""

CAMPAIGN: Final = 4.25
"""Mean number of jobs of a campaign (geometric)."""

SIZES: Final = (
    (1, 0.70), (2, 0.12), (4, 0.08), (8, 0.05), (16, 0.03), (32, 0.013), (64, 0.007),
)  # fmt: skip
"""Nodes of a campaign, and how many have so many: 3.0 on average. Most have one node, and most of
the work is that of a few large ones."""

KILLED_STATES: Final = (
    ("FAILED", 0.7),
    ("NODE_FAIL", 0.03),
    ("TIMEOUT", 0.15),
    ("CANCELLED", 0.12),
)
"""How a job is reported that memory killed; starved jobs run out of time or are given up."""

CORES: Final = 14
"""Cores of a node (4,068 of 288 nodes)."""

HAZARD: Final = 0.35
"""Kills per job and share of memory that its worst node lacks, for a relation of 1."""

CARELESS: Final = 0.10
"""Campaigns whose jobs do not give all memory back."""

LEAK_MEDIAN, LEAK_SIGMA = 0.035, 0.6
"""Lognormal law of what such a job takes of a node for good."""

LEAK_MOST: Final = 0.8

REBOOT: Final = 0.2
"""Chance that a node is started anew after a campaign, which gives all of its memory back."""

REBOOT_TIME: Final = 90
SILENT_HOURS: Final = 4.0
"""Mean time for which a node's collector is dead after a kill."""

BASE_MEDIAN, BASE_SIGMA, NOISE = 0.027, 0.35, 0.003
"""Active memory of an idle node that lacks none: lognormal over nodes, and noise of a sample."""

MOST_SAMPLES: Final = 100_000_000


@dataclass(frozen=True)
class MemoryTruth:
    """What was put in.

    Attributes
    ----------
    time, node, leak : int64[n], int64[n], float64[n]: from `time` (s) on, until its next row, the
        node lacks this share of its memory; in order of (node, time), each node from time 0
    killed : bool[jobs], which jobs memory killed
    worst : int64[jobs], the node of each job that lacked most when it started
    leak_at_start : float64[jobs], how much that was
    campaign : int64[jobs], which campaign a job is of
    """

    time: Int
    node: Int
    leak: Real
    killed: Bool
    worst: Int
    leak_at_start: Real
    campaign: Int


@dataclass(frozen=True)
class _Plan:
    """Jobs on nodes before anything fails: job k of campaign c runs on nodes_of[c]."""

    start: Int
    end: Int
    campaign: Int
    nodes_of: tuple[Int, ...]


@dataclass
class _Fate:
    """What became of memory: steps of (time, node, leak), outages of the collector, kills."""

    steps: list[tuple[int, int, float]]
    outages: list[tuple[int, int, int]]
    killed: Bool
    worst: Int
    leak: Real


def generate_memory(
    seed: int,
    *,
    nodes: int = 288,
    days: float = 16,
    jobs: int | None = None,
    relation: float = 1.0,
    load: float = 0.7,
    period: int = 60,
) -> tuple[JobRecords, Metrics, MemoryTruth]:
    """Return job records, samples of active memory (`memory_share`), and what was put in.

    Parameters
    ----------
    seed : jobs, nodes, memory, kills, other ends and noise each have a stream of their own from it
    nodes, days : size of the machine, length of the record
    jobs : how many (default: as many a node and day as in the paper)
    relation : how strongly lost memory kills; 0: not at all. A job dies with probability
        1 - exp(-relation x HAZARD x what its worst node lacks)
    load : share of the node-time that jobs take
    period : seconds between samples

    The shares of final states are the paper's: what memory does not kill fails for other reasons,
    as often as is needed. Time 0 is the record's begin. Raises ParameterError.
    """
    count = _checked(nodes, days, jobs, relation, load, period)
    length = int(days * DAY)
    plan = _planned(seed, nodes, length, count, load)
    fate = _lost(seed, plan, nodes, relation)
    state = _states(seed, plan, fate.killed)
    source = f"generated, memory, seed {seed}"
    order = np.argsort(plan.start, kind="stable")
    records = _records(plan, state, order, nodes, source)
    truth = _truth(plan, fate, order)
    metrics = _sampled(seed, plan, fate, truth, (nodes, length, period))
    return records, replace(metrics, source=source), truth


def _checked(
    nodes: int, days: float, jobs: int | None, relation: float, load: float, period: int
) -> int:
    if not 1 <= nodes <= 1_000_000:
        raise ParameterError("nodes", nodes, "from 1 to 1,000,000")
    if not 0.01 <= days <= 36_500:  # also refuses nan
        raise ParameterError("days", days, "from 0.01 to 36,500")
    if jobs is not None and not 1 <= jobs <= 10_000_000:
        raise ParameterError("jobs", jobs, "from 1 to 10,000,000")
    if not (relation >= 0 and math.isfinite(relation)):
        raise ParameterError("relation", relation, "a finite number of at least 0")
    if not 0 < load <= 1:
        raise ParameterError("load", load, "above 0, at most 1")
    if isinstance(period, bool) or period < 1:
        raise ParameterError("period", period, "a whole number of seconds of at least 1")
    samples = nodes * (days * DAY / period)
    if samples > MOST_SAMPLES:
        raise ParameterError("period", period, f"more: {samples:,.0f} samples are too many")
    return max(1, round(PAPER_JOBS * nodes * days / (288 * 16))) if jobs is None else jobs


def _planned(seed: int, nodes: int, length: int, count: int, load: float) -> _Plan:
    """Return the jobs: campaigns queue in order of submit, and take nodes that are free."""
    rng = stream(seed, "memory", "jobs")
    members = _campaigns(rng, count)
    bounds = np.cumsum([share for _, share in SIZES])
    even = (rng.permutation(len(members)) + rng.random()) / len(members)  # the shares are kept
    which = np.minimum(np.searchsorted(bounds, even), len(SIZES) - 1)
    size = np.minimum(np.array([size for size, _ in SIZES])[which], nodes)
    submit = np.sort(rng.random(len(members))) * 0.97 * length
    relative = rng.lognormal(0, 1.0, count)  # run times
    first = np.concatenate(([0], np.cumsum(members)[:-1]))
    work = np.add.reduceat(relative, first)
    cap = 0.25 * length / max(1.0, float(np.max(work)))
    scale = load * nodes * length / float(np.dot(work, size))
    run = np.maximum(30, np.rint(relative * min(scale, cap))).astype(np.int64)
    turn = np.rint(rng.lognormal(math.log(150), 1.0, len(members))).astype(np.int64) + 2
    pick = stream(seed, "memory", "nodes")
    free: list[tuple[float, float, int]] = [(0.0, pick.random(), n) for n in range(nodes)]
    heapq.heapify(free)
    start = np.zeros(count, dtype=np.int64)
    nodes_of, begin = [], 0
    for c, need in enumerate(size.tolist()):
        held = [heapq.heappop(free) for _ in range(need)]
        ready = max(int(held[-1][0]) + int(turn[c]), int(submit[c]), begin)
        begin = ready
        while free and free[0][0] + turn[c] <= ready:  # any idle node will do: those just as idle
            held.append(heapq.heappop(free))
        chosen = pick.permutation(len(held))
        last = first[c] + members[c]
        length_of = run[first[c] : last]
        room = length - ready - len(length_of)
        if room < length_of.sum():  # the record ends with its jobs
            length_of = np.maximum(1, length_of * max(0, room) // int(length_of.sum()))
            run[first[c] : last] = length_of
        start[first[c] : last] = ready + np.concatenate(([0], np.cumsum(length_of[:-1] + 1)))
        done = int(start[last - 1] + length_of[-1])
        for place in chosen[need:].tolist():
            heapq.heappush(free, held[place])
        mine = [held[place][2] for place in chosen[:need].tolist()]
        for node in mine:
            heapq.heappush(free, (float(done), pick.random(), node))
        nodes_of.append(np.sort(np.array(mine, dtype=np.int64)))
    campaign = np.repeat(np.arange(len(members)), members)
    return _Plan(start, start + run, campaign, tuple(nodes_of))


def _campaigns(rng: np.random.Generator, count: int) -> Int:
    """Return how many jobs each campaign has, `count` in all."""
    drawn = rng.geometric(1 / CAMPAIGN, count)
    ends = np.cumsum(drawn)
    many = int(np.searchsorted(ends, count)) + 1
    members = drawn[:many].copy()
    members[-1] -= ends[many - 1] - count
    return members.astype(np.int64)


def _lost(seed: int, plan: _Plan, nodes: int, relation: float) -> _Fate:
    """Return how memory was lost and given back, in order of time, and whom it killed.

    What is drawn for a job does not depend on `relation`.
    """
    count, many = len(plan.start), len(plan.nodes_of)
    rng = stream(seed, "memory", "leaks")
    careless = rng.random(many) < CARELESS
    amounts = rng.lognormal(math.log(LEAK_MEDIAN), LEAK_SIGMA, count)
    again = stream(seed, "memory", "reboots")
    chances = stream(seed, "memory", "kills").random(count)
    silent = stream(seed, "memory", "collector").exponential(SILENT_HOURS * 3600, count)
    level = np.zeros(nodes)
    steps = [(n, 0, 0.0) for n in range(nodes)]
    fate = _Fate(steps, [], np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64),
                 np.zeros(count))  # fmt: skip
    first = np.searchsorted(plan.campaign, np.arange(many + 1))
    following = _next_starts(plan, nodes)
    for c, held in enumerate(plan.nodes_of):  # in order of start, each alone on its nodes
        for k in range(first[c], first[c + 1]):
            worst = int(held[np.argmax(level[held])])
            fate.worst[k], fate.leak[k] = worst, level[worst]
            if chances[k] < -math.expm1(-relation * HAZARD * float(level[worst])):
                fate.killed[k] = True
                time = int(plan.end[k])
                fate.outages.append((worst, time, time + int(silent[k])))
            if careless[c]:
                level[held] = np.minimum(level[held] + amounts[k], LEAK_MOST)
                steps += [(n, int(plan.end[k]), float(level[n])) for n in held.tolist()]
        done = int(plan.end[first[c + 1] - 1])
        lucky = again.random(len(held)) < REBOOT
        for n, gap in zip(held[lucky].tolist(), (following[c] - done)[lucky].tolist(), strict=True):
            if gap > REBOOT_TIME + 20:
                level[n] = 0.0
                steps.append((n, done + 10, 0.0))
                fate.outages.append((n, done + 10, done + 10 + REBOOT_TIME))
    return fate


def _next_starts(plan: _Plan, nodes: int) -> list[Int]:
    """Return for each campaign when each of its nodes has the next one."""
    first = np.searchsorted(plan.campaign, np.arange(len(plan.nodes_of)))
    soonest = np.full(nodes, 2**60)
    found: list[Int] = []
    for c in range(len(plan.nodes_of) - 1, -1, -1):
        held = plan.nodes_of[c]
        found.append(soonest[held].copy())
        soonest[held] = plan.start[first[c]]
    return found[::-1]


def _states(seed: int, plan: _Plan, killed: Bool) -> list[str]:
    """Return final states: the paper's shares, others than the killed drawn by campaign."""
    rng = stream(seed, "memory", "ends")
    count, many = len(killed), len(plan.nodes_of)
    names = [name for name, _ in KILLED_STATES]
    shares = [share for _, share in KILLED_STATES]
    told = rng.choice(len(names), count, p=shares)
    state = np.full(count, "COMPLETED", dtype=object)
    state[killed] = np.array(names, dtype=object)[told[killed]]
    struck = np.zeros(many, dtype=np.bool_)
    struck[plan.campaign[killed]] = True
    order = rng.permutation(many)
    order = order[~struck[order]]
    chosen = order[: max(0, round(FAILED_CAMPAIGNS * many) - int(struck.sum()))]
    quota = {name: round(n * count / PAPER_JOBS) for name, n in STATES.items()}
    ends = [name for name in names for _ in range(quota[name] - int(np.sum(state == name)))]
    mixed = rng.random(count)  # one of each chosen campaign, then any others of them
    inside = np.flatnonzero(np.isin(plan.campaign, chosen))
    by_campaign = inside[np.lexsort((mixed[inside], plan.campaign[inside]))]
    leads = np.diff(plan.campaign[by_campaign], prepend=-1) != 0
    rest = by_campaign[~leads]
    failing = np.concatenate([by_campaign[leads], rest[np.argsort(mixed[rest])]])
    heads = failing[: len(chosen)][rng.permutation(len(chosen))]
    failing = np.concatenate([heads, failing[len(chosen) :]])[: len(ends)]
    words = np.array(ends, dtype=object)
    state[failing] = words[rng.permutation(len(words))[: len(failing)]]
    return [str(word) for word in state]


def _records(plan: _Plan, state: list[str], order: Int, nodes: int, source: str) -> JobRecords:
    """Return the records in this order, that of their starts; ids count from 1 in it."""
    held = [plan.nodes_of[c] for c in plan.campaign[order].tolist()]
    size = np.array([len(h) for h in held], dtype=np.int64)
    return JobRecords(
        tuple(str(k + 1) for k in range(len(order))),
        plan.start[order],
        plan.end[order],
        tuple(state[k] for k in order.tolist()),
        np.concatenate(([0], np.cumsum(size))).astype(np.int64),
        np.concatenate(held),
        size * CORES,
        nodes,
        source=source,
    )


def _truth(plan: _Plan, fate: _Fate, order: Int) -> MemoryTruth:
    node, time, leak = zip(*sorted(fate.steps, key=lambda step: step[:2]), strict=True)
    return MemoryTruth(
        np.array(time, dtype=np.int64),
        np.array(node, dtype=np.int64),
        np.array(leak),
        fate.killed[order],
        fate.worst[order],
        fate.leak[order],
        plan.campaign[order],
    )


def _sampled(
    seed: int, plan: _Plan, fate: _Fate, truth: MemoryTruth, shape: tuple[int, int, int]
) -> Metrics:
    """Return samples of active memory, share of all; `shape` is nodes, seconds, period."""
    nodes, length, period = shape
    moments = np.arange(0, length, period, dtype=np.int64)
    count = len(moments)
    change = np.zeros((nodes, count + 1))

    def at(time: Int) -> Int:  # the first sample from a time on
        return np.clip(-(-time // period), 0, count)

    step = np.diff(truth.leak, prepend=0.0)
    starts = np.diff(truth.node, prepend=-1) != 0
    step[starts] = truth.leak[starts]
    np.add.at(change, (truth.node, at(truth.time)), step)
    held = [plan.nodes_of[c] for c in plan.campaign.tolist()]
    size = np.array([len(h) for h in held])
    rng = stream(seed, "memory", "use")
    used = np.repeat(np.minimum(rng.lognormal(math.log(0.2), 0.6, len(size)), 0.9), size)
    node = np.concatenate(held)
    np.add.at(change, (node, at(np.repeat(plan.start, size))), used)
    np.add.at(change, (node, at(np.repeat(plan.end, size))), -used)
    share = np.cumsum(change, axis=1)[:, :count]
    share += rng.lognormal(math.log(BASE_MEDIAN), BASE_SIGMA, nodes)[:, None]
    share += NOISE * rng.standard_normal(share.shape)
    np.clip(share, 0.001, 0.99, out=share)
    there = np.ones((nodes, count), dtype=np.bool_)
    for n, begin, end in fate.outages:
        there[n, -(-begin // period) : -(-end // period)] = False
    index = np.flatnonzero(there.ravel())
    return Metrics(
        moments[index % count],
        index // count,
        share.ravel()[index][:, None],
        ("memory_share",),
        nodes,
        period=period,
    )


def write_scenario(
    folder: str | Path,
    records: JobRecords,
    metrics: Metrics,
    truth: MemoryTruth,
    format: str = "parquet",
) -> None:
    """Write jobs.csv, metrics.parquet or .csv, truth.csv (a row a job) and leaks.csv into a folder.

    Raises TraceError where the folder cannot be made or written to.
    """
    place = Path(folder)
    with of_system(place, "cannot be made"):
        place.mkdir(parents=True, exist_ok=True)
    write_job_records(records, place / "jobs.csv")
    write_metrics(metrics, place / f"metrics.{format}")
    tables: dict[str, dict[str, Any]] = {
        "truth.csv": {
            "job": list(records.job),
            "killed": truth.killed.astype(np.int64),
            "worst_node": truth.worst,
            "leak_at_start": truth.leak_at_start,
            "campaign": truth.campaign,
        },
        "leaks.csv": {"time": truth.time, "node": truth.node, "leak": truth.leak},
    }
    for name, columns in tables.items():
        with atomic_path(place / name) as beside:
            pl.DataFrame(columns).write_csv(beside)
