"""Promises for single jobs: the same as in a replay, and words that fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.site.learning.turnaround import book_state as state
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.answer import rests_on
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.site.learning.turnaround.book_state import NONE
from forestall.site.learning.turnaround.books.checks import EVENTS
from forestall.site.learning.turnaround.learned import LEVELS, learn_quantiles
from forestall.site.learning.turnaround.replay import mixed_levels, named_deadlines, replay
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from reference.made_jobs import some_jobs

WORDS = {kind: word for word, kind in EVENTS.items()}
RULES = {"warm": 20.0, "enough": 30.0}
COLUMNS = ("deadline", "known", "state", "counted", "stated", "raw", "chance", "wait", "run")


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_told_one_by_one_it_promises_the_same(seed: int) -> None:
    tasks = tasks_of(some_jobs(150, seed))
    levels, names = mixed_levels(len(tasks), 0.4), named_deadlines(len(tasks), 0.1)
    whole = replay(tasks, levels, names, RULES).book.promises
    same(tasks, CompletionBook(RULES), whole, levels)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests early and small, so that several are fitted."""
    for name, value in (("FIRST", 60), ("AFTER", 50), ("DELAY", 10)):
        monkeypatch.setattr(learned, name, value)
    monkeypatch.setattr(learned, "TREES", replace(learned.TREES, trees=8, rate=0.2))


def kept(book: CompletionBook) -> CompletionBook:
    """Return a book made of what another one keeps, by way of JSON."""
    values, arrays = book.state()
    copies = {name: array.copy() for name, array in arrays.items()}
    return CompletionBook.from_state(json.loads(json.dumps(values)), copies)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("seed", [1, 2])
def test_it_learns_as_a_replay_does_also_where_it_is_restarted(seed: int) -> None:
    tasks = tasks_of(some_jobs(400, seed))
    levels, names = mixed_levels(len(tasks), 0.4), named_deadlines(len(tasks), 0.1)
    alike = replay(tasks, None, None, shown=LEVELS).book.alike
    found = learn_quantiles(tasks, alike, 1)
    assert found.fits >= 3
    whole = replay(tasks, levels, names, RULES, told=found.told()).book.promises
    plain = replay(tasks, levels, names, RULES).book.promises
    assert (whole["deadline"] != plain["deadline"])[0::2].mean() > 0.4
    same(tasks, CompletionBook(RULES), whole, levels)
    same(tasks, CompletionBook(RULES), whole, levels, often=131)
    same(tasks, CompletionBook(RULES, learn=False), plain, levels, often=131)


def same(
    tasks: Tasks,
    book: CompletionBook,
    whole: Any,
    levels: Floats,
    often: int = 0,
) -> None:
    """Tell a book of all jobs, restarting it every so many events, and compare its promises."""
    users, names_, parts = tasks.user.texts(), tasks.name.texts(), tasks.part.texts()
    for at, (time, kind, k) in enumerate(tasks.events.T.tolist(), 1):
        if often and at % often == 0:
            book = kept(book)
        if kind != state.SUBMIT:
            book.observe(WORDS[kind], k, time)  # type: ignore[arg-type]
            continue
        book.submit(
            k, time, nodes=int(tasks.size[k]), limit=int(tasks.limit[k]) or None, user=users[k],
            name=names_[k], partition=parts[k],
        )  # fmt: skip
        idle = book.quote(k, probability=float(levels[k]), promise=False)
        quote = book.quote(k, probability=float(levels[k]))
        assert idle.deadline == quote.deadline == int(whole["deadline"][2 * k])
        named = int(whole["deadline"][2 * k + 1])
        said = book.quote(k, deadline=named)
        assert said.probability == float(whole["stated"][2 * k + 1])
    mine = book._book.promises[: 2 * len(tasks)]
    for name in COLUMNS:
        assert mine[name].tobytes() == whole[name].tobytes(), name


def filled(count: int = 60) -> CompletionBook:
    book = CompletionBook({"warm": 0.0})
    for k in range(count):
        book.submit(k, 100 * k, nodes=2, limit=3600, user="ann", name=f"step{k}")
        book.quote(k, probability=0.95)
        book.observe("start", k, 100 * k + 10)
        book.observe("end", k, 100 * k + 40 + k % 7)
    return book


def test_quotes_say_what_they_rest_on() -> None:
    book = filled()
    book.submit("next", 10_000, nodes=2, limit=3600, user="ann", name="step99")
    quote = book.quote("next", probability=0.95, promise=False)
    assert 10_000 + 40 <= quote.deadline <= 10_000 + 300
    assert quote.probability == 0.95
    assert quote.reasons[0] == "rests on like jobs"
    assert "this user's jobs of this name" in quote.reasons[2]
    assert quote.wait == 10
    told = str(quote.record)
    assert told.startswith("promises from 90 % to 100 %: 60 made, ")
    sure = book.quote("next", deadline=20_000, promise=False)
    unsure = book.quote("next", deadline=10_011, promise=False)
    assert sure.probability > 0.9
    assert unsure.probability < 0.3
    assert (
        str(book.record(0.35, asked="deadline"))
        == "promises from 30 % to 40 %: none is settled yet"
    )


@pytest.mark.usefixtures("soon")
def test_quotes_say_how_many_jobs_they_were_learned_from() -> None:
    book = filled(200)
    book.submit("next", 20_000, nodes=2, limit=3600, user="ann", name="step99")
    quote = book.quote("next", probability=0.9)
    assert quote.learned_jobs == 160
    assert 0 < quote.learned_share < 1
    weight = f"{100 * quote.learned_share:.0f} %"
    said = f"learned from 160 jobs (weight {weight}), the rest from like jobs"
    assert quote.reasons[0] == said
    # A job that runs is asked about by how long like jobs ran.
    left = book.chance_left("next", 20_000 + 100)
    book.observe("start", "next", 20_005)
    assert left == pytest.approx(1, abs=0.1)
    assert book.chance_left("next", 20_005 + 37) > 0.5
    assert rests_on(1.0, 12_345) == "learned from 12,345 jobs"
    assert rests_on(0.001, 12_345) == "rests on like jobs"


def test_asking_without_a_promise_changes_nothing() -> None:
    book = filled()
    book.submit("next", 10_000, nodes=2, limit=3600, user="ann")
    before = [one.tobytes() for one in (*book._book[:5], *book._book[6:])]
    book.quote("next", probability=0.5, promise=False)
    book.quote("next", deadline=11_000, promise=False)
    assert [one.tobytes() for one in (*book._book[:5], *book._book[6:])] == before
    assert int(book._book.promises["state"][120]) == NONE


def test_what_is_left_for_a_job_that_waits_or_runs() -> None:
    book = CompletionBook()
    for k in range(32):
        book.submit(k, 0, nodes=1)
        book.observe("start", k, 0)
    for k in range(32):
        book.observe("end", k, 100 * (k + 1))
    book.submit("next", 10_000, nodes=1)
    assert book.chance_left("next", 10_000 + 4000) == pytest.approx(1)
    start = book.chance_left("next", 10_000 + 1600)
    assert start == pytest.approx(0.5, abs=0.02)
    book.observe("start", "next", 10_000)
    assert book.chance_left("next", 10_000 + 1600) == pytest.approx(start, abs=0.02)
    # Of the jobs that run longer than 1600 s half run longer than 2400 s.
    left = book.chance_left("next", 10_000 + 2400, now=10_000 + 1600)
    assert left == pytest.approx(0.5, abs=0.03)
    assert book.chance_left("next", 10_000 + 1600, now=10_000 + 1600) == 0


def test_a_law_of_ones_own_for_the_run() -> None:
    from forestall.reliability.checkpoints.completion import completion_time

    book = CompletionBook()
    for k, wait in enumerate((0, 0, 100, 100)):
        book.submit(k, 1000 * k, nodes=1)
        book.observe("start", k, 1000 * k + wait)
        book.observe("end", k, 1000 * k + 500)
    book.submit("next", 10_000, nodes=1)
    law = completion_time(3600, 36_000, interval=600, cost=10, restart=20)
    for after in (3000, 3700, 3720, 5000):
        waits = [0, 100]
        plain = np.mean([float(law.cdf(max(after - wait, 0))) for wait in waits])
        assert book.chance_with("next", 10_000 + after, law) == pytest.approx(plain, abs=0.02)


def test_failures_count() -> None:
    book = CompletionBook()
    rng = np.random.default_rng(1)
    for k in range(200):
        book.submit(k, 1000 * k, nodes=10)
        book.observe("start", k, 1000 * k)
        book.observe("lose" if rng.random() < 0.2 else "end", k, 1000 * k + 500)
    book.submit("next", 300_000, nodes=10)
    quote = book.quote("next", deadline=300_000 + 600, promise=False)
    assert any(reason.startswith("failures: stop it with") for reason in quote.reasons)
    assert quote.before == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.submit("a", 5, nodes=1), "not in the book"),
        (lambda b: b.submit("x", 4, nodes=1), "not before 5"),
        (lambda b: b.submit("x", 5, nodes=0), "at least 1"),
        (lambda b: b.submit("x", 5, nodes=1, limit=0), "at least 1"),
        (lambda b: b.observe("end", "a", 6), "a job that runs"),
        (lambda b: b.observe("start", "b", 6), "submitted to this book"),
        (lambda b: b.observe("stopped", "a", 6), "one of start"),
        (lambda b: b.quote("a"), "either"),
        (lambda b: b.quote("a", probability=1.0), "between 0 and 1"),
        (lambda b: b.quote("a", deadline=5), "a time after now"),
        (lambda b: b.chance_left("a", 9, now=4), "not before 5"),
    ],
)
def test_what_cannot_be(call, words: str) -> None:  # type: ignore[no-untyped-def]
    book = CompletionBook()
    book.submit("a", 5, nodes=1)
    with pytest.raises(ParameterError, match=words):
        call(book)


def test_one_promise_of_a_kind() -> None:
    book = CompletionBook()
    book.submit("a", 5, nodes=1)
    book.quote("a", probability=0.5)
    with pytest.raises(ParameterError, match="without a promise"):
        book.quote("a", probability=0.5)
    book.observe("start", "a", 7)
    with pytest.raises(ParameterError, match="chance_left"):
        book.quote("a", deadline=50)
    book.observe("end", "a", 9)
    with pytest.raises(ParameterError, match="has not ended"):
        book.chance_left("a", 50)
    book.submit("a", 9, nodes=1)
    assert len(book) == 2
