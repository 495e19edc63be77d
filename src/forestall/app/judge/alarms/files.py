"""The folder of judged alarms: what is in it, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall._lazy import lazily
from forestall.app.judge.alarms.report import FIGURES, report_of
from forestall.app.kit.study_folder import StudyFolder, end, flat, table_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.judge.alarms.judge import AlarmStudy


def tables(found: AlarmStudy) -> list[pl.DataFrame]:
    """Return the tables of the folder: horizons, scores, failures and alarms, these at the main
    horizon."""
    one, line = found.judged[found.asked.main], found.line
    names = found.failures.names
    horizons = [
        {
            **flat(row),
            **{f"lead_{k}_s": v for k, v in row["lead_time_s"].items()},
            "recall_low": end(row["recall_ci"], 0),
            "recall_high": end(row["recall_ci"], 1),
            "precision_low": end(row["precision_ci"], 0),
            "precision_high": end(row["precision_ci"], 1),
        }
        for row in found.summary["horizons"]
    ]
    failed = {
        "time": line.failure_time,
        "node": line.failure_node,
        "caught": one.caught.astype("int8"),
        "lead_s": [None if lead < 0 else lead for lead in one.last.tolist()],
        "first_lead_s": [None if lead < 0 else lead for lead in one.first.tolist()],
    }
    raised = {
        "time": line.alarm_time,
        "node": [None if node < 0 else node for node in line.alarm_node.tolist()],
        "right": one.right.astype("int8"),
    }
    both = [pl.DataFrame(failed), pl.DataFrame(raised, strict=False)]
    if names is not None:
        every = [*names, *found.alarms.others]
        every += [""] * (line.nodes - len(every))
        both = [
            frame.with_columns(
                name=pl.Series(
                    [None if k is None else every[k] for k in frame["node"]], dtype=pl.String
                )
            )
            for frame in both
        ]
    return [table_of(horizons), table_of(found.summary["by_score"]), *both]


FOLDER: Final = StudyFolder(
    keys=("main_horizon_s", "by_score"),
    tables=("horizons.csv", "by_score.csv", "failures.csv", "alarms.csv"),
    figures=FIGURES,
    report=report_of,
    rows=tables,
)
