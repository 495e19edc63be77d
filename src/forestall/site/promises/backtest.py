"""What quotes would have been worth: a site's records in, calibration and sharpness out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.parquet import put_parquet
from forestall.core.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.core.kit.output import write_csv, write_json
from forestall.core.kit.study_folder import table_of, written
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import all_named
from forestall.core.show.as_json import SCHEMA, section_json
from forestall.core.show.drawings import draw, figure_files
from forestall.core.show.page import write_page
from forestall.core.show.result import ShownResult
from forestall.site.promises import section as promises_section
from forestall.site.promises.study import PromiseStudy, Question, study
from forestall.site.report import SiteFindings, page, shown
from forestall.slurm.sources import sources

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.core.show.report import Report, Section
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.given import BacktestQuestion
    from forestall.slurm.sources.sources import GivenRecords


QUESTIONS: Final = {
    "deadline": ("deadline",),
    "probability": ("probability",),
    "both": ("deadline", "probability"),
}
CUT: Final = ("partition", "min_nodes", "level", "zone")
"""What of `Asked` means something here; its level is that of intervals."""
TITLE: Final = "What promises would have been worth: a back-test"


@dataclass(frozen=True, repr=False)
class BacktestFound(ShownResult):
    """What was found.

    Attributes
    ----------
    asked, site : the window and cut, and the records that were replayed
    study : the replay
    """

    asked: Asked
    site: SiteRecords
    study: PromiseStudy
    spell: Callable[[str], str] = str

    @cached_property
    def findings(self) -> SiteFindings:
        """It as a report of one section, parameters as `spell` writes them."""
        section = promises_section.section(self.study)
        report = SiteFindings.of(self.site, self.asked, (section,), options=self.spoken)
        return all_named(report, self.spell)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Every promise with its outcome, a row each, in the order in which they were made."""
        return ledger_table(self)

    def _save_folder(self, folder: Path) -> Path:
        write_backtest_folder(self, folder)
        return folder

    @property
    def section(self) -> Section:
        """That section."""
        return self.findings.sections[0]

    @property
    def options(self) -> dict[str, Any]:
        """What was asked of the replay."""
        told = asdict(self.study.asked)
        return {
            "question": {asks: name for name, asks in QUESTIONS.items()}[told["questions"]],
            "level": told["chance"],
            "warm_up": told["warm_up"],
            "seed": told["seed"],
            "learn": told["learn"],
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
            "learn": "yes" if told["learn"] else "no",
        }

    def _as_report(self) -> Report:
        return shown(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        report = self.findings
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
            "sources": list(report.sources),
            "odd": told["odd"],
            "versions": dict(report.versions),
        }


def find(
    given: GivenRecords, question: BacktestQuestion, progress: Progress | None = None
) -> BacktestFound:
    """Return what quotes would have been worth on the records that are `given`.

    Promises before `given.since` are made, so that the book learns, but not scored. Raises
    TraceError and ParameterError for unusable input.
    """
    site = sources.gather(given)
    if site.accounting is None or not len(site.accounting):
        raise ParameterError("FILES", None, "records of jobs; there are none")
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
        learn=question.learn,
    )
    found = study(site.accounting, wanted, progress)
    return BacktestFound(asked, site, found, given.spell)


def told(found: BacktestFound) -> Report:
    """Return it as it is printed: without figures and the rules that hold for all records."""
    report, part = shown(found.findings), found.section
    tables = (one if one.key.endswith("deciles") else replace(one, note="") for one in part.tables)
    notes = (report.headline, *part.notes[promises_section.RULES :])
    section = replace(part, body=tuple(tables), notes=notes)
    return replace(report, headline="", sections=(section,), cleaning=_file_once(report.cleaning))


def _file_once(cleaning: Cleaning) -> Cleaning:
    """Return remarks that name the file of several lines once."""
    made = []
    for one in cleaning.remarks:
        file = one.names[0].rpartition(" line ")[0]
        rest = (name.removeprefix(f"{file} ") if file else name for name in one.names[1:])
        made.append(replace(one, names=(one.names[0], *rest)))
    return Cleaning(tuple(made))


FIGURES: Final = ("promises_deadline", "promises_probability", "promises_sharpness")
MANY: Final = 200_000
"""More promises are written as Parquet: a million make 350 MB of CSV."""
PROBABILITIES: Final = ("asked", "before", "stated", "risk")
FILES: Final = (
    "promises.csv",
    "promises.parquet",
    "deciles.csv",
    "predictors.csv",
    "groups.csv",
    *figure_files(FIGURES),
    "report.html",
    SUMMARY,
)


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds a back-test of promises."""
    return holds(folder, ("verdicts", "warm_up_jobs", "jobs"))


def check_backtest_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_backtest_folder(
    found: BacktestFound, folder: Path, progress: Progress | None = None
) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        write_ledger(found.table, fresh)
        for name in ("deciles", "predictors", "groups"):
            write_csv(table_of(rows(found, name)), fresh / f"{name}.csv")
        report = found.findings
        drawn = draw(shown(report), progress, fresh)
        write_page(fresh / "report.html", page(report, title=TITLE, drawn=drawn))
        write_json(found.to_dict(), fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return written(folder)


def rows(found: BacktestFound, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of all questions, each with its question."""
    return [
        {"question": one.question, **row}
        for one in found.study.answers
        for table in found.section.tables
        if table.key == f"{one.question}_{name}"
        for row in table.records
    ]


def write_ledger(table: pl.DataFrame, folder: Path) -> None:
    """Write every promise as CSV or, where they are many, as Parquet."""
    if len(table) <= MANY:
        write_csv(table, folder / "promises.csv")
        return
    with atomic_path(folder / "promises.parquet") as beside:
        put_parquet(table, beside)


def ledger_table(found: BacktestFound) -> pl.DataFrame:
    """Return every promise with its outcome, a row each, in the order in which they were made;
    probabilities have six digits, wait and run time three after the point."""
    study, accounting = found.study, found.site.accounting
    if not study.answers or accounting is None:
        return pl.DataFrame(schema={"job": pl.Int64})
    ledger = study.answers[0].ledger
    for one in study.answers[1:]:
        ledger = ledger.append(one.ledger)
    table = pl.DataFrame(ledger.columns())
    table = table.with_columns(
        pl.col(*PROBABILITIES).round_sig_figs(6), pl.col("wait", "run").round(3)
    )
    first = _first_runs(found)
    ids = pl.Series("job", accounting.job[first[ledger.job]])
    return table.with_columns(ids, pl.Series("number", ledger.job)).sort(
        ["quoted", "number", "question"], maintain_order=True
    )


def _first_runs(found: BacktestFound) -> Any:
    """Return the position of the first run of each job of the accounting, int64[jobs]."""
    accounting = found.site.accounting
    assert accounting is not None
    which = accounting.which
    first = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return first
