"""Measures of a run of virtual machines: by hand, and against a count second by second."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.machines.simulation import measures as of
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.run import play_virtual
from forestall.machines.simulation.tables import lived_stays, task_fates
from machines.simulation import virtual_by_hand as by_hand
from machines.simulation.virtual_cases import prepared, random_case

SEEDS = range(40)


def outcome_of(seed: int) -> VirtualOutcome:
    return play_virtual(*prepared(random_case(seed)))


def test_a_run_by_hand() -> None:
    found = of.measures(by_hand.stop_and_copy())
    assert found.keys() == by_hand.MEASURES.keys()
    for name, value in by_hand.MEASURES.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


def test_restarts_by_hand() -> None:
    found = of.measures(by_hand.checkpoints())
    assert found["processor_seconds"] == {
        "useful": 29, "lost": 3, "stopped": 0, "paused": 7, "idle": 16, "down": 3, "total": 58,
    }  # fmt: skip
    assert found["job_completion_rate"] == 2 / 3
    assert (found["jobs_late"], found["tasks_late"], found["tasks_aborted"]) == (1, 1, 0)
    assert (found["restarts"], found["checkpoints"]) == (1, 5)
    # Node 0 never failed: the move from it at 9 was in vain.
    assert (found["tasks_saved"], found["moves_in_vain"], found["migration_time"]) == (0, 1, 2)
    # One of two nodes, 1: all 6 of job 2, 3 of job 3; what job 1 did there was lost.
    assert found["least_reliable_share"] == 9 / 29


def test_live_migration_by_hand() -> None:
    found = of.measures(by_hand.pre_copy())
    assert found["processor_seconds"] == {
        "useful": 23, "lost": 22, "stopped": 0, "paused": 10, "idle": 19, "down": 4, "total": 78,
    }  # fmt: skip
    assert (found["migrations"], found["migrations_failed"]) == (4, 2)
    assert list(found["migration_outcomes"].values()) == [1, 1, 1, 1, 0]
    # One task stood still for 1 s; its share at the target was held for 4 s, reservations for 6 s.
    assert (found["migration_time"], found["migration_work"]) == (1, 10.0)
    assert (found["tasks_saved"], found["moves_in_vain"]) == (0, 1)


# Task 10/0 would have ended at 20 on node 0, or been stopped at its deadline.
@pytest.mark.parametrize(
    ("failed_at", "deadline", "policy", "saved"),
    [
        (19, 60, "stop", 1), (20, 60, "stop", 0), (10, 60, "stop", 1), (9, 60, "stop", 0),
        (18, 23, "stop", 1), (19, 22, "run", 1),
    ],
)  # fmt: skip
def test_what_a_move_saved(failed_at: int, deadline: int, policy: str, saved: int) -> None:
    whole = by_hand.stop_and_copy()
    struck = whole.struck[:1].copy()
    struck["time"] = failed_at
    ends = whole.workload.deadline.copy()
    ends[0] = deadline
    outcome = replace(
        whole,
        struck=struck,
        workload=replace(whole.workload, deadline=ends),
        parameters=whole.parameters.model_copy(update={"past_deadline": policy}),
    )
    found = of.move_measures(outcome, task_fates(outcome))
    assert (found["tasks_saved"], found["moves_in_vain"]) == (saved, 1 - saved)


def test_a_failure_after_the_deadline_takes_nothing_more() -> None:
    whole = by_hand.stop_and_copy()
    struck = whole.struck[:1].copy()
    struck["time"] = 15
    ends = whole.workload.deadline.copy()
    ends[0] = 15
    outcome = replace(whole, struck=struck, workload=replace(whole.workload, deadline=ends))
    assert of.move_measures(outcome, task_fates(outcome))["moves_in_vain"] == 1


def test_all_jobs_dropped_at_once() -> None:
    outcome = by_hand.made(
        [(1, 5, 2, 10, 6)], [], [], [(-1, -1, 0, 0, 1)], [], [], 6, nodes=1
    )  # fmt: skip
    found = of.measures(outcome)
    assert (found["job_completion_rate"], found["task_completion_rate"]) == (0.0, 0.0)
    assert (found["wait"], found["least_reliable_share"], found["utilization"]) == (None, None, 0.0)
    assert found["processor_seconds"]["idle"] == found["processor_seconds"]["total"] == 1.0


def test_no_jobs() -> None:
    whole = by_hand.stop_and_copy()
    none = np.zeros(0, dtype=np.int64)
    jobs = whole.workload.jobs.take(none)
    workload = replace(whole.workload, jobs=jobs, deadline=none, work=none)
    outcome = replace(
        whole, workload=workload, jobs=whole.jobs[:0], runs=whole.runs[:0], moves=whole.moves[:0],
        struck=whole.struck[:0], end=-1,
    )  # fmt: skip
    found = of.measures(outcome)
    assert found["job_completion_rate"] is None
    assert found["task_completion_rate"] is None
    assert found["utilization"] == 0.0


def by_the_second(outcome: VirtualOutcome) -> dict[str, int]:
    """Return held, down and idle capacity, thousandths of processor-seconds."""
    start, end = int(outcome.workload.jobs.submit[0]), outcome.end
    log, given = outcome.failures, outcome.parameters
    held = down = 0
    sizes = [round(1000 * one.processors) for one in given.machine for _ in range(one.nodes)]
    for node in range(given.nodes):
        capacity = sizes[node]
        stays = outcome.runs[outcome.runs["node"] == node]
        outages = [
            (int(row["time"]), int(row["time"] + log.downtime[row["number"]]))
            for row in outcome.struck
            if log.node[row["number"]] == node
        ]
        for second in range(start, end):
            there = (stays["start"] <= second) & (second < stays["end"])
            now = int(stays["rate"][there].sum())
            if any(since <= second < until for since, until in outages):
                assert now == 0
                down += capacity
            assert now <= capacity
            held += now
    total = sum(sizes) * (end - start)
    return {"held": held, "down": down, "idle": total - held - down, "total": total}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_account_second_by_second(seed: int) -> None:
    outcome = outcome_of(seed)
    account = of.processor_seconds(outcome, task_fates(outcome))
    plain = by_the_second(outcome)
    for name in ("down", "idle", "total"):
        assert account[name] == plain[name], name
    parts = ("useful", "lost", "stopped", "paused")
    assert sum(account[name] for name in parts) == plain["held"]
    assert account["lost"] == int(outcome.struck["lost"].sum())


def walk(outcome: VirtualOutcome) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the stays of each task, with what of their work was kept."""
    tasks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    names = outcome.runs.dtype.names
    for row in outcome.runs.tolist():
        stay = dict(zip(names, row, strict=True))
        if stay["ended"] == by_hand.CANCELLED:
            continue
        stays = tasks.setdefault((stay["job"], stay["task"]), [])
        stays.append({**stay, "kept": stay["work"]})
        left = stay["lost"]
        for one in reversed(stays):
            taken = min(left, one["kept"])
            one["kept"], left = one["kept"] - taken, left - taken
        assert left == 0
    return tasks


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_reliable_quarter(seed: int) -> None:
    outcome = outcome_of(seed)
    nodes = outcome.parameters.nodes
    failed = [0] * nodes
    for row in outcome.struck:
        failed[outcome.failures.node[row["number"]]] += 1
    worst = set(sorted(range(nodes), key=lambda j: (-failed[j], j))[: -(-nodes // 4)])
    whole = mine = 0
    for stays in walk(outcome).values():
        if stays[-1]["ended"] in (by_hand.COMPLETED, by_hand.LATE):
            whole += sum(stay["kept"] for stay in stays)
            mine += sum(stay["kept"] for stay in stays if stay["node"] in worst)
    found = of.least_reliable_share(outcome, task_fates(outcome))
    assert found == (mine / whole if whole else None)


# When a stay would have ended is known where it did end: the plan must say so; where it did not,
# the plan lies later.
@pytest.mark.parametrize("seed", SEEDS)
def test_planned_ends(seed: int) -> None:
    outcome = outcome_of(seed)
    chain = of.chains(outcome, lived_stays(outcome))
    planned = of.planned_ends(outcome, chain)
    ended = np.isin(chain.runs["ended"], (by_hand.COMPLETED, by_hand.LATE))
    assert np.array_equal(planned[ended], chain.runs["end"][ended])
    assert np.all(planned[~ended] > chain.runs["end"][~ended])


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_sums_of_any_size(values: list[int]) -> None:
    assert of.exact_sum(np.array(values, dtype=np.int64)) == sum(values)
