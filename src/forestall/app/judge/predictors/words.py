"""Predictors' worth in words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from forestall.model.units import format_duration
from forestall.show.words import Summary

NOTHING: Final = "-"
HEADS: Final = (
    "Predictor", "AUC", "Brier skill", "Recall 1 h", "6 h", "24 h", "Lead", "Standing",
)  # fmt: skip
STANDS: Final = {
    "better": "better", "perhaps better": "better?", "even": "even", "perhaps worse": "worse?",
    "worse": "WORSE",
}  # fmt: skip


def verdict(summary: Summary) -> str:
    """Return the account in one line: first what is worse than the best trivial baseline."""
    base = summary["best_baseline"]
    rows = [row for row in summary["predictors"] if row["standing"] and not row["baseline"]]
    parts = []
    for word in ("worse", "better"):
        sure = [row["name"] for row in rows if row["standing"] == word]
        perhaps = [row["name"] for row in rows if row["standing"] == f"perhaps {word}"]
        named = [", ".join(sure)] if sure else []
        named += [f"perhaps (the interval holds 0) {', '.join(perhaps)}"] if perhaps else []
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
            f"do not act on {name}: the past's best threshold, p >= {act['threshold']:.3g}, would "
            f"have cost {-saved:,.0f} +- {half:,.0f} node-hours a month"
        )
    text = (
        f"act on {name} when p >= {act['threshold']:.3g}: saves {saved:,.0f} +- {half:,.0f} "
        f"node-hours a month, {act['needless_actions_per_month']:,.0f} needless actions"
    )
    stakes = summary["stakes"]
    if stakes["price_per_node_hour"] is not None:
        money = saved * stakes["price_per_node_hour"]
        text += f" ({money:,.0f} {stakes['currency']} a month)"
    return text if low > 0 else text + " (not surely: the interval holds 0)"


def task_line(summary: Summary) -> str:
    """Return what was judged on what."""
    held, how = summary["held_out"], summary["how"]
    return (
        f"Trained on what lies before {held['from']}, judged on the {held['days']:,.0f} days after "
        f"it: {held['failures']:,} failures of {summary['nodes']:,} nodes. Recall: failures among "
        f"the {how['alarm_share']:.0%} of node-time with the highest scores (chance: "
        f"{how['alarm_share']:.0%}). Intervals ({how['level']:.0%}) from redrawn weeks."
    )


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the table of predictors, of the highest skill first; those without figures last."""
    able = [row for row in summary["predictors"] if row["auc"] is not None]
    able.sort(key=lambda row: -(row["brier_skill"] or -9.0))
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
        for row in able
    ]


def left_out(summary: Summary) -> Sequence[str]:
    """Return a line for each predictor that could not be judged."""
    return [f"{row['name']}: {row['why']}" for row in summary["predictors"] if row["why"]]


def lead(row: Mapping[str, Any]) -> str:
    """Return the lead time in words."""
    return NOTHING if row["lead_hours"] is None else format_duration(row["lead_hours"] * 3600)


def _half(row: Mapping[str, Any], name: str) -> float | None:
    """Return half the width of an interval."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else (high - low) / 2


def _three(row: Mapping[str, Any], name: str, digits: int) -> str:
    half = _half(row, name)
    wide = "" if half is None else f" +-{short(half, digits)}"
    return f"{short(row[name], digits)}{wide}"


def _share(row: Mapping[str, Any], name: str) -> str:
    half = _half(row, name)
    if row[name] is None:
        return NOTHING
    return f"{row[name]:.0%}" + ("" if half is None else f" +-{100 * half:.0f}")


def short(value: float | None, digits: int) -> str:
    """Return a number without a leading zero: ``.761``, ``-.004``."""
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


NOTE: Final = (
    "* trivial baseline. Brier skill: 1 - Brier / Brier of the constant rate, 24 h ahead. Lead: "
    "median time from when the alarm came on to the failure. Standing: Brier skill beside that of "
    "the best baseline; with a question mark where the interval of the difference holds 0."
)


def stakes_line(summary: Summary) -> str:
    """Return what acting costs and what a failure destroys."""
    stakes = summary["stakes"]
    text = (
        f"Acting on a node costs {stakes['action_node_hours']:g} node-hours; a failure destroys "
        f"{stakes['failure_node_hours']:g} node-hours unless one has acted in the 24 h before it."
    )
    if stakes["price_per_node_hour"] is not None:
        text += f" A node-hour is worth {stakes['price_per_node_hour']:g} {stakes['currency']}."
    return text


def act_rows(summary: Summary) -> list[tuple[str, str]]:
    """Return what acting brings, a month of the held-out time."""
    act = summary["act"]
    if act["threshold"] is None:
        return [("threshold", "never act")]
    low, high = act["node_hours_per_month_low"], act["node_hours_per_month_high"]
    return [
        ("act when p is at least", f"{act['threshold']:.4g} (chosen on the past)"),
        ("saved a month", f"{act['node_hours_per_month']:,.0f} node-hours"),
        (f"{summary['how']['level']:.0%} interval", f"{low:,.0f} to {high:,.0f} node-hours"),
        ("actions a month", f"{act['actions_per_month']:,.1f}"),
        ("of them needless", f"{act['needless_actions_per_month']:,.1f}"),
        ("failures missed a month", f"{act['missed_failures_per_month']:,.1f}"),
    ]
