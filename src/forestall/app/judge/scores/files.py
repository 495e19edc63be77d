"""The folder of judged scores: tables, figures, summary and report; all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.app.judge.scores import words
from forestall.app.judge.scores.words import percent
from forestall.app.kit import pages
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import skipped_table, write_csv, write_json
from forestall.app.reliability.fit.words import figure
from forestall.show.html_pieces import (
    Html,
    cards,
    page,
    pairs,
    paragraph,
    section,
    table,
    write_page,
)

if TYPE_CHECKING:
    import polars as pl

    from forestall.app.judge.scores.judge import ScoreStudy

Progress = Callable[[int, int], None]
FIGURES: Final = ("roc", "precision_recall", "reliability")
TABLES: Final = ("roc.csv", "thresholds.csv", "reliability.csv", "skipped.csv")
FILES: Final = (*TABLES, *(f"{name}.png" for name in FIGURES), "report.html", SUMMARY)
MOST_POINTS: Final = 100_000
"""Points of a curve in its table, at most; beyond it every so many are left out."""


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds judged scores."""
    return holds(folder, ("auc", "auc_ci", "operating_points"))


def check_scores_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_scores_folder(found: ScoreStudy, folder: Path, progress: Progress) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        for name, rows in zip(TABLES, tables(found), strict=True):
            write_csv(rows, fresh / name)
        drawn = pages.write_pictures(pictures(found), fresh, progress)
        write_page(fresh / "report.html", report(found.summary, drawn))
        write_json(dict(found.summary), fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return pages.written(folder)


def tables(found: ScoreStudy) -> list[pl.DataFrame]:
    """Return the tables of `TABLES`: corners of the curves, thresholds, bins, rows left out."""
    import polars as pl

    judged = [found.summary, *found.summary["others"]]
    bins = [{"score": one["score"], **row} for one in judged for row in one["reliability"] or []]
    points = [{"score": one["score"], **row} for one in judged for row in one["operating_points"]]
    return [
        pl.concat([curve_table(found, name) for name in found.asked.columns]),
        pages.table_of(points),
        pages.table_of(bins) if bins else pl.DataFrame(schema={"score": pl.String}),
        skipped_table(found.scores.cleaning),
    ]


def curve_table(found: ScoreStudy, name: str) -> pl.DataFrame:
    """Return ``score,threshold,alarms_right,alarms_false,tpr,fpr,precision`` of the corners of a
    curve; the first has no threshold: no alarm."""
    import numpy as np
    import polars as pl

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


def pictures(found: ScoreStudy) -> list[pages.Picture]:
    """Return the figures that these scores have."""
    from forestall.assess.figures import plot_precision_recall, plot_reliability, plot_roc

    summary, marked = found.summary, {}
    if found.marked.threshold < float("inf"):
        marked = {f"threshold {figure(found.marked.threshold)}": found.marked}
    made = []
    if summary["auc_why"] is None:
        at = summary["confusion"]
        made = [
            pages.Picture(
                FIGURES[0],
                lambda: plot_roc(found.curves, marked),
                f"ROC curve, area {words.area(summary['auc'])}.",
                f"{words.on_area(summary)[0].upper()}{words.on_area(summary)[1:]}. Intervals are "
                f"of {100 * summary['level']:g} %.",
            ),
            pages.Picture(
                FIGURES[1],
                lambda: plot_precision_recall(found.curves, marked),
                "Precision over recall, average precision "
                f"{words.area(summary['average_precision'])}.",
                f"At the marked threshold ({summary['threshold_by']}) "
                f"{percent(at['precision'])} of the alarms are followed by a failure, and "
                f"{percent(at['recall'])} of the failures have an alarm; alarms at random "
                f"are right in {percent(summary['prevalence'])}.",
            ),
        ]
    name = found.asked.score[0]
    if name in found.tables:
        told = "; ".join(words.on_probabilities(summary))
        made.append(
            pages.Picture(
                FIGURES[2],
                lambda: plot_reliability(found.tables[name]),
                "Share that failed over the probability that was said, with counts.",
                f"{told[:1].upper()}{told[1:]}. Blue bars: where the share should lie, were the "
                "probabilities right.",
            )
        )
    return made


def report(summary: Mapping[str, Any], drawn: dict[str, Html]) -> str:
    """Return the page."""
    measures = words.measure_rows(summary)
    shown = ("Area under ROC", "p-value", "Average precision", "Brier skill", "Calibration error")
    bins = table(words.BIN_HEADS, words.bin_rows(summary))
    others = (
        table(words.OTHER_HEADS, words.other_rows(summary), OTHERS) if summary["others"] else None
    )
    remarks = [paragraph(line) for line in words.remark_lines(summary)]
    return page(
        "What these scores are worth",
        f"{summary['source']}, column {summary['score']}: {summary['n']:,} cases, "
        f"{summary['failed']:,} failures",
        pages.verdict(words.verdict(summary) + "."),
        cards([row for row in measures if row[0] in shown]),
        pages.missing_figures(drawn),
        *([] if others is None else [section("Beside other scores", others)]),
        section(
            "Do high scores mean failures?",
            pages.shown(drawn, *FIGURES[:2]),
            paragraph(AREA_RULE, "soft"),
        ),
        section(
            "Thresholds",
            table(words.POINT_HEADS, words.point_rows(summary)),
            paragraph("A score at or above the threshold is an alarm.", "soft"),
        ),
        section(
            "Do the probabilities come true?",
            *([pages.shown(drawn, FIGURES[2]), bins] if summary["probabilities"] else []),
        ),
        section("All measures", table(("Measure", "Value", "Meaning"), measures, kind="names")),
        section("What was read, and what was odd in it", *remarks),
        section("Made with", pairs(pages.made_with(summary), ("What", "Value"))),
    )


AREA_RULE: Final = (
    "The area is the chance that a failure has a higher score than another case, ties counting "
    "half: 0.5 is chance, 1 perfect. The p-value is the share of permutations of the scores that "
    "give such an area or a larger one."
)
OTHERS: Final = (
    "Differences are the first score less the other, on the same cases, with the paired test of "
    "DeLong; Brier scores where both are probabilities."
)
