"""A state without the jobs that have ended: what only grew is given back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.scheduling.engine.state import DONE, NOTHING, State
from forestall.scheduling.rules.nodes.machine_kernels import RUNNING

LEAST = 64
"""Jobs that there is room for at least."""


def without_ended(state: State, jobs: int) -> tuple[State, npt.NDArray[np.int64]]:
    """Return a state without those of its first `jobs` jobs that have ended, and the old position
    of each that is left, ascending. The arrays of the old state must not be used any more."""
    left = np.flatnonzero(state.jobs["status"][:jobs] != DONE)
    place = np.full(jobs, -1, dtype=np.int64)
    place[left] = np.arange(len(left))
    shorter = records(max(len(left), LEAST), state.jobs.dtype)
    shorter[: len(left)] = state.jobs[left]
    running = state.machine.running[: state.machine.at[RUNNING]]
    running[:] = place[running]
    state.task["kind"], state.task["job"] = NOTHING, -1
    return state._replace(jobs=shorter), left
