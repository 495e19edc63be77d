"""The list of families: names, and laws made by name."""

from __future__ import annotations

import pytest

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.batch import Fittable
from forestall.reliability.lifetimes.registry import FAMILIES, family_of, lifetime


def test_every_family_is_under_its_own_name_and_says_what_its_parameters_are() -> None:
    for name, family in FAMILIES.items():
        assert family.name == name
        assert name == name.lower()
        assert isinstance(family, Fittable)
        assert len(family.parameters) == len(family.kinds) == len(set(family.parameters))


def test_the_usual_families_are_there() -> None:
    usual = "exponential weibull weibull-3p lognormal loglogistic rayleigh gumbel frechet"
    assert set(usual.split()) <= set(FAMILIES)


def test_names_may_be_written_freely_and_a_family_is_its_own_name() -> None:
    assert family_of("Weibull_3P") is FAMILIES["weibull-3p"]
    assert family_of(FAMILIES["weibull"]) is FAMILIES["weibull"]


@pytest.mark.parametrize("name", ["weibul", "", 3])
def test_a_name_that_is_none_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(ParameterError, match="expected one of exponential, weibull") as caught:
        family_of(name)
    assert "\n" not in str(caught.value)


def test_a_law_is_made_by_name() -> None:
    law = lifetime("weibull", scale=100.0, shape=0.7)
    assert law.values == (0.7, 100.0)
    assert law.params == {"shape": 0.7, "scale": 100.0}
    assert str(law) == "Weibull(shape 0.7, scale 100)"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"shape": 0.7}, "scale"),
        ({"shape": -1, "scale": 1}, "shape"),
        ({"shape": 1, "scale": float("inf")}, "scale"),
        ({"shape": 1, "scale": 1, "rate": 1}, "rate"),
    ],
)
def test_parameters_that_cannot_be_are_named(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}: "):
        lifetime("weibull", **parameters)
