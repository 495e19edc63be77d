"""What collecting fewer metrics, or less often, costs and saves: in words, tables and a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.study_folder import StudyFolder, end, made_with, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Figure, Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import NOTHING, Summary, count, counted, figure, percent, ratio
from forestall.prediction.assess.figures_benefit import horizon_text, plot_collection

if TYPE_CHECKING:
    import polars as pl

    from forestall.prediction.judge.collection.judge import CollectionStudy

FIGURES: Final = ("collection",)
KIB: Final = 2**10
NOTE: Final = (
    "Area: of decisions 24 h ahead in the held-out time. Sent: 16 bytes a sample and 8 a value. "
    "Kept: as Parquet with zstd. Analysis: seconds of this processor for training and for all "
    "answers. The first metrics are those that alone were worth most before, unless {order} says "
    "otherwise."
)


def _tells(one: Summary) -> bool:
    """Return whether a way of collecting surely tells failures from the rest."""
    return one["auc"] is not None and one["auc_ci"][0] is not None and one["auc_ci"][0] > 0.5


def enough(summary: Summary) -> Summary | None:
    """Return the way that sends least among those that surely tell failures and are not surely
    worse than the best; None where there is none."""
    good = [one for one in summary["ways"] if _tells(one) and one["below_best_ci"][1] >= 0]
    return min(good, key=lambda one: one["sent_bytes_per_day"], default=None)


def verdict(summary: Summary) -> str:
    """Return in a sentence what is enough to collect."""
    able = [one for one in summary["ways"] if one["auc"] is not None]
    if not able:
        return f"No way of collecting could be judged: {summary['ways'][0]['why']}."
    best = max(able, key=lambda one: one["auc"])
    most = max(able, key=lambda one: one["sent_bytes_per_day"])
    least = enough(summary)
    found = f"area {ratio(best['auc'])} ({_ends(best)}) with {_way(best)}"
    if least is None or not _tells(best):
        return (
            "Not shown that collecting pays: even the best way does not reliably distinguish "
            f"failures from the rest, {found}."
        )
    share = percent(least["sent_bytes_per_day"] / most["sent_bytes_per_day"])
    if least is best:
        return f"{_way(best)} is best, {found}, and sends {share} of the bytes of everything."
    return (
        f"{_way(least)} is enough: area {ratio(least['auc'])} ({_ends(least)}), with {share} of "
        f"the bytes of all; the best is {found}."
    )


def _way(one: Summary) -> str:
    return f"{counted(one['metrics'], 'metric')} every {horizon_text(one['interval_s'])}"


def _ends(one: Summary) -> str:
    low, high = one["auc_ci"]
    return NOTHING if low is None else f"{ratio(low)} to {ratio(high)}"


def _bytes(value: Any) -> str:
    return figure(value / KIB, 3)


WAYS: Final[tuple[Column, ...]] = (
    ("Metrics", "metrics", count),
    ("Every", "interval_s", horizon_text),
    ("Area", "auc", lambda value: NOTHING if value is None else ratio(value)),
    ("Interval", lambda row: NOTHING if row["auc_ci"] is None else _ends(row)),
    ("Recall", "recall_24h", lambda value: NOTHING if value is None else percent(value)),
    ("Sent, KiB a day", "sent_bytes_per_day", _bytes),
    ("Kept, KiB a day", "stored_bytes_per_day", _bytes),
    ("Analysis, s", "analysis_seconds", lambda value: figure(value, 2)),
)


def report_of(found: CollectionStudy) -> Report:
    """Return what ways of collecting are worth as a report."""
    summary = found.summary
    drawn = Figure(
        FIGURES[0],
        lambda: plot_collection(summary["ways"]),
        "Area over the bytes sent a day, a line for each number of metrics.",
        "From right to left samples are taken less often.",
    )
    body: tuple[Block, ...] = (
        Table.by("ways", WAYS, summary["ways"], right=(0, 2, 4, 5, 6, 7)),
        drawn,
        Prose(f"Metrics in their order: {', '.join(summary['order'])}."),
        Prose(NOTE, soft=True),
    )
    return Report(
        "What to collect",
        f"{summary['predictor']} on {counted(summary['nodes'], 'node')}, "
        f"{summary['window']['days']:,.1f} days; "
        f"{counted(summary['held_out_failures'], 'failure')} in the held-out time",
        (Section("ways", "Metrics and intervals", body=body),),
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made_with(summary)),),
    )


def tables(found: CollectionStudy) -> list[pl.DataFrame | None]:
    """Return the table of the folder."""
    rows = [
        {
            **{k: v for k, v in one.items() if not k.endswith("_ci")},
            "auc_low": end(one["auc_ci"], 0),
            "auc_high": end(one["auc_ci"], 1),
        }
        for one in found.summary["ways"]
    ]
    return [table_of(rows)]


FOLDER: Final = StudyFolder(
    keys=("ways", "order", "held_out_failures"),
    tables=("ways.csv",),
    figures=FIGURES,
    report=report_of,
    rows=tables,
)
