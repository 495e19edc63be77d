"""Where jobs run or are meant to, as any thread may read it."""

from __future__ import annotations

from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.plans import Plans
from forestall.slurm.cluster.nouns import ClusterView
from live.slurm.test_pools import NODES, NOW, waiting


def test_plans_are_those_of_a_moment() -> None:
    running = waiting(1, "gpu", 2)._replace(state="RUNNING", start=NOW - 100, nodes=("c", "d"))
    unknown = waiting(4, "gpu", 3)
    over = waiting(5, "gpu")._replace(state="COMPLETED", start=NOW - 90, end=NOW - 9)
    jobs = {one.id: one for one in (running, waiting(2, "gpu"), waiting(3, "main"), unknown, over)}
    seen = ClusterView(jobs, NODES, {})
    mind = Mind(seen, NOW, 0.5)
    mind.tell(seen, NOW, (), {})
    plans = Plans(jobs, mind)
    assert plans[1] == PlannedRun(NOW - 100, NOW + 500, ("c", "d"))
    assert plans[2] == mind.plan_of(2) == PlannedRun(NOW + 500, NOW + 1100, ("c",))
    assert plans.get(4) is None
    assert plans.get(9) is None
    assert sorted(plans) == [1, 2, 3]
    assert len(plans) == 3
    before = plans[3]
    mind.tell(ClusterView({}, NODES, {}), NOW + 30, (), {})
    assert plans[3] == before
