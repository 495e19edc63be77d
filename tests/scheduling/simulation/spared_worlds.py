"""Generated jobs with spares on nodes that fail at a rate that the predictor knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.failures import Failures
from forestall.logs.generate import generate_failures, generate_jobs
from forestall.logs.generate.failures import Bursts
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.scheduling.simulate import simulate


class SparedWorld(NamedTuple):
    """What is simulated: spares of `nodes`, failures that there is room for, a node's mean time
    between failures and its downtime (h), the load of the other nodes, and how many jobs."""

    spares: int = 1
    failovers: int = 3
    mttf: float = 600.0
    downtime: float = 4.0
    load: float = 0.7
    nodes: int = 64
    jobs: int = 3000


def promised_and_kept(
    world: SparedWorld, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the promises of a run, whether each was kept, and which of them end while jobs still
    arrive: later, no new job takes a node that one in trouble may need."""
    jobs = generate_jobs(world.nodes - world.spares, seed, count=world.jobs, load=world.load)
    days = int(jobs.submit.max()) / 86_400 * 2 + 60
    failures = generate_failures(
        world.nodes, days, seed, mttf_hours=world.mttf, shape=1.0, heterogeneity=0.0,
        bursts=Bursts(),
    )  # fmt: skip
    predictor = HazardPredictor(1.0, 1e6, 1e6 * world.mttf / 24)
    predictor.fit(Failures.build([0], [0]), nodes=world.nodes, end=0)
    outcome = simulate(
        jobs, failures, predictor=predictor, nodes=world.nodes, spares=world.spares,
        failovers=world.failovers, downtime=int(3600 * world.downtime), checkpoint="periodic",
        risk=0.0,
    ).outcome  # fmt: skip
    kept = outcome.jobs["finish"] <= outcome.deadlines
    return outcome.promises, kept, outcome.deadlines <= int(jobs.submit.max())
