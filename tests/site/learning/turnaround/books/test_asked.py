"""Questions about jobs that are not submitted: the answers of a submission, without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.site.learning.turnaround import book_state as state
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.answer import TimedQuote
from forestall.site.learning.turnaround.book import EVENTS, CompletionBook
from forestall.site.learning.turnaround.replay import mixed_levels
from forestall.site.learning.turnaround.tasks import tasks_of
from reference.made_jobs import some_jobs

WORDS = {kind: word for word, kind in EVENTS.items()}
RULES = {"warm": 20.0, "enough": 30.0}
SHOWN = (0.5, 0.9, 0.99)


def kept(book: CompletionBook) -> tuple[str, dict[str, bytes]]:
    """Return all that a book holds, as text and bytes."""
    values, arrays = book.state()
    return json.dumps(values), {name: array.tobytes() for name, array in arrays.items()}


def copied(book: CompletionBook) -> CompletionBook:
    """Return another book that goes on as this one would."""
    values, arrays = book.state()
    copies = {name: array.copy() for name, array in arrays.items()}
    return CompletionBook.from_state(json.loads(json.dumps(values)), copies)


def filled(book: CompletionBook, count: int, seed: int) -> Iterator[int]:
    """Tell a book of jobs and promise with each; yield the time after each event."""
    tasks = tasks_of(some_jobs(count, seed))
    users, names, parts = tasks.user.texts(), tasks.name.texts(), tasks.part.texts()
    levels = mixed_levels(count, 0.4)
    for time, kind, k in tasks.events.T.tolist():
        if kind == state.SUBMIT:
            told: dict[str, Any] = {"user": users[k], "name": names[k], "partition": parts[k]}
            limit = int(tasks.limit[k]) or None
            book.submit(k, time, nodes=int(tasks.size[k]), limit=limit, **told)
            book.quote(k, probability=float(levels[k]))
            book.quote(k, deadline=time + 1 + 37 * (k % 50))
        else:
            book.observe(WORDS[kind], k, time)  # type: ignore[arg-type]
        yield time


def question(rng: np.random.Generator) -> dict[str, Any]:
    """Return a job, known or of a kind never seen."""
    return {
        "nodes": int(rng.integers(1, 40)),
        "limit": [None, 600, 3600, 7200][int(rng.integers(0, 4))],
        "user": f"u{int(rng.integers(0, 7))}",
        "name": f"job_{int(rng.integers(0, 40))}",
        "partition": ["a", "b", "new"][int(rng.integers(0, 3))],
    }


def submitted(book: CompletionBook, now: int, job: dict[str, Any]) -> list[TimedQuote]:
    """Return what is quoted after a submission."""
    book.submit("asked", now, **job)
    by_level = [book.quote("asked", probability=level, promise=False) for level in SHOWN]
    named = book.quote("asked", deadline=now + 500, promise=False)
    return [replace(one, job=None) for one in (*by_level, named)]


def check(book: CompletionBook, now: int, job: dict[str, Any]) -> None:
    """Hold a book to answering as after a submission, and to being left as it was."""
    before = kept(book)
    said = book.ask(now, **job, probabilities=SHOWN, deadlines=(now + 500,))
    assert kept(book) == before
    assert list(said) == submitted(copied(book), now, job)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_as_if_it_were_submitted_and_nothing_changes(seed: int) -> None:
    book, rng = CompletionBook(RULES, learn=bool(seed % 2)), np.random.default_rng(seed)
    for time in filled(book, 160, seed):
        if rng.random() < 0.03:
            # Also seconds, hours and days later, when deadlines have passed meanwhile.
            check(book, time + int(rng.choice([0, 1, 60, 3600, 200_000])), question(rng))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests early and small, so that several are fitted."""
    for name, value in (("FIRST", 60), ("AFTER", 50), ("DELAY", 10)):
        monkeypatch.setattr(learned, name, value)
    monkeypatch.setattr(learned, "TREES", replace(learned.TREES, trees=8, rate=0.2))


@pytest.mark.usefixtures("soon")
def test_what_is_learned_is_in_it() -> None:
    book, rng, weights = CompletionBook(), np.random.default_rng(3), []
    for at, time in enumerate(filled(book, 300, 3)):
        if at % 23 == 0:
            job = question(rng)
            check(book, time + at % 3, job)
            weights += [book.ask(time, **job, probabilities=(0.9,))[0].learned_share]
    assert max(weights) > 0.3


def test_where_every_table_is_full() -> None:
    book = CompletionBook()
    for k in range(64):  # open jobs, users and partitions for which there was just room
        book.submit(k, k, nodes=1, user=f"u{k}", partition=f"p{k}")
        check(book, k, {"nodes": 3, "user": "nobody", "partition": "nowhere"})
    assert len(book) == 64


def test_what_cannot_be_asked() -> None:
    book = CompletionBook()
    book.submit("a", 5, nodes=1)
    before = kept(book)
    for asked, words in (
        ({"now": 4}, "not before 5"),
        ({"nodes": 0}, "at least 1"),
        ({"limit": 0}, "at least 1"),
        ({"probabilities": (0.5, 1.0)}, "between 0 and 1"),
        ({"deadlines": (9, 5)}, "a time after now"),
    ):
        with pytest.raises(ParameterError, match=words):
            book.ask(**{"now": 5, "nodes": 1, **asked})  # type: ignore[arg-type]
    assert kept(book) == before
