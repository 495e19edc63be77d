"""The books of a site from Python: its records, and the report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall._lazy import lazily
from forestall.app.site.report import openmetrics, page, report, shown, text_of
from forestall.app.site.sources import GivenRecords, asked_of, cut, gather
from forestall.model.spelling import all_named
from forestall.model.units import parse_duration
from forestall.show.facts import taken
from forestall.show.page import write_page
from forestall.show.result import PAGES, ShownResult

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.site.report import SiteFindings
    from forestall.model.site.site_records import SiteRecords
    from forestall.show.report import Report

TIMES = ("checkpoint_interval", "checkpoint_cost", "restart")


@dataclass(frozen=True, repr=False)
class SiteReport(ShownResult):
    """A report, and the records that it is on.

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


def read_site(*files: str | Path, **options: Any) -> SiteRecords:
    """Read a site's records; see `forestall.app.site.sources`.

    Parameters
    ----------
    files : Slurm's own output, a folder of ``forestall import slurm``, SWF, failure logs; told
        apart by what is in them
    options : fields of `forestall.app.site.sources.GivenRecords`: slurm=True asks the Slurm of this
        machine, failures=PATH adds a failure log, ...

    Raises TraceError where a file cannot be used, ParameterError for a bad option.
    """
    return gather(_given(files, options))


def site_report(*files: str | Path, **options: Any) -> SiteReport:
    """Return the report on a site's records.

    Parameters
    ----------
    files, options : as in `read_site`, and fields of `forestall.app.site.asked.Asked`:
        node_hour_cost, currency, checkpoint_interval, checkpoint_cost, restart (durations as text
        or seconds), level, seed, learn

    Raises TraceError where a file cannot be used, ParameterError for a bad option.
    """
    read = {
        name: value for name, value in options.items() if name in GivenRecords.__dataclass_fields__
    }
    assumed = {name: value for name, value in options.items() if name not in read}
    for name in TIMES:
        if name in assumed:
            assumed[name] = parse_duration(assumed[name], name)
    given = _given(files, read)
    site = gather(given)
    asked = asked_of(site, given, **assumed)
    site = cut(site, asked)
    told = "checkpoint_interval" in assumed
    made = report(site, asked, told=told, options=options)
    return SiteReport(all_named(made, given.spell), site)


def _given(files: tuple[str | Path, ...], options: dict[str, Any]) -> GivenRecords:
    if options.get("failures") is not None:
        options = {**options, "failures": Path(options["failures"])}
    return GivenRecords(tuple(Path(file) for file in files), **options)
