"""Advice as people read it: ranked by node-hours at stake, each with what it would have saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.core.show.blocks import Step, StepGroup
from forestall.core.show.clean import clean
from forestall.core.show.quantities import between, number, said
from forestall.site.summary import sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.site.advice.advice import Advice
    from forestall.slurm.sources.asked import Asked

RANKED: Final = "Ranked by the node-hours at stake; where a range reaches 0, it may save nothing"
UNRANKED: Final = "The records do not show what these would save"


def in_order(advice: Sequence[Advice]) -> tuple[Advice, ...]:
    """Return advice, most node-hours at stake first; last stands what nobody can put a number
    on."""

    def place(one: Advice) -> tuple[bool, float, bool]:
        return one.saves is None, -(one.saves or 0.0), not sure(one)

    return tuple(sorted(advice, key=place))


def first_thing(advice: Sequence[Advice], asked: Asked) -> str:
    """Return what to do first, as sentences: what most is at stake for and, where that may save
    nothing, also the best of what surely saves something; "" where nothing saves anything."""
    ranked = [one for one in in_order(advice) if one.saves]
    if not ranked:
        return ""
    first = ranked[0]
    text = f"Most at stake: {clean(first.text)} {saving(first, asked)}"
    if sure(first):
        return text
    certain = next((one for one in ranked if sure(one)), None)
    if certain is None:
        return text
    return (
        f"{text} The best action that is certain to pay: {clean(certain.text)} "
        f"{saving(certain, asked)}"
    )


def grouped(advice: Sequence[Advice], asked: Asked) -> list[StepGroup]:
    """Return the advice as things to do: what has a saving, and what has none in the records."""
    ordered = in_order(advice)
    return [
        StepGroup(
            title, tuple(Step(one.key, one.text, saving(one, asked), one.because) for one in told)
        )
        for title, told in (
            (RANKED, [one for one in ordered if one.saves is not None]),
            (UNRANKED, [one for one in ordered if one.saves is None]),
        )
        if told
    ]


def saving(advice: Advice, asked: Asked) -> str:
    """Return what advice would have saved, as a sentence: each unit with its own interval."""
    if advice.saves is None:
        return "The records do not show what it saves."
    return f"Would have saved {amounts(advice, asked)}."


def amounts(advice: Advice, asked: Asked) -> str:
    """Return the saving in node-hours and, where a node-hour has a cost, in money."""
    assert advice.saves is not None
    text = f"{said(advice.saves, 'node_hours')}{_bounds(advice, 'node_hours')}"
    cost = asked.node_hour_cost
    if cost is None:
        return text
    money = said(advice.saves * cost, "money", asked.currency)
    return f"{text}, that is {money}{_bounds(advice, 'money', cost)}"


def _bounds(advice: Advice, unit: str, price: float = 1.0) -> str:
    """Return between which ends a saving lies, behind it."""
    if advice.low is None or advice.high is None:
        return ""
    low, high = advice.low * price, advice.high * price

    def plain(value: float) -> str:
        return said(value, unit) if unit == "money" and value else number(value)

    if low < 0:
        other = f"a loss of {plain(-high)}" if high < 0 else plain(high)
        return f" (between a loss of {plain(-low)} and {other})"
    if unit == "money":
        return f" ({plain(low)} to {plain(high)})"
    low_text, high_text = between(low, high, unit).removesuffix(" node-hours").split(" to ")
    return f" ({low_text} to {high_text})"
