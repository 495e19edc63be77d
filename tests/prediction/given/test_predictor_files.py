"""Predictors to files and back: the same answers, the same bytes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import forestall as fs
from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.model.errors import ParameterError, TraceError
from forestall.prediction.given.predictor_files import (
    WHAT,
    described,
    load_predictor,
    save_predictor,
)
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner

DAY = 86_400


def trained(name: str = "rate") -> Learner:
    learner = new_learner(name)
    learner.fit(fs.generate_failures(12, 200, 3, mttf_hours=500.0))
    return learner


def test_a_file_gives_the_same_answers(tmp_path: Path) -> None:
    learner = trained()
    save_predictor(learner, tmp_path / "p")
    other = load_predictor(tmp_path / "p")
    nodes = np.arange(12)
    assert np.array_equal(
        learner.failure_probability(nodes, learner.now, learner.now + DAY),
        other.failure_probability(nodes, other.now, other.now + DAY),
    )
    assert described(learner) == described(other)
    other.update(other.now + 5, 3)
    learner.update(learner.now + 5, 3)
    assert np.array_equal(learner.time_to_failure(nodes), other.time_to_failure(nodes))


def test_the_same_training_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_predictor(trained("renewal"), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="predict list"):
        save_predictor(fs.TracePredictor(), tmp_path / "p")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="call fit"):
        save_predictor(new_learner("rate"), tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["settings", "about", "learnt", "seen"])
def test_a_file_that_lacks_something(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "p"
    save_predictor(trained(), path)
    values, arrays = read_bundle(path, WHAT, 1)
    del values["state"][missing]
    write_bundle(path, WHAT, 1, values, arrays)
    with pytest.raises(TraceError, match="damaged"):
        load_predictor(path)


def test_a_predictor_that_is_not_known(tmp_path: Path) -> None:
    write_bundle(tmp_path / "p", WHAT, 1, {"name": "oracle"}, {})
    with pytest.raises(TraceError, match="'oracle', which is not known"):
        load_predictor(tmp_path / "p")
