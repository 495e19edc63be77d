"""Arrivals: what came at the same weekday and hour of recent weeks."""

from __future__ import annotations

import numpy as np

from forestall.prediction.models.foreseen_kernels import FAR
from forestall.site.learning.futures.arrivals import (
    BLOCK,
    DAY,
    HORIZON,
    WEEK,
    PastSubmissions,
    redrawn,
)


def a_past(submit: np.ndarray) -> PastSubmissions:
    count = len(submit)
    number = np.arange(count)
    return PastSubmissions(submit, number + 1, number + 100, number + 10, number % 2)


def test_every_job_comes_whole_weeks_later_and_whole() -> None:
    now = 10 * WEEK + 3 * DAY + 5000
    past = a_past(np.sort(np.random.default_rng(0).integers(0, now, 4000)))
    found = redrawn(past, 0, now, 40, 1)
    assert found is not None
    assert (found.period, found.most) == (WEEK, 8)
    there = found.submit < FAR
    rows = found.size[there] - 1
    back = found.submit[there] - past.submit[rows]
    assert bool(np.all((back % WEEK == 0) & (back > 0) & (back <= 8 * WEEK)))
    assert found.limit[there].tolist() == past.limit[rows].tolist()
    assert found.run[there].tolist() == past.run[rows].tolist()
    assert found.pool[there].tolist() == past.pool[rows].tolist()
    assert int(found.submit[there].min()) >= now
    assert int(found.submit[there].max()) < now + HORIZON


def test_futures_hold_as_many_as_came() -> None:
    """Of 40 futures each of 8 weeks gives 5: the mean is that of the weeks."""
    now = 9 * WEEK
    past = a_past(np.sort(np.random.default_rng(1).integers(0, now, 9000)))
    found = redrawn(past, 0, now, 40, 1)
    assert found is not None
    mean = float(np.mean(np.sum(found.submit < FAR, axis=1)))
    came = [np.sum((past.submit >= now - w * WEEK) & (past.submit < now - w * WEEK + HORIZON))
            for w in range(1, 9)]  # fmt: skip
    assert abs(mean - float(np.mean(came))) < 1e-9


def test_of_days_where_there_are_no_weeks() -> None:
    now = 3 * DAY
    past = a_past(np.arange(0, now, BLOCK // 4))
    found = redrawn(past, 0, now, 8, 1)
    assert found is not None
    assert (found.period, found.most) == (DAY, 3)
    there = found.submit < FAR
    assert bool(np.all((found.submit[there] - past.submit[found.size[there] - 1]) % DAY == 0))


def test_too_short_a_past_tells_nothing() -> None:
    assert redrawn(a_past(np.arange(100)), 0, DAY - 1, 8, 1) is None
