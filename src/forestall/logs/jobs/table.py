"""Plain job tables: ``job,submit,size,runtime[,estimate][,user][,queue]`` as CSV or Parquet.

Jobs that share nodes say what they ask for: ``[,cores][,memory][,gpus][,tasks][,exclusive]
[,gpu_type][,features]``.

Times are whole seconds, sizes nodes. A blank, zero or negative run time, size or estimate is "not
known"; further columns are ignored, and named. CSV may be packed (.gz, .xz, .zst).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.delimited import Int, TextColumns, check_columns, read_sheet
from forestall.core.files.findings import Findings
from forestall.core.files.packed import pack
from forestall.core.files.parquet import is_parquet, put_parquet, read_parquet
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.core.model.nodes import CORES, RESOURCES, Requests
from forestall.core.model.units import MAX_SECONDS, parse_size
from forestall.logs.jobs.job_ids import with_own_ids

with lazily():
    import polars as pl


REQUIRED = ("job", "submit", "size", "runtime")
OPTIONAL = ("estimate", "user", "queue")
AMOUNTS = (*RESOURCES, "tasks", "exclusive")
ASKED = (*AMOUNTS, "gpu_type", "features")
"""What a job asks of each of its nodes (memory in MiB, or with a unit), or of each of its `tasks`,
which are then spread over nodes. One core where only other things are asked for; whole nodes where
`exclusive` is 1 or nothing is."""
_MOST, _MEBI = 2**40, 1 << 20


def read_job_table(path: str | Path, *, strict: bool = False) -> Jobs:
    """Read a job table, CSV or (by its first bytes) Parquet.

    Rows with a field that is no whole number, or a negative submit time, are left out and named.
    Raises TraceError if the file cannot be used; with `strict` for the first such row.
    """
    place = Path(path)
    if is_parquet(place):
        return jobs_from_table(read_parquet(place), source=str(path), strict=strict)
    return _jobs_of(read_sheet(path, REQUIRED, (*OPTIONAL, *ASKED), strict=strict), str(path))


def jobs_from_table(table: Any, *, source: str = "table", strict: bool = False) -> Jobs:
    """Return the jobs of a Polars or pandas table with the columns of a job table.

    Errors as in `read_job_table`; the line named is the number of the row, from 1.
    """
    frame = table if isinstance(table, pl.DataFrame) else _from_pandas(table)
    check_columns(source, frame.columns, REQUIRED)
    wanted = [name for name in (*REQUIRED, *OPTIONAL, *ASKED) if name in frame.columns]
    texts = frame.select(
        pl.col(name).cast(pl.String).str.strip_chars().replace("NaN", "")
        if name in OPTIONAL or name in ASKED
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
    if sheet.has("memory"):
        in_mebibytes(sheet, "memory")
    asked = {
        name: sheet.whole(name, low=0, below=_MOST, blank=0) for name in AMOUNTS if sheet.has(name)
    }
    if "tasks" in asked:  # tasks are spread over as many nodes as they need
        size = np.where((asked["tasks"] > 0) & (size <= 0), 1, size)
    good = np.flatnonzero(sheet.keep)
    cleaning = sheet.findings.cleaning(len(good), "jobs")
    order, late = submit_order(submit[good])
    lines = (f"line {line}" for line in sheet.lines[good][late])
    text = "rows submitted before the row above them (sorted)"
    cleaning = cleaning.plus("unsorted", text, "kept", lines)
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL, *ASKED}]
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
    return with_own_ids(
        replace(jobs, user=user, queue=queue, requests=_requests(sheet, asked, index))
    )


def _requests(sheet: TextColumns, asked: dict[str, Int], index: Int) -> Requests | None:
    """Return what jobs ask for; None where the table says nothing of it."""
    if not any(sheet.has(name) for name in ASKED):
        return None
    none = np.zeros(len(sheet), dtype=np.int64)
    columns = {name: asked.get(name, none)[index] for name in AMOUNTS}
    words = {n: _text(sheet, n, index) or ("",) * len(index) for n in ("gpu_type", "features")}
    amounts = np.stack([columns[name] for name in RESOURCES], axis=1)
    nothing = ~amounts.any(axis=1) & (columns["tasks"] == 0)
    exclusive = (columns["exclusive"] > 0) | nothing
    amounts[:, CORES] = np.maximum(amounts[:, CORES], ~exclusive)  # as Slurm: one a task
    return Requests(RESOURCES, amounts, columns["tasks"], exclusive, **words)


def in_mebibytes(sheet: TextColumns, name: str) -> None:
    """Write sizes with a unit in a column, such as ``64G``, as whole MiB."""
    texts = sheet.frame[name]
    sizes = {}
    for text in texts.unique().drop_nulls().to_list():
        with suppress(ParameterError):
            if text and text[-1].isalpha():
                sizes[text] = str(parse_size(text, name) // _MEBI)
    if sizes:
        sheet.frame = sheet.frame.with_columns(texts.replace(sizes))


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
