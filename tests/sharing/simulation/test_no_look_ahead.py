"""What comes later changes nothing that was decided or promised before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle

DAY, HOUR = 86_400, 3600


def pool(seed: int) -> HostTraces:
    rng = np.random.default_rng(seed)
    load = np.repeat(rng.choice([0.05, 0.3, 0.9, np.nan], (4, 600), p=[0.6, 0.25, 0.1, 0.05]), 4, 1)
    return HostTraces(load, None, 300, np.array([1.0, 0.8, 1.2, 1.0]), tuple("abcd"))


def guests(seed: int) -> Jobs:
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 5 * DAY, 60))
    runtime = rng.integers(600, 4 * HOUR, 60)
    return Jobs.build(submit=submit, size=np.ones(60, int), runtime=runtime, estimate=runtime)


@pytest.mark.parametrize("scheduler", ["falcon", "condor"])
@pytest.mark.parametrize("restart", ["scratch", "checkpoint"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_future_leaves_the_past_as_it_was(scheduler: str, restart: str, seed: int) -> None:
    given = CycleParameters.model_validate(
        {"scheduler": scheduler, "restart": restart, "warm_up": 2 * DAY, "history": 3,
         "horizon": 6 * HOUR, "predict_step": 300, "seed": seed}
    )  # fmt: skip
    hosts, jobs = pool(seed), guests(seed + 10)
    moment = 2 * DAY + 7 * HOUR + 100  # s of the jobs' clock; the sample that holds it is known
    known = (moment + given.warm_up) // 300 + 1
    load = hosts.load.copy()
    load[:, known:] = pool(seed + 50).load[:, known:]
    other = replace(hosts, load=load)
    told = []
    for one in (hosts, other):
        done = play_cycle(prepare_guests(jobs, one, given), one, given, log_events=True)
        events = done.log.events[done.log.events["time"] <= moment]
        decided = int(events["decisions"].sum())
        early = done.stays[done.stays["start"] <= moment]
        early = np.sort(early, order=["job", "start"])
        said = early[["job", "host", "start", "chance", "promise"]].tolist()
        told.append((events.tolist(), done.log.decisions[:decided].tolist(), said))
    assert len(told[0][2]) > 10
    assert told[0] == told[1]
