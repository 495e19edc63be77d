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

from forestall.core._lazy import lazily
from forestall.core.files import budget
from forestall.core.files.cells import harmless
from forestall.core.files.folders import filling
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import JobRecords
from forestall.core.model.metrics import Metrics
from forestall.core.streams import stream
from forestall.logs.generate.memory_world import (
    LEAST_SHARE,
    MOST_SHARE,
    NOISE,
    NOTHING,
    MemoryFate,
    MemoryPlan,
    MemoryPolicy,
    lived,
)
from forestall.logs.jobs.job_records import write_job_records
from forestall.logs.metrics.write import write_metrics

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

BASE_MEDIAN, BASE_SIGMA = 0.027, 0.35
"""Lognormal law over nodes of the active memory of an idle one that lacks none."""

MOST_SAMPLES: Final = 100_000_000
BYTES: Final = 70
"""That a sample takes while it is made up and written."""


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


def generate_memory(
    seed: int,
    *,
    nodes: int = 288,
    days: float = 16,
    jobs: int | None = None,
    relation: float = 1.0,
    load: float = 0.7,
    period: int = 60,
    policy: MemoryPolicy = NOTHING,
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
    policy : what is done about memory; other ends than memory's are those of the machine left alone

    The shares of final states are the paper's: what memory does not kill fails for other reasons,
    as often as is needed. Time 0 is the record's begin. Raises ParameterError.
    """
    machine = memory_machine(
        seed, nodes=nodes, days=days, jobs=jobs, relation=relation, load=load, period=period
    )
    alone = machine.lived()
    fate = alone if policy is NOTHING else machine.lived(policy)
    state = _states(seed, machine.plan, alone.killed, fate.killed)
    plan = machine.as_it_went(fate)
    source = f"generated, memory, seed {seed}"
    order = np.argsort(plan.start, kind="stable")
    records = _records(plan, state, order, nodes, source)
    truth = _truth(plan, fate, order)
    metrics = _sampled(plan, fate, truth, _use(seed, len(order), nodes), machine)
    return records, replace(metrics, source=source), truth


@dataclass(frozen=True)
class MemoryMachine:
    """A machine whose nodes lose memory, before anything is done about it.

    Attributes
    ----------
    seed, nodes, length (s), relation, period : as asked
    plan : the jobs as they run where nothing is done
    base : float64[nodes], active memory of an idle node that lacks none
    """

    seed: int
    nodes: int
    length: int
    relation: float
    period: int
    plan: MemoryPlan
    base: Real

    def lived(self, policy: MemoryPolicy = NOTHING) -> MemoryFate:
        """Return what becomes of it under a policy."""
        return lived(
            self.seed, self.plan, self.base, relation=self.relation, period=self.period,
            policy=policy,
        )  # fmt: skip

    def as_it_went(self, fate: MemoryFate) -> MemoryPlan:
        """Return the jobs as they ran: later where they waited, and on the nodes they had."""
        plan = self.plan
        first = np.searchsorted(plan.campaign, np.arange(len(plan.nodes_of)))
        late = (fate.begun - plan.start[first])[plan.campaign]
        held = tuple(np.sort(nodes) for nodes in fate.held)
        return MemoryPlan(plan.start + late, plan.end + late, plan.campaign, held)


def memory_machine(
    seed: int,
    *,
    nodes: int = 288,
    days: float = 16,
    jobs: int | None = None,
    relation: float = 1.0,
    load: float = 0.7,
    period: int = 60,
) -> MemoryMachine:
    """Return the machine of `generate_memory`, to be played under policies; ParameterError."""
    count = _checked(nodes, days, jobs, relation, load, period)
    length = int(days * DAY)
    plan = planned(seed, nodes, length, count, load)
    base = _use(seed, count, nodes)[1]
    return MemoryMachine(seed, nodes, length, relation, period, plan, base)


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
    budget.require(BYTES * samples, f"{samples:,.0f} samples", count=round(samples), of="samples")
    return max(1, round(PAPER_JOBS * nodes * days / (288 * 16))) if jobs is None else jobs


def planned(seed: int, nodes: int, length: int, count: int, load: float) -> MemoryPlan:
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
    return MemoryPlan(start, start + run, campaign, tuple(nodes_of))


def _campaigns(rng: np.random.Generator, count: int) -> Int:
    """Return how many jobs each campaign has, `count` in all."""
    drawn = rng.geometric(1 / CAMPAIGN, count)
    ends = np.cumsum(drawn)
    many = int(np.searchsorted(ends, count)) + 1
    members = drawn[:many].copy()
    members[-1] -= ends[many - 1] - count
    return members.astype(np.int64)


def _states(seed: int, plan: MemoryPlan, killed: Bool, truly: Bool) -> list[str]:
    """Return final states: the paper's shares where memory `killed` these, others than these drawn
    by campaign; then what is so where it `truly` killed those."""
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
    state[killed & ~truly] = "COMPLETED"
    state[truly] = np.array(names, dtype=object)[told[truly]]
    return [str(word) for word in state]


def _records(plan: MemoryPlan, state: list[str], order: Int, nodes: int, source: str) -> JobRecords:
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


def _truth(plan: MemoryPlan, fate: MemoryFate, order: Int) -> MemoryTruth:
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


def _use(seed: int, jobs: int, nodes: int) -> tuple[Real, Real, np.random.Generator]:
    """Return what each job uses of a node, what an idle node that lacks none uses, and what draws
    the noise of samples."""
    rng = stream(seed, "memory", "use")
    used = np.minimum(rng.lognormal(math.log(0.2), 0.6, jobs), 0.9)
    return used, rng.lognormal(math.log(BASE_MEDIAN), BASE_SIGMA, nodes), rng


def _sampled(
    plan: MemoryPlan,
    fate: MemoryFate,
    truth: MemoryTruth,
    use: tuple[Real, Real, np.random.Generator],
    machine: MemoryMachine,
) -> Metrics:
    """Return samples of active memory, share of all."""
    used, base, rng = use
    nodes, period = machine.nodes, machine.period
    moments = np.arange(0, machine.length, period, dtype=np.int64)
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
    used = np.repeat(used, size)
    node = np.concatenate(held)
    np.add.at(change, (node, at(np.repeat(plan.start, size))), used)
    np.add.at(change, (node, at(np.repeat(plan.end, size))), -used)
    share = np.cumsum(change, axis=1)[:, :count]
    share += base[:, None]
    share += NOISE * rng.standard_normal(share.shape)
    np.clip(share, LEAST_SHARE, MOST_SHARE, out=share)
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
    """Write jobs.csv, metrics.parquet or .csv, truth.csv (a row a job), leaks.csv and oom.csv, when
    which node ran out of memory under which job, into a folder: all of them or none.

    Raises TraceError where the folder cannot be made or written to.
    """
    place = Path(folder)
    killed = np.flatnonzero(truth.killed)
    tables: dict[str, dict[str, Any]] = {
        "truth.csv": {
            "job": list(records.job),
            "killed": truth.killed.astype(np.int64),
            "worst_node": truth.worst,
            "leak_at_start": truth.leak_at_start,
            "campaign": truth.campaign,
        },
        "leaks.csv": {"time": truth.time, "node": truth.node, "leak": truth.leak},
        "oom.csv": {
            "time": records.end[killed],
            "node": truth.worst[killed],
            "job": [records.job[k] for k in killed.tolist()],
        },
    }
    with filling(place, ("jobs.csv", f"metrics.{format}", *tables)) as fresh:
        write_job_records(records, fresh / "jobs.csv")
        write_metrics(metrics, fresh / f"metrics.{format}")
        for name, columns in tables.items():
            harmless(pl.DataFrame(columns)).write_csv(fresh / name)
