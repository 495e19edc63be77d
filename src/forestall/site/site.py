"""The books of a site from Python: its records, and the report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from forestall.core._lazy import lazily
from forestall.core.kit.waiting import waiting
from forestall.core.model.spelling import all_named
from forestall.core.model.units import parse_duration
from forestall.core.show.facts import taken
from forestall.core.show.page import write_page
from forestall.core.show.result import PAGES, ShownResult
from forestall.site.report import openmetrics, page, report, shown, text_of
from forestall.slurm.sources.given import RecordOptions, records_of
from forestall.slurm.sources.sources import asked_of, cut, gather

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.core.show.report import Report
    from forestall.site.report import SiteFindings
    from forestall.slurm.records.site_records import SiteRecords

TIMES = ("checkpoint_interval", "checkpoint_cost", "restart")


@dataclass(frozen=True, repr=False)
class SiteReport(ShownResult):
    """A report, and the records behind it.

    Attributes
    ----------
    findings : its sections, figures and advice
    site : the records, cut to what was asked
    """

    findings: SiteFindings
    site: SiteRecords

    @property
    def json(self) -> dict[str, Any]:
        """What ``forestall report --json`` prints; `to_dict` gives the same."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return what ``forestall report --json`` prints."""
        return self.findings.as_json()

    @property
    def openmetrics(self) -> str:
        """What ``forestall report --openmetrics -`` prints."""
        return openmetrics(self.findings)

    @property
    def table(self) -> pl.DataFrame:
        """Every number of the report, a row each: section, key, label, value, unit, records, low,
        high, labels."""
        parts = self.findings.sections
        facts = ((part.key, one) for part in parts for one in (*part.facts, *part.series))
        names = ("key", "label", "value", "unit", "records", "low", "high")
        rows = [
            {"section": key, **taken(one, *names), "labels": ", ".join(one.labels.values())}
            for key, one in facts
        ]
        return pl.DataFrame(rows, strict=False, infer_schema_length=None)

    def text(self, *, full: bool = False) -> str:
        """Return it as a terminal shows it, with `full` all of it."""
        return text_of(self.findings, full=full)

    def _as_report(self) -> Report:
        return shown(self.findings)

    def _save_file(self, target: Path, suffix: str) -> None:
        if suffix in PAGES:
            write_page(target, page(self.findings))
        else:
            super()._save_file(target, suffix)


class ReportOptions(RecordOptions, total=False):
    """What `site_report` may be told besides; see `forestall.slurm.sources.asked.Asked`."""

    node_hour_cost: float | None
    currency: str
    checkpoint_interval: str | float
    checkpoint_cost: str | float
    restart: str | float
    level: float
    seed: int
    learn: bool


def read_site(*files: str | Path, **options: Unpack[RecordOptions]) -> SiteRecords:
    """Read a site's records.

    Parameters
    ----------
    files : Slurm's own output, a folder of ``forestall import slurm``, SWF, failure logs; detected
        from the content
    options : `slurm` True queries the Slurm of this machine, `failures` is a failure log, ...; see
        `forestall.slurm.sources.given.GivenRecords`

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for an unknown or invalid option
    """
    return gather(records_of(files, options))


def site_report(
    *files: str | Path, progress: Progress | None = None, **options: Unpack[ReportOptions]
) -> SiteReport:
    """Return the report on a site's records: losses, node health, and what to do.

    Parameters
    ----------
    files : as in `read_site`
    progress : called periodically with the number of sections done and of all; None: a notebook
        shows a bar
    options : those of `read_site`; and `node_hour_cost` in `currency`, what a node-hour costs;
        `checkpoint_interval`, `checkpoint_cost`, `restart`, durations as text or in seconds, what
        is assumed of jobs; `level` of all intervals; `seed` of draws; `learn`, whether quotes are
        learned from jobs and queue

    Raises
    ------
    TraceError
        if a file cannot be used
    ParameterError
        for an unknown or invalid option
    """
    theirs = set(ReportOptions.__annotations__) - set(RecordOptions.__annotations__)
    assumed: dict[str, Any] = {name: one for name, one in options.items() if name in theirs}
    for name in TIMES:
        if name in assumed:
            assumed[name] = parse_duration(assumed[name], name)
    given = records_of(files, {n: one for n, one in options.items() if n not in theirs})
    with waiting(progress, "sections") as bar:
        site = gather(given)
        asked = asked_of(site, given, **assumed)
        site = cut(site, asked)
        told = "checkpoint_interval" in assumed
        made = report(site, asked, told=told, options=dict(options), progress=bar)
    return SiteReport(all_named(made, given.spell), site)
