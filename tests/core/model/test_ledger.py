"""A ledger only grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.ledger import CAUSES, OUTCOMES, QUESTIONS, Ledger


def ledger(count: int, seed: int = 1) -> Ledger:
    rng = np.random.default_rng(seed)
    whole = {name: rng.integers(0, 9, count) for name in (
        "job", "quoted", "deadline", "wait_like", "run_like", "known")}  # fmt: skip
    small = {name: rng.integers(0, 2, count).astype(np.int8) for name in (
        "question", "wait_class", "run_class", "outcome", "cause")}  # fmt: skip
    real = {
        name: rng.random(count) for name in ("asked", "before", "stated", "wait", "run", "risk")
    }
    return Ledger(**whole, **small, **real, counted=rng.random(count) < 0.5)


def test_entries_cannot_be_written_to() -> None:
    mine = np.array([0.5, 0.6])
    made = ledger(2)
    same = Ledger(**{**dict(made), "stated": mine})
    with pytest.raises(ValueError, match="read-only"):
        same.stated[0] = 1.0
    mine[0] = 0.9
    assert same.stated[0] == 0.5
    with pytest.raises(AttributeError):
        same.stated = mine  # type: ignore[misc]


@given(st.integers(0, 20), st.integers(0, 20))
def test_appending_makes_a_new_one_that_begins_with_the_old(first: int, more: int) -> None:
    old, later = ledger(first), ledger(more, 2)
    before = [column.tobytes() for _, column in old]
    both = old.append(later)
    assert len(both) == first + more
    assert [column.tobytes() for _, column in old] == before
    for name, column in both:
        assert column[:first].tobytes() == getattr(old, name).tobytes()
        assert column[first:].tobytes() == getattr(later, name).tobytes()
        assert not column.flags.writeable


def test_columns_have_words() -> None:
    made = ledger(5)
    told = made.columns()
    assert told["question"] == [QUESTIONS[k] for k in made.question]
    assert told["outcome"] == [OUTCOMES[k] for k in made.outcome]
    assert told["cause"] == [CAUSES[k] for k in made.cause]
    assert told["stated"] is made.stated
    assert len(made.take(np.array([3, 1]))) == 2


def test_columns_of_unlike_lengths_are_refused() -> None:
    with pytest.raises(AssertionError, match="unlike lengths"):
        Ledger(**{**dict(ledger(3)), "known": np.zeros(2, np.int64)})
