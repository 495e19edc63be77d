"""Settings of predictors: every bad one is a clear error that names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.prediction.models import settings as check
from forestall.prediction.models.entries import LEARNERS
from forestall.prediction.models.registry import learner_class, new_learner

NAN = float("nan")


@pytest.mark.parametrize("name", [*LEARNERS])
@pytest.mark.parametrize(
    "value", ["abc", [], [1.5], [0], [5, 3], [1, 1], None, [True], {"a": 1}, [1e300]]
)
def test_horizons(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=r"horizons: .* ascending"):
        new_learner(name, horizons=value)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("rules", {"windows": "abc"}),
        ("rules", {"windows": 1.5}),
        ("rules", {"hits": "x"}),
        ("rules", {"size": []}),
        ("rules", {"fdr": None}),
        ("rules", {"fdr": 1}),
        ("rules", {"repeats": [1.5]}),
        ("rules", {"prior": NAN}),
        ("joined", {"rules": "abc"}),
        ("joined", {"series": [1]}),
        ("joined", {"width": "x"}),
        ("joined", {"seed": -1}),
        ("ar", {"level_days": "x"}),
        ("ar", {"bin": 2.5}),
        ("arma", {"bin": 1e308}),
        ("ma", {"bin": 10**30}),
        ("neural", {"decay": []}),
        ("neural", {"order": "x"}),
        ("boosted", {"trees": 2.5}),
        ("boosted", {"leaves": 2.5}),
        ("boosted", {"ridge": NAN}),
        ("boosted", {"calibration": []}),
        ("semi-markov", {"hold": -1}),
        ("semi-markov", {"guest_memory": NAN}),
        ("semi-markov", {"thresholds": [1]}),
        ("semi-markov", {"form": 3}),
        ("outlier", {"metrics": 3}),
        ("outlier", {"window": "x"}),
        ("outlier", {"guard": True}),
    ],
)
def test_a_bad_setting_is_named(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="expected") as raised:
        new_learner(name, **settings)
    assert raised.value.name == next(iter(settings))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [*LEARNERS])
def test_an_unknown_setting_is_named_beside_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has no setting 'foo'; it has: .*horizons"):
        new_learner(name, foo=1)
    for one in new_learner(name).settings:
        assert one in check.names_of(learner_class(name))


def test_a_part_of_joined_is_checked_as_well() -> None:
    with pytest.raises(InputError, match="rules has no setting 'foo'"):
        new_learner("joined", rules={"foo": 1})


def test_one_text_or_number_is_a_list_of_one() -> None:
    assert new_learner("stacked", members="rate").settings["members"] == ["rate"]
    assert new_learner("outlier", metrics="temp").settings["metrics"] == ["temp"]
    assert new_learner("rate", horizons=3600).horizons == (3600,)


def test_numbers_of_numpy_count() -> None:
    assert check.seconds(np.array([60, 120])) == [60, 120]
    assert check.whole("n", np.int64(3), 1) == 3
    assert check.whole("n", 3.0, 1) == 3
