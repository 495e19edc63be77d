"""A piece of advice: what to do, what it would have saved, and what says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forestall.show.facts import plain


@dataclass(frozen=True)
class Advice:
    """What to do about it.

    Attributes
    ----------
    key : kind of advice: checkpoint_interval, spares, limit, node, ...
    text : what to do, in a sentence
    saves : node-hours that it would have saved over the time of the records; None: not told
    low, high : interval or bounds of `saves`
    because : the evidence, with its number of records
    assumes : what must hold
    labels : what it is about, such as {"node": "n17"}
    """

    key: str
    text: str
    saves: float | None
    because: str
    assumes: str = ""
    low: float | None = None
    high: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "key": self.key,
            "text": self.text,
            "saves_node_hours": plain(self.saves),
            "saves_low_node_hours": plain(self.low),
            "saves_high_node_hours": plain(self.high),
            "because": self.because,
            "assumes": self.assumes,
            "labels": dict(self.labels),
        }
