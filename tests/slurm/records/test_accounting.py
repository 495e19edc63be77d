"""Runs of jobs: what follows from their columns."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import COLUMNS, UNKNOWN, Accounting
from slurm.records.accounting_cases import accounts


def account() -> Accounting:
    return accounts(
        [
            {"job": 7, "submit": 10, "eligible": 15, "start": 20, "end": 50, "nodes": 4},
            {"job": 8, "submit": 30, "start": 60, "end": NEVER, "nodes": 2, "state": "RUNNING"},
            {"job": 9, "submit": 40, "start": NEVER, "end": NEVER, "nodes": 0, "state": "PENDING"},
            {"job": 5, "submit": 41, "start": NEVER, "end": 44, "state": "CANCELLED by 7"},
            {"job": 6, "submit": 45, "start": 50, "end": 70, "suspended": 5, "nodes": -1},
        ],
        until=100,
    )


def test_columns_are_all_arrays_of_an_account() -> None:
    whole = account()
    assert len(COLUMNS) == 29
    for name in COLUMNS:
        assert len(getattr(whole, name)) == 5, name


def test_time_runs_from_start_to_end_or_to_the_end_of_the_records() -> None:
    whole = account()
    assert whole.elapsed.tolist() == [30, 40, 0, 0, 15]
    assert whole.ran.tolist() == [True, False, False, False, True]
    assert whole.running.tolist() == [False, True, False, False, False]
    assert whole.node_seconds.tolist() == [120, 80, 0, 0, 0]


def test_waits_count_from_when_a_job_could_start() -> None:
    assert account().wait.tolist() == [5, 30, UNKNOWN, UNKNOWN, 5]
    odd = accounts([{"submit": 10, "eligible": 99, "start": 20, "end": 30}])
    assert odd.wait.tolist() == [0]
    untold = accounts([{"submit": 10, "eligible": -1, "start": 25, "end": 30}])
    assert untold.wait.tolist() == [15]


def test_base_states_lose_what_stands_beside_them() -> None:
    assert account().base().counts() == {"COMPLETED": 2, "CANCELLED": 1, "PENDING": 1, "RUNNING": 1}


def test_runs_are_taken_with_all_their_columns() -> None:
    part = account().take(np.array([True, False, False, True, False]))
    assert part.job.tolist() == [7, 5]
    assert part.state.texts() == ["COMPLETED", "CANCELLED by 7"]
    assert part.until == 100


@pytest.mark.parametrize(
    "rows",
    [
        [{"start": 50, "end": 40}],
        [{"start": 50, "end": 40}, {"start": NEVER, "end": NEVER}],
    ],
)
def test_no_run_ends_before_it_starts(rows: list[dict[str, int]]) -> None:
    with pytest.raises(AssertionError, match="before it starts"):
        accounts(rows)


def test_columns_have_one_length() -> None:
    whole = account()
    columns = {name: getattr(whole, name) for name in COLUMNS} | {"user": Coded.untold(4)}
    with pytest.raises(AssertionError, match="unlike lengths"):
        Accounting(**columns, begin=0, until=100)
