"""What answers on waits would have been worth: a site's records in, scores and a verdict out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import all_named
from forestall.core.show.as_json import SCHEMA, section_json
from forestall.core.show.result import ShownResult
from forestall.site.report import SiteFindings, shown
from forestall.site.waits.section import section
from forestall.site.waits.study import WaitAsked, WaitBacktest, study
from forestall.slurm.sources import sources

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.core.show.report import Report
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.given import WaitsQuestion
    from forestall.slurm.sources.sources import GivenRecords


@dataclass(frozen=True, repr=False)
class WaitsFound(ShownResult):
    """What was found: the window and cut, the records that were replayed, and the replay."""

    asked: Asked
    site: SiteRecords
    study: WaitBacktest
    spell: Callable[[str], str] = str

    @cached_property
    def findings(self) -> SiteFindings:
        """It as a report of one section, parameters as `spell` writes them."""
        options = {"seed": self.study.asked.seed, "latest": self.study.asked.latest or "all"}
        part = section(self.study)
        report = SiteFindings.of(self.site, self.asked, (part,), options=options)
        return all_named(report, self.spell)

    def _as_report(self) -> Report:
        return shown(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        report = self.findings
        told = report.as_json()
        part = report.sections[0]
        return {
            "schema": SCHEMA,
            "headline": report.headline,
            "window": told["window"],
            "jobs": self.study.jobs,
            "options": dict(report.options),
            "best": {one.kind: one.best for one in self.study.scored},
            "above_best": {one.kind: one.above for one in self.study.scored},
            "above_best_interval": {one.kind: one.above_error for one in self.study.scored},
            "forest_share": self.study.share,
            **section_json(part),
            "untold": [asdict(one) for one in part.untold],
            "sources": list(report.sources),
            "odd": told["odd"],
            "versions": dict(report.versions),
        }


def find(
    given: GivenRecords, question: WaitsQuestion, progress: Progress | None = None
) -> WaitsFound:
    """Return what answers on waits would have been worth on the records that are `given`.

    Jobs before `given.since` are learned from, but not scored; without it the first half. Raises
    TraceError and ParameterError for unusable input.
    """
    site = sources.gather(given)
    if site.accounting is None or not len(site.accounting):
        raise ParameterError("FILES", None, "records of jobs; there are none")
    asked = sources.asked_of(site, given, seed=question.seed)
    first, _ = sources.span(site)
    site = sources.cut(site, replace(asked, begin=min(first, asked.begin)))
    assert site.accounting is not None
    wanted = WaitAsked(
        begin=asked.begin if asked.begin > first else None,
        seed=question.seed,
        level=asked.level,
        latest=question.latest,
    )
    found = study(site.accounting, site.estimates, wanted, progress)
    return WaitsFound(asked, site, found, given.spell)
