"""What a cycle of the controller knew, as values that any thread may read meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from forestall.live.guard.sight import ClusterSight
from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.plans import Plans
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterJob, ClusterSnapshot

DAY: Final = 86_400


@dataclass(frozen=True)
class ControllerView:
    """What was known at the end of a cycle.

    Attributes
    ----------
    seen, sight : the look, and as the guard sees it
    outlook : failures of nodes that are foreseen, by name
    plans : where and when jobs run or will, by number; none of those that nobody has a place for
    carried : the job of each promise, where it is seen
    lasting : probability that a node of which no failure is foreseen does not fail within a day
    stray : why jobs with a tag carry no promise, by number
    """

    seen: ClusterSnapshot
    sight: ClusterSight
    outlook: Mapping[str, NodeForecast]
    plans: Mapping[int, PlannedRun]
    carried: Mapping[str, ClusterJob]
    lasting: float
    stray: Mapping[int, str] = field(default_factory=dict)

    @property
    def looked(self) -> int:
        """When the look began, s since 1970."""
        return self.sight.at


def view_of(
    seen: ClusterSnapshot,
    sight: ClusterSight,
    mind: Mind,
    carried: Mapping[str, ClusterJob],
    lasting: float,
    stray: Mapping[int, str],
) -> ControllerView:
    """Return what is known after a cycle."""
    plans = Plans(seen.jobs, mind)
    return ControllerView(seen, sight, dict(mind.outlook), plans, dict(carried), lasting, stray)
