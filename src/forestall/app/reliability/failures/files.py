"""The folder of an analysed failure log: what is in it, and its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall._lazy import lazily
from forestall.app.kit.study_folder import StudyFolder, table_of
from forestall.app.reliability.failures.pictures import NAMES
from forestall.app.reliability.failures.report import report_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.reliability.failures.study import FailureStudy

TABLES: Final = (
    "years.csv",
    "causes.csv",
    "nodes.csv",
    "node_years.csv",
    "gaps.csv",
    "system_gaps.csv",
    "fits.csv",
    "system_fits.csv",
    "trend.csv",
    "age.csv",
    "bursts.csv",
    "remarks.csv",
)


def tables(found: FailureStudy) -> list[pl.DataFrame]:
    """Return the tables of the folder, in their order."""
    summary = found.summary
    trend = [
        {"of": by, **row} for by in ("node", "system") for row in summary["trend"][by]["tests"]
    ]
    return [
        table_of(summary["years"]),
        table_of(summary["causes"]),
        table_of(summary["nodes_apart"]["nodes"]),
        found.history.node_years(summary["years_are"]).table(),
        gaps_table(found, "node"),
        gaps_table(found, "system"),
        _fits(summary["fits"]["node"]["families"]),
        _fits(summary["fits"]["system"]["families"]),
        table_of(trend),
        table_of(summary["age"]["bins"]),
        _bursts(found),
        table_of(summary["remarks"]),
    ]


def gaps_table(found: FailureStudy, by: str) -> pl.DataFrame:
    """Return ``gap,censored,resolution`` and what else is known, as `forestall fit` takes it."""
    gaps = found.history.gaps("node" if by == "node" else "system")
    sampled = found.node.sampled if by == "node" else found.system.sampled
    columns: dict[str, Any] = {"gap": sampled.gap, "censored": sampled.censored.astype("int8")}
    if sampled.resolution is not None:
        columns["resolution"] = sampled.resolution
    if by == "node":
        columns["node"] = gaps.node
    return pl.DataFrame({**columns, "begin": gaps.begin, "end": gaps.end})


def _fits(families: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the ranking with parameters as JSON in one column."""
    return table_of(
        [
            {
                "rank": k,
                **one,
                "params": None if one["params"] is None else json.dumps(one["params"]),
            }
            for k, one in enumerate(families, 1)
        ]
    )


def _bursts(found: FailureStudy) -> pl.DataFrame:
    if found.bursting.bursts is None:
        return pl.DataFrame(schema={"begin": pl.Int64})
    table = found.bursting.bursts.table()
    begin = found.history.time[table["first"].to_numpy()]
    return table.with_columns(begin=pl.Series(begin)).select("begin", "duration", "size", "nodes")


FOLDER: Final = StudyFolder(
    keys=("nodes_apart", "fits", "versions"),
    tables=TABLES,
    figures=NAMES,
    report=report_of,
    rows=tables,
)
