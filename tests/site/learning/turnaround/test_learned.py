"""Learned quantiles: nothing of the future is in them, and they are the same on any workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.book_state import POINTS
from forestall.site.learning.turnaround.learned import (
    LEVELS,
    LearnedQuantiles,
    law_points,
    learn_quantiles,
    windows,
)
from forestall.site.learning.turnaround.replay import mixed_levels, replay
from forestall.site.learning.turnaround.targets import turnarounds
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from reference.made_jobs import some_jobs


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return tasks_of(some_jobs(2200, 5))


def learn(tasks: Tasks, **how: Any) -> LearnedQuantiles:
    return learn_quantiles(tasks, replay(tasks, None, None, shown=LEVELS).book.alike, 1, **how)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests early and small, so that several are fitted."""
    monkeypatch.setattr(learned, "DELAY", 20)
    monkeypatch.setattr(learned, "FIRST", 200)
    monkeypatch.setattr(learned, "AFTER", 300)
    monkeypatch.setattr(learned, "TREES", replace(learned.TREES, trees=20, rate=0.2))


def test_the_same_on_any_number_of_workers(tasks: Tasks) -> None:
    one = learn(tasks)
    with ThreadPoolExecutor(2) as pool:
        two = learn(tasks, each=pool.map)
    assert one.fits >= 3
    for name in ("alike", "forest", "mixed", "corrected", "shares"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    assert (np.diff(one.mixed, axis=1) >= -1e-4).all()
    assert np.isnan(one.forest[:200]).all()
    assert not np.isnan(one.forest[-200:]).any()


def test_nothing_of_the_future_is_in_them(tasks: Tasks) -> None:
    """What comes after a job's submission is changed: the job's quantiles are the same."""
    at = 1500
    moment = int(tasks.submit[at])
    keep = tasks.events[0] <= moment
    longer = np.where(tasks.finish > moment, tasks.finish + 40_000, tasks.finish)
    late = ~keep & (tasks.events[1] >= 2)
    events = tasks.events.copy()
    events[0, late] += 40_000
    order = np.lexsort((np.arange(events.shape[1]), events[0]))
    other = replace(
        tasks, finish=np.where(tasks.finish < NEVER, longer, tasks.finish), events=events[:, order]
    )
    before, after = learn(tasks), learn(other)
    assert before.mixed[:at].tobytes() == after.mixed[:at].tobytes()
    assert before.corrected[:at].tobytes() == after.corrected[:at].tobytes()


def test_windows_grow_with_what_has_ended() -> None:
    submit = np.arange(5000)
    spans = list(windows(submit, submit + 10))
    # Fitted when 200 had ended, used when 20 more have.
    assert spans[0] == (0, 200, 230, 530)
    assert spans[-1][3] == 5000
    assert all(a[3] == b[2] and a[:2] < b[:2] for a, b in pairwise(spans))


def test_of_forests_that_come_in_a_burst_the_last_is_used() -> None:
    finish = np.sort(np.concatenate((np.full(1300, 50), np.arange(100, 400))))
    spans = list(windows(np.arange(0, 500, 10), finish))
    assert [one[:2] for one in spans] == [(3, 1100), (4, 1400)]
    assert spans[0][2] == 6  # the first submission after the burst


def test_what_ends_in_the_second_of_a_submission_is_not_known_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learned, "FIRST", 1)
    monkeypatch.setattr(learned, "DELAY", 1)
    spans = windows(np.array([5, 10, 10, 11]), np.array([10, 10]))
    assert next(spans) == (0, 1, 3, 4)


def test_points_of_a_law_are_its_quantiles() -> None:
    logs = np.log1p(np.array([[1000.0 * level for level in LEVELS]]))
    points = law_points(logs)[0]
    assert len(points) == POINTS
    middles = (np.arange(POINTS) + 0.5) / POINTS
    # Straight in logarithms between levels: a little below what is straight in seconds.
    np.testing.assert_allclose(points, 1000 * middles, rtol=0.1)
    np.testing.assert_allclose(points[5:], 1000 * middles[5:], rtol=0.011)


def test_a_book_takes_them(tasks: Tasks) -> None:
    """What is told is promised: with a law that is right, deadlines are those of the law."""
    found = learn(tasks)
    told, levels = found.told(), mixed_levels(len(tasks), 0.2)
    with_law = replay(tasks, levels, None, {"warm": 100.0}, told=told, shown=(0.5, 0.9))
    without = replay(tasks, levels, None, {"warm": 100.0})
    other = with_law.book.promises["deadline"] != without.book.promises["deadline"]
    assert other[0::2].mean() > 0.5
    assert (np.diff(with_law.book.offered[-500:].mean(axis=0)) > 0).all()
    nobody = np.full_like(told, -1.0)
    same = replay(tasks, levels, None, {"warm": 100.0}, told=nobody)
    assert same.book.promises.tobytes() == without.book.promises.tobytes()


def test_turnarounds_are_of_jobs_that_ended_by_themselves(tasks: Tasks) -> None:
    values, known = turnarounds(tasks)
    took = np.expm1(values[known])
    np.testing.assert_allclose(took, (tasks.finish - tasks.submit)[known], rtol=1e-9)
