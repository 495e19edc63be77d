"""QBETS on turnarounds: bounds ascend, and are kept about as often as they say."""

from __future__ import annotations

import numpy as np

from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround.tasks import tasks_of
from forestall.site.learning.waits.turnarounds import bounds_of_turnarounds
from reference.made_jobs import some_jobs


def test_bounds_ascend_and_cover() -> None:
    tasks = tasks_of(some_jobs(2500, 7))
    done = tasks.finish < NEVER
    levels = (0.25, 0.5, 0.75, 0.9)
    found = bounds_of_turnarounds(tasks, levels, int(tasks.finish[done].max()) + 1)
    told = ~np.isnan(found[:, 0])
    assert told.mean() > 0.5
    assert (np.diff(found[told], axis=1) >= 0).all()
    scored = told & done & (np.arange(len(tasks)) > 500)
    kept = ((tasks.finish - tasks.submit)[scored, None] <= found[scored]).mean(axis=0)
    assert (np.abs(kept - np.array(levels)) < 0.2).all()
