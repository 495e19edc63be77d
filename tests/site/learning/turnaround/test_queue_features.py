"""What is known of a job and its queue at submission, against a plain account of all events."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core._compile import INTERPRETED
from forestall.core.model.arrays import Floats
from forestall.core.model.coded import Coded
from forestall.site.learning.turnaround import book_state as kinds
from forestall.site.learning.turnaround.queue_features import (
    FEATURES,
    ROOM,
    QueueWatch,
    Rows,
    queue_features,
)
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from reference.made_jobs import some_jobs
from reference.plain_queue import PlainJob, PlainQueue

GAPS = (0, 0, 1, 40, 700, 2500, 9000)
AFTER_WAIT = (kinds.START, kinds.START, kinds.START, kinds.CANCEL)
AFTER_RUN = (
    kinds.END, kinds.END, kinds.END, kinds.CANCEL, kinds.FAIL, kinds.REQUEUE, kinds.LOSE,
    kinds.STOP,
)  # fmt: skip


def coded(numbers: list[int], letter: str) -> Coded:
    """Return words made of numbers; -1 says nothing."""
    words = tuple(f"{letter}{'abcdefghij'[k]}" for k in range(10))
    return Coded(np.array(numbers, np.int32), words)


def made(steps: list[int]) -> Tasks:
    """Return jobs and events made of numbers: what is done next to which job, and when."""
    now, open_jobs, jobs, events = 100, {}, [], []
    for step in steps:
        rng = np.random.default_rng(step)
        now += int(rng.choice(GAPS))
        if rng.random() < 0.45 or not open_jobs:
            jobs.append(
                (now, int(rng.choice([0, 60, 600, 9000])), int(rng.choice([1, 2, 9, 33])),
                 *rng.integers(-1, 3, 3).tolist())
            )  # fmt: skip
            open_jobs[len(jobs) - 1] = "waits"
            events.append((now, kinds.SUBMIT, len(jobs) - 1))
            continue
        k = int(rng.choice([*open_jobs]))
        kind = int(rng.choice(AFTER_WAIT if open_jobs[k] == "waits" else AFTER_RUN))
        events.append((now, kind, k))
        if kind == kinds.START:
            open_jobs[k] = "runs"
        elif kind in (kinds.FAIL, kinds.REQUEUE):
            open_jobs[k] = "waits"
        else:
            del open_jobs[k]
    columns = [list(column) for column in zip(*jobs, strict=True)]
    submit, limit, size = (np.array(column, np.int64) for column in columns[:3])
    none = np.zeros(len(jobs), np.int64)
    return Tasks(
        none, submit, limit, size,
        coded(columns[3], "u"), coded(columns[4], "n"), coded(columns[5], "p"),
        none, none, none, none, none, np.array(events, np.int64).T.copy(),
    )  # fmt: skip


def words(column: Coded) -> list[str]:
    """Return the words, empty where nothing is said."""
    return [column.words[k] if k >= 0 else "" for k in column.code.tolist()]


def told(tasks: Tasks) -> list[dict[str, Any]]:
    """Return what each job says of itself."""
    columns = (tasks.size.tolist(), tasks.limit.tolist())
    named = (words(tasks.user), words(tasks.name), words(tasks.part))
    names = ("size", "limit", "user", "name", "partition")
    return [dict(zip(names, one, strict=True)) for one in zip(*columns, *named, strict=True)]


def plainly(tasks: Tasks, first: int = 0) -> Floats:
    """Return the features of all jobs from this one on by the plain account."""
    queue, given, rows = PlainQueue(), told(tasks), {}
    jobs: dict[int, PlainJob] = {}
    for now, kind, k in tasks.events.T.tolist():
        if kind == kinds.SUBMIT:
            one = given[k]
            jobs[k] = PlainJob(
                one["size"], one["limit"], one["user"], one["name"], one["partition"], now,
                len(jobs),
            )  # fmt: skip
            rows[k] = queue.submit(jobs[k], told=k >= first)
        else:
            queue.happen(kind, jobs[k], now)
    return np.array([rows[k] for k in range(first, len(tasks))], np.float64)


def online(tasks: Tasks) -> tuple[Rows, QueueWatch]:
    """Return all features, told one event at a time, and the watch at the end."""
    watch, given = QueueWatch(), told(tasks)
    out = np.full((len(tasks), len(FEATURES)), np.nan, np.float32)
    for now, kind, k in tasks.events.T.tolist():
        if kind == kinds.SUBMIT:
            asked = watch.ask(now, **given[k])
            out[k] = watch.submit(k, now, **given[k])
            assert asked.tobytes() == out[k].tobytes(), "asking enters nothing"
        else:
            watch.happen(kind, k, now)
    return out, watch


def check(found: Rows, expected: Floats) -> None:
    """Compare, and name what differs."""
    close = np.isclose(found, expected, rtol=2e-5, atol=2e-4, equal_nan=True)
    off = [
        (FEATURES[f].name, int(k), float(found[k, f]), float(expected[k, f]))
        for k, f in zip(*np.nonzero(~close), strict=True)
    ]
    assert off == []


logs = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=80)


@settings(deadline=None, max_examples=60)
@given(logs)
def test_as_the_plain_account_has_them(steps: list[int]) -> None:
    tasks = made(steps)
    found = queue_features(tasks)
    check(found, plainly(tasks))
    assert online(tasks)[0].tobytes() == found.tobytes()


def test_a_longer_record() -> None:
    tasks = made(list(range(600)))
    found, expected = queue_features(tasks), plainly(tasks)
    check(found, expected)
    told_of = np.isfinite(expected).mean(axis=0)
    assert (told_of > 0.03).all(), "every feature is tried"
    assert (np.nanstd(expected, axis=0) > 0).all()


def test_made_jobs_as_accounts_tell_them() -> None:
    tasks = tasks_of(some_jobs(150, 3))
    found = queue_features(tasks)
    check(found, plainly(tasks))
    assert online(tasks)[0].tobytes() == found.tobytes()


@settings(deadline=None, max_examples=40)
@given(logs, logs, st.floats(0, 1))
def test_nothing_of_the_future_enters(steps: list[int], others: list[int], at: float) -> None:
    known = steps[: max(1, int(at * len(steps)))]
    one, other = made(steps), made(known + others)
    count = made(known).events.shape[1]
    assert (one.events[:, :count] == other.events[:, :count]).all()
    jobs = int((one.events[1, :count] == kinds.SUBMIT).sum())
    assert queue_features(one)[:jobs].tobytes() == queue_features(other)[:jobs].tobytes()
    # What a record says of later starts and ends is not looked at.
    spoilt = replace(one, started=one.started + 7, finish=one.finish + 9, ran=one.ran + 3)
    assert queue_features(spoilt).tobytes() == queue_features(one).tobytes()


def crowd(count: int, *, running: int = 3) -> Tasks:
    """Return jobs of which some run for hours while all the others wait."""
    rng = np.random.default_rng(count)
    submit = np.sort(rng.integers(10, 20_000, count))
    submit[:running] = 0
    order = [(0, kinds.SUBMIT, k) for k in range(running)]
    order += [(1, kinds.START, k) for k in range(running)]
    order += [(int(submit[k]), kinds.SUBMIT, k) for k in range(running, count)]
    none = np.zeros(count, np.int64)
    users = rng.integers(-1, 5, count).tolist()
    return Tasks(
        none, submit, rng.choice([600, 3600, 90_000], count), rng.choice([1, 3, 8], count),
        coded(users, "u"), coded(users, "n"), coded(users, "p"),
        none, none, none, none, none, np.array(order, np.int64).T.copy(),
    )  # fmt: skip


def test_of_a_long_queue_only_the_first_are_placed() -> None:
    tasks = crowd(190)
    found = queue_features(tasks)
    check(found[-4:], plainly(tasks, len(tasks) - 4))
    assert np.isfinite(found[-1, -4:]).all()
    assert online(tasks)[0].tobytes() == found.tobytes()


def test_memory_grows_with_what_is_open() -> None:
    watch = QueueWatch()
    for k in range(5000):
        watch.submit(k, 10 * k, size=1 + k % 7, limit=600, user=f"u{k % 5}", name=f"job{k}")
        watch.happen(kinds.START, k, 10 * k + 1)
        if k >= 20:
            watch.happen(kinds.END, k - 20, 10 * k + 2)
    assert len(watch._slots) == 20
    assert len(watch._queue.jobs) == ROOM + 1
    assert [len(table) for table in watch._queue[2:7]] == [ROOM] * 5
    assert sum(map(len, watch._known)) < 60
    grown = online(crowd(300))[1]
    assert 300 < len(grown._queue.jobs) <= 2 * 300 + 2


def test_events_of_jobs_that_are_not_there() -> None:
    watch = QueueWatch()
    watch.happen(kinds.START, "unknown", 5)
    before = watch.submit("a", 10, size=2)
    watch.happen(kinds.CANCEL, "a", 11)
    watch.happen(kinds.END, "a", 12)
    assert watch.ask(10, size=2)[26] == before[26] == 0  # nothing waits


def test_features_are_told_of_once() -> None:
    names = [one.name for one in FEATURES]
    assert len(set(names)) == len(names)
    assert all(one.unit and one.meaning for one in FEATURES)
    assert queue_features(made([1])).shape == (1, len(FEATURES))


@pytest.mark.skipif(INTERPRETED, reason="times compiled code")
def test_thousands_that_wait() -> None:
    tasks = crowd(5000, running=500)
    queue_features(crowd(50))
    begun = time.process_time()
    queue_features(tasks)
    assert time.process_time() - begun < 5000 * 1e-3, "1 ms a job at most; usually 0.1"
