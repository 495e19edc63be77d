"""The predictors that can be chosen by name. A new one is a module and an entry here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.entries import Entries, Entry

_SERIES: Final = "linear-time-series-last-bm-ma-ar-arma"
_TRAINED: Final = ("neural", "joined", "boosted", "stacked")


@dataclass(frozen=True)
class LearnerEntry(Entry):
    """A predictor that learns; `about` has at most 60 characters, and `place` is module and class
    below `forestall.prediction.models`."""

    place: str = ""


def _learner(name: str, label: str, place: str, about: str, heading: str = "") -> LearnerEntry:
    """Return an entry; one of the two pages has a heading of its name."""
    page = "trained" if name in _TRAINED else "statistical"
    docs = f"models/learners/{page}.md#{heading or name}"
    return LearnerEntry(name, label, about, docs, place=place)


LEARNERS: Final = Entries(
    "predictor",
    (
        _learner(
            "constant", "constant rate", "baselines.constant:Constant",
            "the machine's failure rate, the same for all nodes",
        ),
        _learner(
            "rate", "rate of each node", "baselines.rate:Rate",
            "each node's failure rate, by empirical Bayes",
        ),
        _learner(
            "recency", "recency", "baselines.recency:Recency",
            "hazard by the time since the node's last failure",
        ),
        _learner(
            "periodic", "time of day", "baselines.periodic:Periodic",
            "each node's rate by hour of the day and weekend",
        ),
        _learner(
            "renewal", "renewal", "hazard.renewal:Renewal",
            "Weibull gaps, each node's rate by empirical Bayes",
        ),
        _learner(
            "semi-markov", "semi-Markov", "semi_markov.learner:SemiMarkovPredictor",
            "up/down and load states, by age and clock window",
        ),
        _learner(
            "last", "last value", "linear.learners:Last",
            "the machine's failures as in the same-length window before", _SERIES,
        ),
        _learner(
            "bm", "windowed mean", "linear.learners:WindowMean",
            "the machine's mean failure count of the last N bins", _SERIES,
        ),
        _learner(
            "ma", "moving average", "linear.learners:MovingAverage",
            "MA(8) of the machine's failure counts, by exact likelihood", _SERIES,
        ),
        _learner(
            "ar", "autoregressive", "linear.learners:Autoregressive",
            "AR(8) of the machine's failure counts, by exact likelihood", _SERIES,
        ),
        _learner(
            "arma", "ARMA", "linear.learners:AutoregressiveMovingAverage",
            "ARMA(8,8) of the machine's failure counts, exact likelihood", _SERIES,
        ),
        _learner(
            "neural", "neural network", "neural.neural:Neural",
            "neural network on a node's last 8 times between failures",
        ),
        _learner(
            "rules", "rules", "rules.rules:EventRules",
            "event sets mined for raising the risk of failure",
        ),
        _learner(
            "outlier", "outliers", "outliers.outliers:Outlier",
            "metrics improbably high for a healthy node",
        ),
        _learner(
            "joined", "joined", "joined.joined:Joined",
            "linear time series and mined rules in one logistic model",
        ),
        _learner(
            "boosted", "boosted trees", "boosted.boosted:Boosted",
            "gradient-boosted trees on the recent past of nodes",
        ),
        _learner(
            "stacked", "stacked", "stacked:Stacked",
            "several predictors, weighted by held-out data",
        ),
    ),
)  # fmt: skip
"""Where each class lives, baselines first; they are imported when they are asked for."""

TRIVIAL: Final = ("constant", "rate", "recency", "periodic")
"""The baselines that every other predictor must beat to be worth its keep."""
