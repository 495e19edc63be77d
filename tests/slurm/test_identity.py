"""Which rows are of one job."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.identity import Identity, Runs, identify

Row = tuple[int, int, int, int, str, str, str]


def row(
    job: int, submit: int, start: int, end: int, state: str = "COMPLETED",
    user: str = "u", name: str = "n",
) -> Row:  # fmt: skip
    """Return a row."""
    return job, submit, start, end, state, user, name


def of(*rows: Row) -> Identity:
    """Return who is who among some rows."""
    job, submit, start, end, state, user, name = zip(*rows, strict=True)
    account = np.zeros(len(rows), dtype=np.int32)
    return identify(
        Runs(
            *(np.array(column, dtype=np.int64) for column in (job, submit, start, end)),
            Coded.of(user).code,
            account,
            Coded.of(name).code,
            Coded.of(state),
        )
    )


def jobs(found: Identity) -> list[tuple[int, int, int]]:
    """Return (row, job's number, attempt) in order."""
    columns = (found.order, found.which, found.attempt)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_order_and_numbers() -> None:
    """By submit, then id; jobs are numbered as they come."""
    found = of(row(9, 20, 30, 40), row(5, 10, 11, 12), row(4, 20, 30, 40))
    assert jobs(found) == [(1, 0, 0), (2, 1, 0), (0, 2, 0)]
    assert not len(found.repeated) + len(found.older) + len(found.reset)


@pytest.mark.parametrize("state", ["REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "NODE_FAIL+"])
def test_a_job_that_was_queued_again(state: str) -> None:
    """The next run was submitted when the one before it ended; others come in between."""
    found = of(row(1, 50, 60, 70), row(1, 10, 20, 50, state), row(2, 30, 31, 32))
    assert jobs(found) == [(1, 0, 0), (2, 1, 0), (0, 0, 1)]
    assert len(found.reset) == 0


def test_many_runs_of_one_job() -> None:
    rows = [row(7, k * 10, k * 10 + 2, k * 10 + 10, "PREEMPTED") for k in range(5)]
    others = [row(k, k, k + 1, k + 2) for k in (3, 17, 33)]
    found = of(*rows, *others)
    assert found.attempt[np.isin(found.order, range(5))].tolist() == [0, 1, 2, 3, 4]
    assert set(found.which[np.isin(found.order, range(5))].tolist()) == {0}
    assert sorted(set(found.which.tolist())) == [0, 1, 2, 3]


def test_a_run_that_was_held_after_its_requeue() -> None:
    """Its next run may still wait."""
    found = of(row(1, 10, 20, 50, "REQUEUED"), row(1, 50, NEVER, NEVER, "PENDING"))
    assert jobs(found) == [(0, 0, 0), (1, 0, 1)]


def test_a_state_that_slurm_does_not_requeue_from() -> None:
    """With the next submit at the very end the job is the same; later it is another one."""
    assert jobs(of(row(1, 10, 20, 50, "FAILED"), row(1, 50, 60, 70)))[1] == (1, 0, 1)
    found = of(row(1, 10, 20, 50, "FAILED"), row(1, 500, 600, 700))
    assert jobs(found) == [(0, 0, 0), (1, 1, 0)]
    assert found.reset.tolist() == [1]


def test_ids_that_came_again() -> None:
    """After a reset of the database, even at the end of a run that Slurm queues again."""
    found = of(row(1, 10, 20, 50, "NODE_FAIL"), row(1, 9000, 9001, 9002, user="v"),
               row(2, 11, 12, 13), row(2, 9001, 9002, 9003))  # fmt: skip
    assert found.which.tolist() == [0, 1, 2, 3]
    assert found.reset.tolist() == [1, 2]
    # A run that was not over when the next was submitted is of another job.
    found = of(row(1, 10, 20, 900, "NODE_FAIL"), row(1, 50, 60, 70))
    assert found.reset.tolist() == [1]
    assert of(row(1, 10, 20, NEVER, "RUNNING"), row(1, 50, 60, 70)).reset.tolist() == [1]


def test_a_job_renamed_between_its_runs() -> None:
    found = of(row(1, 10, 20, 50, "REQUEUED"), row(1, 50, 60, 70, name="other"))
    assert found.which.tolist() == [0, 0]


def test_rows_that_repeat_others() -> None:
    """From calls that overlap: one is kept, the first of them."""
    found = of(row(1, 10, 20, 50), row(2, 10, 20, 50), row(1, 10, 20, 50), row(1, 10, 20, 50))
    assert found.order.tolist() == [0, 1]
    assert sorted(found.repeated.tolist()) == [2, 3]
    assert len(found.older) == 0


def test_readings_before_a_run_was_over() -> None:
    """The one that went furthest is kept, whichever came first."""
    waiting = row(1, 10, NEVER, NEVER, "PENDING")
    going = row(1, 10, 20, NEVER, "RUNNING")
    over = row(1, 10, 20, 50)
    found = of(going, over, waiting, over)
    assert found.order.tolist() == [1]
    assert found.repeated.tolist() == [3]
    assert sorted(found.older.tolist()) == [0, 2]
    assert of(waiting, going).order.tolist() == [1]


def test_none_and_ids_of_any_size() -> None:
    empty = np.empty(0, dtype=np.int64)
    none = identify(Runs(empty, empty, empty, empty, *(empty.astype(np.int32),) * 3, Coded.of([])))
    assert len(none.order) == 0
    found = of(row(2**60, 5, 6, 7), row(1, 5, 6, 7), row(3, 2, 3, 4), row(4, 2**35, 2**35, 2**36))
    assert found.order.tolist() == [2, 1, 0, 3]


def slowly(rows: list[Row]) -> list[tuple[int, int, int]]:
    """Return (row, job's number, attempt), found one by one."""
    best: dict[tuple[int, int], int] = {}
    for k, (job, submit, start, end, *_) in enumerate(rows):
        key = submit, job
        old = best.get(key)
        mark = (end if end < NEVER else -1, start if start < NEVER else -1)
        if old is None:
            best[key] = k
        else:
            there = (rows[old][3] if rows[old][3] < NEVER else -1,
                     rows[old][2] if rows[old][2] < NEVER else -1)  # fmt: skip
            if mark > there:
                best[key] = k
    order = [best[key] for key in sorted(best)]
    last: dict[int, int] = {}
    number: dict[int, tuple[int, int]] = {}
    jobs_found = 0
    for k in order:
        job, submit, *_, user, name = rows[k]
        before = last.get(job)
        joined = False
        if before is not None:
            end, state, other, called = rows[before][3:]
            over = end < NEVER and end <= submit + 5
            once = over and abs(submit - end) <= 5
            queued = state in ("REQUEUED", "NODE_FAIL")
            alike = other == user and called == name
            joined = over and ((alike and (queued or once)) or (other == user and queued and once))
        if joined and before is not None:
            which, attempt = number[before]
            number[k] = which, attempt + 1
        else:
            number[k] = jobs_found, 0
            jobs_found += 1
        last[job] = k
    return [(k, *number[k]) for k in order]


ROWS = st.lists(
    st.tuples(
        st.integers(1, 4), st.integers(0, 30), st.sampled_from([0, 5, NEVER]),
        st.sampled_from([0, 1, 8, 20]), st.sampled_from(["REQUEUED", "NODE_FAIL", "COMPLETED"]),
        st.sampled_from("uv"), st.sampled_from("nm"),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@given(ROWS)
def test_against_one_by_one(given_rows: list[Row]) -> None:
    rows = [
        (job, submit, NEVER if start == NEVER else submit + start, submit + start + length
         if start < NEVER else submit + length, state, user, name)
        for job, submit, start, length, state, user, name in given_rows
    ]  # fmt: skip
    found = of(*rows)
    assert jobs(found) == slowly(rows)
    left = {*found.order.tolist(), *found.repeated.tolist(), *found.older.tolist()}
    assert left == set(range(len(rows)))
    assert len(found.order) + len(found.repeated) + len(found.older) == len(rows)
