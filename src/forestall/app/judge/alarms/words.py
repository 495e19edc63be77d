"""What alarms are worth in plain words and in rows of text."""

from __future__ import annotations

from typing import Any, Final

from forestall.assess.figures_benefit import horizon_text
from forestall.show.words import NOTHING, Summary, count, counted, duration, number, percent

HEADS: Final = (
    "Horizon", "Recall", "95 %", "By chance", "Precision", "95 %", "False/node-day",
    "Lead (median)",
)  # fmt: skip
COUNT_HEADS: Final = (
    "Horizon", "Right", "Repeats", "False", "After a failure", "On good nodes", "Late", "Undecided",
)  # fmt: skip
SCORE_HEADS: Final = (
    "Score from", "Alarms", "Recall", "By chance", "Precision", "False/node-day", "Lead (median)",
)  # fmt: skip
FEW: Final = 10


def verdict(summary: Summary) -> str:
    """Return in a sentence or two whether the alarms are of use."""
    if not summary["failures"]:
        return "No failures in the window: nothing can be said of the alarms."
    row = main_row(summary)
    within = horizon_text(row["horizon_s"])
    if not summary["alarms"]:
        return f"No alarms: none of {counted(summary['failures'], 'failure')} was announced."
    beats = row["beats_chance"]
    lead = {
        True: "Better than chance",
        False: "Worse than chance",
        None: "No better than chance",
    }[beats]
    caught = f"{count(row['caught'])} of {counted(row['failures'], 'failure')}"
    text = (
        f"{lead}: alarms within {within} before caught {caught} "
        f"({percent(row['recall'])}{_ends(row)}), where as much alarm time at random "
        f"would catch {percent(row['chance_recall'])}; {percent(row['precision'])} of the alarms "
        f"were right, with {rate(row['false_alarms_per_node_day'])} false alarms a node and day"
    )
    median = row["lead_time_s"]["median"]
    if number(median) is not None:
        text += f"; half of the warnings came at least {duration(median)} ahead"
    return f"{text}.{_which_nodes(row)}{_few(summary)}"


def _ends(row: Summary) -> str:
    """Return the interval of recall that the verdict goes by."""
    name = deciding(row)
    if name is None:
        return ""
    low, high = row[name]
    weeks = ", drawing whole weeks again" if name == "recall_ci_weeks" else ""
    return f"; {percent(low)} to {percent(high)}{weeks}"


def deciding(row: Summary) -> str | None:
    """Return the key of the interval of recall that the verdict goes by: that of weeks where it
    holds chance and the other does not, for recall must be beyond chance by both."""
    weeks = row["recall_ci_weeks"]
    if row["recall_ci"] is None or weeks is None:
        return None if row["recall_ci"] is None else "recall_ci"
    low, high = row["recall_ci"]
    chance = row["chance_recall"]
    held = not low <= chance <= high and weeks[0] <= chance <= weeks[1]
    return "recall_ci_weeks" if held else "recall_ci"


def _which_nodes(row: Summary) -> str:
    """Say where the alarms know which nodes fail rather than when."""
    recall, same = row["recall"], row["chance_recall_same_nodes"]
    if not row["beats_chance"] or same < 2 * row["chance_recall"]:
        return ""
    if recall is not None and same < 0.8 * recall:
        return ""
    return (
        f" They tell which nodes fail, hardly when: at random times on the same nodes they would "
        f"catch {percent(same)}."
    )


def _few(summary: Summary) -> str:
    if summary["failures"] >= FEW:
        return ""
    return f" With {counted(summary['failures'], 'failure')} little can be said."


def main_row(summary: Summary) -> Summary:
    """Return the horizon that the verdict is about."""
    rows = summary["horizons"]
    found: Summary = next(r for r in rows if r["horizon_s"] == summary["main_horizon_s"])
    return found


def within(summary: Summary) -> str:
    """Return the horizon that the verdict is about as text."""
    return horizon_text(summary["main_horizon_s"])


def rate(value: object) -> str:
    """Return a rate with three digits that count."""
    plain = number(value)
    return NOTHING if plain is None else f"{plain:.3g}"


def interval(ci: Any) -> str:
    """Return an interval of shares as per cent."""
    if ci is None:
        return NOTHING
    return f"{100 * ci[0]:.1f} to {100 * ci[1]:.1f}"


def headline(summary: Summary) -> str:
    """Return what was judged."""
    window = summary["window"]
    dates = f" ({window['from']} to {window['to']})" if window["from"] else ""
    machine = summary["alarms_about_the_machine"]
    whole = f" ({count(machine)} about the whole machine)"
    return (
        f"{counted(summary['alarms'], 'alarm')}{whole if machine else ''} and "
        f"{counted(summary['failures'], 'failure')} of {counted(summary['nodes'], 'node')} in "
        f"{window['days']:,.1f} days{dates}"
    )


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row for each horizon; see `HEADS`."""
    return [
        (
            horizon_text(row["horizon_s"]),
            percent(row["recall"]),
            interval(row["recall_ci"]),
            percent(row["chance_recall"]),
            percent(row["precision"]),
            interval(row["precision_ci"]),
            rate(row["false_alarms_per_node_day"]),
            duration(row["lead_time_s"]["median"]),
        )
        for row in summary["horizons"]
    ]


def count_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return what became of the alarms at each horizon; see `COUNT_HEADS`."""
    names = ("right", "repeats", "false_alarms", "echoes", "false_on_nodes_that_never_fail",
             "late", "undecided")  # fmt: skip
    return [
        (horizon_text(row["horizon_s"]), *(count(row[name]) for name in names))
        for row in summary["horizons"]
    ]


def score_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return what only alarms of high scores are worth; see `SCORE_HEADS`."""
    return [
        (
            rate(row["score"]),
            count(row["alarms"]),
            percent(row["recall"]),
            percent(row["chance_recall"]),
            percent(row["precision"]),
            rate(row["false_alarms_per_node_day"]),
            duration(row["lead_time_median_s"]),
        )
        for row in summary["by_score"]
    ]


def notes(summary: Summary) -> list[str]:
    """Return what must be known to read the numbers."""
    found = []
    outside = summary["alarms_outside_the_window"]
    if outside:
        found.append(f"{counted(outside, 'alarm')} outside the window left out")
    before = summary["failures_before_the_window"]
    if before:
        found.append(
            f"the window begins at the first alarm: {counted(before, 'failure')} before it left "
            "out (--from says otherwise)"
        )
    row = main_row(summary)
    weeks = row["recall_ci_weeks"] if summary["failures"] else None
    if weeks is not None:
        decides = deciding(row) == "recall_ci_weeks"
        found.append(
            f"drawing whole weeks again gives {interval(weeks)} % for the verdict's recall"
            + (", and decides: failures of a week may hang together" if decides else "")
        )
    found += [f"{one['text']} ({one['action']})" for one in summary["remarks"]]
    return found
