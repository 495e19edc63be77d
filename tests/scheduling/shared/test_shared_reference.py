"""Runs on shared nodes are those of the plain reference, to the second and to the node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.jobs import Jobs
from forestall.core.model.nodes import RESOURCES, MachineSpec, Requests
from reference.shared_reference import Cluster, Job, Node

Case = tuple[MachineSpec, Jobs, list[tuple[int, int, int]], dict[str, Any]]
POLICIES = ("fcfs", "easy", "conservative", "promise")


def case_of(seed: int) -> Case:
    """Draw a small machine of several kinds, jobs of every kind of request, and failures."""
    rng = np.random.default_rng(seed)
    nodes, count = int(rng.integers(1, 7)), int(rng.integers(1, 40))
    sizes = np.array([[8, 64, 0], [8, 64, 4], [16, 32, 8], [4, 16, 2]])
    kinds = rng.integers(0, 4, nodes)
    types = ("", "a", "b", "b")
    machine = MachineSpec(
        tuple(f"n{k}" for k in range(nodes)), RESOURCES, sizes[kinds],
        tuple(types[k] for k in kinds), (frozenset(),) * nodes, (frozenset(),) * nodes,
    )  # fmt: skip
    amounts = np.column_stack(
        (rng.integers(1, 9, count), rng.integers(0, 33, count), rng.integers(0, 3, count))
    )
    spread = rng.random(count) < 0.25
    exclusive = rng.random(count) < 0.15
    tasks = np.where(spread & ~exclusive, rng.integers(1, 6, count), 0)
    amounts[spread, 0] = rng.integers(1, 4, int(spread.sum()))
    submit = np.sort(rng.integers(0, 200, count))
    runtime = rng.integers(1, 80, count)
    estimate = runtime + rng.integers(0, 40, count) * rng.integers(0, 2, count)
    requests = Requests(
        RESOURCES, amounts, tasks, exclusive,
        tuple(rng.choice(["", "", "", "a", "b"], count).tolist()), ("",) * count,
    )  # fmt: skip
    jobs = Jobs(
        np.arange(1, count + 1), submit, rng.integers(1, 3, count), runtime, estimate,
        requests=requests,
    )  # fmt: skip
    failures = [
        (int(rng.integers(0, 300)), int(rng.integers(0, nodes)), int(rng.integers(1, 40)))
        for _ in range(int(rng.integers(0, 6)))
    ]
    more: dict[str, Any] = {
        "placement": str(rng.choice(["best", "first", "worst"])),
        "requeue": str(rng.choice(["now", "original"])),
        "compression": bool(rng.random() < 0.7),
    }
    if rng.random() < 0.4:
        more |= {"checkpoint": "periodic", "checkpoint_interval": 10, "checkpoint_overhead": 2}
    promised: dict[str, Any] = {
        "accuracy": float(rng.choice([0, 0.5, 1])), "risk": float(rng.choice([0, 0.4, 0.9])),
        "checkpoint": str(rng.choice(["none", "periodic", "risk"])), "checkpoint_interval": 10,
        "checkpoint_overhead": 2, "placement": more["placement"],
    }  # fmt: skip
    return machine, jobs, failures, {"classic": more, "promise": promised}


def likely(failures: list[tuple[int, int, int]]) -> list[float]:
    """Return the detectability of each failure."""
    return [(7 * time + 13 * node + 1) % 97 / 97 for time, node, _ in failures]


def options(case: Case, policy: str) -> dict[str, Any]:
    return dict(case[3]["promise" if policy == "promise" else "classic"])


def plain(case: Case, policy: str) -> Cluster:
    """Play a case with the plain reference, those jobs left out that fit on no node."""
    (machine, jobs, failures, _), more = case, options(case, policy)
    asks = jobs.requests
    assert asks is not None
    nodes = [
        Node(tuple(capacity), kind)
        for capacity, kind in zip(machine.capacity.tolist(), machine.gpu_type, strict=True)
    ]
    checkpoints = more.get("checkpoint", "none") != "none"
    log = sorted(set(failures))
    seen = [
        (*one, p) for one, p in zip(log, likely(log), strict=True) if p <= more.get("accuracy", 0)
    ]
    cluster = Cluster(
        nodes, [], log, policy=policy, rule=more["placement"],
        interval=10 if checkpoints else 0, pause=2 if checkpoints else 0,
        original=more.get("requeue") == "original", compression=more.get("compression", True),
        foreseen=seen, wanted=more.get("risk", 0.0), by_risk=more.get("checkpoint") == "risk",
    )  # fmt: skip
    for k in range(len(jobs)):
        spread = bool(asks.tasks[k]) and not asks.exclusive[k]
        job = Job(
            int(jobs.job[k]), int(jobs.submit[k]), int(jobs.runtime[k]), int(jobs.estimate[k]),
            int(asks.tasks[k]) if spread else int(jobs.size[k]), tuple(asks.amounts[k].tolist()),
            spread, bool(asks.exclusive[k]), asks.gpu_type[k],
        )  # fmt: skip
        if cluster.choice(job, 0, 1, 0, []) is not None:
            cluster.jobs.append(job)
    return cluster


def runs_of(cluster: Cluster) -> list[tuple[Any, ...]]:
    return sorted(
        (start, job.number, end, lost, sorted(held.items()))
        for job in cluster.jobs
        for start, end, held, lost in job.runs
    )


def played(case: Case, policy: str) -> fs.Result:
    machine, jobs, failures, _ = case
    time, node, downtime = zip(*sorted(set(failures)), strict=True) if failures else ((), (), ())
    log = fs.Failures.build(
        np.array(time, int), np.array(node, int), downtime=np.array(downtime, int),
        detectability=likely(sorted(set(failures))),
    )  # fmt: skip
    return fs.simulate(
        jobs, log, policy=policy, machine=machine, estimates="requested", downtime="log",
        **options(case, policy),
    )  # fmt: skip


def runs_in(result: Any) -> list[tuple[Any, ...]]:
    outcome = result.outcome
    taken, found = outcome.taken, []
    for run in outcome.runs:
        mine = slice(run["first_range"], run["first_range"] + run["ranges"])
        held = sorted(zip(taken.node[mine].tolist(), taken.units[mine].tolist(), strict=True))
        job = int(outcome.workload.jobs.job[run["job"]])
        found.append((int(run["start"]), job, int(run["end"]), int(run["lost"]), held))
    return sorted(found)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("first", range(0, 240, 40))
def test_runs_are_those_of_the_reference(policy: str, first: int) -> None:
    compared = 0
    for seed in range(first, first + 40):
        case = case_of(seed)
        cluster = plain(case, policy)
        if not cluster.jobs:
            continue
        cluster.play()
        result = played(case, policy)
        assert runs_in(result) == runs_of(cluster), seed
        if policy == "promise":
            promised = [(job.deadline, job.promise, job.skipped) for job in cluster.jobs]
            table = result.jobs.sort("job").select("deadline", "promise", "skipped")
            assert table.rows() == promised, seed
        compared += len(cluster.jobs)
    assert compared > 200
