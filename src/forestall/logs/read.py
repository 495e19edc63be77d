"""The front door: job logs and failure logs of any known format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core.files.delimited import header_names
from forestall.core.files.findings import shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs.failures.formats import FORMATS
from forestall.logs.failures.raw import FailureFormat, Head, Options
from forestall.logs.failures.window import choose
from forestall.logs.jobs.lanl_usage import is_lanl_usage, read_lanl_usage
from forestall.logs.jobs.swf import read_swf
from forestall.logs.jobs.swf_rows import is_swf
from forestall.logs.jobs.table import REQUIRED, read_job_table

_OF_PROCESSORS = {"swf": read_swf, "usage": read_lanl_usage}
"""Readers of job logs whose sizes are processors."""


@reader
def read_jobs(
    path: str | Path,
    *,
    processors_per_node: int = 1,
    jobs: str | None = None,
    strict: bool = False,
) -> Jobs:
    """Read a job log: SWF, a usage log of Los Alamos, or a job table as CSV or Parquet, detected
    from the content.

    Parameters
    ----------
    path : the file; text may be compressed (.gz, .xz, .zst)
    processors_per_node : for the first two, whose sizes are processors; tables count nodes
    jobs : which rows to take, such as ``1:10000``: positions from 1, both ends included, among the
        usable rows in submit order; either end may be left out
    strict : whether a row that must be left out or changed is an error

    Raises TraceError if the file cannot be used, ParameterError for a bad parameter.
    """
    form = job_format(path)
    if form in _OF_PROCESSORS:
        read = _OF_PROCESSORS[form]
        whole = read(path, processors_per_node=processors_per_node, strict=strict)
    else:
        if processors_per_node != 1:
            allowed = "1: the sizes of a job table are nodes already"
            raise ParameterError("processors-per-node", processors_per_node, allowed)
        whole = read_job_table(path, strict=strict)
    return whole if jobs is None else slice_jobs(whole, jobs)


def slice_jobs(jobs: Jobs, text: str) -> Jobs:
    """Return the jobs at the positions that ``first:last`` says; see `read_jobs`."""
    first, colon, last = text.partition(":")
    ends = [end.strip() for end in (first, last)]
    allowed = "positions as in 1:10000, 5000: or :10000, counted from 1"
    if not colon or not all(end == "" or (end.isascii() and end.isdigit()) for end in ends):
        raise ParameterError("jobs", text, allowed)
    low, high = int(ends[0] or 1), int(ends[1] or len(jobs))
    if low < 1 or (ends[1] and high < low):
        raise ParameterError("jobs", text, allowed)
    if low > len(jobs):
        raise ParameterError("jobs", text, f"positions up to {len(jobs)}, the number of jobs")
    return jobs.take(np.arange(low - 1, min(high, len(jobs))))


def job_format(path: str | Path) -> str:
    """Return the format of a job log: "swf", "usage" or "table". Raises TraceError where it is none
    of them."""
    place = Path(path)
    if is_parquet(place):
        return "table"
    lines = _head(place).lines
    if is_lanl_usage(lines):
        return "usage"
    for line in lines:
        if line.lstrip().startswith(";"):
            return "swf"
        if not line.strip():
            continue
        if "," in line:
            if line.lstrip()[:1].isdigit():
                break
            return "table"
        words = line.split()
        return "swf" if words[0].lstrip("+-")[:1].isdigit() else _no_jobs(place, line)
    return _no_jobs(place, next((line for line in _head(place).lines if line.strip()), ""))


@reader
def read_failures(
    path: str | Path,
    *,
    system: str | int | None = None,
    start: str | int | None = None,
    days: float | None = None,
    fold_nodes: int = 1,
    format: str | None = None,
    strict: bool = False,
) -> Failures:
    """Read a failure log of any format in `FORMATS`, detected from the content.

    Parameters
    ----------
    path : the file (it may be compressed), or the folder of a Failure Trace Archive set
    system : which system, of a log that holds several
    start : time 0, as a date such as ``2003-07-18T16:00`` or in the log's own seconds; without it
        the first failure of a log with dates, the log's own 0 of our CSV
    days : length of the window [start, start + days)
    fold_nodes : merge this many neighboring nodes: node n becomes n // k
    format : name of the format (default: detected)
    strict : whether a row that must be left out or changed is an error

    Raises TraceError if the file cannot be used or no failure lies in the window, and
    ParameterError for a bad parameter.
    """
    place = _event_file(Path(path))
    reader = failure_format(place) if format is None else _named(format)
    raw = reader.read(place, Options(None if system is None else str(system), strict))
    return choose(raw, path, start=start, days=days, fold_nodes=fold_nodes)


def failure_format(path: Path) -> FailureFormat:
    """Return the format of a failure log; TraceError where it is none that is known."""
    head = _head(path)
    if is_swf(head.lines):
        raise TraceError(path, "is a job log (SWF); expected a failure log")
    for known in FORMATS:
        if known.looks_like(head):
            return known
    names = ", ".join(known.name for known in FORMATS)
    if is_parquet(path):
        raise TraceError(path, "is Parquet, but not a failure log; expected columns time,node")
    first = next((line for line in head.lines if line.strip()), "")
    if not first:
        raise TraceError(path, "is empty; expected a failure log")
    raise TraceError(
        path, f"not a failure log: the file starts with {shown(first)}; expected one of {names}"
    )


def _named(name: str) -> FailureFormat:
    for known in FORMATS:
        if known.name == name:
            return known
    raise ParameterError("format", name, "one of " + ", ".join(known.name for known in FORMATS))


def _head(path: Path) -> Head:
    if is_parquet(path):
        return Head(path, ())
    return Head(path, head_lines(path))


def _event_file(path: Path) -> Path:
    """Return the file of events in the folder of a Failure Trace Archive set."""
    if not path.is_dir():
        return path
    found = sorted(path.glob("event_trace*.tab*"))
    if len(found) != 1:
        raise TraceError(path, f"is a folder with {len(found)} files event_trace*.tab; expected 1")
    return found[0]


def _no_jobs(path: Path, line: str) -> str:
    if not line:
        raise TraceError(path, "is empty; expected a job log")
    expected = f"expected SWF, Parquet, or CSV with {','.join(REQUIRED)}"
    if "," in line:
        names = ",".join(header_names(line))
        raise TraceError(path, f"not a job log: the file starts with {shown(names)}; {expected}")
    raise TraceError(path, f"not a job log: the file starts with {shown(line)}; {expected}")
