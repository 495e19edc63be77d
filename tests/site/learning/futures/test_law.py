"""Run times drawn given how long jobs have run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.site.learning.futures.law import (
    ENOUGH,
    LATEST,
    OVERTIME,
    JobsAsked,
    RunLaw,
    stratified,
)


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def law_of(runs: list[int], limit: int = 1000, user: int = 1, size: int = 1) -> RunLaw:
    n = len(runs)
    return RunLaw.of(np.full(n, user), np.full(n, size), np.full(n, limit), np.array(runs))


def asked(elapsed: int = 0, limit: int = 1000, user: int = 1, job: int = 7) -> JobsAsked:
    return JobsAsked(column(job), column(user), column(1), column(limit), column(elapsed))


def test_draws_follow_the_past_of_like_jobs() -> None:
    law = law_of(list(range(100, 200)))
    run = np.sort(law.draw(asked(), 400, seed=1)[:, 0])
    assert run[200] == pytest.approx(150, abs=2)
    assert np.mean((run >= 100) & (run < 200)) == pytest.approx(99 / 101, abs=0.01)


def test_draws_are_conditional_on_what_ran() -> None:
    law = law_of(list(range(100, 200)))
    run = law.draw(asked(elapsed=150), 200, seed=1)[:, 0]
    assert run.min() > 150
    assert np.median(run) == pytest.approx(175, abs=2)


def test_beyond_the_largest_seen_it_goes_up_to_the_limit() -> None:
    law = law_of([100] * 20)
    run = law.draw(asked(elapsed=600), 1000, seed=1)[:, 0]
    assert run.min() > 600
    assert run.max() <= 1000
    assert np.median(run) == pytest.approx(800, abs=2)


def test_narrow_classes_first_and_all_jobs_last() -> None:
    users, sizes = column(*[1] * 20, *[2] * 20), column(*[1] * 10, *[64] * 10, *[1] * 20)
    limits, runs = np.full(40, 100), column(*[10] * 10, *[20] * 10, *[90] * 20)
    law = RunLaw.of(users, sizes, limits, runs)
    assert law.above(1, 1, 100, 0)[1] == "the user's jobs of this size and limit"
    assert law.above(1, 8, 100, 0)[1] == "the user's jobs with this limit"
    assert law.above(1, 8, 50, 0)[1] == "the user's jobs"
    assert law.above(3, 8, 50, 0)[1] == "all jobs"
    # Of the user's own too few are left that ran longer.
    assert law.above(1, 1, 100, 50)[1] == "all jobs"


def test_only_the_latest_count() -> None:
    law = law_of([900] * 50 + [100] * LATEST)
    assert law.above(1, 1, 1000, 0)[0].max() == 0.1


def test_a_job_past_its_limit_ends_soon() -> None:
    run = law_of([100] * 20).draw(asked(elapsed=1200), 50, seed=1)[:, 0]
    assert run.min() > 1200
    assert run.max() <= 1200 + OVERTIME


@given(st.integers(1, 300), st.integers(0, 999), st.integers(0, 20))
def test_always_longer_than_what_ran_and_within_the_limit(k: int, ran: int, known: int) -> None:
    law = law_of(list(range(50, 50 + 37 * known, 37)))
    run = law.draw(asked(elapsed=ran), k, seed=3)[:, 0]
    assert run.min() > ran
    assert run.max() <= 1000


def test_numbers_are_stratified_and_a_jobs_own() -> None:
    numbers = stratified(64, 1, 5, 0)
    assert sorted((numbers * 64).astype(int).tolist()) == list(range(64))
    assert stratified(64, 1, 5, 0).tolist() == numbers.tolist()
    assert stratified(64, 1, 5, 1).tolist() != numbers.tolist()
    law = law_of(list(range(100, 200)))
    alone = law.draw(asked(job=7), 16, seed=1)[:, 0]
    two = JobsAsked(column(3, 7), column(1, 1), column(1, 1), column(1000, 1000), column(0, 0))
    assert law.draw(two, 16, seed=1)[:, 1].tolist() == alone.tolist()


def test_no_futures_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        law_of([1] * ENOUGH).draw(asked(), 0, seed=1)
