"""One job: what it waited for, what it used, what it was promised, what hit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import all_named
from forestall.core.show.clean import clean
from forestall.core.show.report import Report
from forestall.core.show.result import ShownResult
from forestall.site.jobs.told import hits, promises, use, waits
from forestall.site.shared import how_ended
from forestall.slurm.records.task_lists import JobId, id_text, task_id
from forestall.slurm.sources import sources
from forestall.slurm.sources.windows import spoken

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.core.model.arrays import Ints
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.given import GivenRecords


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
    named = job_named(job)
    assumed = {} if interval is None else {"checkpoint_interval": interval}
    site = sources.gather(given, progress)
    asked = sources.asked_of(site, given, **assumed)
    site = sources.cut(site, asked)
    rows = _rows(site, named, job.strip())
    report = _report(site, asked, job.strip(), rows)
    return JobFound(asked, site, rows, all_named(report, given.spell))


def job_named(text: str) -> JobId:
    """Return the job, the task of an array or the component of a heterogeneous job that an id
    names; raises ParameterError for anything else."""
    named = JobId.parse(text)
    if named is None or named.tasks is not None:
        allowed = "a job id, such as 12345, or 12345_7 for a task of an array"
        raise ParameterError("JOB", text, allowed)
    return named


def _rows(site: SiteRecords, named: JobId, text: str) -> Ints:
    records = site.accounting
    if records is None:
        raise ParameterError("FILES", "; ".join(site.sources), "records of jobs (sacct, or SWF)")
    if named.task is not None:
        rows = np.flatnonzero(records.task == task_id(named.number, named.task))
    elif named.component is not None:
        parts = np.unique(records.job[records.het == named.number])
        rows = np.flatnonzero(np.isin(records.job, parts[named.component : named.component + 1]))
    else:
        rows = np.flatnonzero(records.job == named.number)
    tasks = np.unique(records.task[records.array == named.number])
    if not len(rows) and len(tasks):
        allowed = f"one of the {len(tasks):,} tasks of this array, such as {id_text(int(tasks[0]))}"
        raise ParameterError("JOB", text, allowed)
    if not len(rows):
        ids = np.where(records.array > 0, records.array, records.job)
        first, last = int(ids.min(initial=0)), int(ids.max(initial=0))
        allowed = f"a job of these records, which hold {first:,} to {last:,} (with gaps)"
        raise ParameterError("JOB", text, allowed)
    return rows


def _report(site: SiteRecords, asked: Asked, job: str, rows: Ints) -> Report:
    records = site.accounting
    assert records is not None
    ends = how_ended(site)
    sections = (
        use(records, ends, rows, asked),
        waits(site, rows, asked.seed),
        promises(records, rows, asked),
        hits(site, ends, rows),
    )
    return Report(
        title=f"Job {job}",
        headline=_headline(site, job, rows),
        sections=sections,
        sources=site.sources,
    )


def _headline(site: SiteRecords, job: str, rows: Ints) -> str:
    records = site.accounting
    assert records is not None
    last = int(rows[-1])
    named: dict[str, Any] = {
        "": records.name[last], "of": records.user[last], "account": records.account[last],
        "partition": records.partition[last], "QOS": records.qos[last],
    }  # fmt: skip
    said = [f"{word} {clean(text, 60)}".strip() for word, text in named.items() if text]
    when = spoken(int(records.submit[rows[0]]), records.dated)
    text = f"Job {job}" + (f" ({', '.join(said)})" if said else "")
    return f"{text}, submitted {when}."
