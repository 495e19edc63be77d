"""Plain job tables: ``job,submit,size,runtime[,estimate][,user][,queue]`` as CSV or Parquet.

Times are whole seconds, sizes nodes. A blank, zero or negative run time, size or estimate is "not
known"; further columns are ignored, and named. CSV may be packed (.gz, .xz, .zst).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forestall._lazy import lazily
from forestall.model.errors import TraceError
from forestall.model.jobs import UNKNOWN, Jobs
from forestall.model.units import MAX_SECONDS
from forestall.traces.files.atomic import atomic_path
from forestall.traces.files.cells import harmless
from forestall.traces.files.delimited import Int, TextColumns, check_columns, read_sheet
from forestall.traces.files.findings import Findings
from forestall.traces.files.packed import pack
from forestall.traces.files.parquet import is_parquet, put_parquet, read_parquet
from forestall.traces.jobs.job_ids import with_own_ids

with lazily():
    import polars as pl


REQUIRED = ("job", "submit", "size", "runtime")
OPTIONAL = ("estimate", "user", "queue")


def read_job_table(path: str | Path, *, strict: bool = False) -> Jobs:
    """Read a job table, CSV or (by its first bytes) Parquet.

    Rows with a field that is no whole number, or a negative submit time, are left out and named.
    Raises TraceError if the file cannot be used; with `strict` for the first such row.
    """
    place = Path(path)
    if is_parquet(place):
        return jobs_from_table(read_parquet(place), source=str(path), strict=strict)
    return _jobs_of(read_sheet(path, REQUIRED, OPTIONAL, strict=strict), str(path))


def jobs_from_table(table: Any, *, source: str = "table", strict: bool = False) -> Jobs:
    """Return the jobs of a Polars or pandas table with the columns of a job table.

    Errors as in `read_job_table`; the line named is the number of the row, from 1.
    """
    frame = table if isinstance(table, pl.DataFrame) else _from_pandas(table)
    check_columns(source, frame.columns, REQUIRED)
    wanted = [name for name in (*REQUIRED, *OPTIONAL) if name in frame.columns]
    texts = frame.select(
        pl.col(name).cast(pl.String).str.strip_chars().replace("NaN", "")
        if name == "estimate" or name in {"user", "queue"}
        else pl.col(name).cast(pl.String).str.strip_chars()
        for name in wanted
    )
    lines = np.arange(1, len(frame) + 1, dtype=np.int64)
    return _jobs_of(
        TextColumns(texts, lines, tuple(frame.columns), Findings(source, strict)), source
    )


def write_job_table(jobs: Jobs, path: str | Path) -> None:
    """Write a job table, Parquet where the name ends in .parquet, else CSV (.gz, .xz, .zst packed).

    The file appears whole or not at all.
    """
    table = jobs.table()
    with atomic_path(path) as beside:
        if Path(path).suffix == ".parquet":
            put_parquet(table, beside)
        else:
            pack(beside, harmless(table).write_csv().encode(), Path(path).suffix)


def submit_order(submit: Int) -> tuple[Int, Int]:
    """Return the stable order by submit time, and the positions submitted before the one above."""
    late = np.flatnonzero(np.diff(submit) < 0) + 1
    order = np.argsort(submit, kind="stable") if len(late) else np.arange(len(submit))
    return order.astype(np.int64), late


def _jobs_of(sheet: TextColumns, source: str) -> Jobs:
    job = sheet.whole("job")
    submit = sheet.whole("submit", low=0, below=MAX_SECONDS)
    size = sheet.whole("size", blank=UNKNOWN)
    runtime = sheet.whole("runtime", below=MAX_SECONDS, blank=UNKNOWN)
    estimate = (
        sheet.whole("estimate", below=MAX_SECONDS, blank=UNKNOWN)
        if sheet.has("estimate")
        else np.full(len(sheet), UNKNOWN)
    )
    good = np.flatnonzero(sheet.keep)
    cleaning = sheet.findings.cleaning(len(good), "jobs")
    order, late = submit_order(submit[good])
    lines = (f"line {line}" for line in sheet.lines[good][late])
    text = "rows submitted before the row above them (sorted)"
    cleaning = cleaning.plus("unsorted", text, "kept", lines)
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL}]
    cleaning = cleaning.plus("ignored_columns", "unknown columns (ignored)", "kept", ignored)
    index = good[order]
    jobs = Jobs(
        job[index],
        submit[index],
        size[index],
        runtime[index],
        np.where(estimate[index] > 0, estimate[index], UNKNOWN),
        source=source,
        cleaning=cleaning,
    )
    user, queue = (_text(sheet, name, index) for name in ("user", "queue"))
    return with_own_ids(replace(jobs, user=user, queue=queue))


def _text(sheet: TextColumns, name: str, index: Int) -> tuple[str, ...] | None:
    if not sheet.has(name):
        return None
    return tuple(sheet.frame[name].fill_null("")[index].to_list())


def _from_pandas(table: Any) -> pl.DataFrame:
    if not hasattr(table, "columns"):
        raise TraceError("table", f"is a {type(table).__name__}; expected a Polars or pandas table")
    # Column by column through NumPy, which needs no further package.
    columns = {str(name): np.asarray(table[name]) for name in table.columns}
    return pl.DataFrame(
        {name: c.tolist() if c.dtype == object else c for name, c in columns.items()}, strict=False
    )
