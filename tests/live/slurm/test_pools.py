"""Of which nodes a job may take its own."""

from __future__ import annotations

import pytest

from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.pools import Pools, satisfied
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterView

NOW = 1_800_000_000


def node(name: str, partitions: tuple[str, ...], features: tuple[str, ...] = ()) -> ClusterNode:
    return ClusterNode(
        name, "IDLE", (), "", "", None, None, None, 8, 1000, partitions, features, ""
    )


NODES = {
    "a": node("a", ("main", "all")),
    "b": node("b", ("main", "all"), ("ib",)),
    "c": node("c", ("gpu", "all"), ("ib", "a100")),
    "d": node("d", ("gpu", "all"), ("h100",)),
}
NUMBER = {name: k for k, name in enumerate(sorted(NODES))}


def waiting(key: int, partition: str, size: int = 1, features: str = "") -> ClusterJob:
    return ClusterJob(
        key, "ann", "job", "", partition, "", "PENDING", (), "Priority", NOW - 9, NOW - 9, None,
        None, 600, size, (), (), features, "", 100, 0, 0, "", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "does"),
    [("", "abcd"), ("ib", "bc"), ("ib&a100", "c"), ("ib,a100|h100", "cd"), ("none", ""),
     ("[rack1|rack2]", "abcd"), ("ib*2", "abcd"), ("(ib|h100)&x", "abcd")],
)  # fmt: skip
def test_features(wanted: str, does: str) -> None:
    assert "".join(name for name in NODES if satisfied(wanted, NODES[name].features)) == does


def test_sets_of_nodes_are_told_once_and_shared() -> None:
    pools = Pools(NODES, NUMBER)
    assert pools.of("", "") == (0, None)
    assert pools.of("all", "") == (0, None)
    pool, nodes = pools.of("gpu", "")
    assert (pool, str(nodes)) == (1, "2-3")
    assert pools.of("gpu", "") == (1, None)
    assert pools.of("gpu", "a100|h100") == (1, None)
    assert pools.of("main,gpu", "") == (0, None)
    pool, nodes = pools.of("nowhere", "")
    assert (pool, len(nodes or ())) == (2, 0)


def test_overlapping_partitions_take_from_the_same_nodes() -> None:
    """A job of "all" leaves "gpu" what it does not take, and the other way round."""
    jobs = [waiting(1, "gpu", 2), waiting(2, "all", 3), waiting(3, "main", 2)]
    seen = ClusterView({job.id: job for job in jobs}, NODES, {})
    mind = Mind(seen, NOW, 0.5)
    mind.tell(seen, NOW, (), {})
    plans = {key: mind.plan_of(key) for key in (1, 2, 3)}
    assert [plan.nodes for plan in plans.values() if plan] == [("c", "d"), ("a", "b", "c"),
                                                              ("a", "b")]  # fmt: skip
    assert [plan.start - NOW for plan in plans.values() if plan] == [0, 600, 0]


def test_a_cluster_whose_partitions_change_is_another_one() -> None:
    seen = ClusterView({}, NODES, {})
    mind = Mind(seen, NOW, 0.5)
    assert mind.knows(seen)
    moved = {**NODES, "a": node("a", ("gpu", "all"))}
    assert not mind.knows(ClusterView({}, moved, {}))


def test_a_job_that_is_submitted_holds_nodes_of_its_partition() -> None:
    seen = ClusterView({}, NODES, {})
    mind = Mind(seen, NOW, 0.5)
    mind.tell(seen, NOW, (), {})
    taken = mind.submitted(9, WantedJob(1, 600, user="ann", partition="gpu", features="h100"), NOW)
    assert taken is not None
    assert [(pool, str(nodes)) for pool, nodes in taken.pools] == [(1, "3")]
    plan = mind.plan_of(9)
    assert plan is not None
    assert plan.nodes == ("d",)
    assert mind.places_for(waiting(8, "gpu", 2), 600, NOW)[0].start == NOW + 600
