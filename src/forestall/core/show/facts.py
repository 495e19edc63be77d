"""Facts: numbers of a report that say how they came about.

A fact stands in text, on the page, in JSON and in OpenMetrics alike; all are made from what is
here, so that they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

Value = float | int | None

UNITS: Final[Mapping[str, str]] = {
    "node_hours": "node-hours",
    "gpu_hours": "GPU-hours",
    "processor_hours": "processor-hours",
    "host_hours": "host-hours",
    "hours": "h",
    "seconds": "s",
    "days": "d",
    "ratio": "%",
    "number": "",
    "count": "",
    "nodes": "nodes",
    "jobs": "jobs",
    "per_1000_node_days": "per 1000 node-days",
    "money": "",
    "nines": "",
}
"""Units of facts, and how they are written. A ratio of 0.9 is written 90 %; money gets the report's
currency; a number has no unit, and a count counts records."""


@dataclass(frozen=True)
class Fact:
    """One number of a report.

    Attributes
    ----------
    key : its name in JSON and, with a prefix, in OpenMetrics: lower case, words joined by ``_``,
        without the unit
    label : in words
    value : in `unit`; None where it cannot be told (`why` says why)
    unit : one of `UNITS`
    records : from how many records; None: not counted
    assumes : what must hold for it to mean what it says
    low, high : ends of its interval at `level`, None where there is none
    labels : what it is of, such as {"cause": "node_failure"}
    why : why there is no value
    meaning : what it means, in a few words that stand quietly below it
    shown : the value with its unit as text, where the unit's usual form will not do
    """

    key: str
    label: str
    value: Value
    unit: str
    records: int | None = None
    assumes: str = ""
    low: Value = None
    high: Value = None
    level: float = 0.95
    labels: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    meaning: str = ""
    shown: str = ""

    def __post_init__(self) -> None:
        assert self.unit in UNITS, f"unit {self.unit!r}"
        assert self.value is not None or self.why, f"{self.key}: no value and no reason"

    @classmethod
    def measured(
        cls, key: str, label: str, value: Any, unit: str, meaning: str, shown: str, **rest: Any
    ) -> Fact:
        """Return a measure with words of its own; where it has no value its meaning says why."""
        known = None if isinstance(value, float) and not math.isfinite(value) else value
        why = meaning if known is None else ""
        return cls(key, label, known, unit, meaning=meaning, shown=shown, why=why, **rest)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; what is no finite number is None."""
        told: dict[str, Any] = {
            "key": self.key,
            "label": self.label,
            "value": plain(self.value),
            "unit": self.unit,
        }
        if self.records is not None:
            told["records"] = self.records
        if self.low is not None or self.high is not None:
            told |= {"low": plain(self.low), "high": plain(self.high), "level": self.level}
        if self.labels:
            told["labels"] = dict(self.labels)
        for name, text in (
            ("assumes", self.assumes), ("why", self.why), ("meaning", self.meaning),
        ):  # fmt: skip
            if text:
                told[name] = text
        return told


@dataclass(frozen=True)
class Untold:
    """What could not be told, why, and what would tell it."""

    what: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f" It takes {self.remedy}." if self.remedy else ""
        return f"{self.what}: {self.why}.{remedy}"


def plain(value: Any) -> Any:
    """Return a number for JSON: None for what is not finite, whole numbers as such."""
    if value is None or isinstance(value, bool | int | str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def taken(one: object, *names: str, **renamed: str) -> dict[str, Any]:
    """Return attributes of an object for a record: by their names, and then others under new names.

    >>> taken(2.5 + 1j, "real", imaginary="imag")
    {'real': 2.5, 'imaginary': 1.0}
    """
    named = dict(zip(names, names, strict=True)) | renamed
    return {new: attrgetter(old)(one) for new, old in named.items()}


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a row is a single value."""
    return {name: value for name, value in row.items() if not isinstance(value, list | dict)}


def records_of(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return rows for `Table.records`: what of them is a single value, plain."""
    return tuple({name: plain(value) for name, value in flat(row).items()} for row in rows)
