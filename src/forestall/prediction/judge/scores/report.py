"""What scores are worth: the verdict in words, the report, and the folder with its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.output import skipped_table
from forestall.core.kit.study_folder import StudyFolder, made_with, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Figure, Table
from forestall.core.show.facts import Fact
from forestall.core.show.report import Report, Section
from forestall.core.show.words import (
    NOTHING,
    Summary,
    between,
    count,
    counted,
    figure,
    number,
    ratio,
)
from forestall.core.show.words import percent as rounded
from forestall.prediction.assess.figures import plot_precision_recall, plot_reliability, plot_roc
from forestall.prediction.judge.scores import costs

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.prediction.judge.scores.judge import ScoreStudy


FIGURES: Final = ("roc", "precision_recall", "reliability")
DOUBT: Final = ", though chance may explain it,"
AREA_RULE: Final = (
    "The area is the chance that a failure has a higher score than another case, ties counting "
    "half: 0.5 is chance, 1 perfect. The p-value is the share of permutations of the scores that "
    "give such an area or a larger one."
)
OTHERS: Final = (
    "Differences are the first score minus the other on the same cases, with DeLong's paired "
    "test; Brier scores if both are probabilities."
)


def chance(p: object) -> str:
    """Return a p-value with two digits that count.

    >>> chance(0.00033), chance(0.0421), chance(0.5), chance(1e-9), chance(None)
    ('0.0003', '0.042', '0.50', 'under 0.0001', '\N{EN DASH}')
    """
    value = number(p)
    if value is None:
        return NOTHING
    if value < 0.0001:
        return "under 0.0001"
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def percent(value: object) -> str:
    """Return a share as per cent; small ones, as failures are, with three digits that count.

    >>> percent(0.256), percent(0.00304), percent(0), percent(None)
    ('25.6 %', '0.304 %', '0.0 %', '\N{EN DASH}')
    """
    share = number(value)
    if share is None or not 0.0001 <= share < 0.1:
        return rounded(value)
    return f"{figure(100 * share, 3)} %"


def says(p: object) -> str:
    """Return a p-value as a part of a sentence."""
    told = chance(p)
    return f"p {told}" if told.startswith("under") else f"p = {told}"


def ends(ci: Sequence[object] | None) -> str:
    """Return an interval with three digits after the point."""
    if ci is None or all(number(one) is None for one in ci):
        return NOTHING
    return f"{ratio(ci[0])} to {ratio(ci[1])}"


def p_of(summary: Summary) -> float | None:
    """Return the p-value that the verdict rests on: with groups the larger of the two."""
    told = [number(summary["p_value"]), number(summary["p_grouped"])]
    known = [one for one in told if one is not None]
    return max(known) if known else None


def verdict(summary: Summary) -> str:
    """Return the whole verdict in one line: what is worse first, then the area, then what the
    scores are worth as probabilities."""
    parts = [*on_baseline(summary), on_area(summary), *on_probabilities(summary)]
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def on_area(summary: Summary) -> str:
    """Say whether scores tell failures from the rest."""
    if summary["auc_why"] is not None:
        if summary["n"] == 1:
            return f"no verdict: the only case {'failed' if summary['failed'] else 'did not fail'}"
        cases = f"the {summary['n']:,} cases"
        return f"no verdict: {summary['auc_why'].replace('them', cases)}"
    told = f"area {ratio(summary['auc'])} ({ends(summary['auc_ci'])}), {says(p_of(summary))}"
    if summary["constant"]:
        return "no better than chance: all scores are the same"
    low, high = (number(one) for one in summary["auc_ci"])
    p, alpha = p_of(summary), 1 - summary["level"]
    if high is not None and high < 0.5:
        return f"worse than chance (its opposite would be better): {told}"
    if p is not None and p <= alpha and low is not None and low > 0.5:
        return f"better than chance: {told}"
    return f"not shown to be better than chance: {told}"


def on_baseline(summary: Summary) -> list[str]:
    """Say how the scores do beside the baseline."""
    for one in summary["others"]:
        if one["score"] != summary["baseline"]:
            continue
        beside, name = one["against"], one["score"]
        gap, p = number(beside["difference"]), number(beside["p_value"])
        if gap is None:
            return []
        sure = p is not None and p <= 1 - summary["level"]
        told = f"(area {ratio(summary['auc'])} against {ratio(one['auc'])}, {says(p)})"
        parts = []
        if gap < 0:
            parts.append(
                f"worse than {name} {told}" if sure
                else f"below {name}{DOUBT} {told}"
            )  # fmt: skip
        skill = number(beside["brier_skill"])
        if skill is not None and skill < 0:
            brier = f"(Brier {figure(summary['brier'], 4)} against {figure(one['brier'], 4)})"
            luck = number(beside["brier_p_value"])
            doubt = "" if luck is not None and luck <= 1 - summary["level"] else DOUBT
            parts.append(f"worse probabilities than {name}{doubt} {brier}")
            if gap > 0 and sure:
                parts.append(f"but a larger area {told}")
        if parts:
            return parts
        if gap == 0:
            return [f"no better than {name} {told}"]
        return [f"better than {name} {told}" if sure else f"not shown to beat {name} {told}"]
    return []


def on_probabilities(summary: Summary) -> list[str]:
    """Say what scores are worth as probabilities; nothing where they are none."""
    if not summary["probabilities"]:
        return []
    found, skill = summary["calibration"], number(summary["brier_skill"])
    faults = []
    offset, error = number(found["offset"]), number(found["offset_se"])
    if offset is not None and error is not None and abs(offset) > 2 * error:
        way = "low" if offset > 0 else "high"
        faults.append(
            f"too {way} ({percent(found['said'])} stated, {percent(found['seen'])} observed)"
        )
    slope, error = number(found["slope"]), number(found["slope_se"])
    if slope is not None and error is not None and abs(slope - 1) > 2 * error:
        way = "bold" if slope < 1 else "timid"
        faults.append(f"too {way} (slope {slope:.2f})")
    parts = []
    if faults:
        parts.append("as probabilities " + " and ".join(faults))
    elif slope is not None:
        parts.append("as probabilities about right")
    if skill is not None and skill < 0:
        base = percent(summary["prevalence"])
        parts.append(f"Brier skill {skill:.3f}: worse than always predicting {base}")
    elif skill is not None:
        parts.append(f"Brier skill {skill:.3f}")
    return parts


def report_of(found: ScoreStudy) -> Report:
    """Return what the scores are worth as a report."""
    summary = found.summary
    cases = f"{summary['n']:,} cases, {summary['failed']:,} failures"
    read = closing.odd_lines(remark_lines(summary))
    return Report(
        "How good these scores are",
        f"{summary['source']}, column {summary['score']}: {cases}",
        (
            _area(found),
            others(summary),
            thresholds(summary),
            costs.section(summary),
            _probabilities(found),
            read,
        ),
        verdict=(summary["verdict"],),
        top=measures(summary),
        closing=(closing.made_with(made_with(summary)),),
    )


def measures(summary: Summary) -> tuple[Fact, ...]:
    """Return every measure of the scores."""
    share = percent(summary["prevalence"])
    cases = f"{summary['failed']:,} of them failed, {share}"
    told = [Fact("cases", "Cases", summary["n"], "count", meaning=cases)]
    if summary["groups"] is not None:
        meaning = f"by {summary['group']}; intervals allow for correlated cases within a group"
        told.append(Fact("groups", "Groups", summary["groups"], "count", meaning=meaning))
    named: list[tuple[str, str, str, Callable[[object], str]]] = [
        ("auc", "Area under ROC", f"{interval_of(summary)}; 0.5 is chance", ratio),
        ("p_value", "p-value", how_p(summary), chance),
        (
            "p_grouped",
            "p-value by groups",
            "of the area, allowing for correlated cases within a group",
            chance,
        ),
        ("average_precision", "Average precision", f"alarms at random: {share}", ratio),
    ]
    told += [
        _measure(key, label, summary[key], write(summary[key]), meaning)
        for key, label, meaning, write in named
        if key != "p_grouped" or summary[key] is not None
    ]
    return (*told, *(_of_probabilities(summary) if summary["probabilities"] else ()))


def _measure(key: str, label: str, value: object, shown: str, meaning: str) -> Fact:
    return Fact.measured(key, label, number(value), "number", meaning, shown)


def interval_of(summary: Summary) -> str:
    """Return the interval of the area with its method."""
    names = {"delong": "DeLong", "clustered": "DeLong by groups", "newcombe": "Newcombe"}
    level = f"{100 * summary['level']:g} %"
    return f"{level}: {ends(summary['auc_ci'])} ({names[summary['auc_method']]})"


def how_p(summary: Summary) -> str:
    """Say where the p-value comes from."""
    if number(summary["p_value"]) is None:
        return "needs both failures and other cases"
    if summary["p_method"] == "normal":
        return "normal approximation of the permutations, as there are many cases"
    drawn = counted(summary["draws"], "permutation")
    return (
        f"{summary['p_exceed']:,} of {drawn} reached this area; the normal approximation gives "
        + chance(summary["p_normal"])
    )


def _of_probabilities(summary: Summary) -> list[Fact]:
    """Return what the scores are worth as probabilities."""
    parts, found = summary["brier_parts"], summary["calibration"]
    within = parts["within_variance"] - parts["within_covariance"]
    base = f"always {percent(summary['prevalence'])}: {figure(summary['brier_reference'], 3)}"
    split = (
        f"reliability - resolution {figure(parts['resolution'], 3)} + uncertainty "
        f"{figure(parts['uncertainty'], 3)} + within bins {figure(within, 3)}"
    )
    moved = summary["clipped"]
    sure = f"; {moved:,} of 0 or 1 counted as 1e-15 from there" if moved else ""
    told = [
        _measure("brier", "Brier score", summary["brier"], figure(summary["brier"], 4),
                 f"0 is perfect; {base}"),
        _measure("brier_skill", "Brier skill", summary["brier_skill"],
                 ratio(summary["brier_skill"]),
                 f"{ends(summary['brier_skill_ci'])}; 1 is perfect, below 0 worse than a constant"),
        _measure("brier_reliability", "Brier parts", parts["reliability"],
                 figure(parts["reliability"], 3), split),
        _measure("log_loss", "Log loss", summary["log_loss"], figure(summary["log_loss"], 4),
                 f"nats, 0 is perfect{sure}"),
        _measure("ece", "Calibration error", summary["ece"], figure(summary["ece"], 3),
                 f"mean over bins of equal {summary['binning']} (ECE); right probabilities would "
                 f"show {figure(summary['ece_by_chance'], 3)}"),
        _measure("said", "Stated, observed", found["said"],
                 f"{percent(found['said'])}, {percent(found['seen'])}",
                 "mean probability, and share that failed"),
    ]  # fmt: skip
    slope, z = found["slope"], found["spiegelhalter_z"]
    if slope is not None:
        meaning = f"± {found['slope_se']:.3f}; below 1: too bold, above 1: too timid"
        told.append(_measure("slope", "Slope", slope, f"{slope:.3f}", meaning))
    elif found["why"]:
        told.append(_measure("slope", "Slope", None, NOTHING, found["why"]))
    if found["spiegelhalter_p"] is not None:
        p = found["spiegelhalter_p"]
        says_p = f"{says(p)} if all probabilities were right" if chance(p) != NOTHING else ""
        told.append(_measure("spiegelhalter_z", "Spiegelhalter's test", z, f"z {z:.2f}", says_p))
    return told


def _area(found: ScoreStudy) -> Section:
    """Return whether high scores mean failures."""
    summary, marked = found.summary, {}
    if found.marked.threshold < float("inf"):
        marked = {f"threshold {figure(found.marked.threshold)}": found.marked}
    title, series = "Do high scores mean failures?", measures(summary)
    if summary["auc_why"] is not None:
        return Section("area", title, series=series, notes=(AREA_RULE,))
    at, told = summary["confusion"], on_area(summary)
    drawn = (
        Figure(
            FIGURES[0],
            lambda: plot_roc(found.curves, marked),
            f"ROC curve, area {ratio(summary['auc'])}.",
            f"{told[0].upper()}{told[1:]}. Intervals are of {100 * summary['level']:g} %.",
        ),
        Figure(
            FIGURES[1],
            lambda: plot_precision_recall(found.curves, marked),
            f"Precision over recall, average precision {ratio(summary['average_precision'])}.",
            f"At the marked threshold ({summary['threshold_by']}) {percent(at['precision'])} of "
            f"the alarms are followed by a failure, and {percent(at['recall'])} of the failures "
            f"have an alarm; alarms at random are right in {percent(summary['prevalence'])}.",
        ),
    )
    return Section("area", title, series=series, body=drawn, notes=(AREA_RULE,))


def others(summary: Summary) -> Section:
    """Return each score beside the judged one."""

    def named(score: str) -> str:
        return score + (" (baseline)" if score == summary["baseline"] else "")

    judged = [summary, *summary["others"]] if summary["others"] else []
    records = [
        {**{name: one[name] for name in ("score", "auc", "auc_ci", "brier")},
         **(one.get("against") or {})}
        for one in judged
    ]  # fmt: skip
    columns = (("Score", "score", named), *BESIDE)
    table = Table.by("others", columns, records, right=(1, 3, 5, 6), caption=OTHERS)
    return Section("others", "Compared with other scores", body=(table,))


def thresholds(summary: Summary) -> Section:
    """Return what alarms at some thresholds are worth."""
    caption = "A score at or above the threshold is an alarm."
    points = summary["operating_points"]
    table = Table.by("thresholds", THRESHOLDS, points, right=range(8), caption=caption)
    return Section("thresholds", "Thresholds", body=(table,))


BESIDE: Final[tuple[Column, ...]] = (
    ("Area", "auc", ratio),
    ("Interval", "auc_ci", ends),
    ("Difference", lambda row: ratio(row.get("difference"))),
    ("Interval", lambda row: ends(row.get("difference_ci"))),
    ("p", lambda row: chance(row.get("p_value"))),
    ("Brier", "brier", lambda brier: figure(brier, 4)),
)


THRESHOLDS: Final[tuple[Column, ...]] = (
    ("Threshold", "threshold", lambda value: "above all" if value is None else figure(value)),
    ("Alarms", lambda row: count(row["tp"] + row["fp"])),
    ("Right", "tp", count),
    ("False", "fp", count),
    ("Missed", "fn", count),
    ("Recall", "recall", percent),
    ("Precision", "precision", percent),
    ("FPR", "fpr", percent),
    ("Chosen for", "chosen_for", str),
)


BINS: Final[tuple[Column, ...]] = (
    ("Stated", lambda row: between((row["begin"], row["end"]), 2)),
    ("Mean", "said", lambda value: figure(value, 3)),
    ("Observed", "seen", lambda value: figure(value, 3)),
    ("Interval", lambda row: between((row["low"], row["high"]), 2)),
    ("If right", lambda row: between((row["low_if_true"], row["high_if_true"]), 2)),
    ("Cases", "count", count),
    ("Failed", "failed", count),
)


def bins(summary: Summary) -> Table:
    """Return the reliability table; no rows where the scores are no probabilities."""
    caption = "If right: where the share should lie if the probabilities were right."
    found = summary["reliability"] or []
    return Table.by("reliability", BINS, found, right=(1, 2, 5, 6), caption=caption)


def _probabilities(found: ScoreStudy) -> Section:
    """Return whether the scores come true as probabilities; nothing where they are none."""
    summary, name = found.summary, found.asked.score[0]
    drawn: tuple[Figure, ...] = ()
    if name in found.tables:
        told = "; ".join(on_probabilities(summary))
        drawn = (
            Figure(
                FIGURES[2],
                lambda: plot_reliability(found.tables[name]),
                "Observed share of failures over the stated probability, with counts.",
                f"{told[:1].upper()}{told[1:]}. Blue bars: where the share should lie if the "
                "probabilities were right.",
            ),
        )
    body: tuple[Block, ...] = (*drawn, bins(summary))
    return Section("probabilities", "Are the probabilities calibrated?", body=body)


def remark_lines(summary: Summary) -> list[str]:
    """Return what was odd about the file, a line each."""
    lines = [f"{one['action']}: {one['text']}" for one in summary["remarks"]]
    if summary["auc_method"] == "newcombe" and summary["auc_why"] is None:
        lines.append(
            "note: the scores leave DeLong's interval no width (an area of 0, 1/2 or 1, or one "
            "case of a kind); Newcombe's is shown"
        )
    if summary["parameters"]["probabilities"] is False:
        lines.append("note: scores are not judged as probabilities ({no_probabilities})")
    elif not summary["probabilities"]:
        lines.append("note: scores are not all within 0 and 1, so they are not probabilities")
    return lines


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
