"""The state of the engine for guests on shared hosts: one tuple of structured arrays."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of, records
from forestall.core.model.cycle import ESTIMATE
from forestall.sharing.rules.entries import OWN_SCHEDULER, SCHEDULERS

WAITING, RUNNING, DONE = map(np.int64, range(3))

FALCON: Final = np.int64(SCHEDULERS["falcon"].number)
SLIDES: Final = np.int64(SCHEDULERS["falcon-slides"].number)
CONDOR: Final = np.int64(SCHEDULERS["condor"].number)
OMNISCIENT: Final = np.int64(SCHEDULERS["omniscient"].number)
OWN: Final = np.int64(OWN_SCHEDULER.number)

AWAY: Final = np.int64(4)
"""The state of a host of which nothing is known yet."""

GUEST: Final = record_of("status host tries misses started")
"""A job: status; its host, or -1; times it was tried, and times no host was free, since it was
submitted or lost its host; whether it was ever started."""

HOST: Final = np.dtype([("state", "i8"), ("guest", "i8")])
"""A host: its state, 0 (S1) to 4 (S5); the job on it, or -1."""

DECISION: Final = record_of(
    "kind reason job host at tries candidates jct mttf etl jctf rank chance"
)
"""A decision as kernels write it; the fields are those of `core.model.cycle.GuestDecision`."""

EVENT: Final = record_of("time kind key state decisions candidates")
"""One event that the engine was told, how many decisions it answered with, and how many free hosts
it was given estimates of."""

LEFT, HELD, STARTS, COUNTERS = range(4)


class CycleRules(NamedTuple):
    """What decisions depend on: the scheduler's number; seconds until a job is tried again; how
    often one that was never started is tried again; 1 where jobs go on from checkpoints; where a
    scheduler in Python is asked (`_compile.Asked`)."""

    scheduler: int
    retry: int
    retries: int
    resumes: int
    own: int = 0


class CycleState(NamedTuple):
    """GUEST[jobs]; HOST[hosts]; ESTIMATE[hosts], the first of them those of the candidates of the
    event; DECISION[1], the answer; float64[n] draws for ties; int64[3] counters: jobs that have
    not ended, decisions held in `out`, starts so far; rules."""

    jobs: npt.NDArray[Any]
    hosts: npt.NDArray[Any]
    estimates: npt.NDArray[Any]
    out: npt.NDArray[Any]
    draws: npt.NDArray[np.float64]
    at: npt.NDArray[np.int64]
    rules: CycleRules


def new_cycle_state(jobs: int, hosts: int, rules: CycleRules) -> CycleState:
    """Return the state before anything is known of the hosts."""
    guests = records(jobs, GUEST)
    guests["host"] = -1
    places = records(hosts, HOST)
    places["state"], places["guest"] = AWAY, -1
    at = np.zeros(COUNTERS, dtype=np.int64)
    at[LEFT] = jobs
    return CycleState(
        guests, places, records(hosts, ESTIMATE), records(1, DECISION), np.empty(0), at, rules
    )
