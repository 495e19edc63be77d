"""What is said of an event log and its filters: rows of tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from forestall.model.units import format_duration

STEP_HEADS: Final = ("step", "within", "before", "after", "removed", "ratio", "most of what went")
RULE_HEADS: Final = ("kind", "follows", "times", "share")
FEW: Final = 5
WIDE: Final = 60
MANY_MONTHS: Final = 24

Rows = list[tuple[str, ...]]


def headline(summary: Mapping[str, Any]) -> str:
    """Return the one line that says it."""
    count, left = summary["records"], summary["failures"]["count"]
    begin = "" if summary["begin"] is None else f" from {summary['begin'].replace('T', ' ')}"
    told = ""
    if summary["alerts"] is not None:
        told = f", {summary['alerts']:,} labelled as alerts"
    return (
        f"{_many(left, 'failure')} from {_many(count, 'record')} of {summary['source']}: "
        f"{_many(summary['places'], 'place')}, {_many(summary['kinds'], 'kind')}, "
        f"{format_duration(summary['span_s'])}{begin}{told}."
    )


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """Return what must be minded: that nothing told failures from other records."""
    if {"severity", "alerts"} & {step["name"] for step in summary["steps"]}:
        return []
    told = summary["alerts"] is not None or set(summary["severities"]) - {"UNKNOWN"}
    if told:
        return [
            "Every record counts as one of a failure: --steps takes neither severity nor alerts."
        ]
    return [
        "Warning: the log tells neither severities nor alerts, so every record counts as one of a",
        "failure. Keep only lines that tell of failures in LOG (with grep, by the kinds below), or",
        "take a log with severities (syslog with <priority>, a table with a severity or alert).",
    ]


def step_rows(summary: Mapping[str, Any]) -> Rows:
    """Return a row for each step."""
    return [
        (
            step["name"],
            "" if step["threshold_s"] is None else format_duration(step["threshold_s"]),
            f"{step['before']:,}",
            f"{step['after']:,}",
            f"{step['removed_share']:.1%}",
            "none left" if step["ratio"] is None else f"{step['ratio']:,.2f}",
            _removed(step["most_removed"]),
        )
        for step in summary["steps"]
    ]


def _removed(kinds: Sequence[Mapping[str, Any]]) -> str:
    if not kinds:
        return ""
    return f"{shortened(kinds[0]['kind'], 36)} ({kinds[0]['count']:,})"


def kind_rows(kinds: Sequence[Mapping[str, Any]], whole: int) -> Rows:
    """Return (count, share, kind) of the most frequent kinds."""
    return [
        (f"{one['count']:,}", f"{one['count'] / whole:.1%}", shortened(one["kind"], 80))
        for one in kinds
    ]


def rule_rows(summary: Mapping[str, Any]) -> Rows:
    """Return the surest rules of what follows what."""
    return [
        (
            shortened(rule["effect"], 40),
            shortened(rule["cause"], 40),
            f"{rule['support']:,}",
            f"{rule['confidence']:.0%}",
        )
        for rule in (summary["rules"] or [])[:FEW]
    ]


def rules_line(summary: Mapping[str, Any]) -> str:
    """Return what the rows of rules are."""
    count = len(summary["rules"])
    some = f"the surest {FEW} of " if count > FEW else ""
    return f"What regularly follows what ({some}{_many(count, 'rule')})"


def on_failures(summary: Mapping[str, Any]) -> list[str]:
    """Return sentences on the failures: how many a day, on how many nodes."""
    found = summary["failures"]
    if found["count"] == 0:
        return ["Nothing is left: no failures."]
    level = found["level"]
    return [
        f"{_many(found['count'], 'failure')} on {found['failed_nodes']:,} of "
        f"{_many(found['nodes'], 'place')} at level {level}: {found['per_day']:.3g} a day, one in "
        f"{format_duration(3600 * found['mtbf_hours'])}, "
        f"{found['per_node_day']:.3g} a place and day.",
        f"Days: median {found['median_per_day']:g}, most {found['most_in_a_day']:,} "
        f"({found['busiest_day']}), none on {found['days_without']:,} of {found['days']:,}.",
    ]


def period_rows(summary: Mapping[str, Any]) -> Rows:
    """Return failures by month, or by year of a log of years."""
    months = summary["failures"]["by_month"] or []
    if len(months) < 2:
        return []
    if len(months) <= MANY_MONTHS:
        return [(m["month"], f"{m['failures']:,}", f"{m['per_day']:.2f}") for m in months]
    years: dict[str, list[float]] = {}
    for month in months:
        total = years.setdefault(month["month"][:4], [0, 0.0])
        total[0] += month["failures"]
        total[1] += month["days"]
    return [(year, f"{n:,.0f}", f"{n / days:.2f}") for year, (n, days) in years.items()]


def remark_rows(summary: Mapping[str, Any]) -> list[str]:
    """Return what was left out or found odd, a line each."""
    return [f"{one['text']} ({one['action']})" for one in summary["remarks"]]


def shortened(text: str, limit: int = WIDE) -> str:
    """Return a text cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
