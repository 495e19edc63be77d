"""All figures of a controller, as Prometheus is told them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from forestall.core.model.live.counts import LedgerCounts
from forestall.core.model.live.desk import (
    JobOrder,
    NodeTold,
    OfferTold,
    PromiseTold,
    QuoteQuestion,
    QuoteTold,
    RecordTold,
    Viewer,
)
from forestall.live.ledger.rows import ROWS
from forestall.live.web.metrics.figures import ControllerFigures
from forestall.live.web.metrics.measured import MeasuredDesk
from live.messages.message_cases import NOW, ToldDesk, promise

COUNTS = LedgerCounts(
    rows={**{kind.table: 0 for kind in ROWS}, "looks": 12},
    looks={True: 10, False: 2},
    made={9: 3},
    ended={(9, "kept"): 1, (9, "missed"): 1},
    said={9: 1.9},
    states={("warden", "carried out"): 4},
)
OFFER = OfferTold("0f", NOW, NOW + 60, 0.9, True, NOW + 9, RecordTold(0.9, 1, 2, 1, "words"), ())


def node(name: str, state: str, reliability: float | None, *, up: bool = True) -> NodeTold:
    return NodeTold(name, state, "", up, ("main",), reliability, "hazard", (), None)


@dataclass
class QuotingDesk(ToldDesk):
    """A desk with nodes, that quotes what it is told to."""

    there: list[NodeTold] = field(default_factory=list)
    answer: QuoteTold | Exception = field(default_factory=lambda: QuoteTold(NOW, (OFFER,)))

    def nodes(self, viewer: Viewer) -> list[NodeTold]:
        return self.there

    def quote(self, viewer: Viewer, question: QuoteQuestion) -> QuoteTold:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def accept(self, viewer: Viewer, offer: str, order: JobOrder) -> PromiseTold:
        if isinstance(self.answer, Exception):
            raise self.answer
        return promise("a")


def told(desk: Any, counts: Any = lambda: COUNTS, messages: Any = dict) -> str:
    """Return what is told of a desk."""
    measured = desk if isinstance(desk, MeasuredDesk) else MeasuredDesk(desk)
    registry = CollectorRegistry()
    registry.register(ControllerFigures(measured, counts, messages))
    registry.register(measured.registry)
    return generate_latest(registry).decode()


def told_names(*, labels: bool = False) -> set[str]:
    """Return the names of all figures, or all labels with their values."""
    text = told(QuotingDesk())
    if labels:
        return set(re.findall(r'\w+="[^"]*"', text))
    return set(re.findall(r"^(forestall_\w+)", text, re.MULTILINE))
