"""Shared nodes: how fast each policy plays, beside a plain reference and a scan in NumPy.

    python -m benchmarks.resources [JOBS] [NODES]

Generated jobs of cores, memory and GPUs (`fs.generate_shared_jobs`) on a machine of several kinds.
The scan plays FCFS with a matrix of what is free, which NumPy compares with each request; it starts
the same jobs in the same seconds on the same nodes, or the benchmark says so and exits with 1. The
reference is that of the tests, on a small case that it can play.
"""

from __future__ import annotations

import heapq
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import forestall as fs
from benchmarks import common
from forestall.core.model.jobs import Jobs
from forestall.core.model.nodes import MachineSpec
from scheduling.shared.test_shared_reference import plain, played

Int = npt.NDArray[np.int64]
SMALL = 300
POLICIES = ("fcfs", "easy", "conservative", "promise")


def scan(machine: MachineSpec, jobs: Jobs) -> tuple[Int, Int]:
    """Return the start and the node of each job under FCFS with best fit."""
    asks = jobs.requests
    assert asks is not None
    allowed = {kind: machine.allowed(kind, "", "") for kind in set(asks.gpu_type)}
    free, count = machine.capacity.copy(), len(jobs)
    start, node = np.full(count, -1), np.full(count, -1)
    ends: list[tuple[int, int]] = []
    head, came = 0, 0
    while head < count:
        times = [ends[0][0]] if ends else []
        times += [int(jobs.submit[came])] if came < count else []
        now = min(times)
        while ends and ends[0][0] == now:
            done = heapq.heappop(ends)[1]
            free[node[done]] += asks.amounts[done]
        while came < count and jobs.submit[came] == now:
            came += 1
        while head < came:
            need = asks.amounts[head]
            fits = np.flatnonzero(allowed[asks.gpu_type[head]] & (free >= need).all(axis=1))
            if not len(fits):
                break
            order = np.lexsort((fits, free[fits, 1], free[fits, 0], free[fits, 2]))
            start[head], node[head] = now, fits[order[0]]
            free[node[head]] -= need
            heapq.heappush(ends, (now + int(jobs.runtime[head]), head))
            head += 1
    return start, node


def small_case() -> Any:
    """Return a case for the plain reference: see `tests/scheduling/shared`."""
    machine = fs.generate_machine(24)
    jobs = fs.generate_shared_jobs(machine, 2, count=SMALL, load=1.0)
    promised = {"accuracy": 0.5, "risk": 0.0, "checkpoint": "none", "placement": "best"}
    classic = {"placement": "best", "requeue": "now", "compression": True}
    return machine, jobs, [], {"classic": classic, "promise": promised}


def main(arguments: list[str]) -> int:
    """Print the ratios; return the exit code."""
    count, nodes = (*map(int, arguments), *(20_000, 1523)[len(arguments) :])
    machine = fs.generate_machine(nodes)
    jobs = fs.generate_shared_jobs(machine, 1, count=count, load=0.9)
    print(f"{count:,} jobs on {machine.source}, load 0.9")
    found = fs.simulate(jobs, policy="fcfs", machine=machine)
    start, node = scan(machine, jobs)
    same = np.array_equal(found.jobs["start"].to_numpy(), start)
    same = same and found.jobs["nodes"].to_list() == [str(one) for one in node]
    if not same:
        print("the scan starts other jobs, or elsewhere")
        return 1
    for policy in POLICIES:
        calls = [lambda p=policy: fs.simulate(jobs, policy=p, machine=machine, checkpoint="none")]
        calls += [lambda: scan(machine, jobs)] if policy == "fcfs" else []
        ours, *theirs = common.seconds(*calls, rounds=3)
        wait = fs.simulate(jobs, policy=policy, machine=machine).measures["wait"]["mean"]
        print(f"  {policy:<13}{count / ours:>9,.0f} jobs/s, mean wait {wait:,.0f} s")
        if theirs:
            common.line("fcfs", ours, "a scan in NumPy", theirs[0])
    case = small_case()
    print(f"{SMALL} jobs on {case[0].source}, load 1")
    for policy in POLICIES:
        calls = [lambda p=policy: played(case, p), lambda p=policy: plain(case, p).play()]
        common.line(policy, *common.seconds(*calls[:1], rounds=3), "the plain reference",
                    *common.seconds(*calls[1:], rounds=1))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
