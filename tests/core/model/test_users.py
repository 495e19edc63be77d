"""Populations of users as text: one way of writing each, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.users import Population, UserKind

ENDS = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda two: (min(two), max(two)))


@given(st.lists(st.builds(UserKind, name=st.sampled_from(["a", "b-1", "c"]), least=ENDS,
                          patience=ENDS, value=ENDS, rounds=st.integers(1, 16)),
                min_size=1, unique_by=lambda one: one.name))  # fmt: skip
def test_a_population_is_what_its_text_says(kinds: list[UserKind]) -> None:
    known = Population(tuple(kinds))
    assert Population.of(known.text) == known


def test_what_is_not_said_has_a_default() -> None:
    (plain,) = Population.of("least=0.9").kinds
    assert plain == UserKind(least=(0.9, 0.9))
    first, second = Population.of("eager share=2 patience=0; calm rounds=1").kinds
    assert (first.name, first.share, first.patience) == ("eager", 2.0, (0.0, 0.0))
    assert (second.name, second.rounds) == ("calm", 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("least=1.5", "from 0 to 1"),
        ("least=0.9:0.5", "from 0 to 1"),
        ("patience=-1", "patience from 0"),
        ("value=nan", "numbers"),
        ("value=much", "numbers"),
        ("rounds=0", "rounds from 1 to 16"),
        ("rounds=1.5", "whole number of rounds"),
        ("share=0", "share above 0"),
        ("least=0.1:0.2:0.3", "a number, or two"),
        ("colour=red", "one of name, share"),
        ("least=0.5 least=0.6", "each setting once"),
        ("eager calm", "settings such as"),
        ("a share=1; a share=2", "names of their own"),
        ("<b>", "letters and digits"),
    ],
)
def test_what_users_cannot_be(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Population.of(text)
