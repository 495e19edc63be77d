"""What quotes would have been worth: a site's records in, calibration and sharpness out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from forestall.app.site import sources
from forestall.app.site.promises import section as promises_section
from forestall.app.site.promises.study import PromiseStudy, Question, study
from forestall.app.site.report import SiteFindings, versions
from forestall.app.site.summary import headline
from forestall.model.cleaning import Cleaning
from forestall.model.errors import ParameterError
from forestall.show.as_json import SCHEMA, section_json
from forestall.show.text import grid, paragraph, remarks
from forestall.show.text import title as titled

if TYPE_CHECKING:
    from forestall.app.site.asked import Asked
    from forestall.app.site.given import BacktestQuestion
    from forestall.app.site.sources import GivenRecords, Progress
    from forestall.model.site.site_records import SiteRecords
    from forestall.show.report import Section

QUESTIONS: Final = {
    "deadline": ("deadline",),
    "probability": ("probability",),
    "both": ("deadline", "probability"),
}
CUT: Final = ("partition", "min_nodes", "level", "zone")
"""What of `Asked` means something here; its level is that of intervals."""
TITLE: Final = "What promises would have been worth: a back-test"


@dataclass(frozen=True)
class BacktestFound:
    """What was found.

    Attributes
    ----------
    asked, site : the window and cut, and the records that were replayed
    study, section : the replay, and the same as figures and tables
    """

    asked: Asked
    site: SiteRecords
    study: PromiseStudy
    section: Section

    def report(self) -> SiteFindings:
        """Return it as a report of one section, for the page and for OpenMetrics."""
        return SiteFindings(
            asked=self.asked,
            dated=sources.is_dated(self.site),
            headline=headline(self.site, self.asked),
            sections=(self.section,),
            advice=(),
            untold=tuple((self.section.key, one) for one in self.section.untold),
            cleaning=self.site.cleanings(),
            sources=self.site.sources,
            versions=versions(),
            options=self.spoken,
        )

    @property
    def options(self) -> dict[str, Any]:
        """What was asked of the replay."""
        told = asdict(self.study.asked)
        return {
            "question": {asks: name for name, asks in QUESTIONS.items()}[told["questions"]],
            "level": told["chance"],
            "warm_up": told["warm_up"],
            "seed": told["seed"],
        }

    @property
    def spoken(self) -> dict[str, Any]:
        """The same for the page."""
        told = self.options
        level = "0.01 to 0.99" if told["level"] is None else told["level"]
        levels = {"level": level} if told["question"] != "probability" else {}
        return {
            "question": told["question"],
            **levels,
            "warm_up": f"{told['warm_up']:,}",
            "seed": told["seed"],
        }

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        report = self.report()
        told = report.as_json()
        return {
            "schema": SCHEMA,
            "headline": report.headline,
            "window": told["window"],
            "holds": self.study.holds,
            "verdicts": {one.question: one.scores.holds for one in self.study.answers},
            "jobs": self.study.jobs,
            "warm_up_jobs": self.study.asked.warm_up,
            "options": self.options,
            "asked": {name: told["asked"][name] for name in CUT},
            **section_json(self.section),
            "untold": [asdict(one) for one in self.section.untold],
            "sources": list(self.site.sources),
            "odd": told["odd"],
            "versions": dict(report.versions),
        }


def find(
    given: GivenRecords, question: BacktestQuestion, progress: Progress | None = None
) -> BacktestFound:
    """Return what quotes would have been worth on the records that are `given`.

    Promises before `given.since` are made, so that the book learns, but not scored. Raises
    TraceError and ParameterError for what cannot be used.
    """
    site = sources.gather(given)
    if site.accounting is None or not len(site.accounting):
        raise ParameterError("FILES", "", "records of jobs; there are none")
    asked = sources.asked_of(site, given, seed=question.seed)
    first, _ = sources.span(site)
    site = sources.cut(site, replace(asked, begin=min(first, asked.begin)))
    assert site.accounting is not None
    wanted = Question(
        questions=QUESTIONS[question.question],
        chance=question.level,
        warm_up=question.warm_up,
        begin=asked.begin if asked.begin > first else None,
        seed=question.seed,
        level=asked.level,
    )
    found = study(site.accounting, wanted, progress)
    return BacktestFound(asked, site, found, promises_section.section(found))


def text_of(found: BacktestFound) -> str:
    """Return it as text of at most 100 columns, the verdict first, with a newline at its end."""
    part = found.section
    lines = [*titled(part.title), *paragraph(part.lead)]
    for table in part.tables:
        lines += ["", *paragraph(table.title), *grid(table.texts, table.heads, right=table.right)]
        lines += paragraph(table.note, indent="  ") if table.key.endswith("deciles") else []
    lines += ["", *paragraph(found.report().headline)]
    for note in part.notes[promises_section.RULES :]:
        lines += paragraph(note)
    for one in part.untold:
        remedy = f" It takes {one.remedy}." if one.remedy else ""
        lines += paragraph(f"Not told: {one.what}: {one.why}.{remedy}")
    lines += remarks(_file_once(found.site.cleanings()))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _file_once(cleaning: Cleaning) -> Cleaning:
    """Return remarks that name the file of several lines once."""
    made = []
    for one in cleaning.remarks:
        file = one.names[0].rpartition(" line ")[0]
        rest = (name.removeprefix(f"{file} ") if file else name for name in one.names[1:])
        made.append(replace(one, names=(one.names[0], *rest)))
    return Cleaning(tuple(made))
