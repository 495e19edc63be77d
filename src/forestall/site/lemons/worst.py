"""Which nodes are lemons: a site's records in, the worst nodes and what they cost out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from forestall.core.model.spelling import all_named
from forestall.core.show.as_json import section_json
from forestall.core.show.facts import plain
from forestall.core.show.result import ShownResult
from forestall.site.lemons import section as lemons_section
from forestall.site.lemons.section import row
from forestall.site.lemons.study import LemonsStudy
from forestall.site.report import SiteFindings, advice_json, shown
from forestall.slurm.sources import sources

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.core.show.report import Report
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.given import LemonQuestion
    from forestall.slurm.sources.sources import GivenRecords


@dataclass(frozen=True, repr=False)
class LemonsFound(ShownResult):
    """What was found.

    Attributes
    ----------
    asked, site : the window and cut, and the records within them
    study : nodes against each other
    findings : the same as a report of one section
    """

    asked: Asked
    site: SiteRecords
    study: LemonsStudy
    findings: SiteFindings

    def _as_report(self) -> Report:
        return told(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values: what a report has of it, and every node that failed,
        the worst first."""
        report, found = self.findings, self.study.found
        section = report.sections[0]
        nodes: list[dict[str, Any]] = []
        if found is not None:
            at = [k for k in found.order.tolist() if found.failures[k]]
            nodes = [row(found, k, self.study.hours) for k in at]
        asked = {name: plain(value) for name, value in asdict(self.asked).items()}
        return {
            "headline": report.headline,
            "asked": asked,
            **section_json(section),
            "nodes": [{name: plain(value) for name, value in one.items()} for one in nodes],
            "nodes_compared": 0 if found is None else len(found),
            "advice": [advice_json(one, self.asked) for one in report.advice],
            "untold": [asdict(one) for one in section.untold],
            "sources": list(report.sources),
            "versions": dict(report.versions),
        }


def find(
    given: GivenRecords, question: LemonQuestion, progress: Progress | None = None
) -> LemonsFound:
    """Return which nodes are lemons by the records that are `given`. Raises TraceError and
    ParameterError for unusable input."""
    interval = question.checkpoint_interval
    assumed = {} if interval is None else {"checkpoint_interval": interval}
    site = sources.gather(given, progress)
    asked = sources.asked_of(site, given, **assumed)
    site = sources.cut(site, asked)
    rate = question.false_discovery_rate
    study = lemons_section.study(site, asked, false_discovery_rate=rate)
    section, advice = lemons_section.section(study), lemons_section.advice(study)
    report = SiteFindings.of(site, asked, (section,), advice)
    return LemonsFound(asked, site, study, all_named(report, given.spell))


def told(found: LemonsFound) -> Report:
    """Return it as it is printed."""
    report = shown(found.findings)
    return replace(report, sections=tuple(replace(one, title="") for one in report.sections))
