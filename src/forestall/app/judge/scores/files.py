"""The folder of judged scores: what is in it, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall._lazy import lazily
from forestall.app.judge.scores.report import FIGURES, report_of
from forestall.app.kit.output import skipped_table
from forestall.app.kit.study_folder import StudyFolder, table_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.judge.scores.judge import ScoreStudy

MOST_POINTS: Final = 100_000
"""Points of a curve in its table, at most; beyond it every so many are left out."""


def tables(found: ScoreStudy) -> list[pl.DataFrame]:
    """Return the tables of the folder: corners of the curves, thresholds, bins, rows left out."""
    judged = [found.summary, *found.summary["others"]]
    bins = [{"score": one["score"], **row} for one in judged for row in one["reliability"] or []]
    points = [{"score": one["score"], **row} for one in judged for row in one["operating_points"]]
    return [
        pl.concat([curve_table(found, name) for name in found.asked.columns]),
        table_of(points),
        table_of(bins) if bins else pl.DataFrame(schema={"score": pl.String}),
        skipped_table(found.scores.cleaning),
    ]


def curve_table(found: ScoreStudy, name: str) -> pl.DataFrame:
    """Return ``score,threshold,alarms_right,alarms_false,tpr,fpr,precision`` of the corners of a
    curve; the first has no threshold: no alarm."""
    curve = found.curves[name].corners()
    count = len(curve.thresholds)
    some = np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(np.int64))
    hits, false = curve.hits[some], curve.false[some]
    thresholds = curve.thresholds[some].tolist()
    alarms = hits + false
    precision = np.divide(hits, alarms, out=np.full(len(some), np.nan), where=alarms > 0)
    return pl.DataFrame(
        {
            "score": [name] * len(some),
            "threshold": pl.Series([None, *thresholds[1:]], dtype=pl.Float64),
            "alarms_right": hits,
            "alarms_false": false,
            "tpr": curve.tpr[some],
            "fpr": curve.fpr[some],
            "precision": precision,
        }
    ).fill_nan(None)


FOLDER: Final = StudyFolder(
    keys=("auc", "auc_ci", "operating_points"),
    tables=("roc.csv", "thresholds.csv", "reliability.csv", "skipped.csv"),
    figures=FIGURES,
    report=report_of,
    rows=tables,
)
