"""The folder of a judgement of predictors: table, figures, summary and report; all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.judge.predictors import words
from forestall.app.judge.predictors.judge import MAIN
from forestall.app.kit import pages
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.assess import benefit
from forestall.assess.calibration import reliability_table
from forestall.assess.roc import roc
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    page,
    pairs,
    paragraph,
    section,
    table,
    write_page,
)
from forestall.show.words import Summary
from forestall.traces.streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.app.judge.predictors.study import PredictorStudy

Progress = Callable[[int, int], None]
FIGURES: Final = ("predictors", "roc", "precision_recall", "reliability", "benefit", "leads")
FILES: Final = (
    "predictors.csv",
    "scores.csv",
    *(f"{name}.png" for name in FIGURES),
    "report.html",
    SUMMARY,
)
RANDOM_DRAWS: Final = 60
BINS: Final = 12
COLUMNS: Final = ("Predictor", *words.HEADS[1:])


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds a judgement of predictors."""
    return holds(folder, ("held_out", "best_baseline", "stakes"))


def check_study_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_study_folder(
    found: PredictorStudy, folder: Path, progress: Progress | None = None
) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        write_csv(pages.table_of(found.summary["predictors"]), fresh / "predictors.csv")
        write_csv(scores_table(found), fresh / "scores.csv")
        drawn = pages.write_pictures(pictures(found), fresh, progress or (lambda *_: None))
        write_page(fresh / "report.html", report(found.summary, drawn))
        write_json(found.summary, fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return pages.written(folder)


def scores_table(found: PredictorStudy) -> Any:
    """Return the chosen predictor's held-out decisions as `forestall assess scores` takes them:
    ``time,node,score,failed,group``, the group being the week."""
    import polars as pl

    grid = found.task.grid(MAIN)
    row, node = np.nonzero(grid.counts)
    return pl.DataFrame(
        {
            "time": grid.moments[row],
            "node": node,
            "score": found.chosen.scores[MAIN].astype(np.float64),
            "failed": grid.decisions.failed.astype(np.int8),
            "group": grid.decisions.block,
        }
    )


def pictures(found: PredictorStudy) -> list[pages.Picture]:
    """Return the figures to draw."""
    from forestall.app.judge.predictors.figures import plot_leads, plot_predictors
    from forestall.assess.figures import plot_precision_recall, plot_reliability, plot_roc
    from forestall.assess.figures_benefit import plot_benefit

    failed = found.task.grid(MAIN).decisions.failed
    both = {one.name: one for one in (found.chosen, found.base)}
    curves = {name: roc(one.scores[MAIN], failed) for name, one in both.items()}
    name = found.chosen.name
    drawn = [
        pages.Picture(
            FIGURES[0],
            lambda: plot_predictors(found.summary["predictors"]),
            "Area, Brier skill and recall of every predictor with intervals.",
            "On held-out time; lines are intervals from redrawn weeks, dashed lines chance.",
        ),
        pages.Picture(
            FIGURES[1],
            lambda: plot_roc(curves, title="ROC, 24 h ahead"),
            f"ROC curves of {' and '.join(curves)}.",
            "How many failing node-days are found at which price in others.",
        ),
        pages.Picture(
            FIGURES[2],
            lambda: plot_precision_recall(curves, title="Precision over recall, 24 h ahead"),
            f"Precision over recall of {' and '.join(curves)}.",
            "Which share of the alarms a failure follows within 24 h.",
        ),
        pages.Picture(
            FIGURES[3],
            lambda: plot_reliability(
                reliability_table(found.chosen.scores[MAIN], failed, bins=BINS, binning="count"),
                title=f"Do the probabilities of {name} come true?",
            ),
            f"Share of node-days that failed over the probability that {name} gave.",
            "Points on the diagonal: as many failed as was said.",
        ),
    ]
    if found.act is not None:
        drawn.append(
            pages.Picture(
                FIGURES[4],
                lambda: benefit_figure(found, plot_benefit),
                f"Net benefit of acting on {name} over the share of node-days acted on.",
                words.acting(found.summary).capitalize() + ".",
            )
        )
    drawn.append(
        pages.Picture(
            FIGURES[5],
            lambda: plot_leads(found.chosen, int(failed.sum())),
            f"How long the alarm of {name} was on before failures.",
            f"Alarms fill {found.task.how.alarm_share:.0%} of node-time.",
        )
    )
    return drawn


def benefit_figure(found: PredictorStudy, draw: Callable[..., Figure]) -> Figure:
    """Draw the net benefit of acting on the chosen predictor."""
    assert found.act is not None
    occasions = found.act.occasions
    rng = stream(found.task.how.seed, "judge", "random")
    band = benefit.at_random(occasions, rng, draws=RANDOM_DRAWS)
    return draw(found.act.curve, band, benefit.perfect(occasions), name=found.chosen.name)


def report(summary: Summary, drawn: dict[str, Html]) -> str:
    """Return the page."""
    lines = [paragraph(line, "soft") for line in words.left_out(summary)]
    name = summary["chosen"]
    return page(
        "What will fail, and is knowing it worth acting on?",
        words.task_line(summary),
        pages.verdict(summary["verdict"]),
        pages.missing_figures(drawn),
        section(
            "Predictors",
            table(COLUMNS, words.rows(summary), words.NOTE),
            pages.shown(drawn, FIGURES[0]),
            *lines,
        ),
        section(f"{name}, chosen on the past", pages.shown(drawn, *FIGURES[1:4])),
        section(
            "Does acting pay?",
            paragraph(words.stakes_line(summary)),
            table(("", "Value"), words.act_rows(summary), kind="names")
            if summary["act"] is not None
            else EMPTY,
            pages.shown(drawn, FIGURES[4]),
        ),
        section("How early?", pages.shown(drawn, FIGURES[5])),
        section("Made with", pairs(made_with(summary), ("What", "Value"))),
    )


def made_with(summary: Summary) -> dict[str, object]:
    """Return the log, the options and the versions behind the page."""
    how = {name.replace("_", " "): value for name, value in summary["how"].items()}
    return {"Log": summary["source"], **how, **summary["versions"]}
