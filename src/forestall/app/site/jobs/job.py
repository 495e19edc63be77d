"""One job: what it waited for, what it used, what it was promised, what hit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.site import sources
from forestall.app.site.jobs.told import hits, promises, use, waits
from forestall.app.site.shared import how_ended
from forestall.app.site.windows import spoken
from forestall.model.errors import ParameterError
from forestall.model.spelling import all_named
from forestall.show.clean import clean
from forestall.show.report import Report
from forestall.show.result import ShownResult

if TYPE_CHECKING:
    from forestall.app.kit.progress import Progress
    from forestall.app.site.asked import Asked
    from forestall.app.site.given import GivenRecords
    from forestall.model.arrays import Ints
    from forestall.model.site.site_records import SiteRecords

LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, repr=False)
class JobFound(ShownResult):
    """What records tell of a job.

    Attributes
    ----------
    asked, site : the window, and all records within it
    rows : places of the job's runs in the accounting, in order of time
    told : what it says
    """

    asked: Asked
    site: SiteRecords
    rows: Ints
    told: Report

    def _as_report(self) -> Report:
        return self.told


def find(
    given: GivenRecords, job: str, interval: int | None = None, progress: Progress | None = None
) -> JobFound:
    """Return what the records that are `given` tell of a job, by its number; `interval` is the time
    between its checkpoints that is assumed, s.

    Raises TraceError and ParameterError for unusable input, and ParameterError where the
    records have no such job.
    """
    number = number_of(job)
    assumed = {} if interval is None else {"checkpoint_interval": interval}
    site = sources.gather(given, progress)
    asked = sources.asked_of(site, given, **assumed)
    site = sources.cut(site, asked)
    rows = _rows(site, number)
    report = _report(site, asked, number, rows)
    return JobFound(asked, site, rows, all_named(report, given.spell))


def number_of(text: str) -> int:
    """Return the number of a job; raises ParameterError for anything else."""
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdecimal()) or int(stripped) > LARGEST:
        allowed = "a job id, such as 12345 (for an array task its own, JobIDRaw)"
        raise ParameterError("JOB", text, allowed)
    return int(stripped)


def _rows(site: SiteRecords, number: int) -> Ints:
    records = site.accounting
    if records is None:
        raise ParameterError("FILES", "; ".join(site.sources), "records of jobs (sacct, or SWF)")
    rows = np.flatnonzero(records.job == number)
    if not len(rows):
        first, last = (int(end) for end in (records.job.min(initial=0), records.job.max(initial=0)))
        allowed = f"a job of these records, which hold {first:,} to {last:,} (with gaps)"
        raise ParameterError("JOB", str(number), allowed)
    return rows


def _report(site: SiteRecords, asked: Asked, number: int, rows: Ints) -> Report:
    records = site.accounting
    assert records is not None
    ends = how_ended(site)
    sections = (
        use(records, ends, rows, asked),
        waits(site, rows),
        promises(records, rows, asked),
        hits(site, ends, rows),
    )
    return Report(
        title=f"Job {number}",
        headline=_headline(site, number, rows),
        sections=sections,
        sources=site.sources,
    )


def _headline(site: SiteRecords, number: int, rows: Ints) -> str:
    records = site.accounting
    assert records is not None
    last = int(rows[-1])
    named: dict[str, Any] = {
        "": records.name[last], "of": records.user[last], "account": records.account[last],
        "partition": records.partition[last], "QOS": records.qos[last],
    }  # fmt: skip
    said = [f"{word} {clean(text, 60)}".strip() for word, text in named.items() if text]
    when = spoken(int(records.submit[rows[0]]), records.dated)
    text = f"Job {number}" + (f" ({', '.join(said)})" if said else "")
    return f"{text}, submitted {when}."
