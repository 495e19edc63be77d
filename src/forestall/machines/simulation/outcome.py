"""What a run of virtual machines leaves behind, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.machines.simulation.parameters import VirtualParameters

Int = npt.NDArray[np.int64]


FATE: Final = record_of("start finish done late dropped")
"""What became of a job: first start of a task and last end of one, s (-1: dropped); tasks completed
by the deadline, and after it; whether it was dropped waiting."""


@dataclass(frozen=True)
class VirtualWorkload:
    """Jobs as they will be simulated.

    Attributes
    ----------
    jobs : in submit order; `size` is the number of tasks, `runtime` at the full rate, s
    deadline : int64[n], s
    work : int64[n], of each task of a job, thousandths of a processor-second
    cleaning : what was left out
    """

    jobs: Jobs
    deadline: Int
    work: Int
    cleaning: Cleaning


@dataclass(frozen=True)
class TaskLog:
    """What the engine was told and decided, for `events.csv` and `decisions.csv`; empty unless
    asked for. The dtypes are those of `forestall.machines.engine.state`."""

    events: npt.NDArray[Any]
    decisions: npt.NDArray[Any]


@dataclass(frozen=True)
class VirtualOutcome:
    """What happened.

    Attributes
    ----------
    workload, failures, predictions, parameters : what was simulated
    jobs : FATE[n]
    runs : RUN[m] in order of their ends (those of one second as they came)
    moves : MOVE[k] in order of their beginning
    struck : STRUCK[f], the failures that happened while there were jobs
    log : events and decisions, empty unless asked for
    events : number of events
    end : the last second in which something happened to a job
    """

    workload: VirtualWorkload
    failures: Failures
    predictions: Predictions
    parameters: VirtualParameters
    jobs: npt.NDArray[Any]
    runs: npt.NDArray[Any]
    moves: npt.NDArray[Any]
    struck: npt.NDArray[Any]
    log: TaskLog
    events: int
    end: int
