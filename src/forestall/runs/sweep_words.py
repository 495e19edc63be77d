"""A sweep in a few rows: means over seeds, and where each measure is least and most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any, Final

import polars as pl

from forestall.core.figures.sweep_lines import spread
from forestall.core.kit.model import Model
from forestall.core.show.words import NOTHING
from forestall.runs.sweep_figures import told_as
from forestall.scheduling.settings import PROMISE

FIRST: Final = (
    "job_completion_rate", "task_completion_rate", "qos", "promises_kept", "lost_work",
    "migrations",
)  # fmt: skip
"""Measures that the table of means tells, of those that the model has."""
DIGITS: Final = {"qos": 4, "failures_per_job": 3, "makespan": 2}
"""Digits of means that need other ones than one, and two of per cent."""


def extremes(
    table: pl.DataFrame, axes: Sequence[str], model: Model = PROMISE
) -> list[tuple[str, str, str, str, str]]:
    """Return (measure, least, at, most, at) with units, of measures that differ."""
    found = []
    for measure in model.measures():
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
                place(low, axes, model),
                measure.text(high[column]),
                place(high, axes, model),
            )
        )
    return found


def means(
    table: pl.DataFrame, axes: Sequence[str], model: Model = PROMISE
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads with units and rows: a set of values of `axes`, then the mean of each measure
    (those of `FIRST`, or those that the model averages).

    Seeds are averaged over: from three of them on, a mean has half its 95 % interval (Student's
    t) after it, ``93.66 ± 0.29``, unless all gave the same. No rows where nothing but the seed
    could vary, and does not.
    """
    keys = [name for name in axes if name != "seed"]
    columns = [
        name
        for name in (model.averaged or FIRST)
        if name in table.columns and table[name].null_count() < len(table)
    ]
    if not axes or not columns:
        return (), []
    heads, cells = [], []
    for column in columns:
        head, scale = told_as(column, model.labels)
        heads.append(head)
        found = spread(table, keys, column)
        digits = DIGITS.get(column, 2 if head.endswith("(%)") else 1)
        cells.append(
            [
                mean_text(m, half, scale, digits)
                for m, half in zip(found["m"].to_list(), found["half"].to_list(), strict=True)
            ]
        )
    at = [place(row, keys, model) for row in found.iter_rows(named=True)]
    return (", ".join(keys), *heads), [
        (name or "all", *texts) for name, *texts in zip(at, *cells, strict=True)
    ]


def mean_text(mean: float | None, half: float | None, scale: float, digits: int) -> str:
    """Return a mean, and half its interval where there is one, whose first two digits count.

    >>> mean_text(0.93664, 0.00287, 100, 2), mean_text(1234.5, None, 1, 1), mean_text(3, 0, 1, 1)
    ('93.66 ± 0.29', '1,234.5', '3.0')
    """
    if mean is None:
        return NOTHING
    if half is None or half * scale < 1e-9:
        return f"{mean * scale:,.{digits}f}"
    digits = min(max(1 - floor(log10(half * scale)), 0), 4)
    return f"{mean * scale:,.{digits}f} ± {half * scale:,.{digits}f}"


def place(row: Mapping[str, Any], axes: Sequence[str], model: Model = PROMISE) -> str:
    """Return the point of a row, its values in the order of the axes: ``0.7, 90 min, 1``."""
    return ", ".join(model.told(name, row[name]) for name in axes)
