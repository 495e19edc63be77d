"""What a cycle of the controller knew, as values that any thread may read meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forestall.live.guard.sight import ClusterSight
from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.outlook import NodeForecast
from forestall.live.slurm.reconcile import holds_nodes, length_of
from forestall.model.cluster.nouns import ClusterJob, ClusterSnapshot


@dataclass(frozen=True)
class ControllerView:
    """What was known at the end of a cycle.

    Attributes
    ----------
    seen, sight : the look, and as the guard sees it
    outlook : failures of nodes that are foreseen, by name
    plans : where and when jobs run or will, by number; none of those that nobody has a place for
    carried : the job of each promise, where it is seen
    """

    seen: ClusterSnapshot
    sight: ClusterSight
    outlook: Mapping[str, NodeForecast]
    plans: Mapping[int, PlannedRun]
    carried: Mapping[str, ClusterJob]

    @property
    def looked(self) -> int:
        """When the look began, s since 1970."""
        return self.sight.at


def view_of(
    seen: ClusterSnapshot, sight: ClusterSight, mind: Mind, carried: Mapping[str, ClusterJob]
) -> ControllerView:
    """Return what is known after a cycle."""
    plans = {}
    for key, job in seen.jobs.items():
        plan = _plan(job, mind)
        if plan is not None:
            plans[key] = plan
    return ControllerView(seen, sight, dict(mind.outlook), plans, dict(carried))


def _plan(job: ClusterJob, mind: Mind) -> PlannedRun | None:
    """Return where a job runs, by what is seen, or where the engine means it to."""
    if holds_nodes(job):
        if job.start is None:
            return None
        return PlannedRun(job.start, job.end or job.start + length_of(job), job.nodes)
    return mind.plan_of(job.id) if job.waits else None
