"""Other queues for a cluster: the mix of jobs, the searches and their curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.kit.progress import Progress
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.jobs import Jobs
from forestall.logs.generate import generate_jobs
from forestall.logs.read import read_jobs
from forestall.reliability.queues.job_mix import JobMix
from forestall.reliability.queues.priced_structures import PricedStructure, front, priced_ways
from forestall.reliability.queues.prices import priced_jobs
from forestall.reliability.queues.queues import Queue
from forestall.reliability.queues.structures import (
    Candidates,
    Curve,
    Structure,
    as_they_are,
    candidates_of,
    search,
)
from forestall.reliability.report.design.file import DesignFile, JobsTable

ADMITTED: Final = 6
"""So many sizes of the largest job admitted are searched for."""
LOAD: Final = 0.5
"""Load for the turnaround where neither a log nor the file tells one, as a share of the nodes."""
NEARLY: Final = 0.95
"""Share of the highest capacity that is wanted where demand is more: the last bit costs most."""
DRAWN: Final = 20_000


@dataclass(frozen=True)
class Admitted:
    """A search for a mix without its largest jobs.

    Attributes
    ----------
    work, jobs : shares that are admitted
    nodes, runtime : of the largest and of the longest job admitted
    own : mean failure probability of the jobs by their own nodes and run times
    curve : the trade-off
    best : least F_job with at least the wanted capacity, None where none has it
    """

    work: float
    jobs: float
    nodes: int
    runtime: float
    own: float
    curve: Curve
    best: Structure | None


@dataclass(frozen=True)
class SearchResult:
    """What the searches gave.

    Attributes
    ----------
    source : where the mix is from, in words
    budget : nodes that the queues have together
    shared : whether they share them
    queues : at most so many
    demand : work that comes, node-hours per hour
    wanted : the capacity at which structures are compared, node-hours per hour
    now : what the present queues do with the mix, None where there are none or no job fits
    refused : share of the jobs that fit none of the present queues
    admitted : the searches, the whole mix first
    curves : trade-off of the whole mix for at most 1, 2, ... queues
    priced : with prices, what no other beats in F_job, cost and capacity, with spares and
        checkpoints among its dimensions; the present queues compete
    plain : what `now`, or else `best`, costs without spares and checkpoints; None without prices,
        and where its jobs hardly ever end so
    equal : least F_job for the jobs that the present queues admit with no less than the present
        capacity: `now` itself where nothing is better; None where `now` is None
    """

    source: str
    budget: int
    shared: bool
    queues: int
    demand: float
    wanted: float
    now: Structure | None
    refused: float
    admitted: tuple[Admitted, ...]
    curves: tuple[Curve, ...]
    equal: Structure | None
    priced: tuple[PricedStructure, ...] = ()
    plain: PricedStructure | None = None

    @property
    def cheapest(self) -> PricedStructure | None:
        """The cheapest that fails no more and carries no less than `plain`."""
        if self.plain is None:
            return None
        least, most = self.plain.capacity * (1 - 1e-9), self.plain.failure * (1 + 1e-9)
        enough = [s for s in self.priced if s.capacity >= least and s.failure <= most]
        return min(enough, key=lambda s: s.cost, default=self.plain)

    @property
    def keeps(self) -> bool:
        """Whether no structure was found that is better than the present queues."""
        return self.now is not None and self.equal == self.now

    @property
    def best(self) -> Structure | None:
        """The structure of least F_job for the whole mix at the wanted capacity."""
        return self.admitted[0].best

    def told(self) -> dict[str, Any]:
        """Return it for JSON."""
        whole = self.admitted[0]
        return {
            "jobs": self.source,
            "budget_nodes": self.budget,
            "shared": self.shared,
            "queues_at_most": self.queues,
            "demand_node_hours_per_hour": self.demand,
            "wanted_capacity": self.wanted,
            "exact": whole.curve.exact,
            "tried": whole.curve.tried,
            "own_failure_probability": whole.own,
            "now": None if self.now is None else structure_told(self.now),
            "now_refused_share": self.refused,
            "best": None if whole.best is None else structure_told(whole.best),
            "best_at_present_capacity": None if self.equal is None else structure_told(self.equal),
            "keep_present_queues": self.keeps,
            "curve": [structure_told(one) for one in whole.curve.structures],
            "admitted": [
                {
                    "work_share": one.work,
                    "jobs_share": one.jobs,
                    "nodes_at_most": one.nodes,
                    "runtime_at_most_s": one.runtime,
                    "own_failure_probability": one.own,
                    "best": None if one.best is None else structure_told(one.best),
                }
                for one in self.admitted
            ],
        } | ({} if self.plain is None else self._prices_told(self.plain))

    def _prices_told(self, plain: PricedStructure) -> dict[str, Any]:
        cheapest = self.cheapest
        return {
            "plain": priced_told(plain),
            "cheapest": None if cheapest is None else priced_told(cheapest),
            "priced": [priced_told(one) for one in self.priced],
        }


def priced_told(one: PricedStructure) -> dict[str, Any]:
    """Return a priced structure for JSON."""
    told = structure_told(one.structure)
    for queue, way in zip(told["queues"], one.ways, strict=True):
        queue |= {"spares": way.spares, "checkpoint_interval_s": way.interval, "cost": way.cost}
        queue["failure_probability"] = 1 - way.success
    return told | {
        "job_failure_probability": one.failure,
        "capacity_node_hours_per_hour": one.capacity,
        "cost": one.cost,
    }


def structure_told(one: Structure) -> dict[str, Any]:
    """Return a structure for JSON."""
    return {
        "job_failure_probability": one.failure,
        "capacity_node_hours_per_hour": one.capacity,
        "turnaround_s": one.turnaround if math.isfinite(one.turnaround) else None,
        "queues": [
            {
                "name": queue.name,
                "nodes": queue.nodes,
                "limit_s": queue.limit,
                "slots": queue.slots,
                "failure_probability": failure,
                "jobs_share": share,
            }
            for queue, failure, share in zip(one.queues, one.failures, one.shares, strict=True)
        ],
    }


def search_plan(
    plan: DesignFile,
    log: str | Path | None,
    progress: Progress | None,
    processors_per_node: int | None = None,
) -> SearchResult:
    """Return the searches that a file and a job log ask for; see
    `forestall.reliability.report.design.design`."""
    wishes = plan.table.optimize
    cluster = plan.cluster
    budget = wishes.nodes
    if budget is None:
        budget = cluster.nodes
        if cluster.queues and not wishes.shared:
            budget = int(cluster.capacity())
    mix, load, source = mix_of(plan, log, budget, processors_per_node)
    demand = wishes.load * budget if wishes.load is not None else load
    if not demand > 0:
        demand = LOAD * budget
    log_node = cluster.node_log_survival
    now, refused = None, 1.0
    if cluster.queues:
        failures = list(cluster.failures().values())
        try:
            now, refused = as_they_are(mix, cluster.queues, failures, nodes=budget, demand=demand)
        except ParameterError:  # no job of the mix fits the queues there are
            now = None
    rng = np.random.default_rng(wishes.seed)
    candidates = candidates_of(mix, log_node, queues=cluster.queues)
    largest = _sizes_apart(candidates.nodes)
    comparable = now is not None and refused < 1e-12
    apart = now is not None and not comparable
    steps = _JointBar(progress, wishes.queues + len(largest) - 1 + apart)

    def curve_of(some: Candidates, queues: int) -> Curve:
        return steps.run(
            lambda told: search(
                some, budget, rng, queues=queues, demand=demand, shared=wishes.shared,
                present=cluster.queues, progress=told,
            )
        )  # fmt: skip

    curves = tuple(curve_of(candidates, k) for k in range(1, wishes.queues + 1))
    capacities = [one.capacity for one in curves[-1].structures]
    wanted = min(demand, NEARLY * max(capacities))
    if now is not None and comparable:
        wanted = now.capacity
    every = np.ones(len(mix.nodes), dtype=np.bool_)
    parts = [_admitted(mix, every, curves[-1], wanted, plan, now if comparable else None)]
    for nodes in largest[1:]:
        some = mix.nodes <= nodes
        inner = candidates_of(mix.take(some), log_node, queues=cluster.queues)
        parts.append(_admitted(mix, some, curve_of(inner, wishes.queues), wanted, plan))
    equal = parts[0].best if comparable else None
    if now is not None and not comparable:
        fits = [(mix.nodes <= q.nodes) & (mix.runtime <= q.limit) for q in cluster.queues]
        inner = candidates_of(mix.take(np.any(fits, axis=0)), log_node, queues=cluster.queues)
        equal = _better(curve_of(inner, wishes.queues).best(now.capacity), now)
    asked = (source, budget, wishes.shared, wishes.queues, demand)
    found = SearchResult(*asked, wanted, now, refused, tuple(parts), curves, equal)
    return found if plan.table.prices is None else _priced(plan, found, comparable=comparable)


def _priced(plan: DesignFile, found: SearchResult, *, comparable: bool) -> SearchResult:
    """Return a search with what its structures cost, and the present queues where they admit all
    jobs."""
    table = plan.table
    assert table.prices is not None
    assert table.pool is not None
    assert table.pool.repair is not None
    told = table.prices.prices, float(table.pool.repair), table.success
    base = found.now if comparable else found.best
    structures = [*found.curves[-1].structures, *([] if base is None else [base])]
    distinct = {_alike(queue): queue for one in structures for queue in one.queues}
    named = {key: replace(queue, name=f"q{k}") for k, (key, queue) in enumerate(distinct.items())}
    cluster = plan.cluster.but(queues=list(named.values()))
    ways = {
        key: [way for way in priced_jobs(cluster, queue, *told) if not way.source]
        for key, queue in named.items()
    }

    def priced(one: Structure) -> list[PricedStructure]:
        return priced_ways(one, [ways[_alike(queue)] for queue in one.queues])

    plain = None
    if base is not None:
        bare = [
            [way for way in ways[_alike(queue)] if not way.spares and way.interval is None]
            for queue in base.queues
        ]
        plain = next(iter(priced_ways(base, bare)), None)
    every = [way for one in structures for way in priced(one)]
    return replace(found, priced=front(every), plain=plain)


def _alike(queue: Queue) -> tuple[Any, ...]:
    """Return what the price of a queue's jobs follows from."""
    return queue.nodes, queue.limit, queue.mix


def _better(found: Structure | None, now: Structure) -> Structure:
    """Return what was found where it fails less than the present queues, else these."""
    return now if found is None or found.failure >= now.failure * (1 - 1e-9) else found


def _admitted(
    mix: JobMix, some: npt.NDArray[np.bool_], curve: Curve, wanted: float, plan: DesignFile,
    now: Structure | None = None,
) -> Admitted:  # fmt: skip
    part = mix.take(some)
    work = float((mix.weight * mix.nodes * mix.runtime)[some].sum()) / mix.work
    best = curve.best(wanted * work)
    return Admitted(
        work,
        float(mix.weight[some].sum()),
        int(part.nodes.max()),
        float(part.runtime.max()),
        part.own_failure(plan.cluster.node_log_survival),
        curve,
        best if now is None else _better(best, now),
    )


def _sizes_apart(nodes: npt.NDArray[np.float64]) -> list[float]:
    """Return sizes from the largest down, each at most three quarters of the one before."""
    found = [float(nodes.max())]
    for size in np.unique(nodes)[::-1].tolist():
        if size <= 0.75 * found[-1] and len(found) < ADMITTED:
            found.append(size)
    return found


class _JointBar:
    """One bar over several searches."""

    def __init__(self, progress: Progress | None, steps: int) -> None:
        self._progress, self._steps, self._done = progress, steps, 0

    def run(self, step: Callable[[Progress], Curve]) -> Curve:
        """Return what a step gives, its own progress a part of the whole."""

        def told(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(int(100 * (self._done + min(done / total, 1.0))), 100 * self._steps)

        out = step(told)
        self._done += 1
        return out


# The mix -----------------------------------------------------------------------------------------


def mix_of(
    plan: DesignFile, log: str | Path | None, budget: int, processors_per_node: int | None = None
) -> tuple[JobMix, float, str]:
    """Return the mix of jobs, the work that comes (node-hours per hour, 0 where nobody tells), and
    where it is from."""
    table = plan.table.jobs
    if log is not None:
        kept = JobsTable() if table is None else table
        own = kept.processors_per_node if processors_per_node is None else processors_per_node
        return _of_log(Path(log), own, kept.times)
    if table is None or table.model is not None:
        return _of_model(plan, "all" if table is None else table.model or "all", budget)
    if table.log is not None:
        return _of_log(plan.beside(table.log), table.processors_per_node, table.times)
    return _of_table(plan.source, table)


def _of_table(source: Path, table: JobsTable) -> tuple[JobMix, float, str]:
    nodes, runtimes, weights = table.nodes, table.runtimes, table.weights
    if nodes is None or runtimes is None:
        missing = "nodes" if nodes is None else "runtimes"
        raise TraceError(source, "is missing (or a log, or a model)", field=f"jobs.{missing}")
    for name, column in (("runtimes", runtimes), ("weights", weights)):
        if column is not None and len(column) != len(nodes):
            text = f"has {len(column)} values; expected {len(nodes)}, as many as nodes"
            raise TraceError(source, text, field=f"jobs.{name}")
    given = np.ones(len(nodes)) if weights is None else np.array(weights)
    if not given.sum() > 0:
        raise TraceError(source, "are all 0", field="jobs.weights")
    mix = JobMix(np.array(nodes, dtype=float), np.array(runtimes, dtype=float), given)
    return mix, 0.0, f"{len(nodes)} kinds of jobs in {source.name}"


def _of_log(path: Path, processors_per_node: int, times: str) -> tuple[JobMix, float, str]:
    jobs = read_jobs(path, processors_per_node=processors_per_node)
    mix, load = _of_jobs(jobs, times)
    if mix is None:
        what = "run times" if times == "runtime" else "requested times"
        raise TraceError(path, f"has no job with nodes and {what}")
    return mix, load, f"{path.name}, {len(jobs):,} jobs"


def _of_model(plan: DesignFile, model: str, budget: int) -> tuple[JobMix, float, str]:
    queues = plan.cluster.queues
    largest = max((queue.nodes for queue in queues), default=max(1, plan.cluster.nodes // 4))
    largest = min(largest, budget)
    jobs = generate_jobs(largest, plan.table.optimize.seed, count=DRAWN, model=model)
    mix, _ = _of_jobs(jobs, "runtime")
    assert mix is not None
    words = f"Lublin-Feitelson model ({model}), {DRAWN:,} jobs of up to {largest} nodes"
    return mix, 0.0, words


def _of_jobs(jobs: Jobs, times: str) -> tuple[JobMix | None, float]:
    """Return the mix of a log, like jobs put together, and its load in node-hours per hour."""
    runtime = jobs.runtime if times == "runtime" else np.maximum(jobs.estimate, jobs.runtime)
    usable = (jobs.size > 0) & (runtime > 0)
    if times == "requested":
        usable &= jobs.estimate > 0
    if not bool(usable.any()):
        return None, 0.0
    pairs = np.stack([jobs.size[usable], runtime[usable]], axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    submit = jobs.submit[usable]
    span = float(submit.max() - submit.min())
    work = float((jobs.size[usable].astype(float) * np.maximum(jobs.runtime[usable], 0)).sum())
    mix = JobMix(kinds[:, 0].astype(float), kinds[:, 1].astype(float), counts.astype(float))
    return mix, work / span if span > 0 else 0.0
