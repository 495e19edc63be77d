"""The section of a report that says what to do: all advice, what would have saved most first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.app.books.advice import ON_ALARMS, RECALL
from forestall.app.books.facts import Advice, Figure, Section, Table, Untold, plain
from forestall.app.books.summary import sure
from forestall.app.books.words import between, duration, percent, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.app.books.advice import Found
    from forestall.app.books.asked import Asked

TITLE: Final = "What to do"
MOST_ASSUMED: Final = 12
NOTES: Final = (
    "Savings are what the same records would have shown, not a forecast; they overlap where two "
    "pieces of advice act on the same losses, so they do not add up.",
    "A figure in brackets is the interval or the bounds of the saving. Where the low end is 0 or "
    "below, the records do not show that it would have paid.",
)


def section(advice: Sequence[Advice], asked: Asked, found: Found | None = None) -> Section:
    """Return the section; `advice` is in its order, `found` says when alarms are worth acting
    on."""
    tables = (_alarms(found, asked),) if found is not None and found.alarms else ()
    if not advice:
        why = "nothing in these records points to something that would have saved node-hours"
        untold = Untold(TITLE, why, "records of node outages and of how jobs ended")
        lead = "Nothing to do was found in these records."
        return Section("advice", TITLE, lead, tables=tables, untold=(untold,))
    best = advice[0]
    count = f"{len(advice)} things" if len(advice) > 1 else "One thing"
    lead = f"{count} to do; none of them surely saves node-hours by these records."
    if sure(best) and best.saves is not None:
        first = "the first" if len(advice) > 1 else "it"
        what = f"{said(best.saves, 'node_hours')}{_money(best.saves, asked)}"
        lead = f"{count} to do; {first} would have saved {what}."
    return Section(
        "advice",
        TITLE,
        lead,
        series=(*(_figure(one, asked) for one in advice), *_alarm_figures(found, asked)),
        tables=tables,
        notes=(*_assumptions(advice), *NOTES),
    )


def _figure(one: Advice, asked: Asked) -> Figure:
    why = "" if one.saves is not None else "the records do not tell what it saves"
    return Figure(
        "advice_saves",
        f"Would have saved: {one.text}",
        one.saves,
        "node_hours",
        1,
        one.assumes,
        one.low,
        one.high,
        asked.level,
        {"kind": one.key, **one.labels},
        why,
    )


def _alarm_figures(found: Found | None, asked: Asked) -> list[Figure]:
    if found is None or found.rate is None:
        return []
    count = found.rate.failures
    told = []
    for one in found.alarms:
        labels = {"nodes": one.size.label}
        told.append(
            Figure(
                "best_checkpoint_interval",
                f"Best checkpoint interval: {one.size.words}",
                one.interval,
                "seconds",
                count,
                f"a checkpoint takes {duration(asked.checkpoint_cost)}",
                one.low,
                one.high,
                asked.level,
                labels,
            )
        )
        told.append(
            Figure(
                "alarm_threshold",
                f"Least P(failure | alarm) to act on: {one.size.words}",
                one.threshold,
                "ratio",
                count,
                "acting is a checkpoint; at stake is half an interval",
                labels=labels,
            )
        )
    return told


def _alarms(found: Found, asked: Asked) -> Table:
    rows = tuple(
        (
            one.size.name,
            duration(one.interval),
            between(one.low, one.high, "seconds"),
            duration(one.with_recall),
            percent(one.threshold),
        )
        for one in found.alarms
    )
    records = tuple(
        {
            "nodes": one.size.label,
            "interval_s": plain(one.interval),
            "interval_low_s": plain(one.low),
            "interval_high_s": plain(one.high),
            "interval_with_recall_s": plain(one.with_recall),
            "recall": RECALL,
            "least_probability": plain(one.threshold),
        }
        for one in found.alarms
    )
    heads = (
        "Nodes of a run",
        "Best checkpoint interval",
        f"{100 * asked.level:g} %",
        f"with {100 * RECALL:g} % foreseen",
        "act on an alarm from",
    )
    assert found.rate is not None
    note = f"{found.rate.text} {ON_ALARMS}"
    title = "How often to checkpoint, and which alarms are worth a checkpoint"
    return Table("checkpoints", title, heads, rows, records, note, right=(1, 2, 3, 4))


def _assumptions(advice: Sequence[Advice]) -> list[str]:
    """Return what advice assumes, each thing once."""
    told: dict[str, None] = {}
    for one in advice:
        if one.assumes:
            text = f"{one.key.replace('_', ' ').capitalize()}: assumes {one.assumes}"
            told.setdefault(text if text.endswith(".") else f"{text}.")
    return list(told)[:MOST_ASSUMED]


def _money(saves: float, asked: Asked) -> str:
    if asked.node_hour_cost is None:
        return ""
    return f", {said(saves * asked.node_hour_cost, 'money', asked.currency)}"
