"""The folder of judged alarms: tables, figures, summary and report; all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.app.judge.alarms import words
from forestall.app.kit import pages
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.assess.figures_benefit import horizon_text
from forestall.show import words as plain
from forestall.show.html_pieces import cards, page, pairs, paragraph, section, table, write_page
from forestall.show.words import Summary

if TYPE_CHECKING:
    import polars as pl

    from forestall.app.judge.alarms.judge import AlarmStudy

Progress = Callable[[int, int], None]
FIGURES: Final = ("recall", "lead_times")
TABLES: Final = ("horizons.csv", "by_score.csv", "failures.csv", "alarms.csv")
FILES: Final = (*TABLES, *(f"{name}.png" for name in FIGURES), "report.html", SUMMARY)


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds judged alarms."""
    return holds(folder, ("main_horizon_s", "by_score"))


def check_alarms_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_alarms_folder(found: AlarmStudy, folder: Path, progress: Progress) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        for name, rows in zip(TABLES, tables(found), strict=True):
            write_csv(rows, fresh / name)
        shown = pages.write_pictures(_pictures(found), fresh, progress)
        write_page(fresh / "report.html", _page(found.summary, shown))
        write_json(found.summary, fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return pages.written(folder)


def tables(found: AlarmStudy) -> list[pl.DataFrame]:
    """Return the tables of `TABLES`: horizons, scores, failures and alarms, these at the main
    horizon."""
    import polars as pl

    one, line = found.judged[found.asked.main], found.line
    names = found.failures.names
    flat = [
        {
            **{k: v for k, v in row.items() if not isinstance(v, list | dict)},
            **{f"lead_{k}_s": v for k, v in row["lead_time_s"].items()},
            "recall_low": pages.end(row["recall_ci"], 0),
            "recall_high": pages.end(row["recall_ci"], 1),
            "precision_low": pages.end(row["precision_ci"], 0),
            "precision_high": pages.end(row["precision_ci"], 1),
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
    return [pages.table_of(flat), pages.table_of(found.summary["by_score"]), *both]


def _pictures(found: AlarmStudy) -> list[pages.Picture]:
    from forestall.assess.figures_benefit import plot_lead_times, plot_recall

    row = words.main_row(found.summary)
    within = horizon_text(row["horizon_s"])
    return [
        pages.Picture(
            FIGURES[0],
            lambda: plot_recall(found.judged),
            "Recall and precision of the alarms at each horizon, with recall by chance.",
            f"Within {within}, {plain.percent(row['recall'])} of the failures were announced; as "
            f"much alarm time at random would catch {plain.percent(row['chance_recall'])}, the "
            "black line.",
        ),
        pages.Picture(
            FIGURES[1],
            lambda: plot_lead_times(found.judged),
            "Share of failures whose last alarm came at least so long before them.",
            f"Half of the warnings within {within} came at least "
            f"{plain.duration(row['lead_time_s']['median'])} ahead.",
        ),
    ]


def _page(summary: Summary, drawn: dict[str, Any]) -> str:
    row = words.main_row(summary)
    within = horizon_text(row["horizon_s"])
    headlines = [
        (f"Recall, {within}", plain.percent(row["recall"]), f"of failures; 95 %: "
         f"{words.interval(row['recall_ci'])}"),
        ("By chance", plain.percent(row["chance_recall"]), "share of node time under alarm"),
        ("Precision", plain.percent(row["precision"]), "of the alarms were right"),
        ("False alarms", words.rate(row["false_alarms_per_node_day"]), "a node and day"),
        ("Lead time", plain.duration(row["lead_time_s"]["median"]), "median of the last alarms"),
    ]  # fmt: skip
    explained = (
        "An alarm is right where a failure of its node follows within the horizon, at least the "
        "least useful lead time later; a failure is caught where such an alarm came before it. "
        "Recall by chance is the share of node time at which a failure would have been caught."
    )
    remarks = [paragraph(note) for note in words.notes(summary)]
    scores = table(words.SCORE_HEADS, words.score_rows(summary))
    return page(
        "What these alarms are worth",
        words.headline(summary),
        pages.verdict(words.verdict(summary)),
        cards(headlines),
        pages.missing_figures(drawn),
        section(
            "Recall and precision",
            table(words.HEADS, words.rows(summary)),
            pages.shown(drawn, FIGURES[0]),
            paragraph(explained, "soft"),
        ),
        section("How early", pages.shown(drawn, FIGURES[1])),
        section("What became of the alarms", table(words.COUNT_HEADS, words.count_rows(summary))),
        section(f"Only alarms of high scores, {within}", scores),
        section("What was read, and what was odd in it", *remarks),
        section("Made with", pairs(pages.made_with(summary), ("What", "Value"))),
    )
