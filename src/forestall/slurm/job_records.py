"""Records of jobs with their nodes from any file that has them: a table, or what sacct wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from forestall.core.files.parquet import is_parquet
from forestall.core.files.pipes import is_there
from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.jobs.job_records import in_window, looks_like
from forestall.logs.jobs.job_records import read_job_records as read_table
from forestall.slurm.jobs import job_records, looks_like_sacct, read_sacct

if TYPE_CHECKING:
    from forestall.core.model.job_records import JobRecords


def read_job_records(
    path: str | Path,
    *,
    start: str | int | None = None,
    days: float | None = None,
    zone: str | None = None,
    strict: bool = False,
) -> JobRecords:
    """Read accounting records: a table ``job,start,end,state,nodes[,cores]`` as CSV or Parquet, or
    what ``sacct --parsable2`` or ``sacct --json`` wrote; detected from the content.

    Parameters
    ----------
    path : the file; text may be compressed (.gz, .xz, .zst)
    start : time 0, as a date or in the file's own seconds; without it the first start of a file
        with dates, the own 0 of one that counts seconds
    days : only jobs that ran in [start, start + days) at any time, in whole, are taken
    zone : time zone of sacct's dates, such as ``Europe/Berlin``; None: as they stand (UTC)
    strict : whether a row that must be left out or changed is an error

    Without `start` and `days` jobs that never started are kept, after all others. Raises TraceError
    if the file cannot be used, ParameterError for a bad parameter.
    """
    place = Path(path)
    if not _is_sacct(place):
        return read_table(place, start=start, days=days, strict=strict)
    try:
        records = job_records(read_sacct(place, zone=zone, strict=strict))
    except ParameterError as error:
        if error.name != "cluster":
            raise
        chosen = "import one of them: forestall import slurm --cluster NAME"
        message = f"expected records of one cluster, {error.allowed}; {chosen}"
        raise TraceError(path, message) from None
    return in_window(records, path, start, days)


def holds_job_records(path: Path) -> bool:
    """Return whether a file holds records of jobs in one of these forms."""
    return looks_like(path) or _is_sacct(path)


def _is_sacct(path: Path) -> bool:
    return is_there(path) and not path.is_dir() and not is_parquet(path) and looks_like_sacct(path)
