"""What an agent says, as lines that HTCondor reads."""

from __future__ import annotations

import math

import pytest

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import ad_text, attributes, lines, literal

WHOLE: dict[str, object] = {
    "version": 1, "host": "lab-7", "pid": 17, "started": 1699990000, "time": 1700000000.75,
    "period": 6, "state": "S2", "since": 1699999000, "cpu": 0.3125, "memory_free": 0.5,
    "guest_cpu": 0.0, "th1": 0.2, "th2": 0.6, "hold": 60, "guest_memory": 0.1,
    "reliability": {"1h": 0.96, "2h": 0.9, "4h": 0.8000000004, "8h": 1}, "mttf": 40_000.6,
    "learnt_days": 12, "samples": 7200,
}  # fmt: skip


def test_all_that_is_known_is_said_once_and_in_order() -> None:
    assert ad_text(WHOLE) == (
        "ForestallUpdated = 1700000000\n"
        'ForestallHost = "lab-7"\n'
        'ForestallState = "S2"\n'
        "ForestallAvailable = true\n"
        "ForestallLoad = 0.3125\n"
        "ForestallReliability1h = 0.96\n"
        "ForestallReliability2h = 0.9\n"
        "ForestallReliability4h = 0.8\n"
        "ForestallReliability8h = 1.0\n"
        "ForestallMttf = 40001\n"
        "-\n"
    )


@pytest.mark.parametrize(
    ("state", "available"),
    [("S1", True), ("S2", True), ("S3", False), ("S4", False), ("S5", False)],
)
def test_guests_may_run_in_the_first_two_states_only(state: str, available: bool) -> None:
    assert attributes({"time": 1, "state": state})["ForestallAvailable"] is available


def test_nothing_is_said_of_what_is_not_known() -> None:
    bare = {"time": 5, "host": None, "state": None, "cpu": None, "reliability": None, "mttf": None}
    assert attributes(bare) == attributes({"time": 5}) == {"ForestallUpdated": 5}
    some = {"time": 5, "cpu": math.nan, "mttf": math.inf, "reliability": {"2h": 0.5, "4h": None}}
    assert attributes(some) == {"ForestallUpdated": 5, "ForestallReliability2h": 0.5}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"time": None}, "time: is missing; expected Unix seconds"),
        ({"time": True}, "time: True"),
        ({"time": math.nan}, "time: nan"),
        ({"state": "S6"}, "state: 'S6' is not allowed; expected one of S1, S2, S3, S4, S5"),
        ({"host": 7}, "host: 7"),
        ({"cpu": 1.01}, "cpu: 1.01"),
        ({"cpu": "0.1"}, "cpu: '0.1'"),
        ({"mttf": -1}, "mttf: -1 is not allowed; expected seconds"),
        ({"reliability": [0.9]}, r"reliability: \[0.9\]"),
        ({"reliability": {"4h": 1.5}}, "4h: 1.5 is not allowed; expected a probability"),
        ({"reliability": {"4h": True}}, "4h: True"),
    ],
)
def test_what_cannot_be_is_refused(changed: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ad_text(WHOLE | changed)


def test_a_name_cannot_say_more_than_a_name() -> None:
    said = lines({"ForestallHost": 'x"\nSTART = true\r\n- y\0'})
    assert said.count("\n") == 1
    assert said == 'ForestallHost = "x\\" START = true  - y "\n'


def test_strings_are_escaped_as_the_older_way_of_writing_asks() -> None:
    assert literal('say "a"') == r'"say \"a\""'
    assert literal("a\\b\\\\c") == r'"a\b\\c"'
    assert literal('a\\"b\\') == r'"a/\"b/"'  # the two places where a backslash would escape
    assert literal("Zoë \ud800") == '"Zoë ?"'
    assert literal("\x85") == '" "'


def test_numbers_and_truths_have_their_kind() -> None:
    assert [literal(v) for v in (True, False, 7, 1.0, 0.25)] == [
        "true",
        "false",
        "7",
        "1.0",
        "0.25",
    ]
