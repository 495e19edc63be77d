"""The whole report: every section from the same records, what to do, and what could not be told.

It is made once and shown as text, as a page, as JSON and as OpenMetrics (module `shown`, by the
renderers of `forestall.show`), which therefore cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from forestall.__about__ import __version__
from forestall.app.site import sources
from forestall.app.site.advice import advice as own
from forestall.app.site.advice.kind import Advice
from forestall.app.site.advice.section import section as advice_section
from forestall.app.site.summary import headline, sure
from forestall.app.site.swf_jobs import waits_told
from forestall.show.as_json import SCHEMA, odd_json, section_json
from forestall.show.facts import Untold, plain
from forestall.show.report import Section

if TYPE_CHECKING:
    from forestall.app.site.asked import Asked
    from forestall.app.site.sources import GivenRecords
    from forestall.model.cleaning import Cleaning
    from forestall.model.site.site_records import SiteRecords

    Progress = Callable[[int, int], None]

SECTIONS: Final = {
    "losses": "forestall.app.site.losses.losses",
    "goodput": "forestall.app.site.losses.goodput",
    "ettr": "forestall.app.site.losses.ettr",
    "nodes": "forestall.app.site.nodes.section",
    "lemons": "forestall.app.site.lemons.section",
    "waits": "forestall.app.site.waits.waits",
    "starts": "forestall.app.site.waits.starts",
    "promises": "forestall.app.site.promises.section",
}
"""Modules of the sections by key, in the order of the report. Each has ``section(site, asked)``
and, where it gives advice, ``advice(site, asked)``; or ``study(site, asked)``, whose result both
take."""
NEED_WAITS: Final = {"waits": "How long jobs wait", "promises": "What promises would be worth"}
"""Sections, with their titles, that mean nothing where a log does not tell when jobs started."""
ADVICE: Final = "advice"
"""Key of the section that says itself why there is nothing to do."""


@dataclass(frozen=True)
class SiteFindings:
    """All that a report says, before it is shown (module `shown`).

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
) -> SiteFindings:
    """Return the report on what is `given`; `assumed` are fields of `Asked`, `options` what to say
    that was chosen. Raises TraceError and ParameterError for what cannot be used."""
    fields = assumed or {}
    site = sources.gather(given)
    asked = sources.asked_of(site, given, **fields)
    site = sources.cut(site, asked)
    told = "checkpoint_interval" in fields
    return report(site, asked, told=told, options=options, progress=progress)


def report(
    site: SiteRecords,
    asked: Asked,
    *,
    sections: Mapping[str, str] = SECTIONS,
    told: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> SiteFindings:
    """Return the report on records that are cut to what was `asked`; `sections` are modules by key.

    `told` says whether the checkpoint interval was told rather than assumed; `progress` is told of
    each section that is done.
    """
    steps = len(sections) + 1
    found = own.study(site, asked, told=told)
    advice = list(own.advice(found))
    made: list[Section] = []
    for done, (key, name) in enumerate(sections.items(), 1):
        if progress is not None:
            progress(done, steps)
        part, more = one_section(key, name, site, asked)
        made.append(part)
        advice += more
    ordered = in_order(advice)
    # Where there is nothing to do, that is no news to begin with.
    made.insert(0 if ordered else len(made), advice_section(ordered, asked, found))
    if progress is not None:
        progress(steps, steps)
    return SiteFindings(
        asked=asked,
        dated=sources.is_dated(site),
        headline=headline(site, asked),
        sections=tuple(made),
        advice=ordered,
        untold=tuple((part.key, one) for part in made for one in part.untold if part.key != ADVICE),
        cleaning=site.cleanings(),
        sources=site.sources,
        versions=versions(),
        options=options or {},
    )


def in_order(advice: Sequence[Advice]) -> tuple[Advice, ...]:
    """Return advice, what saves most first; behind those that surely save stand those whose bounds
    reach down to nothing, and last those of which nobody can tell what they save."""

    def place(one: Advice) -> tuple[int, float]:
        if one.saves is None:
            return 2, 0.0
        return int(not sure(one)), -one.saves

    return tuple(sorted(advice, key=place))


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    return {"forestall": __version__, **{name: version(name) for name in ("numpy", "scipy")}}


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
    why = "the job log tells when jobs were submitted, but not how long they waited"
    return Section(
        key,
        title,
        "Not told: the job log has no waits.",
        untold=(Untold(title, why, "records with the start of every job"),),
    )
