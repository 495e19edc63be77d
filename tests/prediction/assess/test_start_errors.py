"""Errors of start estimates: matched by hand, against plain loops, censored honestly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_cases import accounts
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess import start_errors as starts
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.start_estimates import StartEstimates


def estimates(rows: list[tuple[int, int, int, int]]) -> StartEstimates:
    """Return estimates of rows (asked, job, submit, foreseen)."""
    columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T
    return StartEstimates(columns[0], columns[1], columns[2], columns[3])


def found(rows: list[tuple[int, int, int, int]], records: Accounting) -> starts.StartErrors:
    return starts.start_errors(estimates(rows), records, np.random.default_rng(1))


def test_by_hand() -> None:
    records = accounts(
        [
            {"job": 1, "submit": 0, "start": 5000, "end": 6000},
            {"job": 2, "submit": 10, "end": 900, "state": "CANCELLED"},  # never started
            {"job": 3, "submit": 20, "state": "PENDING"},
            {"job": 4, "submit": 30, "start": 700, "end": 800},
        ],
        until=10_000,
    )
    told = found(
        [
            (100, 1, 0, 4000),  # 1000 s late, foreseen 3900 s ahead
            (200, 1, -1, 5030),  # on time
            (4990, 1, 0, 5500),  # 500 s early, foreseen 510 s ahead
            (100, 2, 10, 500),  # cancelled at 900: at least 400 s late
            (150, 2, 10, NEVER),  # withdrawn
            (100, 3, 20, 9000),  # waits still: at least 1000 s late
            (100, 4, 29, 700),  # no such submission
            (750, 4, 30, 760),  # runs already
            (100, 5, -1, 300),  # unknown
        ],
        records,
    )
    assert (told.asked, told.silent, told.unknown, told.begun) == (9, 1, 2, 1)
    assert (told.withdrawn, told.never, told.pending) == (1, 1, 1)
    every = told.every
    assert every is not None
    assert (every.estimates, every.jobs, every.waiting) == (5, 3, 2)
    assert sorted(told.matched.error.tolist()) == [-1000, -1000, -400, 30, 500]
    assert every.quantiles == (-1000, -1000, -400, 30, 500)
    # The cancelled job's -400 could be lower: so could all up to it.
    assert every.bounded == (True, True, True, False, False)
    assert (every.late.value, every.early.value) == (0.6, 0.2)
    assert {one.label: one.estimates for one in told.by_ahead} == {
        "under 10 min": 2, "1 to 6 h": 3,
    }  # fmt: skip
    assert {one.label: one.estimates for one in told.by_wait} == {
        "under 10 min": 1, "1 to 6 h": 2,
    }  # fmt: skip
    assert told.last is not None
    assert told.last.quantiles[2] == 500


def test_ids_that_come_again_and_requeued_jobs() -> None:
    records = accounts(
        [
            {"job": 1, "which": 0, "submit": 0, "start": 100, "end": 200},
            {"job": 1, "which": 0, "submit": 200, "start": 500, "end": 600, "attempt": 1},
            {"job": 1, "which": 1, "submit": 9000, "start": 9900, "end": 9950},
        ]
    )
    told = found([(50, 1, 0, 100), (250, 1, 200, 500), (9100, 1, 9000, 9200), (300, 1, -1, 400),
                  (500, 1, -1, 500), (501, 1, -1, 501)], records)  # fmt: skip
    assert told.matched.run.tolist() == [0, 1, 1, 1, 2, 2]
    assert told.unknown == told.begun == 0


def test_questions_after_the_end() -> None:
    records = accounts([{"job": 1, "submit": 0, "end": 90}, {"job": 2, "submit": 0}], until=100)
    told = found([(95, 1, 0, 99), (150, 2, 0, 160), (20, 2, 0, 30)], records)
    assert (told.begun, len(told.matched)) == (2, 1)


def test_named_when_one_sided() -> None:
    rows = [{"job": k, "submit": 0, "start": 10_000 + (900 if k % 9 else -900)}
            for k in range(1, 91)]  # fmt: skip
    records = accounts(rows, until=20_000)
    told = found([(10, k, 0, 10_000) for k in range(1, 91)], records)
    assert told.every is not None
    assert told.every.one_sided == "later than estimated"
    assert (told.every.late.value, told.every.early.value) == (pytest.approx(80 / 90), 10 / 90)
    just = found([(10, k, 0, 10_850) for k in range(1, 91)], records)
    assert just.every is not None
    assert just.every.one_sided == "earlier than estimated" or just.every.late.value == 0


@pytest.mark.parametrize("records", [accounts([]), accounts([{"job": 9, "submit": 4}])])
def test_nothing_to_match(records: Accounting) -> None:
    assert found([], records).every is None
    told = found([(5, 1, -1, 9)], records)
    assert (told.every, told.unknown, told.by_ahead, told.last) == (None, 1, (), None)


job = st.tuples(
    st.integers(1, 3), st.integers(0, 20), st.integers(0, 60) | st.none(), st.integers(0, 30)
)
asked = st.tuples(st.integers(0, 80), st.integers(1, 4), st.integers(-1, 20), st.integers(0, 90))


@given(jobs=st.lists(job, max_size=8), rows=st.lists(asked, max_size=12))
def test_next_runs_by_a_plain_loop(
    jobs: list[tuple[int, int, int | None, int]], rows: list[tuple[int, int, int, int]]
) -> None:
    records = accounts(
        [
            {"job": number, "submit": submit}
            | ({} if wait is None else {"start": submit + wait, "end": submit + wait + length})
            for number, submit, wait, length in jobs
        ],
        until=200,
    )
    questions = estimates(rows)
    run, known = starts.next_runs(questions, records)
    for k in range(len(questions)):
        like = [
            j
            for j in range(len(records))
            if records.job[j] == questions.job[k]
            and (questions.submit[k] < 0 or records.submit[j] == questions.submit[k])
        ]
        assert bool(known[k]) == bool(like)
        later = [int(records.start[j]) for j in like if records.start[j] >= questions.asked[k]]
        if later:
            assert run[k] in like
            assert records.start[run[k]] == min(later)
        else:
            assert run[k] == -1


@given(
    values=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=60),
    q=st.floats(0.01, 0.99),
)
def test_quantiles(values: list[int], q: float) -> None:
    told = starts.quantile(np.array(values), q)
    assert told in values
    assert sum(v <= told for v in values) >= q * len(values) - 1e-9
    assert sum(v < told for v in values) < q * len(values) + 1e-9


def test_the_interval_of_the_median() -> None:
    """Ten weeks of like errors: the interval holds the true median about as often as it says."""
    held = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        lateness = draw.normal(-500, 300, 400).astype(int)
        at = np.linspace(0, 70 * 86_400, 400).astype(int)
        records = accounts(
            [{"job": k, "submit": 0, "start": int(at[k] + 5000)} for k in range(400)],
            until=80 * 86_400,
        )
        rows = [(int(at[k]), k, 0, int(at[k] + 5000 + lateness[k])) for k in range(400)]
        told = starts.start_errors(estimates(rows), records, draw).every
        assert told is not None
        assert told.median.low <= told.median.value <= told.median.high
        assert told.median.high - told.median.low < 150
        held += told.median.low <= -500 <= told.median.high
    assert held >= 34
