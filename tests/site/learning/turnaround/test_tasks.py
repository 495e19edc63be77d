"""Jobs and events of an accounting."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround.book_state import (
    CANCEL,
    END,
    FAIL,
    LOSE,
    REQUEUE,
    START,
    STOP,
    SUBMIT,
)
from forestall.site.learning.turnaround.tasks import family, tasks_of
from forestall.slurm.records.accounting import UNLIMITED
from reference.made_jobs import some_jobs
from slurm.records.accounting_cases import accounts


def events(rows: list[dict[str, object]]) -> list[tuple[int, int, int]]:
    return [tuple(one) for one in tasks_of(accounts(rows)).events.T.tolist()]


def test_a_job_is_submitted_starts_and_ends() -> None:
    assert events([{"submit": 5, "start": 9, "end": 20}]) == [
        (5, SUBMIT, 0),
        (9, START, 0),
        (20, END, 0),
    ]


def test_all_in_one_second_keeps_its_order() -> None:
    rows = [{"submit": 5, "start": 5, "end": 5}, {"submit": 5, "start": 5, "end": 5}]
    kinds = [kind for _, kind, _ in events(rows)]
    assert kinds == [SUBMIT, SUBMIT, START, START, END, END]


def test_a_job_that_had_to_wait_for_another_is_asked_about_when_it_could_start() -> None:
    made = tasks_of(accounts([{"submit": 5, "eligible": 50, "start": 60, "end": 70}]))
    assert made.submit.tolist() == [50]
    # An eligible time after the start cannot be.
    made = tasks_of(accounts([{"submit": 5, "eligible": 80, "start": 60, "end": 70}]))
    assert made.submit.tolist() == [60]


def test_ends() -> None:
    for state, kind in (
        ("COMPLETED", END), ("FAILED", END), ("TIMEOUT", END), ("OUT_OF_MEMORY", END), ("", END),
        ("CANCELLED by 5", CANCEL), ("NODE_FAIL", LOSE), ("PREEMPTED", STOP), ("BOOT_FAIL", LOSE),
    ):  # fmt: skip
        assert events([{"end": 9, "state": state}])[-1] == (9, kind, 0), state
    assert events([{"end": NEVER, "state": "RUNNING"}])[-1] == (0, START, 0)
    assert events([{"end": 9, "state": "REQUEUED"}])[-1] == (9, REQUEUE, 0)


def test_a_job_cancelled_before_it_started() -> None:
    assert events([{"start": NEVER, "end": 9, "state": "CANCELLED"}]) == [
        (0, SUBMIT, 0),
        (9, CANCEL, 0),
    ]


def test_a_job_that_ended_by_itself_without_a_start_is_left_out() -> None:
    made = tasks_of(
        accounts(
            [{"start": NEVER, "end": 9, "state": "COMPLETED"}, {"submit": 3, "start": 4, "end": 8}]
        )
    )
    assert made.left_out == 1
    assert len(made) == 1
    assert made.which.tolist() == [1]


def test_runs_of_a_job_come_one_after_the_other() -> None:
    rows = [
        {"which": 0, "start": 10, "end": 50, "state": "NODE_FAIL"},
        {"which": 0, "attempt": 1, "start": 40, "end": 90},
    ]
    assert events(rows) == [
        (0, SUBMIT, 0),
        (10, START, 0),
        (50, FAIL, 0),
        (50, START, 0),
        (90, END, 0),
    ]
    made = tasks_of(accounts(rows))
    assert made.lost.tolist() == [1]
    assert made.ran.tolist() == [40]
    assert made.finish.tolist() == [90]


def test_what_is_known_at_submission() -> None:
    made = tasks_of(
        accounts(
            [
                {"submit": 0, "limit": UNLIMITED, "nodes": 0, "asked": 4, "name": "run7"},
                {"submit": 1, "limit": 60, "nodes": -1, "name": "run81"},
            ]
        )
    )
    assert made.limit.tolist() == [0, 60]
    assert made.size.tolist() == [4, 1]
    assert made.name.texts() == ["run#", "run#"]
    assert family("a1b22") == "a#b#"


def test_the_latest_jobs_only() -> None:
    whole, part = tasks_of(some_jobs(80, 1)), tasks_of(some_jobs(80, 1), 30)
    assert len(part) + part.left_out == 30
    assert part.which.tolist() == whole.which[-len(part) :].tolist()
    assert part.submit.tolist() == whole.submit[-len(part) :].tolist()


def test_no_jobs_at_all() -> None:
    made = tasks_of(accounts([]))
    assert len(made) == 0
    assert made.most_open == 0


@given(st.integers(0, 200))
def test_events_of_each_job_are_in_order(seed: int) -> None:
    made = tasks_of(some_jobs(25, seed))
    assert (np.diff(made.events[0]) >= 0).all()
    for k in range(len(made)):
        kinds = made.events[1, made.events[2] == k].tolist()
        assert kinds[0] == SUBMIT
        for before, after in pairwise(kinds):
            if after == START:
                assert before in (SUBMIT, FAIL, REQUEUE)
            elif after != CANCEL:
                assert before == START
        assert set(kinds[:-1]).isdisjoint({END, CANCEL, LOSE, STOP})
