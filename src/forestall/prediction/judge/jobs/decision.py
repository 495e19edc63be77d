"""Whether to act on a metric: yes, no, or not shown, with what data would show it."""

from __future__ import annotations

from typing import Final

from forestall.core.show.words import Summary, count, counted, figure, number
from forestall.core.show.words import chance as p_text

ACT: Final = "act"
NOT_SHOWN: Final = "not shown"
DO_NOT_ACT: Final = "do not act"

_SURE: Final = 1.96
"""Standard errors from the middle of an interval (95 %) to its end."""
_BAND: Final = 1.645
"""The same of a band of 5 to 95 %."""
_SHOWN: Final = 2.49
"""Standard errors that an effect must measure to be shown at 5 % (one-sided) in four of five
cases."""
ENDLESS: Final = 100.0
"""So many times the data are said to be out of reach."""


def decision(summary: Summary) -> str:
    """Return `ACT` where it pays, the metric tells failing jobs from others, and the gain is more
    than attribution alone brings; `DO_NOT_ACT` where harm is shown: acting costs more than it
    saves, the metric tells the wrong way round, or acting saves less than the same actions without
    any relation would; else `NOT_SHOWN`."""
    rule = summary["rule"]
    if rule == "never" or _harm(summary):
        return DO_NOT_ACT
    if beats_chance(summary) is True and summary["benefit"][rule]["beats_no_relation"]:
        return ACT
    return NOT_SHOWN


def _harm(summary: Summary) -> str:
    """Return what harm is shown, "" where none is."""
    one = summary["benefit"][summary["rule"]]
    ends = summary["auc_ci"]
    if one["per_month_ci_node_hours"][1] < 0:
        return "acting costs more than it saves"
    if ends is not None and max(ends[1], (summary["auc_ci_by_node"] or ends)[1]) < 0.5:
        return "it points the wrong way: jobs on nodes beyond the threshold fail less often"
    low = one["no_relation_per_month_band_node_hours"][0]
    if low is not None and one["per_month_node_hours"] < low:
        return "it saves less than the same actions would without any relation to failures"
    return ""


def verdict(summary: Summary) -> str:
    """Return in a few sentences whether to act, from where on, and what it brings."""
    benefit, rule = summary["benefit"], summary["rule"]
    metric, told = summary["metric"], on_area(summary)
    if rule == "never":
        return f"Do not act on {metric}: acting costs more than it saves at every threshold. {told}"
    one = benefit[rule]
    mean = figure(one["no_relation_per_month_node_hours"], 3)
    brings = (
        f"{saved(one)} a month{money(summary, one)}, {needless(one)}; acting as often at random "
        f"would save {figure(one['at_random_per_month_node_hours'], 3)}, and the same actions "
        f"without any relation to failures {mean}"
    )
    beyond = f"{metric} {sign(summary)} {threshold(one['threshold'])}"
    if harm := _harm(summary):
        return f"Do not act on {metric}: {harm}. Acting when {beyond} would save {brings}. {told}"
    if beats_chance(summary) is not True:
        lead = (
            f"Not shown that acting on {metric} pays: it does not reliably distinguish failing jobs"
        )
        return f"{lead} from others. {told} {_area_needs(summary)}"
    if not one["beats_no_relation"]:
        return (
            f"Not shown that acting on {metric} pays: the gain is not clearly above what "
            f"attribution alone brings. Acting when {beyond} would save {brings}. {told} "
            f"{_gain_needs(summary, one)}"
        )
    text = f"Act when {beyond}: saves {brings}. {told}"
    held = benefit["held_out"]
    if held["threshold"] is not None:
        text += (
            f" Chosen in the same way on the first two thirds, a threshold of "
            f"{threshold(held['threshold'])} saves {saved(held)} a month in the last third."
        )
    return text


def _area_needs(summary: Summary) -> str:
    """Say how much more data would show an area such as this one."""
    name = deciding(summary)
    if name is None:
        return "It takes jobs that failed and jobs that did not."
    low, high = summary[name]
    return _needs(summary, summary["auc"] - 0.5, (high - low) / (2 * _SURE), "an area as high")


def _gain_needs(summary: Summary, one: Summary) -> str:
    """Say how much more data would show a gain such as this one."""
    mean, band = (
        one["no_relation_per_month_node_hours"],
        one["no_relation_per_month_band_node_hours"],
    )
    gap = one["per_month_node_hours"] - mean
    return _needs(summary, gap, (band[1] - mean) / _BAND, "a gain as large")


def _needs(summary: Summary, effect: float, error: float, what: str) -> str:
    """Say how many days of such records would show an effect that has this standard error."""
    days = summary["window"]["days"]
    if effect <= 0:
        return (
            "There is no evidence for it so far, and more such records are unlikely to change that."
        )
    times = (_SHOWN * error / effect) ** 2
    if times >= ENDLESS:
        return f"It would take over {ENDLESS:.0f} times as many records to show so small an effect."
    return (
        f"If {what} is real, about {count(max(times, 1.0) * days)} days of such records would "
        f"show it in four of five cases; these cover {figure(days, 3)}."
    )


def deciding(summary: Summary) -> str | None:
    """Return the key of the interval of the area that reaches furthest down; None without one."""
    names = ("auc_ci", "auc_ci_by_node")
    lows = {k: number(summary[k][0]) for k in names if summary[k] is not None}
    known = {name: low for name, low in lows.items() if low is not None}
    return min(known, key=lambda name: known[name]) if known else None


def beats_chance(summary: Summary) -> bool | None:
    """Return whether the area is above 0.5 beyond doubt, by the wider of its intervals."""
    name = deciding(summary)
    return None if name is None else bool(summary[name][0] > 0.5)


def on_area(summary: Summary) -> str:
    """Say whether the metric tells periods before failed jobs from others."""
    if summary["auc"] is None:
        return "No area: the jobs that periods answer for all failed, or none did."
    ends, p = summary["auc_ci"], summary["p_value"]
    together, sure = "", beats_chance(summary)
    if not sure and deciding(summary) == "auc_ci_by_node" and ends[0] > 0.5:
        ends, p = summary["auc_ci_by_node"], summary["p_value_by_node"]
        together = " with the periods of a node together"
    better = {True: "better than chance", False: "not clearly better than chance", None: ""}
    return (
        f"Area {summary['auc']:.3f} ({ends[0]:.3f} to {ends[1]:.3f}{together}), "
        f"{better[sure]} (p {p_equals(p)})."
    )


def p_equals(p: object) -> str:
    """Return a p-value with its sign: "= 0.012", "< 0.001"."""
    text = p_text(p)
    return f"< {text.removeprefix('under ')}" if text.startswith("under") else f"= {text}"


def sign(summary: Summary) -> str:
    """Return how a suspect value stands to the threshold."""
    return "≥" if summary["side"] == "high" else "≤"


def threshold(value: object) -> str:
    """Return a threshold, "never" where there is none."""
    return "never" if number(value) is None else figure(value, 3)


def saved(one: Summary) -> str:
    """Return node-hours a month with half the width of their interval."""
    low, high = one["per_month_ci_node_hours"]
    half = (high - low) / 2
    return f"{figure(one['per_month_node_hours'], 3)} ± {figure(half, 2)} node-hours"


def needless(one: Summary) -> str:
    """Return how many actions were needless."""
    return f"{count(one['needless'])} of {counted(one['acted'], 'action')} needless"


def money(summary: Summary, one: Summary) -> str:
    """Return what that is in money, where there is a price."""
    if one["per_month_money"] is None:
        return ""
    currency = summary["benefit"]["currency"]
    return f" ({figure(one['per_month_money'], 3)}{' ' if currency else ''}{currency})"
