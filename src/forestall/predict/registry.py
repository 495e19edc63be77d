"""The predictors that learn, by name. A new one is a module and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from forestall.model.errors import ParameterError
from forestall.predict import settings as check
from forestall.predict.learner import Learner

LEARNERS: Final[dict[str, str]] = {
    "constant": "forestall.predict.baselines.constant:Constant",
    "rate": "forestall.predict.baselines.rate:Rate",
    "recency": "forestall.predict.baselines.recency:Recency",
    "periodic": "forestall.predict.baselines.periodic:Periodic",
    "renewal": "forestall.predict.hazard.renewal:Renewal",
    "semi-markov": "forestall.predict.semi_markov.learner:SemiMarkovPredictor",
    "last": "forestall.predict.linear.learners:Last",
    "bm": "forestall.predict.linear.learners:WindowMean",
    "ma": "forestall.predict.linear.learners:MovingAverage",
    "ar": "forestall.predict.linear.learners:Autoregressive",
    "arma": "forestall.predict.linear.learners:AutoregressiveMovingAverage",
    "neural": "forestall.predict.neural.neural:Neural",
    "rules": "forestall.predict.rules.rules:EventRules",
    "outlier": "forestall.predict.outliers.outliers:Outlier",
    "joined": "forestall.predict.joined.joined:Joined",
    "boosted": "forestall.predict.boosted.boosted:Boosted",
    "stacked": "forestall.predict.stacked:Stacked",
}
"""Where each class lives, baselines first; they are imported when they are asked for."""

TRIVIAL: Final = ("constant", "rate", "recency", "periodic")
"""The baselines that every other predictor must beat to be worth its keep."""


def learner_class(name: str) -> type[Learner]:
    """Return the class of this name; ParameterError where there is none."""
    if name not in LEARNERS:
        raise ParameterError("predictor", name, "one of " + ", ".join(LEARNERS))
    module, _, attribute = LEARNERS[name].partition(":")
    found: type[Learner] = getattr(import_module(module), attribute)
    assert issubclass(found, Learner), f"{found} is no learner"
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
