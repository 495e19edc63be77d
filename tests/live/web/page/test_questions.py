"""What people type, and what browsers may send instead."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import JobOrder, QuoteQuestion
from forestall.live.web.page.questions import LONGEST, order_of, question_of, text_of

ASKED = {"nodes": 4, "time": "6:00:00", "by": None, "percent": 95, "partition": "main"}
ORDERED = {"script": "#!/bin/sh\r\nrun\r\n", "name": " a ", "consents": ["signal"]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda more: (
        st.lists(more, max_size=3) | st.dictionaries(st.text(max_size=5), more, max_size=3)
    ),
    max_leaves=5,
)


def test_a_question() -> None:
    assert question_of(ASKED) == QuoteQuestion(4, 21_600, None, 0.95, "main")
    assert question_of({**ASKED, "features": " a100|h100 "}).features == "a100|h100"
    assert question_of({**ASKED, "by": 1_800_000_000, "time": "2d"}).by == 1_800_000_000


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"nodes": 0}, "nodes"), ({"nodes": 1.5}, "nodes"), ({"nodes": "x"}, "nodes"),
        ({"nodes": float("inf")}, "nodes"), ({"time": "soon"}, "time"), ({"time": "0"}, "time"),
        ({"time": ["1h"]}, "time"), ({"percent": 100}, "probability"),
        ({"percent": None}, "percent"), ({"percent": float("nan")}, "probability"),
        ({"by": "tomorrow"}, "by"),
        ({"partition": "p" * 201}, "partition"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        question_of({**ASKED, **wrong})


def test_an_order() -> None:
    assert order_of(ORDERED) == JobOrder("#!/bin/sh\nrun\n", "a", consents=("signal",))
    assert order_of({**ORDERED, "name": ""}).name == "forestall"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"script": ""}, "#!"), ({"script": "echo"}, "#!"), ({"script": 3}, "script"),
        ({"script": "#!" + "x" * LONGEST}, "at most 400,000"), ({"consents": "signal"}, "agree"),
        ({"consents": [1]}, "agree"), ({"name": "n" * 201}, "name"),
    ],
)  # fmt: skip
def test_an_order_that_cannot_be(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        order_of({**ORDERED, **wrong})


def test_a_reason_is_asked() -> None:
    assert text_of({"why": " not today "}, "why") == "not today"
    with pytest.raises(InputError, match="why is missing"):
        text_of({"why": "  "}, "why")


@given(st.dictionaries(st.sampled_from([*ASKED, *ORDERED, "why"]), JSON))
def test_nothing_else_is_raised(typed: dict[str, Any]) -> None:
    for read in (question_of, order_of):
        with suppress(InputError):
            read({**ASKED, **ORDERED, **typed})
