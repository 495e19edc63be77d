"""Predictors with one thing in their file that would make compiled code read where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.prediction.given.predictor_files import VERSION, WHAT, load_predictor, save_predictor
from forestall.prediction.models.boosted.boosted import Boosted
from forestall.prediction.models.registry import new_learner

Change = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.fixture(scope="module")
def boosted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    time = np.sort(rng.integers(0, 300 * 86_400, 900))
    made = Boosted(trees=3, leaves=4, rows=500)
    made.fit(Failures.build(time, (16 * rng.random(900) ** 2).astype(np.int64)))
    path = tmp_path_factory.mktemp("boosted") / "it.predictor"
    save_predictor(made, path)
    assert len(read_bundle(path, WHAT, VERSION)[1]["learnt.feature"])
    return path


def spoilt(path: Path, change: Change, copy: Path) -> str:
    values, arrays = read_bundle(path, WHAT, VERSION)
    change(values["state"], arrays)
    write_bundle(copy, WHAT, VERSION, values, arrays)
    with pytest.raises(TraceError) as caught:
        load_predictor(copy)
    said = str(caught.value)
    assert said.startswith(str(copy))
    assert "\n" not in said
    return said


def put(name: str, value: Any, place: Any = 0) -> Change:
    return lambda values, arrays: arrays[name].__setitem__(place, value)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("feature", put("learnt.feature", 41)),
        ("feature", put("learnt.feature", 100_000)),
        ("feature", put("learnt.feature", -1)),
        ("child", put("learnt.child", 0, (0, 1))),
        ("child", put("learnt.child", 2**31 - 1, (0, 0))),
        ("child", put("learnt.child", 1, (0, 1))),
        ("root", put("learnt.root", 1)),
        ("root", put("learnt.root", 2**40, -1)),
        ("group", put("learnt.group", 9)),
        ("value", put("learnt.value", np.nan)),
        ("threshold", put("learnt.threshold", np.nan)),
        ("threshold", put("learnt.threshold", 1e308)),
        ("base", lambda values, arrays: arrays.update({"learnt.base": np.zeros(1)})),
        ("gain", lambda values, arrays: arrays.pop("learnt.gain")),
        ("node", put("seen.failures.node", 1000)),
        ("node", put("seen.failures.node", -1)),
        ("time", put("seen.failures.time", -(2**62))),
        ("detectability", put("seen.failures.detectability", 2.0)),
        ("nodes", lambda values, arrays: values["seen"].update(nodes=10**12)),
        ("kinds", lambda values, arrays: values["learnt"]["words"].update(kinds="abc")),
        ("slope", lambda values, arrays: values["learnt"]["curves"].__setitem__(
            0, {"method": "platt", "slope": float("nan"), "shift": 0.0})),
        ("now", lambda values, arrays: values["about"].update(now="soon")),
        ("trees", lambda values, arrays: values["settings"].update(trees=-1)),
    ],
)  # fmt: skip
def test_trees_and_what_was_seen(boosted: Path, field: str, change: Change, tmp_path: Path) -> None:
    assert f"{field}: " in spoilt(boosted, change, tmp_path / "spoilt.predictor")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("recency", "again"), ("periodic", "profile"), ("semi-markov", "levels"), ("ar", "pool"),
        ("rules", "factors"), ("neural", "inner"),
    ],
)  # fmt: skip
def test_numbers_of_others(name: str, array: str, tmp_path: Path) -> None:
    made = new_learner(name)
    made.fit(Failures.build(range(0, 86_400 * 30, 40_000), [k % 4 for k in range(65)]))
    path = tmp_path / "it.predictor"
    save_predictor(made, path)
    assert load_predictor(path).nodes == 4
    for change in (
        lambda values, arrays: arrays[f"learnt.{array}"].reshape(-1).__setitem__(0, np.nan),
        lambda values, arrays: arrays.update({f"learnt.{array}": np.zeros((2, 2, 2, 2))}),
        lambda values, arrays: arrays.update({f"learnt.{array}": np.zeros(3, "U3")}),
        lambda values, arrays: arrays.pop(f"learnt.{array}"),
    ):
        assert f"{array}: " in spoilt(path, change, tmp_path / "spoilt.predictor")


def test_laws_of_gaps_that_no_fit_finds(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    log = Failures.build(np.sort(rng.integers(0, 10**7, 90)), rng.integers(0, 9, 90))
    made, path = new_learner("renewal"), tmp_path / "it.predictor"
    made.fit(log)
    save_predictor(made, path)
    for name, value in (("shape", 2**63), ("shape", 21), ("shape", 0), ("prior_failures", 1e13)):

        def change(values: Any, arrays: Any, name: str = name, value: Any = value) -> None:
            values["learnt"][name] = value

        assert name in spoilt(path, change, tmp_path / "copy.predictor")


@pytest.mark.parametrize(("leaves", "most"), [(2, 2000), (31, 1074)])
def test_more_trees_than_a_file_may_bring_are_not_grown(leaves: int, most: int) -> None:
    horizons = [60 * k for k in range(1, 33)]
    new_learner("boosted", trees=most, leaves=leaves, horizons=horizons)
    with pytest.raises(ParameterError, match=f"from 1 to {most}"):
        new_learner("boosted", trees=most + 1, leaves=leaves, horizons=horizons)
