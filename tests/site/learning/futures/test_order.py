"""The order learned from past starts, against pasts whose order is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.prediction.models.foreseen_kernels import FAR
from forestall.site.learning.futures.order import FEWEST, PastQueue, choices, fitted


def a_past(rng: np.random.Generator, jobs: int, first: str) -> PastQueue:
    """One job runs at a time, on all of eight nodes; of those that wait `first` goes first."""
    submit = np.sort(rng.integers(0, 400 * jobs, jobs))
    size, user = np.full(jobs, 8), rng.integers(0, 5, jobs)
    limit, run = rng.integers(600, 12_000, jobs), rng.integers(100, 900, jobs)
    start, end, now = np.full(jobs, int(FAR)), np.full(jobs, int(FAR)), 0
    waiting = set(range(jobs))
    while waiting:
        ready = [j for j in waiting if submit[j] <= now]
        if not ready:
            now = int(min(submit[j] for j in waiting))
            continue
        key = {"old": submit, "short": limit}[first]
        j = min(ready, key=lambda j: (key[j], j))
        start[j], end[j] = now, now + run[j]
        now = int(end[j])
        waiting.remove(j)
    none = np.zeros(jobs, np.int64)
    return PastQueue(
        row=np.arange(jobs), submit=submit, ready=submit, start=start, end=end, size=size,
        limit=limit, user=user, partition=none, pool=none, nodes=(8,),
    )  # fmt: skip


@pytest.mark.parametrize("first", ["old", "short"])
def test_the_order_of_the_past_is_found(first: str) -> None:
    past = a_past(np.random.default_rng(0), 900, first)
    seen = choices(past, int(past.end.max()), 1)
    half = len(seen) // 2
    order = fitted(seen.take(slice(0, half)))
    assert order is not None
    later = seen.take(slice(half, None))
    by_age = later.right(later.features[:, :, 0])
    assert by_age > 0.95 if first == "old" else by_age < 0.5
    # Of hundreds that wait and are all long, the shortest is hard to tell by a straight line.
    assert later.right(order.score(later.features)) > (0.9 if first == "old" else 0.65)


def test_nothing_of_the_future_is_used() -> None:
    past = a_past(np.random.default_rng(1), 400, "short")
    now = int(np.median(past.start))
    known = replace(
        past,
        start=np.where(past.start <= now, past.start, FAR),
        end=np.where(past.end <= now, past.end, FAR),
    )
    rows = np.flatnonzero((past.submit <= now) & (past.start > now))
    orders = [fitted(choices(one, now, 1)) for one in (past, known)]
    ranks = [
        order.rank(one, now, rows).tolist()
        for order, one in zip(orders, (past, known), strict=True)
        if order is not None
    ]
    assert len(ranks) == 2
    assert ranks[0] == ranks[1]


def test_a_job_without_room_was_no_choice() -> None:
    past = a_past(np.random.default_rng(2), 200, "old")
    wide = replace(past, size=np.where(np.arange(200) % 2 == 0, 9, 8), nodes=(8,))
    seen = choices(wide, int(wide.end.max()), 1)
    size = seen.features[:, :, 2]
    wrong = seen.there & ~seen.began & (size > np.log(8.5))
    assert not bool(wrong.any())


def test_too_few_choices_teach_nothing() -> None:
    past = a_past(np.random.default_rng(3), 50, "old")
    seen = choices(past, int(past.end.max()), 1)
    assert len(seen) < FEWEST
    assert fitted(seen) is None
