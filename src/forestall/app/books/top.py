"""The top of a report: the few numbers that matter most, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.app.books.summary import sure
from forestall.app.books.words import clean, counted, number, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.app.books.asked import Asked
    from forestall.app.books.facts import Advice, Figure, Section
    from forestall.app.books.report import Report

MOST_CARDS: Final = 8
MOST_OF_A_KIND: Final = 4
LEADS: Final = ("losses", "nodes", "lemons")
"""Sections whose leads stand at the top of a report."""


def cards(report: Report) -> list[tuple[Section, Figure]]:
    """Return the first figure of each section that has a value: a section leads with its most
    important one."""
    found = []
    for part in report.sections:
        first = next((one for one in part.figures if one.value is not None), None)
        if first is not None and part.key != "advice":
            found.append((part, first))
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
    best = next((one for one in report.advice if sure(one)), None)
    if best is not None:
        texts.append(f"To do first: {clean(best.text)} {saving(best, report.asked)}")
    return [text for text in texts if text]


def shown(advice: Sequence[Advice]) -> tuple[list[Advice], str]:
    """Return the advice to show, no more than a few of a kind, and what is left out, in words."""
    often: dict[str, int] = {}
    kept = []
    for one in advice:
        often[one.key] = often.get(one.key, 0) + 1
        if often[one.key] <= MOST_OF_A_KIND:
            kept.append(one)
    rest = len(advice) - len(kept)
    return kept, f"{counted(rest, 'things')} more like these in the JSON." if rest else ""


def saving(advice: Advice, asked: Asked) -> str:
    """Return what advice would have saved, as a sentence."""
    if advice.saves is None:
        return "What it saves is not in the records."
    text = f"Would have saved {said(advice.saves, 'node_hours')}"
    if asked.node_hour_cost is not None:
        money = advice.saves * asked.node_hour_cost
        text += f", {said(money, 'money', asked.currency)}"
    if advice.low is not None and advice.high is not None:
        text += f" ({number(advice.low)} to {number(advice.high)})"
    return f"{text}."
