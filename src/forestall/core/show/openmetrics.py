"""A report's facts for Prometheus: OpenMetrics text, in base units.

Names are ``forestall_<key>_<unit>`` with the fact's labels. Base units are seconds, ratios of 0
to 1, and node-seconds: what a report shows in hours, days or percent is converted. All are gauges:
each report tells of its own window. A fact without a value is left out; its interval stands in
``forestall_<key>_low_<unit>`` and ``_high_``, and the number of its records in
``forestall_figure_records``. The text is valid in the older Prometheus format as well, so that the
textfile collector of the node exporter takes it.

The cut that was asked for, a partition or a least number of nodes, is a label of every series, so
that reports of several cuts stand beside each other. Names of users and jobs are no labels: they
are personal, and other ones every day; what advice on them would have saved is added up.

Source: OpenMetrics 1.0, https://github.com/prometheus/OpenMetrics; naming by
https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.core.files.atomic import atomic_path
from forestall.core.show.clean import clean
from forestall.core.show.facts import UNITS

if TYPE_CHECKING:
    from forestall.core.show.facts import Fact
    from forestall.core.show.report import Report, Section

PREFIX: Final = "forestall"
BASE: Final[Mapping[str, tuple[str, float]]] = {
    "node_hours": ("node_seconds", 3600.0),
    "gpu_hours": ("gpu_seconds", 3600.0),
    "processor_hours": ("processor_seconds", 3600.0),
    "host_hours": ("host_seconds", 3600.0),
    "hours": ("seconds", 3600.0),
    "seconds": ("seconds", 1.0),
    "days": ("seconds", 86_400.0),
    "ratio": ("ratio", 1.0),
    "number": ("", 1.0),
    "count": ("", 1.0),
    "nodes": ("nodes", 1.0),
    "jobs": ("jobs", 1.0),
    "per_1000_node_days": ("per_node_second", 1 / (1000 * 86_400.0)),
    "money": ("", 1.0),
    "nines": ("nines", 1.0),
}
"""The base unit of each unit of facts, and how many of it make one."""
PERSONAL: Final = frozenset({"user", "account", "name"})
"""Labels that are left out."""
RESERVED: Final = {"quantile": "quantile_level", "le": "bound"}
"""Labels that only summaries and histograms have: a gauge with one would be taken for those."""
_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")
_MOST: Final = 200
assert set(BASE) == set(UNITS)


@dataclass
class _Family:
    """A metric: what it is, and its samples by their labels."""

    name: str
    unit: str
    help: str
    samples: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        head = [f"# TYPE {self.name} gauge"]
        if self.unit:
            head.append(f"# UNIT {self.name} {self.unit}")
        head.append(f"# HELP {self.name} {_escaped(self.help, quotes=False)}")
        return head + [f"{self.name}{labels} {value}" for labels, value in self.samples.items()]


def openmetrics(report: Report, renamed: Mapping[str, str] | None = None) -> str:
    """Return the facts of a report as OpenMetrics text.

    `renamed` has names for facts whose keys mean too little outside of their sections.
    """
    families: dict[str, _Family] = {}
    _about(families, report)
    for section, one in _public(report.facts()):
        if one.value is None or not math.isfinite(one.value):
            continue
        labels = _labels_of(one, report)
        key = (renamed or {}).get(one.key, one.key)
        what = one.label if not one.labels else _general(one, section.title)
        _put(families, key, one.unit, what, labels, one.value)
        for end, value in (("low", one.low), ("high", one.high)):
            if value is not None and math.isfinite(value):
                said = f"{what}: {end} end of the {100 * one.level:g} % interval"
                _put(families, f"{key}_{end}", one.unit, said, labels, value)
        if one.records is not None:
            text = "Records that a figure is from"
            given = {"figure": key, **labels}
            _put(families, "figure_records", "count", text, given, one.records)
    lines = [line for name in families for line in families[name].lines()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels_of(one: Fact, report: Report) -> dict[str, str]:
    """Return the labels of a fact, those of the whole report among them."""
    labels = dict(one.labels)
    if one.unit == "money":
        labels["currency"] = report.currency
    for name, value in report.labels.items():
        labels[f"asked_{name}" if name in labels else name] = value
    return labels


def _public(facts: Iterable[tuple[Section, Fact]]) -> list[tuple[Section, Fact]]:
    """Return the facts without personal labels; those that then are the same, of what different
    jobs did, are one sum without an interval."""
    kept: list[tuple[Section, Fact]] = []
    sums: dict[tuple[str, str, tuple[tuple[str, str], ...]], int] = {}
    for section, one in facts:
        if not PERSONAL & set(one.labels):
            kept.append((section, one))
            continue
        labels = {name: value for name, value in one.labels.items() if name not in PERSONAL}
        if one.value is None or one.unit == "ratio":  # shares do not add up
            continue
        place = one.key, one.unit, tuple(sorted(labels.items()))
        bare = replace(one, labels=labels, low=None, high=None)
        if place not in sums:
            sums[place] = len(kept)
            kept.append((section, bare))
            continue
        part, before = kept[sums[place]]
        assert before.value is not None
        total = before.value + one.value
        known = before.records is not None and one.records is not None
        records = (before.records or 0) + (one.records or 0) if known else None
        kept[sums[place]] = (
            part,
            replace(before, value=total, records=records),
        )
    return kept


def write_openmetrics(
    path: str | Path, report: Report, renamed: Mapping[str, str] | None = None
) -> Path:
    """Write the facts whole or not at all, and return where."""
    target = Path(path)
    with atomic_path(target) as beside:
        beside.write_text(openmetrics(report, renamed), encoding="utf-8")
    return target


def _about(families: dict[str, _Family], report: Report) -> None:
    """Add what made the report, and what it is on."""
    cut = report.labels
    made = {name: str(value) for name, value in report.versions.items()}
    text = "What made the report"
    _put(families, "report_info", "count", text, {**made, **cut}, 1)
    for fact in report.about:
        if fact.value is not None:
            _put(families, fact.key, fact.unit, fact.label, {**fact.labels, **cut}, fact.value)
    for one in report.cleaning.remarks:
        labels = {"kind": one.kind, "action": one.action, **cut}
        told = families.get(f"{PREFIX}_odd_records")
        key = _labels(labels)
        before = int(told.samples.get(key, "0")) if told is not None else 0
        text = "Records that were left out, changed or found odd"
        _put(families, "odd_records", "count", text, labels, before + one.count, again=True)


def _general(one: Fact, title: str) -> str:
    """Return what a family of labelled facts is: the label's part before what tells them
    apart."""
    head = re.split(r"[:(,]", one.label)[0].strip()
    return head if head and head != one.label.strip() else f"{one.key.replace('_', ' ')} ({title})"


def _put(
    families: dict[str, _Family],
    key: str,
    unit: str,
    text: str,
    labels: Mapping[str, str],
    value: float,
    *,
    again: bool = False,
) -> None:
    """Add a sample; of two with one name and the same labels the first counts."""
    base, factor = BASE[unit]
    name = f"{PREFIX}_{_NAME.sub('_', key)}"
    if base and not name.endswith(f"_{base}"):
        name += f"_{base}"
    family = families.setdefault(name, _Family(name, base, text))
    told = _labels(labels)
    if again or told not in family.samples:
        family.samples[told] = _number(value * factor if factor != 1 else value)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = [
        f'{_label(name)}="{_escaped(clean(str(value), _MOST))}"' for name, value in labels.items()
    ]
    return "{" + ",".join(pairs) + "}"


def _label(name: str) -> str:
    plain = _NAME.sub("_", RESERVED.get(name, name))
    return f"_{plain}" if plain[:1].isdigit() or not plain else plain


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text
