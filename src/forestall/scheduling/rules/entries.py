"""What can be chosen by name beside the policy: checkpoint rules, placements, kinds of
predictors."""

from __future__ import annotations

from typing import Final

from forestall.core.model.entries import Entries, Entry

_REQUESTS: Final = "models/checkpointing.md#which-requests-are-performed"
_LEAST: Final = "models/promises/index.md#the-set-of-least-risk"
_NODES: Final = "models/classic.md#nodes-and-failures"
_SHARED: Final = "models/shared-nodes.md#which-nodes-a-job-gets"

CHECKPOINTS: Final = Entries(
    "checkpoint",
    (
        Entry("risk", "risk-based", "where going on would cost more on average", _REQUESTS),
        Entry("none", "none", "none is performed", _REQUESTS),
        Entry("periodic", "periodic", "every request is performed", _REQUESTS),
        Entry("daly", "Daly's", "every request, at the interval of Daly's formula", _REQUESTS),
    ),
)

PLACEMENTS: Final = Entries(
    "placement",
    (
        Entry("fault-aware", "fault-aware", "the nodes of least risk, one by one", _NODES),
        Entry("least", "least", "the nodes of least risk together", _LEAST),
        Entry("first", "first", "the nodes of lowest number", _NODES),
        Entry("best", "best fit", "the nodes with the fewest free GPUs, cores, memory", _SHARED),
        Entry("worst", "worst fit", "the nodes with the most free GPUs, cores, memory", _SHARED),
        Entry(
            "gradient", "fragmentation gradient", "where the fewest GPUs become fragments", _SHARED
        ),
    ),
)
SHARED_PLACEMENTS: Final = ("best", "first", "worst", "gradient")
"""Those of runs in which jobs share nodes, the default first; the others go by risk."""
ONLY_SHARED: Final = tuple(name for name in SHARED_PLACEMENTS if name != "first")

FORECASTS: Final = Entries(
    "predictor",
    (
        Entry(
            "trace",
            "trace",
            "the future log, seen as well as the accuracy allows",
            "models/prediction.md#the-trace-predictor",
        ),
        Entry(
            "hazard",
            "hazard",
            "hazards learned from a training log",
            "models/prediction.md#the-hazard-predictor",
        ),
        Entry(
            "learned",
            "learned",
            "any trained predictor",
            "models/prediction.md#predictors-that-learn-in-a-run",
        ),
    ),
)
"""Kinds of predictors."""
