"""Learned waits: job by job as in a batch, nothing of the future, coherent while jobs wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround import book_state as kinds
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.answer import WaitLaws
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.site.learning.turnaround.learned import LEVELS, LearnedQuantiles, learn_waits
from forestall.site.learning.turnaround.learner import TurnaroundLearner
from forestall.site.learning.turnaround.replay import replay
from forestall.site.learning.turnaround.targets import (
    ZERO,
    AskedAnswers,
    looks_of,
    wait_value,
    waits_of,
)
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from reference.made_jobs import some_jobs


@pytest.fixture(autouse=True, scope="module")
def _soon() -> Iterator[None]:
    """Forests early and small, so that several are fitted, on few jobs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST", 60), ("AFTER", 50), ("DELAY", 10), ("LATEST", 150)):
            patch.setattr(learned, name, value)
        patch.setattr(learned, "TREES", replace(learned.TREES, trees=8, rate=0.2))
        yield


def batch(tasks: Tasks) -> tuple[learned.Quantiles, AskedAnswers, LearnedQuantiles]:
    """Return what like jobs say, s, the answers, and what is learned of them."""
    waits = replay(tasks, None, None, shown=LEVELS).book.waits
    return waits, *learn_waits(tasks, waits, 1)


@pytest.mark.parametrize(("seed", "often"), [(1, 10_000), (2, 61), (9999, 237)])
def test_job_by_job_it_says_what_the_batch_says_also_restarted(seed: int, often: int) -> None:
    tasks = tasks_of(some_jobs(330, seed))
    waits, answers, expected = batch(tasks)
    assert expected.fits >= 2
    assert len(answers.job) > len(tasks) + 20
    users, names, parts = tasks.user.texts(), tasks.name.texts(), tasks.part.texts()
    learner, alike = TurnaroundLearner(waits=True), np.ones(len(LEVELS), np.float32)
    for at, (now, kind, k) in enumerate(tasks.events.T.tolist()):
        if at % often == often - 1:
            values, arrays = learner.state()
            copies = {name: array.copy() for name, array in arrays.items()}
            learner = TurnaroundLearner.from_state(json.loads(json.dumps(values)), copies)
        if kind != kinds.SUBMIT:
            learner.happen(kind, k, now)
            continue
        said = {"size": int(tasks.size[k]), "limit": int(tasks.limit[k]), "user": users[k]}
        said |= {"name": names[k], "partition": parts[k]}
        idle = learner.ask(now, alike, waits[k], **said).wait
        law = learner.submit(k, now, alike, waits[k], **said).wait
        assert law is not None
        assert idle is not None
        assert law.quantiles.tobytes() == expected.corrected[k].tobytes()
        assert (np.diff(idle.quantiles) >= 0).all()


def test_the_same_on_any_number_of_workers() -> None:
    tasks = tasks_of(some_jobs(400, 2))
    waits, _, one = batch(tasks)
    with ThreadPoolExecutor(2) as pool:
        two = learn_waits(tasks, waits, 1, each=pool.map)[1]
    for name in ("experts", "mixed", "corrected", "shares"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def later(tasks: Tasks, moment: int, by: int) -> Tasks:
    """Return the jobs with all that happened after a moment, but for submissions, so much later."""
    events = tasks.events.copy()
    late = (events[0] > moment) & (events[1] != kinds.SUBMIT)
    events[0, late] += by
    events = events[:, np.argsort(events[0], kind="stable")]

    def moved(when: np.ndarray) -> np.ndarray:
        return np.where((when > moment) & (when < NEVER), when + by, when)

    return replace(tasks, events=events, started=moved(tasks.started), finish=moved(tasks.finish))


def same_until_then() -> bool:
    """Return whether answers stay the same when what happens after them is changed."""
    tasks = tasks_of(some_jobs(700, 5))
    # When most jobs wait: these start after it.
    waiting = [
        int(((tasks.started > now) & (tasks.started < NEVER) & (tasks.submit <= now)).sum())
        for now in tasks.submit[300:600]
    ]
    moment = int(tasks.submit[300 + int(np.argmax(waiting))])
    assert max(waiting) > 10
    _, before, found = batch(tasks)
    _, after, other = batch(later(tasks, moment, 40_000))
    asked = zip(after.job.tolist(), after.asked.tolist(), strict=True)
    place = {one: row for row, one in enumerate(asked)}
    known = np.flatnonzero(before.asked <= moment)
    assert (before.age[known] > 0).sum() > 20
    rows = [place[int(before.job[k]), int(before.asked[k])] for k in known]
    return found.corrected[known].tobytes() == other.corrected[rows].tobytes()


def test_nothing_of_the_future_is_in_them() -> None:
    assert same_until_then()


def test_a_planted_feature_of_the_future_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = learned.waits_of

    def planted(tasks: Tasks, looks: np.ndarray) -> AskedAnswers:
        """Let the age of an answer tell when the job starts: ages are features of experts."""
        answers = true(tasks, looks)
        ahead = np.minimum(answers.known - answers.asked, 10**6)
        return replace(answers, age=np.where(answers.age > 0, answers.age + ahead, 0))

    monkeypatch.setattr(learned, "waits_of", planted)
    assert not same_until_then()


def test_a_shifted_clock_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = tasks_of(some_jobs(400, 2))
    answers = waits_of(tasks, looks_of(tasks))
    with pytest.raises(AssertionError, match="before it was asked"):
        replace(answers, known=answers.known - 10**6)
    true = learned.windows
    monkeypatch.setattr(learned, "windows", lambda asked, known: true(asked + 86_400, known))
    with pytest.raises(AssertionError, match="a label of the future"):
        batch(tasks)


def test_a_start_at_once_is_a_class_of_its_own() -> None:
    waits, jobs = np.array([0, 0, 0, 1, 59]), np.arange(5)
    values = wait_value(waits, jobs)
    assert ((values[:3] > -ZERO) & (values[:3] <= 0)).all()
    assert len(set(values[:3].tolist())) == 3
    np.testing.assert_allclose(np.expm1(values[3:]), [1, 59])
    law = np.interp(LEVELS, [0, 0.4, 0.4001, 1], [-1.0, 0.0, np.log(61), np.log(3601)])
    told = WaitLaws.of(law[None])
    assert told.chance_within(0)[0] == pytest.approx(0.4, abs=0.03)
    assert told.chance_within(3600)[0] == pytest.approx(1.0, abs=0.01)
    assert told.quantile(0.3)[0] == 0
    assert 60 < told.quantile(0.6)[0] < 3600
    low, high = (one[0] for one in told.interval(0.9))
    assert (low, high) == (0.0, told.quantile(0.9)[0])


def full(count: int = 260) -> CompletionBook:
    """Return a book of one machine on which jobs wait for one another."""
    book, free, ends = CompletionBook({"warm": 0.0}), 0, []
    rng = np.random.default_rng(4)
    for k in range(count):
        now = 100 * k
        for when, what, job in sorted(one for one in ends if one[0] < now):
            book.observe(what, job, when)
        ends = [one for one in ends if one[0] >= now]
        book.submit(k, now, nodes=2, limit=3600, user=f"u{k % 3}", name="step")
        begin = max(now, free)
        free = begin + int(rng.integers(20, 180))
        ends += [(begin, "start", k), (free, "end", k)]
    for when, what, job in sorted(ends)[:-7]:
        book.observe(what, job, when)
    return book


def test_a_job_that_waits_is_told_what_is_left() -> None:
    book = full()
    waiting = [job for job, runs in book.open_jobs().items() if not runs]
    assert len(waiting) >= 2
    job = waiting[-1]
    first = book.wait(job)
    assert first.jobs > 0
    assert (np.diff(first.law) >= 0).all()
    assert first.quantile(0.05) >= 0
    # Nothing happens to it by being asked, and nothing swings without news.
    assert book.wait(job).law.tobytes() == first.law.tobytes()
    assert abs(book.wait(job, book.now + 1).law - first.law).max() < 1.0
    runs = next(job for job, runs in book.open_jobs().items() if runs)
    with pytest.raises(ParameterError, match="a job that waits"):
        book.wait(runs)
    asked = book.ask_wait(book.now, nodes=2, limit=3600, user="u1", name="step")
    assert asked.quantile(0.9) >= asked.quantile(0.5) >= 0
    assert 0 <= asked.chance_within(60) <= asked.chance_within(3600) <= 1
    with pytest.raises(ParameterError, match="learns waits"):
        CompletionBook(learn=False).ask_wait(5, nodes=1)
