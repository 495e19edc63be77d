"""What is in an event log. Data only; printing is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.ras import RasLog, Severity
from forestall.core.model.units import format_duration

SHOWN: Final = 5
"""Kinds and places that are named."""


@dataclass(frozen=True)
class RasInfo:
    """What is in an event log.

    Attributes
    ----------
    records, places, kinds : how many; span : s
    severities, top_kinds, top_places : (name, records), the most frequent first
    alerts : records that the log itself labels, None where it has no labels
    """

    source: str
    records: int
    places: int
    kinds: int
    span: int
    origin: int | None
    severities: tuple[tuple[str, int], ...]
    top_kinds: tuple[tuple[str, int], ...]
    top_places: tuple[tuple[str, int], ...]
    alerts: int | None
    oddities: tuple[tuple[str, str], ...]

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value with its unit) pairs for printing."""
        days = max(self.span, 1) / 86_400
        begin = "not told"
        if self.origin is not None:
            begin = str(np.datetime64(self.origin, "s")).replace("T", " ")
        rows = [
            ("event log", self.source or "in memory"),
            ("records", f"{self.records:,} ({self.records / days:,.0f} a day)"),
            ("first record", begin),
            ("span", format_duration(self.span)),
            ("severities", _listed(self.severities)),
            ("alerts", "not labeled" if self.alerts is None else f"{self.alerts:,}"),
            ("places", f"{self.places:,}; most: {_listed(self.top_places)}"),
            ("kinds", f"{self.kinds:,}; most:"),
            *(("", f"{count:,} {kind}") for kind, count in self.top_kinds),
        ]
        return rows + (list(self.oddities) or [("oddities", "none")])


def describe_events(log: RasLog) -> RasInfo:
    """Return what is in an event log."""
    first = int(log.time[0]) if len(log) else 0
    return RasInfo(
        source=log.source,
        records=len(log),
        places=len(np.unique(log.place)),
        kinds=len(np.unique(log.kind)),
        span=int(log.time[-1]) - first + 1 if len(log) else 0,
        origin=None if log.origin is None else log.origin + first,
        severities=_most(log.severity, [one.name for one in Severity], len(Severity)),
        top_kinds=_most(log.kind, log.kinds, SHOWN),
        top_places=_most(log.place, log.places, SHOWN),
        alerts=None if log.alert is None else int(log.alert.sum()),
        oddities=tuple((r.action, r.counted) for r in log.cleaning.remarks),
    )


def _most(
    numbers: npt.NDArray[np.integer], names: Sequence[str], most: int
) -> tuple[tuple[str, int], ...]:
    """Return the most frequent names with their counts."""
    count = np.bincount(numbers[numbers >= 0], minlength=len(names))
    order = np.argsort(-count, kind="stable")[:most]
    return tuple((names[k], int(count[k])) for k in order.tolist() if count[k])


def _listed(entries: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in entries)
