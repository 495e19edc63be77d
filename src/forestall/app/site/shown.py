"""A site's report as every renderer takes it: what stands at the top, what to do, its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.app.site.summary import sure
from forestall.show import openmetrics as metrics
from forestall.show import page as pages
from forestall.show import text as texts
from forestall.show.blocks import Step, StepGroup, Steps
from forestall.show.clean import clean
from forestall.show.facts import Fact
from forestall.show.quantities import between, number, said
from forestall.show.report import Report, Section
from forestall.show.text import FACTS, UNTOLD, Short

if TYPE_CHECKING:
    from forestall.app.site.advice.kind import Advice
    from forestall.app.site.asked import Asked
    from forestall.app.site.report import SiteFindings
    from forestall.show.drawings import Drawings, Progress

TITLE: Final = "What this machine's records tell"
ADVICE: Final = "advice"
"""Key of the section that says what to do; it says itself why there is nothing to do."""
MOST_CARDS: Final = 8
SURE: Final = "Sure to pay, by these records"
UNSURE: Final = "May pay: that rests on what the records do not tell, such as what jobs saved"
COUNTS: Final = frozenset({"count", "jobs"})
"""Units of facts that count records: no results."""
LEADS: Final = ("losses", "nodes", "lemons")
"""Sections whose leads stand at the top of a page."""
SHORT: Final = Short(
    first=(
        ("losses", "causes"),
        (ADVICE, "checkpoints"),
        (UNTOLD, UNTOLD),
        ("lemons", "worst_nodes"),
        ("nodes", "by_cause"),
        ("nodes", FACTS),
        ("waits", FACTS),
        ("goodput", "goodput"),
        ("promises", FACTS),
        ("ettr", FACTS),
        ("losses", FACTS),
    ),
    more="--full",
    whole="Shortened. All of it: --full, --out report.html, --json.",
)
RENAMED: Final = {
    "by_cause": "job_time_by_cause",
    "by_cause_cost": "job_time_by_cause_cost",
    "runs": "job_runs",
    "down": "capacity_down",
    "used": "capacity_used",
    "ungiven": "capacity_ungiven",
    "promises": "promises_judged",
    "promise_deadline_per_run": "promise_deadline_to_run_ratio",
    "lemon_held_ratio": "lemon_rate_ratio",
}
"""What facts are called in Prometheus where their keys mean too little outside of their
sections."""


def text_of(found: SiteFindings, *, full: bool = False) -> str:
    """Return the report as text for a terminal."""
    return texts.text_of(shown(found), full=full, short=SHORT)


def page(
    found: SiteFindings,
    progress: Progress | None = None,
    title: str = TITLE,
    drawn: Drawings | None = None,
) -> str:
    """Return the report as one HTML page; `progress` is told of each figure that is drawn."""
    return pages.page(shown(found, title), progress, drawn)


def openmetrics(found: SiteFindings) -> str:
    """Return the facts of the report as OpenMetrics text."""
    return metrics.openmetrics(shown(found), RENAMED)


def write_openmetrics(path: str | Path, found: SiteFindings) -> Path:
    """Write the facts whole or not at all, and return where."""
    return metrics.write_openmetrics(path, shown(found), RENAMED)


def shown(found: SiteFindings, title: str = TITLE) -> Report:
    """Return the report as it is shown."""
    return Report(
        title=title,
        headline=found.headline,
        sections=tuple(_section(part, found) for part in found.sections),
        verdict=tuple(leads(found)),
        top=tuple(fact for _, fact in cards(found)),
        sources=found.sources,
        cleaning=found.cleaning,
        parameters=found.options,
        versions=found.versions,
        contents=True,
        about=_about(found),
        labels=_cut(found.asked),
        currency=found.asked.currency,
    )


def _section(part: Section, found: SiteFindings) -> Section:
    """Return a section with what could not be told and, where it is the advice, what to do."""
    untold = tuple(one for key, one in found.untold if key == part.key)
    if part.key != ADVICE:
        return replace(part, untold=untold)
    body = (Steps(tuple(grouped(found.advice, found.asked))), *part.body)
    return replace(part, untold=untold, body=body)


def _about(found: SiteFindings) -> tuple[Fact, ...]:
    """Return the window of the report."""
    asked = found.asked
    long = "Length of the window that the report is on"
    about = [Fact("report_window", long, asked.days, "days")]
    for name, value in (("begin", asked.begin), ("end", asked.until)) if found.dated else ():
        text = f"The {name} of the window, as Unix time"
        about.append(Fact(f"report_window_{name}_timestamp", text, value, "seconds"))
    return tuple(about)


def _cut(asked: Asked) -> dict[str, str]:
    """Return what of the records the report is on, as labels."""
    told = {} if asked.partition is None else {"partition": asked.partition}
    return told | ({"min_nodes": str(asked.min_nodes)} if asked.min_nodes > 1 else {})


def cards(found: SiteFindings) -> list[tuple[Section, Fact]]:
    """Return the first fact of each section that is a result: a section leads with its most
    important one. A section that has but counts leads with the first of them."""
    chosen = []
    for part in found.sections:
        told = [one for one in part.facts if one.value is not None]
        best = [one for one in told if one.unit not in COUNTS] or told
        if best and part.key != ADVICE:
            chosen.append((part, best[0]))
    return chosen[:MOST_CARDS]


def leads(found: SiteFindings) -> list[str]:
    """Return the sentences at the top: what was lost, how nodes are, and what to do first."""
    told = [part for key in LEADS for part in found.sections if part.key == key]
    said = [part.lead for part in told if any(one.value is not None for one in part.facts)]
    return [text for text in (*said, first_thing(found)) if text]


def first_thing(found: SiteFindings) -> str:
    """Return what to do first, as sentences; "" where nothing is sure to pay."""
    best = next((one for one in found.advice if sure(one)), None)
    return "" if best is None else f"To do first: {clean(best.text)} {saving(best, found.asked)}"


def grouped(advice: Sequence[Advice], asked: Asked) -> list[StepGroup]:
    """Return the advice that is sure to pay, and what may, as things to do."""
    return [
        StepGroup(
            title, tuple(Step(one.key, one.text, saving(one, asked), one.because) for one in told)
        )
        for title, told in (
            (SURE, [one for one in advice if sure(one)]),
            (UNSURE, [one for one in advice if not sure(one)]),
        )
        if told
    ]


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
