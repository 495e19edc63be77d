"""The predictors that learn, made by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from forestall.prediction.models import settings as check
from forestall.prediction.models.entries import LEARNERS
from forestall.prediction.models.learner import Learner


def learner_class(name: str) -> type[Learner]:
    """Return the class of this name; ParameterError where there is none."""
    module, _, attribute = LEARNERS.chosen(name).place.partition(":")
    found: type[Learner] = getattr(
        import_module(f"forestall.prediction.models.{module}"), attribute
    )
    assert issubclass(found, Learner), f"{found} is not a learner"
    assert found.name == name, f"{found} is called {found.name}, not {name}"
    return found


def new_learner(name: str, **settings: Any) -> Learner:
    """Return an untrained predictor of this name.

    Raises InputError for a setting that it does not have, ParameterError for a bad one.
    """
    kind = learner_class(name)
    check.check_names(name, kind, settings)
    given = dict(settings)
    if "horizons" in given:
        given["horizons"] = check.seconds(given["horizons"])
    if isinstance(given.get("members"), str):
        given["members"] = check.texts("members", given["members"])
    return kind(**given)
