"""Predictors' worth: the verdict in words, the report, its figures, and the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import StudyFolder, options_told, table_of
from forestall.core.model.units import format_duration
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Figure, Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.style import BLUE, GREEN, GREY, INK, ORANGE, dress, new_figure
from forestall.core.show.words import Summary
from forestall.core.streams import stream
from forestall.prediction.assess import benefit
from forestall.prediction.assess.calibration import reliability_table
from forestall.prediction.assess.figures import plot_precision_recall, plot_reliability, plot_roc
from forestall.prediction.assess.figures_benefit import plot_benefit
from forestall.prediction.assess.roc import roc
from forestall.prediction.judge.predictors.judge import MAIN

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

    from forestall.prediction.judge.predictors.judge import JudgedPredictor
    from forestall.prediction.judge.predictors.study import PredictorStudy


FIGURES: Final = ("predictors", "roc", "precision_recall", "reliability", "benefit", "leads")
RANDOM_DRAWS: Final = 60
BINS: Final = 12
NOTHING: Final = "-"
HEADS: Final = (
    "Predictor", "AUC", "Brier skill", "Recall 1 h", "6 h", "24 h", "Lead", "Standing",
)  # fmt: skip
STANDS: Final = {
    "better": "better", "perhaps better": "better?", "even": "even", "perhaps worse": "worse?",
    "worse": "WORSE",
}  # fmt: skip
NOTE: Final = (
    "* trivial baseline. Brier skill: 1 - Brier / Brier of the constant rate, 24 h ahead. "
    "Lead: median time from when the alarm came on to the failure. Standing: Brier skill "
    "compared with that of the best baseline; a question mark means that the interval of the "
    "difference includes 0."
)


def verdict(summary: Summary) -> str:
    """Return the account in one line: first what is worse than the best trivial baseline."""
    base = summary["best_baseline"]
    rows = [row for row in summary["predictors"] if row["standing"] and not row["baseline"]]
    parts = []
    for word in ("worse", "better"):
        sure = [row["name"] for row in rows if row["standing"] == word]
        perhaps = [row["name"] for row in rows if row["standing"] == f"perhaps {word}"]
        named = [", ".join(sure)] if sure else []
        named += [f"perhaps {', '.join(perhaps)} (the interval includes 0)"] if perhaps else []
        if named:
            parts.append(f"{word} than the best trivial baseline ({base}): {'; '.join(named)}")
    if not rows:
        parts.append(f"best of the trivial baselines: {base}")
    parts.append(acting(summary))
    text = "; ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def acting(summary: Summary) -> str:
    """Return when to act, and what that brings a month."""
    act, name = summary["act"], summary["chosen"]
    if act is None:
        return "the past is too short to say when to act"
    if act["threshold"] is None:
        return f"acting on {name} does not pay at these costs"
    low, high = act["node_hours_per_month_low"], act["node_hours_per_month_high"]
    half = (high - low) / 2
    saved = act["node_hours_per_month"]
    if saved < 0:
        return (
            f"do not act on {name}: the past's best threshold, p ≥ {act['threshold']:.3g}, would "
            f"have cost {-saved:,.0f} ± {half:,.0f} node-hours a month"
        )
    text = (
        f"act on {name} when p ≥ {act['threshold']:.3g}: saves {saved:,.0f} ± {half:,.0f} "
        f"node-hours a month, {act['needless_actions_per_month']:,.0f} needless actions"
    )
    stakes = summary["stakes"]
    if stakes["price_per_node_hour"] is not None:
        money = saved * stakes["price_per_node_hour"]
        text += f" ({money:,.0f} {stakes['currency']} a month)"
    return text if low > 0 else text + " (not certain: the interval includes 0)"


def task_line(summary: Summary) -> str:
    """Return what was judged on what."""
    held, how = summary["held_out"], summary["how"]
    since = held["from"].partition(" (")[0]  # without dates in seconds, too
    return (
        f"Trained on the records before {since}, judged on the {held['days']:,.0f} days after "
        f"that: {held['failures']:,} failures of {summary['nodes']:,} nodes. Recall: failures "
        f"among the {100 * how['alarm_share']:.0f} % of node-time with the highest scores "
        f"(chance: {100 * how['alarm_share']:.0f} %). Intervals: "
        f"bootstrap over weeks, {100 * how['level']:.0f} %."
    )


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row of `HEADS` for each predictor with figures, of the highest skill first."""
    return [
        (
            row["name"] + (" *" if row["baseline"] else ""),
            _three(row, "auc", 3),
            _three(row, "brier_skill", 3),
            _share(row, "recall_1h"),
            _share(row, "recall_6h"),
            _share(row, "recall_24h"),
            lead(row),
            "best baseline" if row["name"] == summary["best_baseline"] else STANDS[row["standing"]],
        )
        for row in _able(summary)
    ]


def _able(summary: Summary) -> list[Mapping[str, Any]]:
    """Return the predictors with figures, of the highest skill first."""
    able = [row for row in summary["predictors"] if row["auc"] is not None]
    return sorted(able, key=lambda row: -(row["brier_skill"] or -9.0))


def lead(row: Mapping[str, Any]) -> str:
    """Return the lead time in words."""
    return NOTHING if row["lead_hours"] is None else format_duration(row["lead_hours"] * 3600)


def _half(row: Mapping[str, Any], name: str) -> float | None:
    """Return half the width of an interval."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else (high - low) / 2


def _three(row: Mapping[str, Any], name: str, digits: int) -> str:
    half = _half(row, name)
    wide = "" if half is None else f" ±{short(half, digits)}"
    return f"{short(row[name], digits)}{wide}"


def _share(row: Mapping[str, Any], name: str) -> str:
    half = _half(row, name)
    if row[name] is None:
        return NOTHING
    return f"{100 * row[name]:.0f} %" + ("" if half is None else f" ±{100 * half:.0f}")


def short(value: float | None, digits: int) -> str:
    """Return a number without a leading zero: ``.761``, ``-.004``."""
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def stakes_line(summary: Summary) -> str:
    """Return what acting costs and what a failure destroys."""
    stakes = summary["stakes"]
    text = (
        f"Acting on a node costs {stakes['action_node_hours']:g} node-hours; a failure destroys "
        f"{stakes['failure_node_hours']:g} node-hours unless someone acted in the 24 h before "
        "it."
    )
    if stakes["price_per_node_hour"] is not None:
        text += f" A node-hour is worth {stakes['price_per_node_hour']:g} {stakes['currency']}."
    return text


def act_table(summary: Summary) -> Table:
    """Return what acting brings, a month of the held-out time; no rows where that is not known."""
    act, rows = summary["act"], [("threshold", "never act")]
    if act is not None and act["threshold"] is not None:
        low, high = act["node_hours_per_month_low"], act["node_hours_per_month_high"]
        rows = [
            ("act when p is at least", f"{act['threshold']:.4g} (chosen on the past)"),
            ("saved a month", f"{act['node_hours_per_month']:,.0f} node-hours"),
            (
                f"{100 * summary['how']['level']:.0f} % interval",
                f"{low:,.0f} to {high:,.0f} node-hours",
            ),
            ("actions a month", f"{act['actions_per_month']:,.1f}"),
            ("of them needless", f"{act['needless_actions_per_month']:,.1f}"),
            ("failures missed a month", f"{act['missed_failures_per_month']:,.1f}"),
        ]
    return Table.of("act", ("", "Value"), rows if act is not None else (), right=())


def report_of(found: PredictorStudy) -> Report:
    """Return what predictors are worth as a report."""
    summary = found.summary
    made = {"Log": summary["source"], **options_told(summary["how"]), **summary["versions"]}
    failed = int(found.task.grid(MAIN).decisions.failed.sum())
    leads = Figure(
        FIGURES[5],
        lambda: plot_leads(found.chosen, failed),
        f"How long the alarm of {found.chosen.name} was on before failures.",
        f"Alarms fill {100 * found.task.how.alarm_share:.0f} % of node-time.",
    )
    return Report(
        "Which predictor is worth acting on?",
        task_line(summary),
        (
            _predictors(found),
            _chosen(found),
            _acting(found),
            Section("leads", "How early?", body=(leads,)),
        ),
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made),),
    )


def _predictors(found: PredictorStudy) -> Section:
    """Return all predictors beside each other."""
    summary = found.summary
    table = Table.of("predictors", HEADS, rows(summary), _able(summary), right=(6,), note=NOTE)
    figure = Figure(
        FIGURES[0],
        lambda: plot_predictors(summary["predictors"]),
        "Area, Brier skill and recall of every predictor, with intervals.",
        "On held-out time; lines are intervals from a bootstrap over weeks, dashed lines chance.",
    )
    out = [f"{row['name']}: {row['why']}" for row in summary["predictors"] if row["why"]]
    body: tuple[Block, ...] = (table, figure, *(Prose(line, soft=True) for line in out))
    return Section("predictors", "Predictors", body=body)


def _chosen(found: PredictorStudy) -> Section:
    """Return how well the predictor that was chosen on the past tells failures, drawn."""
    failed = found.task.grid(MAIN).decisions.failed
    both = {one.name: one for one in (found.chosen, found.base)}
    curves = {name: roc(one.scores[MAIN], failed) for name, one in both.items()}
    name = found.chosen.name
    body = (
        Figure(
            FIGURES[1],
            lambda: plot_roc(curves, title="ROC, 24 h ahead"),
            f"ROC curves of {' and '.join(curves)}.",
            "Share of failing node-days found, over the share of other node-days under alarm.",
        ),
        Figure(
            FIGURES[2],
            lambda: plot_precision_recall(curves, title="Precision over recall, 24 h ahead"),
            f"Precision over recall of {' and '.join(curves)}.",
            "Share of the alarms followed by a failure within 24 h.",
        ),
        Figure(
            FIGURES[3],
            lambda: plot_reliability(
                reliability_table(found.chosen.scores[MAIN], failed, bins=BINS, binning="count"),
                title=f"Are the probabilities of {name} calibrated?",
            ),
            f"Share of node-days that failed over the probability that {name} gave.",
            "On the diagonal the observed share equals the stated one.",
        ),
    )
    return Section("chosen", f"{name}, chosen on the past", body=body)


def _acting(found: PredictorStudy) -> Section:
    """Return whether acting on the chosen predictor pays."""
    summary = found.summary
    drawn: tuple[Figure, ...] = () if found.act is None else (
        Figure(
            FIGURES[4],
            lambda: benefit_figure(found),
            f"Net benefit of acting on {found.chosen.name} over the share of node-days acted on.",
            acting(summary).capitalize() + ".",
        ),
    )  # fmt: skip
    body: tuple[Block, ...] = (Prose(stakes_line(summary)), act_table(summary), *drawn)
    return Section("acting", "Does acting pay?", body=body)


def benefit_figure(found: PredictorStudy) -> Drawn:
    """Draw the net benefit of acting on the chosen predictor."""
    assert found.act is not None
    occasions = found.act.occasions
    rng = stream(found.task.how.seed, "judge", "random")
    band = benefit.at_random(occasions, rng, draws=RANDOM_DRAWS)
    return plot_benefit(found.act.curve, band, benefit.perfect(occasions), name=found.chosen.name)


WIDTH: Final = 8.4


def plot_predictors(rows: Sequence[Mapping[str, Any]]) -> Drawn:
    """Draw area, Brier skill and recall of each predictor with intervals, baselines apart."""
    able = [row for row in rows if row["auc"] is not None]
    able.sort(key=lambda row: row["brier_skill"] or 0.0)
    figure = new_figure((WIDTH, 1.5 + 0.3 * len(able)))
    panels = figure.subplots(1, 3, sharey=True)
    named = (
        ("auc", "Area under the ROC", 0.5),
        ("brier_skill", "Brier skill, 24 h ahead", 0.0),
        ("recall_24h", "Recall, 24 h ahead (share)", None),
    )
    for axes, (name, title, chance) in zip(panels, named, strict=True):
        _dots(axes, able, name)
        if chance is not None:
            axes.axvline(chance, color=GREY, linewidth=1.0, linestyle="--")
        dress(axes, "", title)
    panels[0].set_yticks(range(len(able)), [row["name"] for row in able])
    handles = [
        panels[0].plot([], [], marker, color=colour, linestyle="none", label=label)[0]
        for marker, colour, label in (("o", BLUE, "predictor"), ("s", ORANGE, "trivial baseline"))
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _dots(axes: Axes, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    for place, row in enumerate(rows):
        value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
        if value is None:
            continue
        colour, marker = (ORANGE, "s") if row["baseline"] else (BLUE, "o")
        if low is not None:
            axes.plot([low, high], [place, place], color=colour, linewidth=1.6)
        axes.plot([value], [place], marker, color=colour, markeredgecolor=INK, markersize=5.5)


def plot_leads(one: JudgedPredictor, failures: int) -> Drawn:
    """Draw the share of all failing decisions with an alarm that had been on so long, h."""
    figure = new_figure((WIDTH, 3.6))
    axes = figure.subplots()
    leads = np.sort(np.maximum(one.leads, 1 / 60))[::-1]
    if len(leads):
        share = 100 * np.arange(1, len(leads) + 1) / max(failures, 1)
        axes.step(leads, share, where="post", color=GREEN, linewidth=1.8)
        axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    dress(
        axes,
        f"How long the alarm of {one.name} was on before failures",
        "Time since the alarm came on, at least (hours)",
        "Failures (%)",
    )
    return figure


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
