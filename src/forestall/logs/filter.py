"""From an event log to failures: read, filter, sum up, write, and say in rows and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.kit.progress import Progress
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.ras import RasLog, Severity
from forestall.core.model.settings import real_of, whole_of
from forestall.core.model.units import SECONDS, format_duration, parse_duration
from forestall.core.show.blocks import Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import count, counted
from forestall.logs.generate.ras import Truth
from forestall.logs.ras import FilteredLog, FilterSettings, pipeline, read_ras, write_ras
from forestall.logs.ras.pipeline import STEPS
from forestall.logs.ras.places import check_level
from forestall.logs.ras.read import severity_of
from forestall.logs.write import write_failures_csv

with lazily():
    import polars as pl

TOP: Final = 10
"""Kinds that are named, of those left and of those that a step removed most of."""

THRESHOLDS: Final = ("temporal", "spatial", "causal", "clusters")
PLAIN: Final = ("rule", "within")
DAY: Final = SECONDS["d"]


@dataclass(frozen=True)
class FilterStudy:
    """An event log, what is left of it, and its failures.

    Attributes
    ----------
    log, filtered : before and after
    failures : what is left, at `level`
    summary : all of it as JSON has it
    """

    log: RasLog
    filtered: FilteredLog
    failures: Failures
    level: str
    summary: Mapping[str, Any]


def settings_of(given: Mapping[str, Any]) -> FilterSettings:
    """Return the settings that options say, as text; those of reading are passed over.

    Raises ParameterError.
    """
    said: dict[str, Any] = {key: given[key] for key in (*PLAIN, *THRESHOLDS) if key in given}
    for name in THRESHOLDS:
        if name in said:
            said[name] = parse_duration(said[name], name)
    if "steps" in given:
        names = [name.strip() for name in str(given["steps"]).split(",")]
        said["steps"] = tuple(name for name in names if name)
        if not said["steps"]:
            raise ParameterError("steps", given["steps"], f"some of {', '.join(STEPS)}")
    if "severity" in given:
        said["severity"] = severity_of(given["severity"])
    if "support" in given:
        said["support"] = whole_of("support", given["support"])
    for name in ("confidence", "lift"):
        if name in given:
            said[name] = real_of(name, given[name])
    return FilterSettings(**said)


def reading_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of `read_ras` that options say, as text; the others are passed over.

    Raises ParameterError.
    """
    said = {key: given[key] for key in ("format", "templates", "strict") if key in given}
    if "from" in given:
        said["start"] = given["from"]
    if "days" in given:
        said["days"] = real_of("days", given["days"])
    if "year" in given:
        said["year"] = whole_of("year", given["year"])
    return said


def study(
    path: str | Path,
    reading: Mapping[str, Any],
    settings: FilterSettings,
    level: str = "node",
    progress: Progress | None = None,
) -> FilterStudy:
    """Read an event log, filter it, and return both with a summary.

    `reading` holds parameters of `read_ras`. Raises TraceError and ParameterError.
    """
    check_level(level)
    log = read_ras(path, progress=progress, **reading)
    asked = settings.severity is not None or "severity" in (settings.steps or ())
    if asked and not bool(np.any(log.severity > 0)):
        word = (settings.severity or Severity.FATAL).name
        raise ParameterError("severity", word, "none: the log has no severities")
    filtered = pipeline(log, settings)
    failures = filtered.failures(level)
    return FilterStudy(log, filtered, failures, level, _summary(log, filtered, failures, level))


def write_failures(
    done: FilterStudy, out: Path | None, names: Path | None, records: Path | None
) -> list[str]:
    """Write the failures, the names of their nodes, the records left, and return what was written.

    Raises TraceError where nothing is left to write.
    """
    wanted = [path for path in (out, names, records) if path is not None]
    if not wanted:
        return []
    if len(done.failures) == 0:
        message = f"no record is left of {len(done.log):,}: there is nothing to write"
        raise TraceError(done.log.source, message)
    said = []
    if out is not None:
        write_failures_csv(done.failures, out)
        said.append(f"{len(done.failures):,} failures in {out}")
    if names is not None:
        write_names(done.failures, names)
        said.append(f"the names of {done.failures.nodes:,} nodes in {names}")
    if records is not None:
        write_ras(done.filtered.log, records)
        said.append(f"{len(done.filtered.log):,} records in {records}")
    return said


def write_names(failures: Failures, path: str | Path) -> None:
    """Write ``node,name`` of every node."""
    names = failures.names or tuple(map(str, range(failures.nodes)))
    with atomic_path(path) as beside:
        table = pl.DataFrame({"node": range(len(names)), "name": list(names)})
        harmless(table).write_csv(beside)


def write_truth(failures: Failures, truth: Truth, path: str | Path) -> None:
    """Write the true failures of a made-up log: ``time,node,kind,incident,warned,lead,records``.

    The first three are our own failure log. `lead` is the time from the first warning, s, blank
    without one; `records` how many tell of the failure.
    """
    told = np.bincount(truth.failure[truth.failure >= 0], minlength=len(failures))
    lead = pl.Series(truth.lead)
    table = failures.table().with_columns(
        incident=pl.Series(truth.incident),
        warned=pl.Series(truth.warned).cast(pl.Int8),
        lead=lead.set(lead < 0, None),
        records=pl.Series(told),
    )
    with atomic_path(path) as beside:
        harmless(table).write_csv(beside)


def _summary(log: RasLog, filtered: FilteredLog, failures: Failures, level: str) -> dict[str, Any]:
    counts = np.bincount(log.severity, minlength=len(Severity))
    return {
        "source": log.source,
        "records": len(log),
        "kinds": len(log.kinds),
        "places": len(log.places),
        "span_s": log.span,
        "begin": None if log.origin is None else str(np.datetime64(log.origin, "s")),
        "alerts": None if log.alert is None else int(log.alert.sum()),
        "severities": {one.name: int(counts[one]) for one in Severity if counts[one]},
        "steps": [
            {
                "name": step.name,
                "threshold_s": step.threshold,
                "before": step.before,
                "after": step.after,
                "removed": step.before - step.after,
                "removed_share": step.share,
                "ratio": step.ratio if step.after or not step.before else None,
                "most_removed": _most(log.kinds, step.removed),
            }
            for step in filtered.steps
        ],
        "rules": _rules(log, filtered),
        "left": len(filtered.log),
        "top_kinds": _most(log.kinds, np.bincount(filtered.log.kind, minlength=len(log.kinds))),
        "failures": _failures(failures, level, _window(log)),
        "remarks": [
            {"kind": one.kind, "count": one.count, "text": one.counted, "action": one.action}
            for one in log.cleaning.remarks
        ],
    }


def _window(log: RasLog) -> tuple[int, int]:
    """Return [begin, end) of a log: from its time 0, or from its first record where that lies far
    from time 0, as without a year."""
    first, last = (int(log.time[0]), int(log.time[-1])) if len(log) else (0, -1)
    begin = 0 if last < log.span else first
    return begin, begin + log.span


def _most(kinds: tuple[str, ...], counts: Any) -> list[dict[str, Any]]:
    order = np.argsort(-counts, kind="stable")[:TOP]
    return [{"kind": kinds[k], "count": int(counts[k])} for k in order.tolist() if counts[k]]


def _rules(log: RasLog, filtered: FilteredLog) -> list[dict[str, Any]] | None:
    rules = filtered.rules
    if rules is None:
        return None
    return [
        {
            "cause": log.kinds[rules.cause[k]],
            "effect": log.kinds[rules.effect[k]],
            "support": int(rules.support[k]),
            "confidence": float(rules.confidence[k]),
            "lift": float(rules.lift[k]),
        }
        for k in range(len(rules))
    ]


def _failures(failures: Failures, level: str, window: tuple[int, int]) -> dict[str, Any]:
    """Return counts, rates and failures a day (of the calendar, where the log has dates); `window`
    is what the log covers, s."""
    count, days = len(failures), failures.span / DAY
    zero = failures.origin or 0
    day = (failures.time + zero) // DAY
    begin = (zero + window[0]) // DAY
    end = (zero + max(window[1], window[0] + 1) - 1) // DAY
    end = max(end, int(day.max()) if count else begin)
    begin = min(begin, int(day.min()) if count else begin)
    per_day = np.bincount(day - begin, minlength=end - begin + 1)
    busiest = int(np.argmax(per_day))
    dated = failures.origin is not None
    label = str(np.datetime64(begin + busiest, "D")) if dated else f"day {busiest + 1}"
    return {
        "count": count,
        "level": level,
        "nodes": failures.nodes,
        "failed_nodes": len(np.unique(failures.node)),
        "per_day": count / days if days else None,
        "per_node_day": count / (days * failures.nodes) if days and failures.nodes else None,
        "mtbf_hours": failures.span / 3600 / count if count else None,
        "days": len(per_day),
        "days_without": int(np.count_nonzero(per_day == 0)),
        "median_per_day": float(np.median(per_day)),
        "most_in_a_day": int(per_day[busiest]),
        "busiest_day": label if count else None,
        "by_month": _months(per_day, int(begin)) if dated else None,
    }


def _months(per_day: Any, begin: int) -> list[dict[str, Any]]:
    dates = np.datetime64(begin, "D") + np.arange(len(per_day))
    months, which = np.unique(dates.astype("datetime64[M]"), return_inverse=True)
    sums = np.bincount(which, weights=per_day)
    lengths = np.bincount(which)
    return [
        {
            "month": str(month),
            "days": int(length),
            "failures": int(total),
            "per_day": float(total / length),
        }
        for month, total, length in zip(months, sums, lengths, strict=True)
    ]


FEW: Final = 5
"""Rules that are told, the surest."""
MANY_MONTHS: Final = 24


def report_of(summary: Mapping[str, Any]) -> Report:
    """Return what each step took, which kinds are left, and the failures a day."""
    sections = (
        Section("steps", "", body=(_steps(summary),)),
        Section("kinds", "Kinds left", body=(_kinds(summary),) if summary["top_kinds"] else ()),
        *((_rules_told(summary["rules"]),) if summary["rules"] else ()),
        Section("failures", "", body=(*map(Prose, on_failures(summary)), _periods(summary))),
        Section("odd", "", body=tuple(Prose(line) for line in remarks(summary))),
    )
    verdict = tuple(filter(None, (headline(summary), warning(summary))))
    return Report("From records to failures", "", sections, verdict=verdict, closing=())


def headline(summary: Mapping[str, Any]) -> str:
    """Return the one line that says it."""
    count, left = summary["records"], summary["failures"]["count"]
    begin = "" if summary["begin"] is None else f" from {summary['begin'].replace('T', ' ')}"
    told = ""
    if summary["alerts"] is not None:
        told = f", {summary['alerts']:,} labeled as alerts"
    return (
        f"{counted(left, 'failure')} from {counted(count, 'record')} of {summary['source']}: "
        f"{counted(summary['places'], 'place')}, {counted(summary['kinds'], 'kind')}, "
        f"{format_duration(summary['span_s'])}{begin}{told}."
    )


def warning(summary: Mapping[str, Any]) -> str:
    """Return what must be minded: that nothing told failures from other records; or nothing."""
    if {"severity", "alerts"} & {step["name"] for step in summary["steps"]}:
        return ""
    told = summary["alerts"] is not None or set(summary["severities"]) - {"UNKNOWN"}
    if told:
        return "Every record counts as a failure: {steps} includes neither severity nor alerts."
    return (
        "Warning: the log has neither severities nor alert labels, so every record counts as a "
        "failure. Keep only lines about failures in LOG (with grep, using the kinds below), or "
        "use a log with severities (syslog with <priority>, a table with a severity or alert)."
    )


def _steps(summary: Mapping[str, Any]) -> Table:
    columns = (
        ("step", "name", str),
        ("within", "threshold_s", lambda told: "" if told is None else format_duration(told)),
        ("before", "before", count),
        ("after", "after", count),
        ("removed", "removed_share", lambda share: f"{100 * share:.1f} %"),
        ("ratio", "ratio", lambda ratio: "none left" if ratio is None else f"{ratio:,.2f}"),
        ("most often removed", "most_removed", _removed),
    )
    return Table.by("steps", columns, summary["steps"], right=(2, 3, 4, 5), most=0)


def _removed(kinds: Sequence[Mapping[str, Any]]) -> str:
    if not kinds:
        return ""
    return f"{shortened(kinds[0]['kind'], 36)} ({kinds[0]['count']:,})"


def _kinds(summary: Mapping[str, Any]) -> Table:
    whole = summary["left"]
    columns = (
        ("records", "count", count),
        ("share", lambda one: f"{100 * one['count'] / whole:.1f} %"),
        ("kind", "kind", lambda kind: shortened(kind, 80)),
    )
    return Table.by("kinds", columns, summary["top_kinds"], right=(0, 1), most=0)


def _rules_told(rules: Sequence[Mapping[str, Any]]) -> Section:
    """Return the surest rules of what follows what."""
    columns = (
        ("kind", "effect", lambda kind: shortened(kind, 40)),
        ("follows", "cause", lambda kind: shortened(kind, 40)),
        ("times", "support", count),
        ("share", "confidence", lambda share: f"{100 * share:.0f} %"),
    )
    some = f"the {FEW} most certain of " if len(rules) > FEW else ""
    title = f"What regularly follows what ({some}{counted(len(rules), 'rule')})"
    table = Table.by("rules", columns, rules[:FEW], right=(2, 3), most=0)
    return Section("rules", title, body=(table,))


def on_failures(summary: Mapping[str, Any]) -> list[str]:
    """Return sentences on the failures: how many a day, on how many nodes."""
    found = summary["failures"]
    if found["count"] == 0:
        return ["Nothing is left: no failures."]
    level = found["level"]
    return [
        f"{counted(found['count'], 'failure')} on {found['failed_nodes']:,} of "
        f"{counted(found['nodes'], 'place')} at level {level}: {found['per_day']:.3g} a day, "
        f"one in {format_duration(3600 * found['mtbf_hours'])}, {found['per_node_day']:.3g} per "
        "place and day.",
        f"Days: median {found['median_per_day']:g}, most {found['most_in_a_day']:,} "
        f"({found['busiest_day']}), none on {found['days_without']:,} of {found['days']:,}.",
    ]


def _periods(summary: Mapping[str, Any]) -> Table:
    """Return failures by month, or by year of a log of years."""
    months = summary["failures"]["by_month"] or []
    by_year = len(months) > MANY_MONTHS
    sums: dict[str, tuple[float, int]] = {}
    for month in months:
        period = month["month"][:4] if by_year else month["month"]
        failures, days = sums.get(period, (0, 0))
        sums[period] = failures + month["failures"], days + month["days"]
    told = sums.items() if len(months) > 1 else ()
    records = [{"period": one, "failures": n, "per_day": n / days} for one, (n, days) in told]
    columns = (
        ("period", "period", str),
        ("failures", "failures", count),
        ("a day", "per_day", lambda rate: f"{rate:.2f}"),
    )
    return Table.by("periods", columns, records, most=0)


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """Return what was left out or found odd, a line each."""
    return [f"{one['text']} ({one['action']})" for one in summary["remarks"]]


def shortened(text: str, limit: int) -> str:
    """Return a text cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."
