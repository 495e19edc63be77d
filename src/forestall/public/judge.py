"""`fs.judge`: what predictions are worth: ROC and significance, attribution, cost and benefit."""

from forestall.assess.attribution import Attribution, Fates, MetricSamples, attribute
from forestall.assess.benefit import (
    BenefitCurve,
    Occasions,
    at_random,
    net_benefit,
    of_periods,
    perfect,
    unrelated,
)
from forestall.assess.figures import plot_roc
from forestall.assess.figures_benefit import plot_benefit
from forestall.assess.roc import area, roc
from forestall.assess.significance import (
    AreaInterval,
    Permutation,
    delong,
    expected_p,
    permutation,
)

__all__ = [
    "AreaInterval",
    "Attribution",
    "BenefitCurve",
    "Fates",
    "MetricSamples",
    "Occasions",
    "Permutation",
    "area",
    "at_random",
    "attribute",
    "delong",
    "expected_p",
    "net_benefit",
    "of_periods",
    "perfect",
    "permutation",
    "plot_benefit",
    "plot_roc",
    "roc",
    "unrelated",
]
