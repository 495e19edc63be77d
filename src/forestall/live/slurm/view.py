"""What a cycle of the controller knew, as values that any thread may read meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forestall.live.guard.sight import ClusterSight
from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.outlook import NodeForecast
from forestall.live.slurm.plans import Plans
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
    return ControllerView(seen, sight, dict(mind.outlook), Plans(seen.jobs, mind), dict(carried))
