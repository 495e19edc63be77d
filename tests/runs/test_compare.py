"""Runs side by side: differences to the first, and what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forestall.core.model.errors import TraceError
from forestall.runs.compare import compare, comparison_of, difference, names_of, read_summary
from forestall.scheduling.report.digest import MEASURES
from scheduling.report.synthetic import Made

BY_KEY = {measure.key: measure for measure in MEASURES}


@pytest.mark.parametrize(
    ("key", "value", "first", "text"),
    [
        ("promises_kept", 0.95, 0.9, "+5.00 points"),
        ("lost_work", 50, 200, "-75.0 %"),
        ("wait.mean", 5, 0, ""),
        ("qos", 0.9, 0.9, ""),
        ("qos", None, 0.9, ""),
    ],
)
def test_differences(key: str, value: float | None, first: float, text: str) -> None:
    assert difference(BY_KEY[key], value, first) == text


def test_names_are_different() -> None:
    assert names_of([Path("a/run"), Path("b/other")]) == ["run", "other"]
    assert names_of([Path("a/run"), Path("b/run")]) == ["a/run", "b/run"]
    assert names_of([Path("run"), Path("run")]) == ["run (1)", "run (2)"]


def test_what_differs() -> None:
    first, other = Made().summary(), Made().summary()
    other["parameters"] = {**other["parameters"], "accuracy": 0.123}
    found = comparison_of({"one": first, "two": other})
    assert found.differing == {"accuracy": (first["parameters"]["accuracy"], 0.123)}
    json.dumps(found.to_dict(), allow_nan=False)
    assert "| accuracy |" in found.report.markdown


@pytest.mark.parametrize("value", [0.5, 10**400, "x", [1], True, {"mean": 10**400}])
def test_measures_that_are_no_numbers_are_none(value: object) -> None:
    first = Made().summary()
    found = comparison_of({"one": first, "two": {**first, "wait": value, "lost_work": value}})
    json.dumps(found.to_dict(), allow_nan=False)
    assert BY_KEY["wait.mean"].value({"wait": value}) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"parameters": 3}', '{"parameters": {}, "sources": [1]}']
)
def test_what_is_no_summary(text: str, tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(TraceError, match=r"summary\.json"):
        read_summary(tmp_path)
    with pytest.raises(TraceError, match=r"summary\.json"):
        compare(tmp_path)
