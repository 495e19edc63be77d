"""Tables of nodes: outages by nature, laws of times, failures by group."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.reliability.history.mean_times import Interval
from forestall.reliability.nodes.node_times import Groups, Law
from forestall.show.blocks import Table
from forestall.show.facts import records_of
from forestall.show.quantities import at_level, counted, durations, fixed, percent

if TYPE_CHECKING:
    import numpy.typing as npt

    from forestall.app.site.nodes.study import NodesStudy

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
        f"{counted(fleet.records, 'outages')} were recorded; {fleet.joined:,} continued one that "
        "was still open or had just ended, and count with it."
    )
    if fleet.found_down:
        note += (
            f" {counted(fleet.found_down, 'faults')} began while the node was out of service for "
            "administrative ends: not counted as failures in service."
        )
    if fleet.before:
        note += f" {fleet.before:,} began before the window: their time counts, they do not."
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
        ("repair_to_failure", "the same, from repairs alone", times.gaps_after),
        ("time_away", "time away", times.repairs.law if times.repairs else None),
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
            percent(next(iter(law.weights.values()))),
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
        "Fitted by maximum likelihood; times that the records cut off, those of nodes that never "
        "failed among them, count up to there. A Weibull shape below 1 means that a node is more "
        "likely to fail soon after the last failure than later; the exponential has 1. Half: by "
        "the best law half of the times are no longer; not seen where that is beyond the records. "
        "Nodes that fail often have many short times, so it can lie far below a node's MTTF."
    )
    heads = ("of a node", "best law", "weight", "shape", at_level(times.level), "half",
             "ended", "cut off")  # fmt: skip
    right = (2, 3, 5, 6, 7)
    return Table("laws", "Laws of times", heads, tuple(rows), records_of(records), note, right)


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
        _ends(shown.low[order], shown.high[order]),
        *([[_apart(groups, k) for k in order]] if groups.difference is not None else []),
    ]
    few = () if by == "cause" else ("node-days",)
    what = "per 1000 node-days" if by == "cause" else "events per 1000 node-days"
    heads = (
        NAMES[by], "failures", "events", *few, what, at_level(rates.level),
        *(("beside the others",) if groups.difference is not None else ()),
    )  # fmt: skip
    note = differ(by, groups)
    if by != "cause" and bool(np.any(groups.events != rates.failures)):
        note = f"{note} Failures of several nodes at once are one event.".lstrip()
    return Table(
        f"by_{by}", f"Failures by {NAMES[by]}", heads, tuple(zip(*columns, strict=True)),
        records_of([_group_record(by, groups, k) for k in order]), note,
        tuple(range(1, 4 + len(few))), ranked=by != "weekday",
    )  # fmt: skip


def _ends(low: Floats, high: Floats) -> list[str]:
    """Return a column of intervals; a dash for what was not in service."""
    told = fixed([*low.tolist(), *high.tolist()])
    return [
        f"{a} to {b}" if b != "-" else b
        for a, b in zip(told[: len(low)], told[len(low) :], strict=True)
    ]


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
        return "as chance allows"
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
        return f"{what} differ by more than chance ({chance}, by events)."
    return f"{what} do not differ by more than chance ({chance}, by events)."
