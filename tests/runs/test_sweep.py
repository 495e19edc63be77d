"""Ranges and lists of values, exact; and the points that they make."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.runs.sweep import plan_of, values_of, varied
from forestall.runs.sweep_kept import line_of, value_of
from forestall.scheduling.settings import PROMISE


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("accuracy", "0:1:0.1", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("risk", "0.2", [0.2]),
        ("risk", "0.1,0.3,0.1", [0.1, 0.3]),
        ("accuracy", "0:1:0.3", [0, 0.3, 0.6, 0.9]),
        ("accuracy", "0,0.5:1:0.25", [0, 0.5, 0.75, 1]),
        ("nodes", "64:256:64", [64, 128, 192, 256]),
        ("seed", "1:3:1", [1, 2, 3]),
        ("checkpoint_interval", "30m:2h:30m", [1800, 3600, 5400, 7200]),
        ("checkpoint_interval", "1-12:00:00", [129_600]),
        ("downtime", "log,2m", ["log", 120]),
        ("policy", "easy, fcfs", ["easy", "fcfs"]),
        ("compression", "true,false", [True, False]),
        ("accuracy", [0, 0.5], [0, 0.5]),
        ("compression", [True, False], [True, False]),
        ("nodes", 5, [5]),
    ],
)
def test_values(name: str, text: object, values: list[object]) -> None:
    found = values_of(PROMISE.declared[name], text)
    assert list(found) == values
    assert [type(one) for one in found] == [type(one) for one in found if one in values]


@given(st.integers(1, 99), st.integers(1, 4))
def test_ranges_are_decimal(steps: int, digits: int) -> None:
    step = f"0.{'0' * (digits - 1)}1"
    last = steps * 10**-digits
    if last > 1:
        return
    found = values_of(PROMISE.declared["accuracy"], f"0:{steps / 10**digits:.{digits}f}:{step}")
    assert [repr(v) for v in found] == [
        repr(float(f"{k / 10**digits:.{digits}f}")) for k in range(steps + 1)
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("policy", "a:b:c"), ("nodes", "1:2:0.5"), ("compression", "on"), ("nodes", "1:2"),
     ("accuracy", "0:inf:1"), ("checkpoint_interval", "12:00:00"), ("accuracy", [])],
)  # fmt: skip
def test_what_is_no_range(name: str, text: object) -> None:
    with pytest.raises(ParameterError, match=name):
        values_of(PROMISE.declared[name], text)


def test_the_last_axis_changes_fastest() -> None:
    plan = plan_of(Path("jobs.swf"), {"risk": "0,1", "accuracy": "0,0.5"})
    assert [(p.accuracy, p.risk) for p in plan.points] == [(0, 0), (0, 1), (0.5, 0), (0.5, 1)]
    assert list(plan.axes) == ["accuracy", "risk"]


def test_too_many_points() -> None:
    with pytest.raises(InputError, match="too many"):
        plan_of(Path("jobs.swf"), {"risk": "0:1:0.001", "accuracy": "0:1:0.001"})


@pytest.mark.parametrize("text", ["nodes", "size=3", "=3"])
def test_vary_names_a_parameter(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^vary: "):
        varied([text])


@given(st.integers(0, 400))
def test_no_part_of_a_line_passes_for_one(length: int) -> None:
    line = line_of({"point": 3, "measures": {"qos": 0.1 + 0.2, "brier": None}})
    if length < len(line):
        assert value_of(line[:length]) is None
    else:
        assert value_of(line) == {"point": 3, "measures": {"qos": 0.1 + 0.2, "brier": None}}
