"""What can be chosen by name of virtual machines: strategies, ways to move, sources of
predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.entries import Entries, Entry

_CHOOSING: Final = "models/virtual-machines/index.md#choosing-a-node-sections-3-and-4"
_MOVING: Final = "models/virtual-machines/index.md#moving-before-failures"
_PREDICTIONS: Final = "models/virtual-machines/predictions.md#predictions"


@dataclass(frozen=True)
class VirtualStrategy(Entry):
    """A strategy.

    Attributes
    ----------
    number : of its branch in `placement_kernels.choose`
    draws : whether it takes nodes by chance, a draw for each task
    weighs : whether `alpha` weighs what it compares; `alpha` : that weight, where it is fixed
    knows : whether it is given the true times of failures, so that it exists in simulation alone
    """

    number: int = -1
    draws: bool = False
    weighs: bool = False
    alpha: float | None = None
    knows: bool = False


OWN_STRATEGY: Final = VirtualStrategy(
    "own",
    "own strategy",
    "a class of the user's own in Python",
    "how-to/your-own/own-strategy.md#a-strategy-of-your-own",
    own=True,
    number=3,
)

STRATEGIES: Final = Entries(
    "strategy",
    (
        VirtualStrategy(
            "random",
            "random",
            "any node with the least rate to give, by chance",
            _CHOOSING,
            number=0,
            draws=True,
        ),
        VirtualStrategy(
            "first-fit",
            "first-fit",
            "of the nodes that outlive the deadline, the one with most to give",
            _CHOOSING,
            number=1,
        ),
        VirtualStrategy(
            "best-fit",
            "best-fit",
            "of the nodes that outlive the deadline and have enough to give, the one that fits "
            "best in capacity and reliability",
            _CHOOSING,
            number=2,
            weighs=True,
        ),
        VirtualStrategy(
            "omniscient",
            "omniscient",
            "best-fit with alpha 0.5 that knows the true failure times: the yardstick",
            _CHOOSING,
            number=2,
            alpha=0.5,
            knows=True,
        ),
    ),
    own=OWN_STRATEGY,
)
"""In the order in which figures show them: the only list of their names."""

LIVE_STRATEGIES: Final = Entries("strategy", (one for one in STRATEGIES.values() if not one.knows))
"""Those for real hosts, and for nodes of which only predictions are known."""

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
