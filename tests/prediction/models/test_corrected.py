"""Probabilities corrected as their outcomes become known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from forestall.core.streams import stream
from forestall.prediction.models.corrected import LEAST, corrected


def made(said, truth, count=3000, lag=50):
    rng = stream(1, "test", "corrected")
    asked = np.arange(count) * 10
    chance = said(rng.random(count))
    came = rng.random(count) < truth(chance)
    return chance, asked, asked + lag, came


def test_nothing_known_changes_nothing() -> None:
    chance = np.array([0.2, 0.5, 0.9])
    asked = np.array([0, 0, 0])
    assert corrected(chance, asked, asked + 1, np.array([True, False, True])) == pytest.approx(
        chance
    )


def test_one_outcome_moves_the_next_by_a_little() -> None:
    """a maximises log expit(a + b l) - a^2 / 2 - 5 (b - 1)^2 with l = 0: expit(-a) = a."""
    chance, asked = np.array([0.5, 0.5, 0.5]), np.array([0, 0, 10])
    said = corrected(chance, asked, np.array([5, 5, 20]), np.array([True, True, False]))
    shift = float(logit(said[2]))
    assert 2 * expit(-shift) == pytest.approx(shift, abs=1e-6)
    assert said[0] == said[1] == 0.5


@pytest.mark.parametrize("shift", [-1.5, 1.5])
def test_a_constant_error_is_found(shift: float) -> None:
    chance, asked, known, came = made(lambda u: 0.5 + 0.45 * u, lambda c: expit(logit(c) + shift))
    said = corrected(chance, asked, known, came)
    late = asked > 5000
    assert said[late].mean() == pytest.approx(came[late].mean(), abs=0.03)
    assert abs(chance[late].mean() - came[late].mean()) > 0.1
    assert ((said - came)[late] ** 2).mean() < ((chance - came)[late] ** 2).mean()


def test_what_is_right_stays_right() -> None:
    chance, asked, known, came = made(lambda u: 0.05 + 0.9 * u, lambda c: c)
    said = corrected(chance, asked, known, came)
    assert np.abs(said - chance)[asked > 10_000].max() < 0.06


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_later_outcomes_never_count(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.integers(0, 100, count))
    known, came = asked + rng.integers(1, 40, count), rng.random(count) < 0.5
    chance = rng.random(count)
    before = corrected(chance, asked, known, came)
    moment = int(rng.integers(0, 140))
    other = np.where(known > moment, ~came, came)
    after = corrected(chance, asked, known, other)
    early = asked <= moment
    assert np.array_equal(before[early], after[early])
    assert np.all((before > 0) & (before < 1))


def test_certainty_is_not_believed() -> None:
    said = corrected(
        np.array([0.0, 1.0]), np.zeros(2, int), np.ones(2, int), np.array([True, True])
    )
    assert said == pytest.approx([LEAST, 1 - LEAST])


def test_a_mark_that_tells_is_learned_and_one_that_does_not_is_ignored() -> None:
    rng = stream(2, "test", "corrected")
    count = 4000
    asked = np.arange(count) * 10
    chance = 0.3 + 0.6 * rng.random(count)
    marks = rng.random((count, 2)).round()
    came = rng.random(count) < expit(logit(chance) - 2.0 * marks[:, 0])
    said = corrected(chance, asked, asked + 50, came, marks)
    blind = corrected(chance, asked, asked + 50, came)
    late = asked > 20_000
    for k in (0, 1):
        for value in (0, 1):
            mine = late & (marks[:, k] == value)
            assert said[mine].mean() == pytest.approx(came[mine].mean(), abs=0.04)
    marked = late & (marks[:, 0] == 1)
    assert abs(blind[marked].mean() - came[marked].mean()) > 0.1
    assert ((said - came)[late] ** 2).mean() < ((blind - came)[late] ** 2).mean()


def test_without_marks_nothing_changes() -> None:
    chance, asked, known, came = made(lambda u: 0.5 + 0.45 * u, lambda c: c**2, count=300)
    none = np.zeros((len(chance), 2))
    assert corrected(chance, asked, known, came, none) == pytest.approx(
        corrected(chance, asked, known, came), abs=1e-9
    )
