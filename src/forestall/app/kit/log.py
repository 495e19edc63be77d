"""Lines of an event log: written a piece at a time, read as text columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from forestall.model.errors import TraceError
from forestall.traces.files.atomic import atomic_path


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write a file line by line, whole or not at all."""
    with atomic_path(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def csv_lines(header: tuple[str, ...], rows: Any) -> Iterator[str]:
    """Yield a table of comma-separated values line by line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (header, *rows) if isinstance(rows, list) else _chain(header, rows):
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _chain(header: tuple[str, ...], rows: Any) -> Iterator[tuple[Any, ...]]:
    yield header
    yield from rows


def read_log(path: Path) -> pl.DataFrame:
    """Return a log of a run; TraceError where there is none."""
    if not path.exists():
        raise TraceError(path, "is missing; simulate with --log-events writes it")
    try:
        return pl.read_csv(path, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise TraceError(path, f"cannot be read as CSV: {str(error).splitlines()[0]}") from None
