"""What scores are worth, in plain words and as rows of tables, from the summary alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from forestall.app.reliability.fit.words import between, figure
from forestall.show.words import NOTHING, Summary, counted, number
from forestall.show.words import percent as rounded

DOUBT: Final = ", though chance may explain it,"
POINT_HEADS: Final = (
    "Threshold", "Alarms", "Right", "False", "Missed", "Recall", "Precision", "FPR", "Chosen for",
)  # fmt: skip
BIN_HEADS: Final = ("Said", "Mean", "Seen", "Interval", "If right", "Cases", "Failed")
OTHER_HEADS: Final = ("Score", "Area", "Interval", "Difference", "Interval", "p", "Brier")


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


def area(value: object) -> str:
    """Return an area or a score with three digits after the point."""
    found = number(value)
    return NOTHING if found is None else f"{found:.3f}"


def ends(ci: Sequence[object] | None) -> str:
    """Return an interval with three digits after the point."""
    if ci is None or all(number(one) is None for one in ci):
        return NOTHING
    return f"{area(ci[0])} to {area(ci[1])}"


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
    told = f"area {area(summary['auc'])} ({ends(summary['auc_ci'])}), {says(p_of(summary))}"
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
        told = f"(area {area(summary['auc'])} against {area(one['auc'])}, {says(p)})"
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
        faults.append(f"too {way} ({percent(found['said'])} said, {percent(found['seen'])} came)")
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
        parts.append(f"Brier skill {skill:.3f}: worse than saying {base} every time")
    elif skill is not None:
        parts.append(f"Brier skill {skill:.3f}")
    return parts


def measure_rows(summary: Summary) -> list[tuple[str, str, str]]:
    """Return (measure, value, what it means)."""
    share = percent(summary["prevalence"])
    rows = [
        ("Cases", f"{summary['n']:,}", f"{summary['failed']:,} of them failed, {share}"),
    ]
    if summary["groups"] is not None:
        rows.append(("Groups", f"{summary['groups']:,}", f"by {summary['group']}; intervals allow "
                     "for cases of a group that hang together"))  # fmt: skip
    rows += [
        ("Area under ROC", area(summary["auc"]), f"{interval_of(summary)}; 0.5 is chance"),
        ("p-value", chance(summary["p_value"]), how_p(summary)),
    ]
    if summary["p_grouped"] is not None:
        meaning = "of the area, cases of a group hanging together"
        rows.append(("p-value by groups", chance(summary["p_grouped"]), meaning))
    rows.append(
        ("Average precision", area(summary["average_precision"]), f"alarms at random: {share}")
    )
    if summary["probabilities"]:
        rows += probability_rows(summary)
    return rows


def interval_of(summary: Summary) -> str:
    """Return the interval of the area with its method."""
    names = {"delong": "DeLong", "clustered": "DeLong by groups", "newcombe": "Newcombe"}
    level = f"{100 * summary['level']:g} %"
    return f"{level}: {ends(summary['auc_ci'])} ({names[summary['auc_method']]})"


def how_p(summary: Summary) -> str:
    """Say where the p-value comes from."""
    if number(summary["p_value"]) is None:
        return "needs failures and others"
    if summary["p_method"] == "normal":
        return "of so many cases by the normal law of permutations"
    drawn = counted(summary["draws"], "permutation")
    return f"{summary['p_exceed']:,} of {drawn} came as far; the normal law says " + chance(
        summary["p_normal"]
    )


def probability_rows(summary: Summary) -> list[tuple[str, str, str]]:
    """Return what the scores are worth as probabilities, in rows."""
    parts, found = summary["brier_parts"], summary["calibration"]
    within = parts["within_variance"] - parts["within_covariance"]
    base = f"always {percent(summary['prevalence'])}: {figure(summary['brier_reference'], 3)}"
    split = (
        f"reliability {figure(parts['reliability'], 3)} - resolution "
        f"{figure(parts['resolution'], 3)} + uncertainty {figure(parts['uncertainty'], 3)}"
        f" + within bins {figure(within, 3)}"
    )
    moved = summary["clipped"]
    sure = f"; {moved:,} of 0 or 1 counted as 1e-15 from there" if moved else ""
    rows = [
        ("Brier score", figure(summary["brier"], 4), f"0 is perfect; {base}"),
        ("Brier skill", area(summary["brier_skill"]), f"{ends(summary['brier_skill_ci'])}; "
         "1 is perfect, below 0 worse than always the same"),
        ("Brier parts", "", split),
        ("Log loss", figure(summary["log_loss"], 4), f"nats, 0 is perfect{sure}"),
        ("Calibration error", figure(summary["ece"], 3),
         f"mean over bins of equal {summary['binning']} (ECE); right probabilities would show "
         f"{figure(summary['ece_by_chance'], 3)}"),
        ("Said, seen", f"{percent(found['said'])}, {percent(found['seen'])}",
         "mean probability, and share that failed"),
    ]  # fmt: skip
    if found["slope"] is not None:
        rows.append(("Slope", f"{found['slope']:.3f}", f"+- {found['slope_se']:.3f}; below 1: too "
                     "bold, above 1: too timid"))  # fmt: skip
    elif found["why"]:
        rows.append(("Slope", NOTHING, found["why"]))
    if found["spiegelhalter_p"] is not None:
        p = chance(found["spiegelhalter_p"])
        rows.append(("Spiegelhalter's test", f"z {found['spiegelhalter_z']:.2f}",
                     f"{says(found['spiegelhalter_p'])} if all probabilities were right"
                     if p != NOTHING else ""))  # fmt: skip
    return rows


def point_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row of `POINT_HEADS` for each threshold."""
    return [
        (
            "above all" if one["threshold"] is None else figure(one["threshold"]),
            f"{one['tp'] + one['fp']:,}",
            f"{one['tp']:,}",
            f"{one['fp']:,}",
            f"{one['fn']:,}",
            percent(one["recall"]),
            percent(one["precision"]),
            percent(one["fpr"]),
            one["chosen_for"],
        )
        for one in summary["operating_points"]
    ]


def bin_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row of `BIN_HEADS` for each bin of the reliability table."""
    return [
        (
            between((one["begin"], one["end"]), 2),
            figure(one["said"], 3),
            figure(one["seen"], 3),
            between((one["low"], one["high"]), 2),
            between((one["low_if_true"], one["high_if_true"]), 2),
            f"{one['count']:,}",
            f"{one['failed']:,}",
        )
        for one in summary["reliability"] or []
    ]


def other_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row of `OTHER_HEADS` for each score: the judged one, then those beside it."""
    if not summary["others"]:
        return []
    level = [summary, *summary["others"]]
    rows = []
    for one in level:
        beside = one.get("against")
        gap = [NOTHING] * 3
        if beside is not None:
            gap = [area(beside["difference"]), ends(beside["difference_ci"]),
                   chance(beside["p_value"])]  # fmt: skip
        name = one["score"] + (" (baseline)" if one["score"] == summary["baseline"] else "")
        brier = NOTHING if one["brier"] is None else figure(one["brier"], 4)
        rows.append((name, area(one["auc"]), ends(one["auc_ci"]), *gap, brier))
    return rows


def remark_lines(summary: Summary) -> list[str]:
    """Return what was odd about the file, a line each."""
    lines = [f"{one['action']}: {one['text']}" for one in summary["remarks"]]
    if summary["auc_method"] == "newcombe" and summary["auc_why"] is None:
        lines.append(
            "note: the scores leave DeLong's interval no width (an area of 0, 1/2 or 1, or one "
            "case of a kind); Newcombe's is shown"
        )
    if summary["parameters"]["probabilities"] is False:
        lines.append("note: scores are not judged as probabilities (--no-probabilities)")
    elif not summary["probabilities"]:
        lines.append("note: scores are not all within 0 and 1, so they are no probabilities")
    return lines
