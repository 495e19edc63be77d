"""The folder of a judgement of predictors: what is in it, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall._lazy import lazily
from forestall.app.judge.predictors.judge import MAIN
from forestall.app.judge.predictors.report import FIGURES, report_of
from forestall.app.kit.study_folder import StudyFolder, table_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.judge.predictors.study import PredictorStudy


def scores_table(found: PredictorStudy) -> Any:
    """Return the chosen predictor's held-out decisions as `forestall assess scores` takes them:
    ``time,node,score,failed,group``, the group being the week."""
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


FOLDER: Final = StudyFolder(
    keys=("held_out", "best_baseline", "stakes"),
    tables=("predictors.csv", "scores.csv"),
    figures=FIGURES,
    report=report_of,
    rows=lambda found: (table_of(found.summary["predictors"]), scores_table(found)),
)
