"""The whole report: every section from the same records, what to do, and what could not be told.

It is made once and shown as text, as a page, as JSON and as OpenMetrics (`shown`, by the
renderers of `forestall.core.show`), which therefore cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.versions import of_fits
from forestall.core.model.spelling import all_named
from forestall.core.show import openmetrics as metrics
from forestall.core.show import page as pages
from forestall.core.show import text as texts
from forestall.core.show.as_json import SCHEMA, odd_json, section_json
from forestall.core.show.blocks import Steps
from forestall.core.show.facts import Fact, Untold, plain
from forestall.core.show.report import Report, Section
from forestall.core.show.shown import SHORT
from forestall.core.show.text import FACTS, UNTOLD, Short
from forestall.site.advice import advice as own
from forestall.site.advice.advice import Advice
from forestall.site.advice.section import section as advice_section
from forestall.site.advice.words import grouped, in_order
from forestall.site.headlines import cards, leads, scenes_of
from forestall.site.summary import headline
from forestall.slurm.sources import sources
from forestall.slurm.sources.failure_logs import of_two_machines
from forestall.slurm.sources.swf_jobs import waits_told

if TYPE_CHECKING:
    from forestall.core.model.cleaning import Cleaning
    from forestall.core.show.drawings import Drawings, Progress
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.sources import GivenRecords


SECTIONS: Final = {
    "losses": "forestall.site.losses.losses",
    "goodput": "forestall.site.losses.goodput",
    "ettr": "forestall.site.losses.ettr",
    "weeks": "forestall.site.trends.section",
    "nodes": "forestall.site.nodes.section",
    "lemons": "forestall.site.lemons.section",
    "accounts": "forestall.site.jobs.section",
    "waits": "forestall.site.waits.waits",
    "starts": "forestall.site.waits.starts",
    "promises": "forestall.site.promises.section",
}
"""Modules of the sections by key, in the order of the report. Each has ``section(site, asked)``
and, where it gives advice, ``advice(site, asked)``; or ``study(site, asked)``, whose result both
take."""
NEED_WAITS: Final = {"waits": "How long jobs wait", "promises": "What promises would be worth"}
"""Sections, with their titles, that mean nothing where a log does not tell when jobs started."""
LEARNED: Final = "promises"
"""Key of the section whose quotes are learned, which takes longer than all others."""
MANY_JOBS: Final = 10_000
"""Jobs from which on learning takes so long that a first report is worth having."""
LEARNING: Final = (
    "A first page: quotes are being learned from these jobs, which takes minutes; then this page "
    "is replaced."
)
ADVICE: Final = "advice"
"""Key of the section that says itself why there is nothing to do."""


@dataclass(frozen=True)
class SiteFindings:
    """All that a report says, before it is `shown`.

    Attributes
    ----------
    asked : the window, the cut and what was assumed
    dated : whether times are Unix seconds
    headline : what was looked at, in a sentence
    sections : in the order of the report
    advice : what to do, what saves most first
    untold : what could not be told, each with the key of its section
    cleaning : what was left out, changed or found odd in the records
    sources : what was read
    versions, options : what made it
    """

    asked: Asked
    dated: bool
    headline: str
    sections: tuple[Section, ...]
    advice: tuple[Advice, ...]
    untold: tuple[tuple[str, Untold], ...]
    cleaning: Cleaning
    sources: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        site: SiteRecords,
        asked: Asked,
        sections: Sequence[Section],
        advice: Sequence[Advice] = (),
        options: Mapping[str, Any] | None = None,
    ) -> SiteFindings:
        """Return what sections say of records that are cut to what was asked."""
        return cls(
            asked=asked,
            dated=sources.is_dated(site),
            headline=headline(site, asked),
            sections=tuple(sections),
            advice=tuple(advice),
            untold=tuple(
                (part.key, one) for part in sections for one in part.untold if part.key != ADVICE
            ),
            cleaning=site.cleanings(),
            sources=site.sources,
            versions=of_fits(),
            options=options or {},
        )

    def section(self, key: str) -> Section | None:
        """Return the section of that key, None where there is none."""
        return next((one for one in self.sections if one.key == key), None)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        asked = self.asked
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "window": {
                "begin": asked.begin,
                "until": asked.until,
                "dated": self.dated,
                "begin_text": sources.spoken(asked.begin, self.dated),
                "until_text": sources.spoken(asked.until, self.dated),
                "days": asked.days,
            },
            "asked": {
                name: plain(value)
                for name, value in asdict(asked).items()
                if name not in {"begin", "until"}
            },
            "sections": {one.key: section_json(one) for one in self.sections},
            "advice": [advice_json(one, asked) for one in self.advice],
            "untold": [{"section": key, **asdict(one)} for key, one in self.untold],
            "odd": odd_json(self.cleaning),
            "sources": list(self.sources),
            "versions": dict(self.versions),
            "options": {name: plain(value) for name, value in self.options.items()},
        }


def advice_json(advice: Advice, asked: Asked) -> dict[str, Any]:
    """Return a piece of advice as plain values, with money where a node-hour has a cost."""
    told = advice.as_json()
    cost = asked.node_hour_cost
    if cost is not None:
        saved = None if advice.saves is None else advice.saves * cost
        told |= {"saves_money": plain(saved), "currency": asked.currency}
    return told


def make(
    given: GivenRecords,
    assumed: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    early: Callable[[SiteFindings], None] | None = None,
) -> SiteFindings:
    """Return the report on what is `given`; `assumed` are fields of `Asked`, `options` what to say
    that was chosen; `early` gets a first report where the whole one takes long. Raises TraceError
    and ParameterError for unusable input."""
    fields = assumed or {}
    site = sources.gather(given)
    asked = sources.asked_of(site, given, **fields)
    site = sources.cut(site, asked)
    told = "checkpoint_interval" in fields
    first = None if early is None else lambda made: early(all_named(made, given.spell))
    made = report(site, asked, told=told, options=options, progress=progress, early=first)
    return all_named(made, given.spell)


def report(
    site: SiteRecords,
    asked: Asked,
    *,
    sections: Mapping[str, str] = SECTIONS,
    told: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    early: Callable[[SiteFindings], None] | None = None,
) -> SiteFindings:
    """Return the report on records that are cut to what was `asked`; `sections` are modules by key.

    `told` says whether the checkpoint interval was told rather than assumed; `progress` is told of
    each section that is done. Where quotes are learned from many jobs, `early` gets the report with
    quotes that are not, first.
    """
    steps = len(sections) + 1
    found = own.study(site, asked, told=told)
    advice = list(own.advice(found))
    made: list[Section] = []
    for done, (key, name) in enumerate(sections.items(), 1):
        if progress is not None:
            progress(done, steps)
        if early is not None and key == LEARNED and _learns_long(site, asked):
            part, _ = one_section(key, name, site, replace(asked, learn=False))
            first = _found(site, asked, [*made, part], advice, found, options)
            early(replace(first, headline=f"{first.headline} {LEARNING}"))
        part, more = one_section(key, name, site, asked)
        made.append(part)
        advice += more
    if progress is not None:
        progress(steps, steps)
    return _found(site, asked, made, advice, found, options)


def _learns_long(site: SiteRecords, asked: Asked) -> bool:
    return asked.learn and site.accounting is not None and len(site.accounting) > MANY_JOBS


def _found(
    site: SiteRecords,
    asked: Asked,
    sections: Sequence[Section],
    advice: Sequence[Advice],
    study: own.AdviceFound,
    options: Mapping[str, Any] | None,
) -> SiteFindings:
    """Return what sections say, with what to do about it."""
    if of_two_machines(site.cleanings()):
        advice = [one for one in advice if "node" not in one.labels]
    ordered = in_order(advice)
    made = list(sections)
    # Where there is nothing to do, that is no news to begin with.
    made.insert(0 if ordered else len(made), advice_section(ordered, asked, study))
    return SiteFindings.of(site, asked, made, ordered, options)


def one_section(
    key: str, name: str, site: SiteRecords, asked: Asked
) -> tuple[Section, Sequence[Advice]]:
    """Return the section and the advice of one module."""
    if key in NEED_WAITS and site.accounting is not None and not waits_told(site.accounting):
        return _without_waits(key), ()
    module: Any = import_module(name)
    study = getattr(module, "study", None)
    given: tuple[Any, ...] = (site, asked) if study is None else (study(site, asked),)
    make_advice = getattr(module, "advice", None)
    return module.section(*given), () if make_advice is None else make_advice(*given)


def _without_waits(key: str) -> Section:
    title = NEED_WAITS[key]
    why = "the job log says when jobs were submitted, but not how long they waited"
    return Section(
        key,
        title,
        "Unknown: the job log has no waits.",
        untold=(Untold(title, why, "records with the start of every job"),),
    )


TITLE: Final = "What this machine's records show"
FIRST: Final = (
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
)
"""What a short report tells first."""
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


def text_of(found: SiteFindings, *, full: bool = False, short: Short = SHORT) -> str:
    """Return the report as text for a terminal; `short` says where the rest of it is."""
    return texts.text_of(shown(found), full=full, short=replace(short, first=FIRST))


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
    scenes = scenes_of(found.sections, found.asked)
    two = of_two_machines(found.cleaning)
    return Report(
        title=title,
        headline=found.headline,
        sections=tuple(_section(part, found) for part in found.sections),
        verdict=tuple(leads(found.sections, found.advice, found.asked, two=two)),
        top=scenes[0].facts if scenes else tuple(cards(found.sections)),
        scenes=scenes,
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
    long = "Length of the report's window"
    about = [Fact("report_window", long, asked.days, "days")]
    for name, value in (("begin", asked.begin), ("end", asked.until)) if found.dated else ():
        text = f"The {name} of the window, as Unix time"
        about.append(Fact(f"report_window_{name}_timestamp", text, value, "seconds"))
    return tuple(about)


def _cut(asked: Asked) -> dict[str, str]:
    """Return what of the records the report is on, as labels."""
    told = {} if asked.partition is None else {"partition": asked.partition}
    return told | ({"min_nodes": str(asked.min_nodes)} if asked.min_nodes > 1 else {})
