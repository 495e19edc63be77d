"""Cells of the table of runs, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from studies.kit.means import Chosen
from studies.virtual.study import LOAD, MADE, SYNTHETIC

JOBS, TASKS, WORK = "job_completion", "task_completion", "work_completion"
"""What is compared: jobs and tasks completed in time, and the work of those tasks."""

WORDS: Final = {JOBS: "jobs", TASKS: "tasks", WORK: "work"}
MEASURES: Final = tuple(WORDS)


@dataclass(frozen=True)
class Cell(Chosen):
    """What names the runs of a cell: all seeds of one case. The fields are those of `Case`."""

    strategy: str
    accuracy: float = -1.0
    rate: float = 1.0
    load: float = LOAD
    study: str = "grid"
    failures: str = MADE
    predictor: str = SYNTHETIC
    slack: float = 2.0
    misses: float = 0.0
    cost: int = 12
    error: str = "early"
    width: float = 1.0
