"""The folder of a run: every file is written beside its place and then put there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from forestall.model.cleaning import Cleaning
from forestall.traces.files.atomic import atomic_path


def skipped_table(cleaning: Cleaning) -> pl.DataFrame:
    """Return ``kind,action,name``: one row for each job, line or node that was left out or
    changed."""
    rows = [(r.kind, r.action, name) for r in cleaning.remarks for name in r.names]
    schema = {"kind": pl.String, "action": pl.String, "name": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    with atomic_path(path) as place:
        write(place)


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    _whole(path, table.write_csv)


def write_json(value: dict[str, Any], path: Path) -> None:
    """Write a dictionary as JSON, whole or not at all."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    _whole(path, lambda place: place.write_text(text, encoding="utf-8"))


def since_first(jobs: pl.DataFrame, span: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return a span since the first submission in the log's own seconds."""
    if span is None:
        return None
    first = int(jobs["submit"][0])
    return first + span[0], first + span[1]
