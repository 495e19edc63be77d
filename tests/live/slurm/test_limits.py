"""What keeps a job from starting: the limits of its partition, as told and as Slurm says."""

from __future__ import annotations

import pytest

from forestall.core.model.live.desk import JobOrder
from forestall.live.slurm.limits import broken_limits, stopped
from forestall.live.slurm.reconcile import may_start
from forestall.live.slurm.submissions import order_of
from forestall.slurm.cluster.nouns import ClusterPartition
from live.slurm.test_outcomes import AFTER, OFFER, outcome
from live.slurm.test_reconcile import job

MAIN = ClusterPartition("main", True)


def test_all_limits_that_are_broken_are_told() -> None:
    part = MAIN._replace(is_up=False, longest=600, most=1)
    assert list(broken_limits(part, 2, 900)) == [
        "partition main starts no jobs now",
        "partition main allows 10 min; 15 min are asked for",
        "partition main allows 1 node; 2 are asked for",
    ]
    assert list(broken_limits(MAIN._replace(least=2), 1, 60)) == [
        "partition main takes jobs from 2 nodes on"
    ]
    assert list(broken_limits(MAIN, 100, 10**6)) == []


@pytest.mark.parametrize(
    ("reason", "part", "words"),
    [
        ("PartitionDown", MAIN._replace(is_up=False), "partition main starts no jobs now"),
        ("PartitionInactive", MAIN, "Slurm says PartitionInactive of partition main"),
        ("PartitionTimeLimit", None, "Slurm says PartitionTimeLimit of partition main"),
        ("PartitionNodeLimit", MAIN._replace(least=9), "partition main takes jobs from 9 nodes on"),
        ("PartitionNodeLimit", MAIN, ""),  # Slurm says it of nodes that are down, too
        ("Priority", MAIN._replace(is_up=False), ""),  # such as a partition that drains
    ],
)
def test_slurm_says_what_stops_a_job(
    reason: str, part: ClusterPartition | None, words: str
) -> None:
    one = job(7, reason=reason, partition="main")
    assert stopped(one, {} if part is None else {"main": part}) == words
    assert stopped(job(7, "n1", reason=reason, partition="main"), {}) == ""


def test_a_stopped_job_is_not_planned_for_and_late_by_its_operators() -> None:
    one = job(7, reason="PartitionDown")
    assert not may_start(one)
    assert outcome(of=one, at=AFTER) == ("missed", "operator", -1)


@pytest.mark.parametrize(
    ("line", "requeue"),
    [
        ("#SBATCH --requeue=expedite", "expedite"),
        ("#SBATCH --requeue=expedited", "expedite"),
        ("#SBATCH --requeue", "yes"),
        ("", "yes"),
        ("#SBATCH 'odd", "yes"),
    ],
)
def test_a_script_may_ask_for_expedited_requeues(line: str, requeue: str) -> None:
    assert order_of(OFFER, JobOrder(f"#!/bin/sh\n{line}\n"), 0).requeue == requeue
