"""A cluster's design: what its queues promise, what its jobs need, and what changes would buy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core.kit.progress import Progress
from forestall.core.model.errors import ParameterError
from forestall.core.show.facts import plain, taken
from forestall.reliability.queues.changes import Change, useful_share
from forestall.reliability.queues.queues import Queue
from forestall.reliability.queues.runtimes import HyperGamma
from forestall.reliability.report.design.file import DesignFile, read_cluster, read_plan
from forestall.reliability.report.design.prices import priced_queues, prices_told
from forestall.reliability.report.design.search import search_plan
from forestall.reliability.systems.components import parts_of, shares_of
from forestall.reliability.systems.pools import Pool
from forestall.reliability.systems.ring import loss_over_time
from forestall.reliability.systems.spares import SparesAnswer, answer_pool
from forestall.reliability.systems.systems import ComponentGroup

if TYPE_CHECKING:
    from forestall.reliability.queues.cluster import Cluster
    from forestall.reliability.queues.prices import PricedJob
    from forestall.reliability.report.design.search import SearchResult

__all__ = ["Design", "DesignFile", "QueueRow", "design", "read_cluster", "read_plan"]

DAY = 86_400


@dataclass(frozen=True)
class QueueRow:
    """What is known of a queue.

    Attributes
    ----------
    queue : it
    failure : F_q, of jobs that run to the limit
    mixed : the same where run times follow Lublin and Feitelson's law, cut off at the limit
    averaged : the paper's way (Section 5.2): the mean of F_q at that law's typical run time and at
        the limit
    goodput : share of the nodes' time that finished jobs make up, without checkpoints
    interval : best checkpoint interval, s; None without the cost of a checkpoint, and where
        failures come before any is finished
    useful : share of the limit that is left beside checkpoints and room for one failure
    spares : for the wanted success, on top of the job's nodes; None where no number suffices for
        which the machine has room
    room : nodes that the machine has beside a job's own
    ring_loss : probability that within the limit some checkpoint is gone with all its copies; None
        where the file tells of no copies
    """

    queue: Queue
    failure: float
    mixed: float
    averaged: float
    goodput: float
    interval: float | None
    useful: float | None
    spares: int | None
    room: int
    ring_loss: float | None

    def told(self) -> dict[str, Any]:
        """Return it for JSON."""
        return taken(self.queue, "name", "nodes", limit_s="limit", slots="slots") | taken(
            self,
            failure_probability="failure",
            failure_probability_lublin_runtimes="mixed",
            failure_probability_averaged="averaged",
            goodput_share="goodput",
            checkpoint_interval_s="interval",
            useful_share_with_checkpoints="useful",
            spares="spares",
            spares_at_most="room",
            ring_loss_probability="ring_loss",
        )


@dataclass(frozen=True)
class Design:
    """Everything that `forestall design` says. Times in seconds.

    Attributes
    ----------
    plan : what was asked
    queues : a row for each queue
    job_failure : F_job, None without queues
    mttf : of the whole machine, ``new`` and ``steady``
    interval : checkpoint interval of a job on the whole machine, or None
    changes : what single changes would buy, the best first
    pool : spares for the whole machine
    priced : ways to run each queue's jobs and what they cost, by queue; empty without prices
    found : what a search for other queues gave, or None
    """

    plan: DesignFile
    queues: tuple[QueueRow, ...]
    job_failure: float | None
    mttf: dict[str, float]
    interval: float | None
    changes: tuple[Change, ...]
    pool: SparesAnswer
    priced: dict[str, list[PricedJob]] = field(default_factory=dict)
    found: SearchResult | None = None
    remarks: tuple[str, ...] = field(default=())

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        return self.plan.cluster

    @property
    def json(self) -> dict[str, Any]:
        """The same as plain values; inf is None."""
        table = self.plan.table
        told: dict[str, Any] = {
            "name": self.cluster.name,
            "assumes": self.cluster.assumes,
            "nodes": self.cluster.nodes,
            "groups": [
                {
                    "name": group.name,
                    "count": group.count,
                    "family": group.lifetime.family.name,
                    "params": group.lifetime.params,
                    "mttf_s": plain(group.lifetime.mean()),
                    **_components(group),
                }
                for group in self.cluster.groups
            ],
            "queues": [row.told() for row in self.queues],
            "job_failure_probability": self.job_failure,
            "mttf": {name: plain(value) for name, value in self.mttf.items()},
            "checkpoint_interval_s": self.interval,
            "spares": {
                "target": table.success,
                "queues": {row.queue.name: row.spares for row in self.queues},
                "pool": self.pool.spares,
                "pool_assumes": self.pool.assumes,
            },
            "changes": [
                taken(change, "title", "kind", "queue", "before", "after", "gain")
                | taken(change, capacity_change="capacity", held_change="held")
                for change in self.changes
            ],
            "remarks": list(self.remarks),
        }
        if self.priced:
            told["prices"] = prices_told(self.priced, table.success)
        if self.found is not None:
            told["optimize"] = self.found.told()
        return told


def _components(group: ComponentGroup) -> dict[str, Any]:
    """Return the components of a group's nodes for JSON; nothing where it has none."""
    parts = {part.name: part for part in parts_of(group.lifetime)}
    shares = shares_of(group.lifetime)
    rows = [
        taken(parts[name], "name", "count", needed="must")
        | {"mttf_s": plain(parts[name].lifetime.mean()), "share_of_failures": share}
        for name, share in shares.items()
    ]
    return {"components": rows} if rows else {}


def design(
    plan: DesignFile | str | Path,
    *,
    optimize: bool = False,
    jobs: str | Path | None = None,
    processors_per_node: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Return what follows for a cluster.

    Parameters
    ----------
    plan : a TOML file or what was read from it
    optimize : whether to search for other queues; see `forestall.reliability.queues.structures`
    jobs : a job log for the search, instead of the file's own jobs
    processors_per_node : of that log, where its sizes are processors; None: as the file says
    progress : called now and then during the search with what is done and of how much

    Raises InputError and its kin for unusable input.
    """
    asked = plan if isinstance(plan, DesignFile) else read_plan(plan)
    cluster = asked.cluster
    found = None
    if optimize:
        found = search_plan(asked, jobs, progress, processors_per_node)
    elif jobs is not None:
        raise ParameterError("jobs", str(jobs), "a search as well ({optimize})")
    whole = Queue("the whole machine", cluster.nodes, 1.0)
    return Design(
        asked,
        tuple(_row(asked, queue) for queue in cluster.queues),
        cluster.job_failure() if cluster.queues else None,
        {"new": cluster.mttf("new").time, "steady": cluster.mttf("steady").time},
        _interval(cluster, whole),
        tuple(cluster.what_if()) if cluster.queues else (),
        _pool(asked),
        priced_queues(asked),
        found,
        (*asked.fitted, *_remarks(asked)),
    )


def _row(plan: DesignFile, queue: Queue) -> QueueRow:
    cluster = plan.cluster
    interval = useful = None
    if cluster.checkpoints is not None:
        interval = _interval(cluster, queue)
        useful = useful_share(cluster, queue)
    try:
        runs = HyperGamma().runs(queue.nodes, queue.limit)
        mixed = cluster.queue_failure(queue, runs)
    except ParameterError:  # a limit below every run time of the model
        mixed = cluster.queue_failure(queue)
    return QueueRow(
        queue,
        cluster.queue_failure(queue),
        mixed,
        cluster.queue_failure(queue, HyperGamma().averaged(queue.nodes, queue.limit)),
        cluster.goodput(queue) / queue.busy,
        interval,
        useful,
        cluster.spares(queue, plan.table.success),
        cluster.room(queue),
        _ring_loss(plan, queue),
    )


def _interval(cluster: Cluster, queue: Queue) -> float | None:
    """Return the checkpoint interval, None without their cost or where none would be finished."""
    if cluster.checkpoints is None:
        return None
    try:
        return cluster.checkpoint_interval(queue)
    except ParameterError:
        return None


def _ring_loss(plan: DesignFile, queue: Queue) -> float | None:
    """Return how likely a checkpoint is gone within the limit: its copies are made again by the end
    of the restart and one more checkpoint after a failure. By rates in steady state."""
    told = plan.table.checkpoint
    if told is None or told.copies is None:
        return None
    rate = 1 / plan.cluster.mttf("steady").time / plan.cluster.nodes
    rebuild = float(told.restart + told.cost)
    return loss_over_time(queue.nodes, told.copies, rate, rebuild, queue.limit)


def _pool(plan: DesignFile) -> SparesAnswer:
    """Return the spares for the whole machine, with repair where the file tells of one."""
    cluster, table = plan.cluster, plan.table
    rate = 1 / cluster.mttf("steady").time / cluster.nodes
    repair = None if table.pool is None else table.pool.repair
    mission = 30 * DAY if table.pool is None else table.pool.mission
    return answer_pool(Pool(cluster.nodes, rate, repair), mission, table.success)


def _remarks(plan: DesignFile) -> list[str]:
    cluster, found = plan.cluster, []
    held = cluster.capacity()
    if held > cluster.nodes:
        found.append(
            f"full queues hold {held:,.0f} nodes and the machine has {cluster.nodes:,}: queues "
            "share nodes, and not all can be full at once"
        )
    if plan.fitted and any(group.age == "new" for group in cluster.groups):
        found.append(
            'a distribution fitted to a log, and all nodes assumed new: ages = "steady" '
            "describes a machine long in use"
        )
    return found
