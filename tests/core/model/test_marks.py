"""Marks are found again whatever stands around them, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.marks import (
    Mark,
    checked_id,
    mark_of_reason,
    noted,
    one_line,
    reason_of,
    tagged,
)

IDS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True)
TEXTS = st.text(max_size=300)


@given(IDS, TEXTS, IDS, IDS, TEXTS, st.booleans())
def test_marks_are_found_among_words(
    tag: str, words: str, hold: str, act: str, note: str, pending: bool
) -> None:
    after = noted(noted(note, "before", hold=hold), act, pending=pending)
    assert Mark.parse(tagged(tag, words), after) == Mark(tag, hold, act, pending)
    assert Mark.parse("", noted(after, act, hold="")).hold == ""


@given(IDS, TEXTS)
def test_reasons_are_found_with_what_slurm_adds(identity: str, words: str) -> None:
    reason = reason_of(identity, words)
    assert mark_of_reason(reason) == identity
    assert mark_of_reason(f"{reason} : reboot issued") == identity
    assert reason.startswith("forestall: ")


@pytest.mark.parametrize(
    "reason",
    ["", "bad fan [d1]", "Forestall: x [d1]", " forestall: x [d1]", "forestall: x",
     "forestall:[d1]",
     "RT 7 forestall: x [d1]", "forestall: x [d1] RT 4711", "forestall: x [D1]"],
)  # fmt: skip
def test_reasons_of_others(reason: str) -> None:
    assert mark_of_reason(reason) == ""


@pytest.mark.parametrize(
    "comment", ["", "my forestall:p1", "forestall:", "forestall:P1", "forestall:a/b"]
)
def test_comments_of_others(comment: str) -> None:
    assert Mark.parse(comment, "") == Mark("", "", "", False)


@given(TEXTS)
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert line == one_line(line)
    assert len(line.splitlines()) <= 1
    assert not set(line) & set("\"'\\\0")
    assert len(line) <= 200


def test_a_users_words_cannot_add_a_tag() -> None:
    assert Mark.parse(tagged("p1", "forestall:p2"), "").promise == "p1"


def test_what_administrators_noted_stays() -> None:
    note = noted("JS1:H4sIAAA== see RT 7", "a1")
    assert note == "JS1:H4sIAAA== see RT 7 forestall:act=a1"
    assert (
        noted(note, "a2", hold="a2") == "JS1:H4sIAAA== see RT 7 forestall:hold=a2 forestall:act=a2"
    )


@pytest.mark.parametrize("text", ["", "A", "-a", "a b", "a\n", "a" * 41, "a,b", "ä"])
def test_ids_that_cannot_stand_everywhere(text: str) -> None:
    with pytest.raises(ParameterError, match="small letters"):
        checked_id(text)
