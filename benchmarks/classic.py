"""FCFS, EASY and conservative backfilling on loaded logs.

Yardsticks, timed in the same run: for EASY a straightforward compiled loop (`plain_easy.py`), for
all three the plain Python references of the tests, on the log's first jobs. `python -m
benchmarks.classic`
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import data, line, seconds
from benchmarks.plain_easy import plain_easy
from forestall.model.failures import Failures
from forestall.model.jobs import Jobs
from forestall.simulate.promise.parameters import Parameters
from forestall.simulate.promise.prepare import Workload, foreseen_by, prepare_jobs
from forestall.simulate.promise.run import Outcome, play
from forestall.traces.generate import generate_jobs
from forestall.traces.read import read_jobs
from reference.classic_reference import simulate_classic

POLICIES = ("fcfs", "easy", "conservative")
NONE = Failures.none()


def simulate(work: Workload, parameters: Parameters, *, placed: bool) -> Outcome:
    """Run one classic policy without failures."""
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
    against_python("KTH SP2", kth, 100, 4000)
    against_python("Gaia", gaia, 2004, 4000)
    against_python("CEA Curie", curie, 93_312, 2000)
    against_python("overloaded (load 1.3)", crowded, 256, 4000)


if __name__ == "__main__":
    main()
