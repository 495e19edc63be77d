"""Nodes in tables and words: outages, laws of times, groups; the lead, notes, what is not told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.show import words
from forestall.core.show.blocks import Table
from forestall.core.show.clean import clean, example
from forestall.core.show.facts import Untold, plain, records_of
from forestall.core.show.quantities import (
    at_level,
    between,
    counted,
    duration,
    durations,
    ends_fixed,
    fixed,
    number,
    percent,
    said,
)
from forestall.reliability.history.mean_times import Interval
from forestall.reliability.nodes.node_times import Groups, Law

if TYPE_CHECKING:
    import numpy.typing as npt

    from forestall.site.nodes.study import JobTime, NodesStudy

    Floats = npt.NDArray[np.float64]

DAY: Final = 86_400
DIFFER: Final = 0.05
"""Groups are said to differ where chance alone would show as much with at most this probability."""
NAMES: Final = {
    "partition": "partition",
    "hardware": "hardware",
    "weekday": "day of the week",
    "hour": "hour of the day",
    "cause": "cause",
}
"""What groups are of."""


def tables(found: NodesStudy) -> tuple[Table, ...]:
    """Return the tables that these records have."""
    made = (_outages(found), _laws(found), *_group_tables(found))
    return tuple(table for table in made if table is not None)


def _outages(found: NodesStudy) -> Table | None:
    """Return outages by nature; None for a failure log, which has but one."""
    watch = found.found
    assert watch is not None
    if watch.basis != "events":
        return None
    fleet = watch.fleet
    whole = fleet.watched_days * DAY
    rows, records = [], []
    hours = fixed(seconds / 3600 for seconds in fleet.seconds.values())
    for text, (nature, count) in zip(hours, fleet.spells.items(), strict=True):
        seconds = fleet.seconds[nature]
        share = seconds / whole if whole else math.nan
        rows.append((nature, f"{count:,}", text, percent(share)))
        records.append(
            {"nature": nature, "times": count, "node_hours": seconds / 3600, "share": share}
        )
    note = (
        f"{counted(fleet.records, 'outages')} were recorded; {fleet.joined:,} of them continued "
        "one that was still open or had just ended, and are merged with it."
    )
    if fleet.found_down:
        note += (
            f" {counted(fleet.found_down, 'faults')} began while the node was out of service "
            "for administrative reasons and do not count as failures in service."
        )
    if fleet.before:
        note += (
            f" {fleet.before:,} began before the window: their time counts, but not the outages."
        )
    heads = ("nature", "times out of service", "node-hours", "of all node-hours")
    return Table(
        "outages", "Outages by nature", heads, tuple(rows), records_of(records), note, (1, 2, 3)
    )


def _laws(found: NodesStudy) -> Table | None:
    times = found.times
    assert times is not None
    laws: list[tuple[str, str, Law]] = []
    for key, name, law in (
        ("time_to_failure", "time to the next failure", times.gaps),
        ("repair_to_failure", "the same, counted from repairs", times.gaps_after),
        ("time_away", "time out of service", times.repairs.law if times.repairs else None),
    ):
        like = laws and law is not None and key == "repair_to_failure"
        if like and law is not None and law.ended == laws[0][2].ended:
            continue  # all nodes were new when they were first watched
        if law is not None:
            laws.append((key, name, law))
    if not laws:
        return None
    half = durations(math.nan if one.median is None else one.median * 3600 for *_, one in laws)
    rows = [
        (
            name,
            law.best.family.title,
            words.percent(next(iter(law.weights.values()))),
            "-" if law.shape is None else f"{law.shape.value:.2f}",
            "-" if law.shape is None else f"{law.shape.low:.2f} to {law.shape.high:.2f}",
            "not seen" if law.median is None else median,
            f"{law.ended:,}",
            f"{law.censored:,}",
        )
        for median, (_, name, law) in zip(half, laws, strict=True)
    ]
    records = [{"of": key, **law_record(law)} for key, _, law in laws]
    note = (
        "Fitted by maximum likelihood; times cut off by the end of the records, including "
        "those of nodes that never failed, are censored there. A Weibull shape below 1 means "
        "that a node is more likely to fail soon after its last failure than later; the "
        "exponential has shape 1. Half: median by the best distribution; missing where it lies "
        "beyond the records. Nodes that fail often have many short times, so it can lie far "
        "below the MTTF of a node."
    )
    heads = ("of a node", "best law", "weight", "shape", at_level(times.level), "half",
             "ended", "cut off")  # fmt: skip
    right = (2, 3, 5, 6, 7)
    return Table(
        "laws", "Distributions of times", heads, tuple(rows), records_of(records), note, right
    )


def law_record(law: Law) -> dict[str, Any]:
    """Return a law as plain values; times in hours."""

    def ends(name: str, value: Interval | None) -> dict[str, Any]:
        parts = (None, None, None) if value is None else value
        return dict(zip((name, f"{name}_low", f"{name}_high"), parts, strict=True))

    params = {f"best_{name}": value for name, value in law.best.params.items()}
    return {
        "best": law.name,
        "weight": next(iter(law.weights.values())),
        **ends("weibull_shape", law.shape),
        **ends("weibull_scale_hours", law.scale),
        **ends("mean_hours", law.mean),
        "median_hours": law.median,
        "ended": law.ended,
        "cut_off": law.censored,
        **params,
    }


def _group_tables(found: NodesStudy) -> list[Table]:
    """Return a table for each way to group but hours, which are drawn; none where
    the records are too short for rates."""
    tables = []
    for by, groups in (found.groups or {}).items():
        if by != "hour" and not found.short:
            tables.append(_group_table(by, groups))
    return tables


def _group_table(by: str, groups: Groups) -> Table:
    """Return the rates of groups: of events, by which they are tested; of causes, of failures."""
    rates = groups.rates
    shown = rates if by == "cause" else groups.of_events
    order = list(range(len(rates.group)))
    if by in ("partition", "hardware"):
        order.sort(key=lambda k: (-np.nan_to_num(shown.rate[k], nan=-1.0), k))
    columns = [
        [rates.group[k] or "not told" for k in order],
        [f"{rates.failures[k]:,}" for k in order],
        [f"{groups.events[k]:,}" for k in order],
        *([] if by == "cause" else [fixed(rates.node_days[order].tolist())]),
        fixed(shown.rate[order].tolist()),
        ends_fixed(shown.low[order].tolist(), shown.high[order].tolist()),
        *([[_apart(groups, k) for k in order]] if groups.difference is not None else []),
    ]
    few = () if by == "cause" else ("node-days",)
    what = "per 1000 node-days" if by == "cause" else "events per 1000 node-days"
    heads = (
        NAMES[by], "failures", "events", *few, what, at_level(rates.level),
        *(("compared with the others",) if groups.difference is not None else ()),
    )  # fmt: skip
    note = differ(by, groups)
    if by != "cause" and bool(np.any(groups.events != rates.failures)):
        note = f"{note} Simultaneous failures of several nodes are one event.".lstrip()
    return Table(
        f"by_{by}", f"Failures by {NAMES[by]}", heads, tuple(zip(*columns, strict=True)),
        records_of(_group_record(by, groups, k) for k in order), note,
        tuple(range(1, 4 + len(few))), ranked=by != "weekday",
    )  # fmt: skip


def _group_record(by: str, groups: Groups, k: int) -> dict[str, Any]:
    rates, events = groups.rates, groups.of_events
    return {
        by: rates.group[k],
        "failures": int(rates.failures[k]),
        "events": int(groups.events[k]),
        "node_days": float(rates.node_days[k]),
        "rate_per_1000_node_days": float(rates.rate[k]),
        "low": float(rates.low[k]),
        "high": float(rates.high[k]),
        "events_per_1000_node_days": float(events.rate[k]),
        "events_low": float(events.low[k]),
        "events_high": float(events.high[k]),
        "p": float(groups.p_value[k]),
        "q": float(groups.q_value[k]),
    }


def _apart(groups: Groups, k: int) -> str:
    q = float(groups.q_value[k])
    if not q <= DIFFER:
        return "within chance"
    rates = groups.rates
    pace = float(groups.events.sum()) / float(rates.node_days.sum())
    more = groups.events[k] > pace * rates.node_days[k]
    return "more than chance" if more else "fewer than chance"


def differ(by: str, groups: Groups) -> str:
    """Return whether groups differ, in a sentence; "" where it was not tested."""
    test = groups.difference
    if test is None:
        return ""
    chance = f"p = {test.p_value:.2g}" if test.p_value > 1.5 / (test.draws + 1) else (
        f"p below {1 / test.draws:.2g}"
    )  # fmt: skip
    what = {"partition": "Partitions", "hardware": "Kinds of hardware", "weekday": "Weekdays",
            "hour": "Hours of the day"}[by]  # fmt: skip
    if test.p_value <= DIFFER:
        return f"{what} differ by more than chance ({chance}, counting events)."
    return f"{what} do not differ by more than chance ({chance}, counting events)."


DAY_HOURS: Final = 24.0
HOUR: Final = 3600
MANY: Final = 0.1
"""From this share of failures in bursts on, the lead says so."""
LUCK: Final = 5
"""So many nodes without a failure would be expected, at least, where none is missed by chance."""


def lead(found: NodesStudy) -> str:
    """Return the most important in one or two sentences."""
    times, watch = found.times, found.found
    assert times is not None
    assert watch is not None
    nodes = watch.fleet.nodes
    if times.failures == 0:
        if not times.node_days > 0:
            return "No node was in service in this time."
        least = times.mttf.times(1 / DAY_HOURS).low
        return (
            f"None of {counted(nodes, 'nodes')} failed in {number(times.node_days)} node-days: "
            f"the MTTF of a node is {said(least, 'days')} or longer, with "
            f"{at_level(times.level)} confidence."
        )
    what = f"{counted(times.failures, 'failures')} of {counted(nodes, 'nodes')}"
    if found.short:
        text = f"{duration(found.watched)} of records are too short for an MTTF: {what}."
    else:
        mttf = times.mttf.times(1 / DAY_HOURS)
        text = (
            f"A node fails every {ends(mttf, 'days', times.level)} in service: {what}, "
            f"{number(times.rate.value)} per 1000 node-days."
        )
    if times.in_bursts >= MANY * times.failures:
        text += (
            f" {percent(times.in_bursts / times.failures)} of them came in bursts on several "
            f"nodes; counting each burst once, there were {counted(times.events, 'events')}."
        )
    if times.repairs is not None and times.repairs.ended:
        mean, median = times.repairs.mean.value, times.repairs.median.value
        half = f" (median {duration(median * HOUR)})"
        half = half if math.isfinite(median) else ""
        text += f" Outages last {duration(mean * HOUR)} on average{half}."
    return text


def ends(value: Interval, unit: str, level: float) -> str:
    """Return a value with its interval."""
    return f"{said(value.value, unit)} ({at_level(level)}: {_between(value, unit)})"


def _between(value: Interval, unit: str) -> str:
    return between(plain(value.low), plain(value.high), unit)


def notes(found: NodesStudy) -> list[str]:
    """Return rules and findings in sentences."""
    times, watch = found.times, found.found
    assert times is not None
    assert watch is not None
    made = [
        {
            "events": "A failure is an outage whose first clear cause is a fault; time out of "
            "service, whatever the cause, does not count as exposure.",
            "failures": "A failure of the log counts if its node was up; time out of service "
            "does not count as exposure.",
            "runs": "",
        }[watch.basis]
    ]
    if times.bursts:
        made.append(
            f"{counted(times.in_bursts, 'failures')} came in {counted(times.bursts, 'bursts')} "
            "of 3 or more nodes with one cause within minutes (a rack, a network, a power "
            "supply). Tests of whether groups differ count each burst as one event."
        )
    hours = (found.groups or {}).get("hour")
    if hours is not None and hours.difference is not None:
        made.append(f"{differ('hour', hours)} Hours are in {found.asked.zone or 'UTC'}.")
    if found.jobs is not None and found.jobs.runs:
        made.append(_job_words(found.jobs))
    if watch.late:
        made.append(
            f"{counted(watch.late, 'nodes')} apparently came into service during this time, "
            "judging by runs and outages; they count from then on."
        )
    if watch.several and watch.partition is not None:
        made.append(
            f"{counted(watch.several, 'nodes')} are in more than one partition; each such "
            "combination of partitions is a group of its own, so that each node counts once."
        )
    return made


def _job_words(jobs: JobTime) -> str:
    low, high = fixed((jobs.rate.low, jobs.rate.high))
    return (
        f"{counted(jobs.runs, 'runs')} ended by a node failure: {number(jobs.rate.value)} "
        f"({low} to {high}) per 1000 node-days of running jobs; the node is known for "
        f"{jobs.named:,} of them."
    )


def untold(found: NodesStudy) -> list[Untold]:
    """Return what the records do not tell."""
    watch, times = found.found, found.times
    assert watch is not None
    assert times is not None
    told = found.groups or {}
    gaps = []
    if times.repairs is None and times.failures:
        gaps.append(Untold("How long outages last", "the records do not say when outages ended",
                           "a log with repair times"))  # fmt: skip
    if watch.partition is None:
        gaps.append(Untold("Failures by partition and hardware", "no description of the nodes",
                           "the output of scontrol show node"))  # fmt: skip
    if "cause" not in told and times.failures:
        gaps.append(Untold("Failures by cause", "the records give no reasons",
                           "reasons on outages"))  # fmt: skip
    if found.short:
        why = f"with {duration(found.watched)} of records, the failure rate is mostly chance"
        gaps.append(Untold("How long nodes last", why, "records of weeks or months"))
    elif found.dated and "weekday" not in told:
        what = "Failures by weekday" if "hour" in told else "Failures by hour and weekday"
        why = f"the records cover {duration(found.watched)}"
        gaps.append(Untold(what, why, "records of two weeks or more"))
    if not found.dated:
        gaps.append(Untold("Failures by hour and weekday", "the log has no dates",
                           "a log with dates"))  # fmt: skip
    nodes, failed = watch.fleet.nodes, len(np.unique(watch.fleet.history.node))
    unfailed = nodes * math.exp(-times.failures / max(nodes, 1))
    if not watch.listed and failed == nodes and unfailed > LUCK:
        gaps.append(
            Untold("Nodes that never failed",
                   f"the records name {nodes:,} nodes and all of them failed, so the failure rate "
                   "per node is too high", "a list of all nodes")
        )  # fmt: skip
    unclear = found.with_unclear
    if unclear is not None and unclear.failures > times.failures:
        more = unclear.failures - times.failures
        share = more / unclear.failures
        often = [f"{example(reason)!r} ({count:,})" for reason, count in found.unclear if reason]
        most = f"; most often: {', '.join(often)}" if often else ""
        gaps.append(
            Untold("What unclear outages were",
                   f"the reasons of {counted(more, 'outages')} ({percent(share)} of those that "
                   "may be failures) name neither a fault nor maintenance; they do not "
                   f"count{most}",
                   "reasons that say what broke")
        )  # fmt: skip
    if watch.strangers:
        shown = ", ".join(clean(name, 40) for name in watch.strangers[:5])
        gaps.append(
            Untold("Nodes no longer described",
                   f"{counted(len(watch.strangers), 'nodes')} in the records are not in the node "
                   f"descriptions ({shown}): renamed or removed; they count to their last record",
                   "node descriptions from that time")
        )  # fmt: skip
    return gaps
