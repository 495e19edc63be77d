"""FCFS, EASY and conservative backfilling on loaded logs.

Yardsticks, timed in the same run: for EASY a straightforward compiled loop (`given/plain_easy.py`),
for its node sets rows of bits as long as the machine (`plain_nodes.py`), for `fs.simulate`
its kernel
alone, for all three the plain Python references of the tests, on the log's first jobs. `python -m
benchmarks.classic`
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import data, line, seconds
from benchmarks.given.plain_easy import plain_easy
from benchmarks.plain_nodes import place_by_rows
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs.generate import generate_jobs
from forestall.logs.read import read_jobs
from forestall.scheduling.simulate import simulate as fs_simulate
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import Workload, foreseen_by, prepare_jobs
from forestall.scheduling.simulation.run import Outcome, play
from reference.classic_reference import simulate_classic

POLICIES = ("fcfs", "easy", "conservative")
NONE = Failures.none()


def simulate(work: Workload, parameters: Parameters, *, placed: bool) -> Outcome:
    """Run one classic policy without failures, with or without node sets."""
    return play(work, NONE, parameters, foreseen_by(None, NONE, 0), placed=placed)


def against_compiled(name: str, jobs: Jobs, nodes: int) -> None:
    """EASY beside the compiled loop, with and without node sets, and both give the same starts."""
    parameters = Parameters(nodes=nodes, policy="easy", estimates="requested")
    work = prepare_jobs(jobs, NONE, parameters)
    rows = (work.jobs.submit, work.jobs.size, work.jobs.runtime, work.estimate)
    same = simulate(work, parameters, placed=False).jobs["first_start"] == plain_easy(*rows, nodes)
    assert bool(same.all()), "the yardstick gives another schedule"
    theirs, counted, placed = seconds(
        lambda: plain_easy(*rows, nodes),
        lambda: simulate(work, parameters, placed=False),
        lambda: simulate(work, parameters, placed=True),
    )
    line(f"EASY {name}, {len(work.jobs):,} jobs", counted, "compiled loop", theirs)
    line(f"EASY {name}, with node sets", placed, "compiled loop", theirs)


def against_rows(name: str, jobs: Jobs, nodes: int) -> None:
    """EASY with node sets beside the same schedule placed by rows as long as the machine."""
    parameters = Parameters(nodes=nodes, policy="easy", estimates="requested")
    work = prepare_jobs(jobs, NONE, parameters)
    outcome = simulate(work, parameters, placed=True)
    told = outcome.jobs["first_start"].copy(), outcome.jobs["finish"].copy(), work.jobs.size, nodes
    low, high = outcome.ranges[:, 0], outcome.ranges[:, 1]
    sums = np.add.reduceat((low + high - 1) * (high - low) // 2, outcome.runs["first_range"])
    same = place_by_rows(*told)[outcome.runs["job"]] == sums
    assert bool(same.all()), "the yardstick gives other nodes"
    counted, rows, placed = seconds(
        lambda: simulate(work, parameters, placed=False),
        lambda: place_by_rows(*told),
        lambda: simulate(work, parameters, placed=True),
        rounds=3,
    )
    line(f"EASY {name}, with node sets", placed, "whole rows", counted + rows)


def against_kernel(name: str, jobs: Jobs, nodes: int) -> None:
    """The whole of `fs.simulate`, node sets included, beside its kernel alone, which counts."""
    given = {"nodes": nodes, "policy": "easy", "estimates": "requested"}
    parameters = Parameters(**given)
    work = prepare_jobs(jobs, NONE, parameters)
    whole, kernel = seconds(
        lambda: fs_simulate(jobs, **given),
        lambda: simulate(work, parameters, placed=False),
        rounds=31,
    )
    line(f"fs.simulate, EASY {name}", whole, "its kernel", kernel)


def against_python(name: str, jobs: Jobs, nodes: int, first: int) -> None:
    """All three beside the plain Python reference on the first jobs of a log."""
    for policy in POLICIES:
        parameters = Parameters(nodes=nodes, policy=policy, estimates="requested")
        work = prepare_jobs(jobs.take(np.arange(first)), NONE, parameters)
        columns = (work.jobs.submit, work.jobs.size, work.jobs.runtime, work.estimate)
        rows = list(zip(*(c.tolist() for c in columns), strict=True))
        kept = []

        def reference(rows=rows, policy=policy, kept=kept) -> None:
            kept.append(simulate_classic(rows, [], nodes=nodes, policy=policy))

        (theirs,) = seconds(reference, rounds=1)
        (ours,) = seconds(lambda w=work, p=parameters: simulate(w, p, placed=False))
        outcome = simulate(work, parameters, placed=False)
        assert kept[0].start == outcome.jobs["first_start"].tolist(), "another schedule"
        line(f"{policy} {name}, first {first:,} jobs", ours, "plain Python", theirs)


def main() -> None:
    """Print all comparisons."""
    kth = read_jobs(data("swf-misc/KTH-SP2-1996-2.swf.gz"))
    gaia = read_jobs(data("swf-misc/UniLu-Gaia-2014-1.swf.gz"))
    curie = read_jobs(data("swf-misc/CEA-Curie-2011-2.1-cln.swf.gz"))
    crowded = generate_jobs(256, 1, count=20_000, load=1.3)
    against_compiled("KTH SP2", kth, 100)
    against_compiled("Gaia", gaia, 2004)
    against_compiled("CEA Curie", curie, 93_312)
    against_compiled("overloaded (load 1.3)", crowded, 256)
    against_kernel("KTH SP2", kth, 100)
    against_rows("KTH SP2", kth, 100)
    against_rows("CEA Curie", curie, 93_312)
    against_python("KTH SP2", kth, 100, 4000)
    against_python("Gaia", gaia, 2004, 4000)
    against_python("CEA Curie", curie, 93_312, 2000)
    against_python("overloaded (load 1.3)", crowded, 256, 4000)


if __name__ == "__main__":
    main()
