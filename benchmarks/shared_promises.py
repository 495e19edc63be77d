"""Are promises on shared nodes kept as often as they say?

`python -m benchmarks.shared_promises [JOBS] [SEEDS] [FIRST SEED]`

Jobs ask for cores, memory and GPUs of nodes of several kinds, which fail as the predictor knows:
generated loads, and Alibaba's log where it is there. Judged are the deciles of the promise with
enough jobs, as `spares_kept` does; beside them a rival that promises every job the share of all
that is kept: its Brier score. Jobs of a run share the failures of its nodes, so that chance is
larger than what is printed for as many independent ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import forestall as fs
from alibaba_log import NODES, alibaba_jobs, alibaba_machine
from benchmarks import common
from benchmarks.spares_kept import AIM, told_by_deciles
from forestall.logs.generate.times import Bursts

FOLDER = "alibaba-gpu-2023"
DOWNTIME = 3600


def worlds(jobs: int, seed: int) -> Iterator[tuple[str, Any, Any, float]]:
    """Yield what each world is called, its machine and jobs, and a node's mean time to failure,
    h."""
    machine = fs.generate_machine(64)
    for load, mttf in ((0.7, 40.0), (0.7, 5.0), (1.1, 40.0)):
        made = fs.generate_shared_jobs(machine, seed, count=jobs, load=load)
        yield f"generated, load {load:g}, MTTF {mttf:g} h", machine, made, mttf
    folder = common.data(f"{FOLDER}/{NODES}").parent
    some = alibaba_jobs(folder, faster=3000)
    first = (seed * 997) % max(len(some) - jobs, 1)
    taken = some[first : first + jobs]
    yield "Alibaba, a fifth of its nodes", alibaba_machine(folder, every=5), taken, 5.0


def promised_and_kept(
    machine: Any, jobs: Any, mttf: float, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the promises of a run, and whether each was kept."""
    nodes = len(machine)
    failures = fs.generate_failures(
        nodes, 60, seed, mttf_hours=mttf, shape=1.0, heterogeneity=0.0, bursts=Bursts()
    )
    predictor = fs.HazardPredictor(1.0, 1e6, 1e6 * mttf / 24)
    predictor.fit(fs.Failures.build([0], [0]), nodes=nodes, end=0)
    outcome = fs.simulate(
        jobs, failures, machine=machine, predictor=predictor, downtime=DOWNTIME,
        checkpoint="periodic", risk=0.0,
    ).outcome  # fmt: skip
    return outcome.promises, outcome.jobs["finish"] <= outcome.deadlines


def main() -> None:
    """Print the deciles of each world, and the largest difference."""
    given = [int(word) for word in sys.argv[1:]]
    jobs, seeds, first = (*given, *(4000, 30, 1)[len(given) :])
    found: dict[str, list[Any]] = {}
    for seed in range(first, first + seeds):
        for name, *world in worlds(jobs, seed):
            found.setdefault(name, []).append(promised_and_kept(*world, seed))
    judged: list[float] = []
    for name, parts in found.items():
        said, kept = (np.concatenate(part) for part in zip(*parts, strict=True))
        print(name)
        judged += told_by_deciles(said, kept)
        ours, rival = ((said - kept) ** 2).mean(), kept.mean() * (1 - kept.mean())
        print(f"  Brier score {ours:.4f}; a promise of the mean to all {rival:.4f}")
    off = sum(points > AIM for points in judged)
    print(f"{len(judged)} deciles of enough jobs: at most {100 * max(judged):.1f} points off, "
          f"{off} beyond {100 * AIM:.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
