"""The predictors that learn, by name. A new one is a module and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from forestall.model.entries import Entries, Entry
from forestall.predict import settings as check
from forestall.predict.learner import Learner

_SERIES: Final = "linear-time-series-last-bm-ma-ar-arma"


@dataclass(frozen=True)
class LearnerEntry(Entry):
    """A predictor that learns; `place` is module and class below `forestall.predict`."""

    place: str = ""


def _learner(name: str, label: str, place: str, heading: str = "") -> LearnerEntry:
    """Return an entry; the class tells what it does, the page has a heading of its name."""
    docs = f"models/learners.md#{heading or name}"
    return LearnerEntry(name, label, "", docs, place=place)


LEARNERS: Final = Entries(
    "predictor",
    (
        _learner("constant", "constant rate", "baselines.constant:Constant"),
        _learner("rate", "rate of each node", "baselines.rate:Rate"),
        _learner("recency", "recency", "baselines.recency:Recency"),
        _learner("periodic", "time of day", "baselines.periodic:Periodic"),
        _learner("renewal", "renewal", "hazard.renewal:Renewal"),
        _learner("semi-markov", "semi-Markov", "semi_markov.learner:SemiMarkovPredictor"),
        _learner("last", "last value", "linear.learners:Last", _SERIES),
        _learner("bm", "windowed mean", "linear.learners:WindowMean", _SERIES),
        _learner("ma", "moving average", "linear.learners:MovingAverage", _SERIES),
        _learner("ar", "autoregressive", "linear.learners:Autoregressive", _SERIES),
        _learner("arma", "ARMA", "linear.learners:AutoregressiveMovingAverage", _SERIES),
        _learner("neural", "neural network", "neural.neural:Neural"),
        _learner("rules", "rules", "rules.rules:EventRules"),
        _learner("outlier", "outliers", "outliers.outliers:Outlier"),
        _learner("joined", "joined", "joined.joined:Joined"),
        _learner("boosted", "boosted trees", "boosted.boosted:Boosted"),
        _learner("stacked", "stacked", "stacked:Stacked"),
    ),
)
"""Where each class lives, baselines first; they are imported when they are asked for."""

TRIVIAL: Final = ("constant", "rate", "recency", "periodic")
"""The baselines that every other predictor must beat to be worth its keep."""


def learner_class(name: str) -> type[Learner]:
    """Return the class of this name; ParameterError where there is none."""
    module, _, attribute = LEARNERS.chosen(name).place.partition(":")
    found: type[Learner] = getattr(import_module(f"forestall.predict.{module}"), attribute)
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
