"""What can be chosen by name of virtual machines: strategies, ways to move, sources of
predictions."""

from __future__ import annotations

from typing import Final

from forestall.model.entries import Entries, Entry

_CHOOSING: Final = "models/virtual-machines/index.md#choosing-a-node-sections-3-and-4"
_MOVING: Final = "models/virtual-machines/index.md#moving-before-failures"
_PREDICTIONS: Final = "models/virtual-machines/predictions.md#predictions"

STRATEGIES: Final = Entries(
    "strategy",
    (
        Entry("random", "random", "any node with the least rate to give, by chance", _CHOOSING),
        Entry(
            "first-fit",
            "first-fit",
            "of the nodes that outlive the deadline, the one with most to give",
            _CHOOSING,
        ),
        Entry(
            "best-fit",
            "best-fit",
            "of the nodes that outlive the deadline and have enough to give, the one that fits "
            "best in capacity and reliability",
            _CHOOSING,
        ),
        Entry(
            "omniscient",
            "omniscient",
            "best-fit with alpha 0.5 that knows the true failure times: the yardstick",
            _CHOOSING,
        ),
    ),
    own=Entry(
        "own",
        "own strategy",
        "a class of the user's own in Python",
        "how-to/your-own/own-strategy.md#a-strategy-of-your-own",
        own=True,
    ),
)
"""In the order in which figures tell them."""

MIGRATIONS: Final = Entries(
    "migration",
    (
        Entry("stop-and-copy", "stop and copy", "no progress while a task moves", _MOVING),
        Entry("pre-copy", "pre-copy", "a task runs on while its memory is copied", _MOVING),
        Entry("none", "none", "no task moves", _MOVING),
    ),
)

SOURCES: Final = Entries(
    "predictor",
    (
        Entry("synthetic", "synthetic", "made up from the true failures", _PREDICTIONS),
        Entry("recorded", "recorded", "the failure log's own column", _PREDICTIONS),
        Entry("hazard", "hazard", "a hazard predictor that was fitted", _PREDICTIONS),
        Entry("learned", "learned", "any trained predictor", _PREDICTIONS),
    ),
)
"""Kinds of predictors."""
