"""The books of a site from Python: its records, and the report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.app.site.report import openmetrics, page, report, text_of
from forestall.app.site.sources import GivenRecords, asked_of, cut, gather
from forestall.model.spelling import all_named
from forestall.model.units import parse_duration
from forestall.show.page import write_page

if TYPE_CHECKING:
    from forestall.app.site.report import SiteFindings
    from forestall.model.site.site_records import SiteRecords

TIMES = ("checkpoint_interval", "checkpoint_cost", "restart")


@dataclass(frozen=True)
class SiteReport:
    """A report, and the records that it is on.

    Attributes
    ----------
    report : its sections, figures and advice
    site : the records, cut to what was asked
    """

    report: SiteFindings
    site: SiteRecords

    @property
    def json(self) -> dict[str, Any]:
        """What ``forestall report --json`` prints."""
        return self.report.as_json()

    @property
    def openmetrics(self) -> str:
        """What ``forestall report --openmetrics -`` prints."""
        return openmetrics(self.report)

    def text(self, *, full: bool = False) -> str:
        """Return it as a terminal shows it, with `full` all of it."""
        return text_of(self.report, full=full)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all, and return where."""
        return write_page(path, page(self.report))


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
