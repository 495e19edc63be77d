"""Quantiles of turnarounds by the bounds that are made for waits: QBETS on whole turnarounds.

A yardstick: a job's turnaround is taken for a wait that ends when the job does, in the classes of
`classes` (partition, size, requested time), with the same order statistics and change points.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.site.learning.turnaround.book_state import END
from forestall.site.learning.turnaround.tasks import Tasks
from forestall.site.learning.waits.classes import classify
from forestall.site.learning.waits.online import BoundRule, WaitHistory, replay

CONFIDENCE: Final = 0.95


def bounds_of_turnarounds(tasks: Tasks, levels: tuple[float, ...], until: int) -> Floats:
    """Return upper bounds on the quantiles at `levels` of all jobs' turnarounds, s, float32[n, L],
    ascending; nan where no class of a job has ended jobs enough for all levels.

    until : when the records end, s
    """
    ended = tasks.ending == END
    left = np.maximum(tasks.finish, tasks.submit)
    history = WaitHistory.build(tasks.submit, left, ended, until)
    part = tasks.part.code.astype(np.int64)
    classes = classify(part[history.row], tasks.size[history.row], tasks.limit[history.row])
    out = np.full((len(tasks), len(levels)), np.nan, np.float32)
    for k, level in enumerate(levels):
        seconds = replay(history, classes, BoundRule(level, CONFIDENCE)).seconds
        out[history.row, k] = np.where(seconds >= 0, seconds, np.nan)
    out[np.isnan(out).any(axis=1)] = np.nan
    return np.asarray(np.maximum.accumulate(out, axis=1))
