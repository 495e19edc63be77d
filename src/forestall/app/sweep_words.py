"""A sweep in a few rows: where each measure is least and most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from forestall.app.report_many import MEASURES, Measure


def extremes(
    table: pl.DataFrame, axes: tuple[str, ...], measures: Iterable[Measure] = MEASURES
) -> list[tuple[str, str, str, str, str]]:
    """Return (measure, least, at, most, at) with units, of measures that differ."""
    found = []
    for measure in measures:
        column = measure.key.replace(".", "_")
        if column not in table.columns:
            continue
        known = table.filter(pl.col(column).is_not_null())
        if known.is_empty() or known[column].n_unique() < 2:
            continue
        least, most = known[column].arg_min(), known[column].arg_max()
        low, high = (known.row(row or 0, named=True) for row in (least, most))
        found.append(
            (
                measure.name,
                measure.text(low[column]),
                place(low, axes),
                measure.text(high[column]),
                place(high, axes),
            )
        )
    return found


def place(row: dict[str, Any], axes: tuple[str, ...]) -> str:
    """Return the point of a row, its values in the order of the axes: ``0.7, 1``."""
    return ", ".join(f"{row[n]:g}" if isinstance(row[n], float) else str(row[n]) for n in axes)
