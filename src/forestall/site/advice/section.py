"""The section of a report that says what to do: all advice, what would have saved most first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.core.show.blocks import Table
from forestall.core.show.facts import Fact, Untold, plain
from forestall.core.show.quantities import at_level, between, duration, durations, percent
from forestall.core.show.report import Section
from forestall.site.advice.advice import ON_ALARMS, RECALL, Advice
from forestall.site.advice.words import amounts, in_order
from forestall.site.summary import sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.site.advice.advice import AdviceFound
    from forestall.slurm.sources.asked import Asked

TITLE: Final = "What to do"
MOST_ASSUMED: Final = 12
NOTES: Final = (
    "Savings are computed on the same records; they are not a forecast. Where two actions "
    "address the same losses they overlap, so they do not add up.",
    "The range in parentheses is the interval or the bounds of the saving. If its low end is 0 "
    "or below, the records do not show that the action would have paid.",
)


def section(advice: Sequence[Advice], asked: Asked, found: AdviceFound | None = None) -> Section:
    """Return the section; `advice` is in its order, `found` says when alarms are worth acting
    on."""
    tables = (_alarms(found, asked),) if found is not None and found.alarms else ()
    if not advice:
        why = "nothing in these records suggests an action that would have saved node-hours"
        untold = Untold(TITLE, why, "records of node outages and of how jobs ended")
        lead = "These records suggest no action."
        return Section("advice", TITLE, lead, body=tables, untold=(untold,))
    lead = _lead(advice, asked)
    return Section(
        "advice",
        TITLE,
        lead,
        series=(*(_figure(one, asked) for one in advice), *_alarm_figures(found, asked)),
        body=tables,
        notes=(*_assumptions(advice), *NOTES),
    )


def _lead(advice: Sequence[Advice], asked: Asked) -> str:
    """Return how many things there are to do, what is at stake for the first, and how many of them
    surely pay."""
    told = [one for one in in_order(advice) if one.saves]
    count = f"{len(advice)} actions" if len(advice) > 1 else "1 action"
    if not told:
        return f"{count}; the records do not show what any of them would save."
    if len(advice) == 1:
        return f"{count}; it would have saved {amounts(told[0], asked)}."
    certain = sum(sure(one) for one in told)
    sures = {0: "None is certain to pay", 1: "1 is certain to pay"}.get(
        certain, f"{certain} are certain to pay"
    )
    if certain == len(advice):
        sures = "All are certain to pay"
    return f"{count}; the first would have saved {amounts(told[0], asked)}. {sures}."


def _figure(one: Advice, asked: Asked) -> Fact:
    why = "" if one.saves is not None else "the records do not show what it saves"
    return Fact(
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


def _alarm_figures(found: AdviceFound | None, asked: Asked) -> list[Fact]:
    if found is None or found.rate is None:
        return []
    count = found.rate.failures
    told = []
    for one in found.alarms:
        labels = {"nodes": one.size.label}
        told.append(
            Fact(
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
            Fact(
                "alarm_threshold",
                f"Lowest P(failure | alarm) worth acting on: {one.size.words}",
                one.threshold,
                "ratio",
                count,
                "acting means a checkpoint; half an interval is at stake",
                labels=labels,
            )
        )
    return told


def _alarms(found: AdviceFound, asked: Asked) -> Table:
    alarms = found.alarms
    best, grown = (
        durations(getattr(one, name) for one in alarms) for name in ("interval", "with_recall")
    )
    ends = [between(one.low, one.high, "seconds") for one in alarms]
    if all(one.low is not None and one.high is not None for one in alarms):
        told = durations(end or 0.0 for one in alarms for end in (one.low, one.high))
        if len({text.rpartition(" ")[2] for text in told}) == 1:
            pairs = zip(told[::2], told[1::2], strict=True)
            ends = [f"{low.partition(' ')[0]} to {high}" for low, high in pairs]
    rows = tuple(
        (one.size.name, *times, percent(one.threshold))
        for one, *times in zip(alarms, best, ends, grown, strict=True)
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
        at_level(asked.level),
        f"with {100 * RECALL:g} % foreseen",
        "act if P(failure | alarm) is at least",
    )
    assert found.rate is not None
    note = f"{found.rate.text} {ON_ALARMS}"
    title = "How often to checkpoint, and which alarms justify a checkpoint"
    return Table("checkpoints", title, heads, rows, records, note, right=(1, 2, 3, 4))


def _assumptions(advice: Sequence[Advice]) -> list[str]:
    """Return what advice assumes, each thing once."""
    told: dict[str, None] = {}
    for one in advice:
        if one.assumes:
            text = f"{one.key.replace('_', ' ').capitalize()}: assumes {one.assumes}"
            told.setdefault(text if text.endswith(".") else f"{text}.")
    return list(told)[:MOST_ASSUMED]
