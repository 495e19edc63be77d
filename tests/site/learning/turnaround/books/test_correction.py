"""Probabilities of others, corrected by how earlier ones were kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.site.learning.turnaround.books.correction import Correction

CHANCES = st.floats(0.0, 1.0)


def test_what_nothing_is_known_of_stands() -> None:
    assert Correction().of(0.83) == 0.83


def test_it_goes_to_the_share_kept_as_more_becomes_known() -> None:
    """Drawn towards 0.9 as if 100 more had agreed: (400 + 90) / (800 + 100) after 800."""
    said = []
    for count in (0, 8, 80, 800):
        correction = Correction()
        correction.learn([0.9] * count, [k % 2 == 0 for k in range(count)])
        said.append(correction.of(0.9))
    assert said[:3] == pytest.approx([0.9, (4 + 90) / 108, (40 + 90) / 180], abs=0.002)
    assert said[3] == pytest.approx(490 / 900, abs=0.02)


def test_certainty_is_corrected_too() -> None:
    correction = Correction()
    correction.learn([1.0] * 100, [True] * 80 + [False] * 20)
    assert correction.of(1.0) == pytest.approx(0.9, abs=0.002)
    assert correction.of(0.999) < correction.of(1.0)


def test_who_says_too_little_is_left_alone() -> None:
    correction = Correction()
    correction.learn([0.6] * 500, [True] * 500)
    assert correction.of(0.6) == 0.6


@given(st.lists(st.tuples(CHANCES, st.booleans()), max_size=60), CHANCES, CHANCES)
def test_it_never_raises_and_never_turns_round(
    past: list[tuple[float, bool]], one: float, other: float
) -> None:
    correction = Correction()
    correction.learn([said for said, _ in past], [kept for _, kept in past])
    low, high = sorted((one, other))
    assert 0.0 <= correction.of(low) <= low
    assert correction.of(low) <= correction.of(high) + 1e-12
