"""Which nodes are lemons: a site's records in, the worst nodes and what they cost out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from forestall.app.site import sources
from forestall.app.site.lemons import section as lemons_section
from forestall.app.site.lemons.section import row
from forestall.app.site.lemons.study import LemonsStudy
from forestall.app.site.report import SiteFindings, advice_json
from forestall.app.site.summary import headline
from forestall.show.as_json import section_json
from forestall.show.facts import plain
from forestall.show.text import grid, paragraph, remarks

if TYPE_CHECKING:
    from forestall.app.kit.progress import Progress
    from forestall.app.site.asked import Asked
    from forestall.app.site.given import LemonQuestion
    from forestall.app.site.sources import GivenRecords
    from forestall.model.site.site_records import SiteRecords
    from forestall.show.blocks import Table
    from forestall.show.report import Section

MOST_ROWS = 30
"""Rows of a table that are printed."""


@dataclass(frozen=True)
class LemonsFound:
    """What was found.

    Attributes
    ----------
    asked, site : the window and cut, and the records within them
    study, section : nodes against each other, and the same as figures and tables
    """

    asked: Asked
    site: SiteRecords
    study: LemonsStudy
    section: Section

    def report(self) -> SiteFindings:
        """Return it as a report of one section, for `forestall.app.site.report`."""
        advice = lemons_section.advice(self.study)
        return SiteFindings.of(self.site, self.asked, (self.section,), advice)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values: what a report has of it, and every node that failed,
        the worst first."""
        report = self.report()
        found = self.study.found
        nodes: list[dict[str, Any]] = []
        if found is not None:
            at = [k for k in found.order.tolist() if found.failures[k]]
            nodes = [row(found, k, self.study.hours) for k in at]
        asked = {name: plain(value) for name, value in asdict(self.asked).items()}
        return {
            "headline": report.headline,
            "asked": asked,
            **section_json(self.section),
            "nodes": [{name: plain(value) for name, value in one.items()} for one in nodes],
            "nodes_compared": 0 if found is None else len(found),
            "advice": [advice_json(one, self.asked) for one in report.advice],
            "untold": [asdict(one) for one in self.section.untold],
            "sources": list(self.site.sources),
            "versions": dict(report.versions),
        }


def find(
    given: GivenRecords, question: LemonQuestion, progress: Progress | None = None
) -> LemonsFound:
    """Return which nodes are lemons by the records that are `given`. Raises TraceError and
    ParameterError for what cannot be used."""
    interval = question.checkpoint_interval
    assumed = {} if interval is None else {"checkpoint_interval": interval}
    site = sources.gather(given, progress)
    asked = sources.asked_of(site, given, **assumed)
    site = sources.cut(site, asked)
    rate = question.false_discovery_rate
    study = lemons_section.study(site, asked, false_discovery_rate=rate)
    return LemonsFound(asked, site, study, lemons_section.section(study))


def text_of(found: LemonsFound) -> str:
    """Return it as text of at most 100 columns, with a newline at its end."""
    section = found.section
    lines = [*paragraph(headline(found.site, found.asked)), *paragraph(section.lead)]
    for table in section.tables:
        lines += ["", *_table(table)]
    if section.notes:
        lines.append("")
    for note in section.notes:
        lines += paragraph(note)
    lines += [line for one in section.untold for line in paragraph(f"Not told: {one}")]
    lines += remarks(found.site.cleanings())
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(table: Table) -> list[str]:
    lines = [table.title, *grid(table.texts[:MOST_ROWS], table.heads, right=table.right)]
    if len(table.rows) > MOST_ROWS:
        lines.append(f"... and {len(table.rows) - MOST_ROWS:,} rows more (--json)")
    return [*lines, *paragraph(table.note, indent="  ")]
