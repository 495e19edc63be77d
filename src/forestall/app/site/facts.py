"""What a report is made of: figures that say how they came about, tables of them, and sections.

A figure stands in text, on the page, in JSON and in OpenMetrics alike; all four are made from what
is here, so that they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

Value = float | int | None


@dataclass(frozen=True)
class Figure:
    """One number of a report.

    Attributes
    ----------
    key : its name in JSON and, with a prefix, in OpenMetrics: lower case, words joined by ``_``,
        without the unit
    label : in words
    value : in `unit`; None where it cannot be told (`why` says why)
    unit : one of `UNITS`
    records : from how many records
    assumes : what must hold for it to mean what it says
    low, high : ends of its interval at `level`, None where there is none
    labels : what it is of, such as {"cause": "node_failure"}
    why : why there is no value
    """

    key: str
    label: str
    value: Value
    unit: str
    records: int
    assumes: str = ""
    low: Value = None
    high: Value = None
    level: float = 0.95
    labels: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    def __post_init__(self) -> None:
        assert self.unit in UNITS, f"unit {self.unit!r}"
        assert self.value is not None or self.why, f"{self.key}: no value and no reason"

    def as_json(self) -> dict[str, Any]:
        """Return plain values; what is no finite number is None."""
        told: dict[str, Any] = {
            "key": self.key,
            "label": self.label,
            "value": plain(self.value),
            "unit": self.unit,
            "records": self.records,
        }
        if self.low is not None or self.high is not None:
            told |= {"low": plain(self.low), "high": plain(self.high), "level": self.level}
        if self.labels:
            told["labels"] = dict(self.labels)
        if self.assumes:
            told["assumes"] = self.assumes
        if self.why:
            told["why"] = self.why
        return told


UNITS: dict[str, str] = {
    "node_hours": "node-hours",
    "gpu_hours": "GPU-hours",
    "hours": "h",
    "seconds": "s",
    "days": "d",
    "ratio": "%",
    "count": "",
    "nodes": "nodes",
    "jobs": "jobs",
    "per_1000_node_days": "per 1000 node-days",
    "money": "",
    "nines": "",
}
"""Units of figures, and how they are written. A ratio of 0.9 is written 90 %; money gets the
report's currency."""


@dataclass(frozen=True)
class Table:
    """Rows that belong together.

    Attributes
    ----------
    key : its name in JSON
    title : what the rows are
    heads : of the columns, with units
    rows : cells as text, as they are shown
    records : the same rows as plain values by name, for JSON; names carry their units
    note : a remark below it
    right : columns that are aligned right
    ranked : the first rows matter most; a long table that is not is shown with both its ends
    """

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    records: tuple[Mapping[str, Any], ...]
    note: str = ""
    right: tuple[int, ...] = ()
    ranked: bool = False

    def __post_init__(self) -> None:
        assert len(self.rows) == len(self.records), f"{self.key}: rows and records differ"
        assert all(len(row) == len(self.heads) for row in self.rows), f"{self.key}: ragged rows"


@dataclass(frozen=True)
class Picture:
    """A figure to draw (with `forestall.show`), what it is for those who cannot see it, and what
    it shows."""

    name: str
    draw: Callable[[], Drawn]
    alt: str
    caption: str


@dataclass(frozen=True)
class Untold:
    """What could not be told, why, and what would tell it."""

    what: str
    why: str
    remedy: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    key : its name in JSON
    title : of the section
    lead : one or two sentences that say the most important thing, with its numbers
    figures : numbers shown as cards and in JSON and OpenMetrics
    series : numbers that the tables show already: in JSON and OpenMetrics, not shown again
    tables, pictures : shown below
    notes : assumptions and rules in words
    untold : what could not be told; collected in a section of its own
    """

    key: str
    title: str
    lead: str
    figures: tuple[Figure, ...] = ()
    series: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    untold: tuple[Untold, ...] = ()


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


def plain(value: Any) -> Any:
    """Return a number for JSON: None for what is not finite, whole numbers as such."""
    if value is None or isinstance(value, bool | int | str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def records_of(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return rows for `Table.records`, with plain values."""
    return tuple({name: plain(value) for name, value in row.items()} for row in rows)
