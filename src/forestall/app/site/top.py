"""The top of a report: the few numbers that matter most, and what to do first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from forestall.app.site.summary import sure
from forestall.app.site.words import between, clean, counted, number, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.app.site.asked import Asked
    from forestall.app.site.facts import Advice, Figure, Section
    from forestall.app.site.report import Report

MOST_CARDS: Final = 8
MOST_OF_A_KIND: Final = 4
SURE: Final = "Sure to pay, by these records"
UNSURE: Final = "May pay: that rests on what the records do not tell, such as what jobs saved"
COUNTS: Final = frozenset({"count", "jobs"})
"""Units of figures that count records: no results."""
LEADS: Final = ("losses", "nodes", "lemons")
"""Sections whose leads stand at the top of a report."""


@dataclass(frozen=True)
class Group:
    """Advice under one heading: what is shown first, and the rest."""

    title: str
    kept: tuple[Advice, ...]
    rest: tuple[Advice, ...]


def cards(report: Report) -> list[tuple[Section, Figure]]:
    """Return the first figure of each section that is a result: a section leads with its most
    important one. A section that has but counts leads with the first of them."""
    found = []
    for part in report.sections:
        told = [one for one in part.figures if one.value is not None]
        best = [one for one in told if one.unit not in COUNTS] or told
        if best and part.key != "advice":
            found.append((part, best[0]))
    return found[:MOST_CARDS]


def with_something(report: Report) -> list[Section]:
    """Return the sections that say more than what stands among what could not be told."""
    return [
        part
        for part in report.sections
        if part.key == "advice" or part.figures or part.tables or part.pictures or not part.untold
    ]


def leads(report: Report) -> list[str]:
    """Return the sentences at the top: what was lost, how nodes are, and what to do first."""
    told = [part for key in LEADS for part in report.sections if part.key == key]
    texts = [part.lead for part in told if any(one.value is not None for one in part.figures)]
    return [text for text in (*texts, first_thing(report)) if text]


def first_thing(report: Report) -> str:
    """Return what to do first, as sentences; "" where nothing is sure to pay."""
    best = next((one for one in report.advice if sure(one)), None)
    return "" if best is None else f"To do first: {clean(best.text)} {saving(best, report.asked)}"


def grouped(
    advice: Sequence[Advice], most: int | None = None, of_a_kind: int | None = MOST_OF_A_KIND
) -> list[Group]:
    """Return the advice that is sure to pay, and what may; of each at most so many are shown first,
    and no more than a few of a kind (None: all)."""
    made = []
    for title, told in (
        (SURE, [one for one in advice if sure(one)]),
        (UNSURE, [one for one in advice if not sure(one)]),
    ):
        often: dict[str, int] = {}
        kept: list[Advice] = []
        rest: list[Advice] = []
        for one in told:
            often[one.key] = often.get(one.key, 0) + 1
            enough = most is not None and len(kept) >= most
            alike = of_a_kind is not None and often[one.key] > of_a_kind
            (rest if enough or alike else kept).append(one)
        if told:
            made.append(Group(title, tuple(kept), tuple(rest)))
    return made


def more_of(group: Group) -> str:
    """Return how much of a group is not shown, in words; "" for nothing."""
    return f"{counted(len(group.rest), 'things')} more like these" if group.rest else ""


def saving(advice: Advice, asked: Asked) -> str:
    """Return what advice would have saved, as a sentence."""
    if advice.saves is None:
        return "What it saves is not in the records."
    text = f"Would have saved {said(advice.saves, 'node_hours')}"
    if asked.node_hour_cost is not None:
        money = advice.saves * asked.node_hour_cost
        text += f", {said(money, 'money', asked.currency)}"
    low, high = advice.low, advice.high
    if low is None or high is None:
        return f"{text}."
    if low < 0:
        other = f"a loss of {number(-high)}" if high < 0 else number(high)
        return f"{text} (between a loss of {number(-low)} and {other})."
    low_text, high_text = between(low, high, "node_hours").removesuffix(" node-hours").split(" to ")
    return f"{text} ({low_text} to {high_text})."
