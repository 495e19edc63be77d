"""The folder of a metric judged as a predictor of failed jobs; all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.judge.jobs import words
from forestall.app.kit import pages
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.app.reliability.fit.words import figure
from forestall.show import words as plain
from forestall.show.html_pieces import cards, page, pairs, paragraph, section, table, write_page
from forestall.show.words import Summary

if TYPE_CHECKING:
    import polars as pl

    from forestall.app.judge.jobs.study import JobStudy

Progress = Callable[[int, int], None]
FIGURES: Final = ("roc", "benefit")
TABLES: Final = ("periods.csv", "benefit.csv", "by_chance.csv", "jobs.csv")
FILES: Final = (*TABLES, *(f"{name}.png" for name in FIGURES), "report.html", SUMMARY)


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds a judged metric."""
    return holds(folder, ("metric", "periods", "benefit"))


def check_jobs_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_jobs_folder(found: JobStudy, folder: Path, progress: Progress) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        for name, rows in zip(TABLES, tables(found), strict=True):
            write_csv(rows, fresh / name)
        shown = pages.write_pictures(_pictures(found), fresh, progress)
        write_page(fresh / "report.html", _page(found.summary, shown))
        write_json(found.summary, fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return pages.written(folder)


def tables(found: JobStudy) -> list[pl.DataFrame]:
    """Return the tables of `TABLES`: idle periods, net benefit by threshold and by chance, and
    which period answers for each job."""
    import polars as pl

    periods, sign, records = found.periods, found.asked.sign, found.inputs.records
    curve, band = found.curve, found.band
    idle = {
        "node": [found.inputs.name_of(node) for node in periods.node.tolist()],
        "start": periods.start,
        "end": periods.end,
        "value": sign * periods.value,
        "samples": periods.samples,
        "case": periods.case,
        "jobs": periods.jobs,
        "failed": periods.failures,
        "lost_node_hours": periods.lost / 3600,
    }
    net = {
        "threshold": [None if np.isinf(t) else sign * t for t in curve.threshold.tolist()],
        "acted": curve.acted,
        "share": curve.share,
        "before_a_failed_job": curve.hits,
        "gain_node_hours": curve.gain,
        "cost_node_hours": curve.cost,
        "net_node_hours": curve.net,
    }
    answers = {
        "job": list(records.job),
        "state": list(records.state),
        "node": [
            None if k < 0 else found.inputs.name_of(int(periods.node[k]))
            for k in periods.period.tolist()
        ],
        "value": [
            None if k < 0 else float(sign * periods.value[k]) for k in periods.period.tolist()
        ],
    }
    random = {
        "share": band.share, "at_random": band.mean, "at_random_low": band.low,
        "at_random_high": band.high, "no_relation": found.blind.mean,
        "no_relation_low": found.blind.low, "no_relation_high": found.blind.high,
    }  # fmt: skip
    return [pl.DataFrame(one, strict=False) for one in (idle, net, random, answers)]


def _pictures(found: JobStudy) -> list[pages.Picture]:
    from forestall.assess.figures import plot_roc
    from forestall.assess.figures_benefit import plot_benefit

    drawn = []
    curve = found.curve_roc
    if curve is not None:
        drawn.append(
            pages.Picture(
                FIGURES[0],
                lambda: plot_roc({found.summary["metric"]: curve}),
                "ROC curve of the metric over idle periods that answer for jobs.",
                words.on_area(found.summary),
            )
        )
    cores = found.summary["cores_per_node"]
    unit = "node-hours" if cores == 1 else "CPU-hours"
    at = found.curve.part_at(0.2)
    caption = "Acting never pays." if at is None else (
        f"Acting in the worst 20 % of the idle periods brings {plain.percent(at)} of the highest "
        "gain. Grey is acting at random, orange what the same actions would bring if the "
        "metric told nothing: high values answer for more work by attribution alone."
    )  # fmt: skip
    drawn.append(
        pages.Picture(
            FIGURES[1],
            lambda: plot_benefit(
                found.curve,
                found.band,
                found.ideal,
                name=found.summary["metric"],
                blind=found.blind,
                per_node_hour=cores,
                unit=unit,
            ),
            "Net benefit of acting over the share of idle periods acted on, beside acting at "
            "random and the perfect predictor.",
            caption,
        )
    )
    return drawn


def _page(summary: Summary, drawn: dict[str, Any]) -> str:
    one = summary["benefit"]["best" if summary["rule"] == "never" else summary["rule"]]
    headlines = [
        (
            "Area",
            plain.NOTHING if summary["auc"] is None else f"{summary['auc']:.3f}",
            "under the ROC curve",
        ),
        ("Threshold", words.threshold(one["threshold"]), f"of {summary['metric']}"),
        ("Saved a month", figure(one["per_month_node_hours"], 3), "node-hours"),
        ("Acted on", plain.percent(one["share_acted"]), "of the idle periods"),
        ("Needless", plain.count(one["needless"]), f"of {plain.counted(one['acted'], 'action')}"),
    ]
    remarks = [paragraph(line) for line in words.remark_lines(summary)]
    return page(
        f"Is {summary['metric']} worth acting on?",
        words.headline(summary),
        pages.verdict(words.verdict(summary), words.dry_run(summary)),
        cards(headlines),
        pages.missing_figures(drawn),
        section(
            "Does it tell failing jobs?",
            table(("", "Value", ""), words.area_rows(summary), kind="names"),
            pages.shown(drawn, FIGURES[0]),
        ),
        section(
            "Does acting on it pay?",
            table(words.WORTH_HEADS, words.worth_rows(summary)),
            pages.shown(drawn, FIGURES[1]),
            table(words.SHARE_HEADS, words.share_rows(summary)),
            *(paragraph(line, "soft") for line in words.notes(summary)),
        ),
        section("Idle periods", table(("", "Periods", ""), words.case_rows(summary), kind="names")),
        section("What was read, and what was odd in it", *remarks),
        section("Made with", pairs(pages.made_with(summary), ("What", "Value"))),
    )
