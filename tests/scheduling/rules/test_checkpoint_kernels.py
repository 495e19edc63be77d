"""Reserved lengths and the answer to a checkpoint request, against their definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.scheduling.rules.checkpoint_kernels import (
    CHECKPOINT_ALL,
    CHECKPOINT_NONE,
    CHECKPOINT_RISK,
    PERFORM,
    SKIP_DEADLINE,
    SKIP_RISK,
    answer_request,
    requests,
    reservation_length,
)


@given(st.integers(1, 500), st.integers(1, 100), st.integers(0, 50))
def test_requests_are_the_whole_intervals_before_the_end(
    work: int, interval: int, cost: int
) -> None:
    count = sum(1 for progress in range(1, work) if progress % interval == 0)
    assert requests(work, interval) == count
    for policy in (CHECKPOINT_RISK, CHECKPOINT_ALL):
        assert reservation_length(work, interval, cost, policy) == work + count * cost
    assert reservation_length(work, interval, cost, CHECKPOINT_NONE) == work


@pytest.mark.parametrize(
    ("probability", "intervals", "left", "time", "deadline", "expected"),
    [
        # Equation 1 with I 10 and C 2: p d I >= C.
        (0.2, 1, 5, 0, 100, PERFORM),
        (0.19, 1, 5, 0, 100, SKIP_RISK),
        (0.1, 2, 5, 0, 100, PERFORM),
        (0.0, 9, 5, 0, 100, SKIP_RISK),
        # b + C + left > deadline >= b + left: with it the job is late, without it in time.
        (0.9, 1, 5, 10, 17, PERFORM),
        (0.9, 1, 5, 10, 16, SKIP_DEADLINE),
        (0.9, 1, 5, 10, 15, SKIP_DEADLINE),
        (0.9, 1, 5, 10, 14, PERFORM),  # late anyway
        (0.9, 1, 5, 10, -1, PERFORM),  # nothing was promised
    ],
)
def test_answers(
    probability: float, intervals: int, left: int, time: int, deadline: int, expected: int
) -> None:
    assert answer_request(probability, intervals, 10, 2, left, time, deadline) == expected


def test_free_checkpoints_are_always_worth_it() -> None:
    assert answer_request(0.0, 1, 10, 0, 5, 0, 100) == PERFORM
