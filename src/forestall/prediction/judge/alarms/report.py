"""What alarms are worth: the verdict in words, the report, and the folder with its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import StudyFolder, end, made_with, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.facts import Fact, flat
from forestall.core.show.report import Report, Section
from forestall.core.show.words import (
    NOTHING,
    Summary,
    count,
    counted,
    duration,
    figure,
    number,
    percent,
)
from forestall.prediction.assess.figures_benefit import horizon_text, plot_lead_times, plot_recall

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.prediction.judge.alarms.judge import AlarmStudy


FEW: Final = 10
FIGURES: Final = ("recall", "lead_times")
RULE: Final = (
    "An alarm is right if a failure of its node follows within the horizon, but no sooner than "
    "the shortest useful lead time; a failure is caught if such an alarm preceded it. Recall "
    "by chance is the share of node time at which a failure would have been caught."
)


def verdict(summary: Summary) -> str:
    """Return in a sentence or two whether the alarms are of use."""
    if not summary["failures"]:
        return "No failures in the window: the alarms cannot be judged."
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
    return f"{text}.{_which_nodes(row)}{_pays(summary)}{_few(summary)}"


def _pays(summary: Summary) -> str:
    """Say which answer to the alarms pays, where jobs are known."""
    if "costs" not in summary:
        return ""
    best = max(summary["costs"], key=lambda one: one["net_node_hours"])
    if best["net_node_hours"] <= 0:
        return " Answering them does not pay: it costs more than it saves."
    return (
        f" {ANSWERS[best['response']]} at each saves {figure(best['net_node_hours'], 3)} "
        f"node-hours net of the {figure(best['lost_node_hours'], 3)} that failures destroy."
    )


def _ends(row: Summary) -> str:
    """Return the interval of recall that the verdict goes by."""
    name = deciding(row)
    if name is None:
        return ""
    low, high = row[name]
    weeks = ", bootstrap over weeks" if name == "recall_ci_weeks" else ""
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
        " They show which nodes fail, but hardly when: at random times on the same nodes they "
        f"would catch {percent(same)}."
    )


def _few(summary: Summary) -> str:
    if summary["failures"] >= FEW:
        return ""
    return f" {counted(summary['failures'], 'failure')} are too few for a firm conclusion."


def main_row(summary: Summary) -> Summary:
    """Return the horizon that the verdict is about."""
    rows = summary["horizons"]
    found: Summary = next(r for r in rows if r["horizon_s"] == summary["main_horizon_s"])
    return found


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


def report_of(found: AlarmStudy) -> Report:
    """Return what the alarms are worth as a report."""
    summary = found.summary
    sections = (
        _recall(found),
        _leads(found),
        _fates(summary),
        _scores(summary),
        _worth(summary),
        closing.odd_lines(notes(summary)),
    )
    return Report(
        "How good these alarms are",
        headline(summary),
        sections,
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made_with(summary)),),
    )


HORIZONS: Final[tuple[Column, ...]] = (
    ("Horizon", "horizon_s", horizon_text),
    ("Recall", "recall", percent),
    ("95 %", "recall_ci", interval),
    ("By chance", "chance_recall", percent),
    ("Precision", "precision", percent),
    ("95 %", "precision_ci", interval),
    ("False/node-day", "false_alarms_per_node_day", rate),
    ("Lead (median)", lambda row: duration(row["lead_time_s"]["median"])),
)


ANSWERS: Final = {"checkpoint": "Saving a checkpoint", "move": "Moving the job"}
COSTS: Final[tuple[Column, ...]] = (
    ("Answer", "response", ANSWERS.__getitem__),
    ("Actions", "actions", count),
    ("Nodes each", "nodes_per_action", rate),
    ("Jobs helped", lambda row: f"{count(row['jobs_helped'])} of {count(row['jobs_struck'])}"),
    ("Saved", "saved_node_hours", figure),
    ("Actions cost", "spent_node_hours", figure),
    ("Nodes empty", "empty_node_hours", figure),
    ("Net, node-hours", "net_node_hours", figure),
)
ANSWERED: Final = (
    "Each alarm is answered by the jobs on its node. With a checkpoint a job that a failure hits "
    "loses the time since its last one on all of its nodes; moved in time it loses nothing, and "
    "the node stands empty until the failure or the horizon's end. {action_time} and {action_cost} "
    "are what an action costs."
)
SCORES: Final[tuple[Column, ...]] = (
    ("Score from", "score", rate),
    ("Alarms", "alarms", count),
    ("Recall", "recall", percent),
    ("By chance", "chance_recall", percent),
    ("Precision", "precision", percent),
    ("False/node-day", "false_alarms_per_node_day", rate),
    ("Lead (median)", "lead_time_median_s", duration),
)


FATES: Final[tuple[Column, ...]] = (
    ("Horizon", "horizon_s", horizon_text),
    ("Right", "right", count),
    ("Repeats", "repeats", count),
    ("False", "false_alarms", count),
    ("After a failure", "echoes", count),
    ("On good nodes", "false_on_nodes_that_never_fail", count),
    ("Late", "late", count),
    ("Undecided", "undecided", count),
)


def _worth(summary: Summary) -> Section:
    """Return what answering the alarms costs and saves, where jobs are known."""
    if "costs" not in summary:
        return Section("costs", "")
    table = Table.by("costs", COSTS, summary["costs"], right=range(1, 8))
    return Section("costs", "Does answering them pay?", body=(table,), notes=(ANSWERED,))


def _recall(found: AlarmStudy) -> Section:
    """Return recall beside chance and precision, at each horizon."""
    row = main_row(found.summary)
    within = horizon_text(row["horizon_s"])
    table = Table.by("horizons", HORIZONS, found.summary["horizons"], right=range(8))
    drawn = Figure(
        FIGURES[0],
        lambda: plot_recall(found.judged),
        "Recall and precision of the alarms at each horizon, with recall by chance.",
        f"Within {within}, {percent(row['recall'])} of the failures were announced; as much alarm "
        f"time at random would catch {percent(row['chance_recall'])}, the black line.",
    )
    return Section(
        "recall", "Recall and precision", facts=_facts(row), body=(table, drawn), notes=(RULE,)
    )


def _facts(row: Summary) -> tuple[Fact, ...]:
    """Return the numbers that matter most, at the main horizon."""
    within = horizon_text(row["horizon_s"])
    recall, chance, precision = row["recall"], row["chance_recall"], row["precision"]
    false, lead = row["false_alarms_per_node_day"], row["lead_time_s"]["median"]
    told = (
        ("recall", f"Recall, {within}", recall, "ratio",
         f"of failures; 95 %: {interval(row['recall_ci'])}", percent(recall)),
        ("chance_recall", "By chance", chance, "ratio", "share of node time under alarm",
         percent(chance)),
        ("precision", "Precision", precision, "ratio", "of the alarms were right",
         percent(precision)),
        ("false_alarms_per_node_day", "False alarms", false, "number", "a node and day",
         rate(false)),
        ("lead_time", "Lead time", lead, "seconds", "median of the last alarms", duration(lead)),
    )  # fmt: skip
    return tuple(Fact.measured(*one, labels={"within": within}) for one in told)


def _leads(found: AlarmStudy) -> Section:
    """Return how early the warnings came."""
    row = main_row(found.summary)
    figure = Figure(
        FIGURES[1],
        lambda: plot_lead_times(found.judged),
        "Share of failures whose last alarm came at least this long before them.",
        f"Half of the warnings within {horizon_text(row['horizon_s'])} came at least "
        f"{duration(row['lead_time_s']['median'])} ahead.",
    )
    return Section("lead_times", "How early", body=(figure,))


def _fates(summary: Summary) -> Section:
    """Return what became of the alarms at each horizon."""
    named = [column[1] for column in FATES if isinstance(column[1], str)]
    records = [{name: row[name] for name in named} for row in summary["horizons"]]
    table = Table.by("fates", FATES, records, right=range(8))
    return Section("fates", "How the alarms turned out", body=(table,))


def _scores(summary: Summary) -> Section:
    """Return what only the alarms of high scores are worth."""
    within = horizon_text(summary["main_horizon_s"])
    table = Table.by("by_score", SCORES, summary["by_score"], right=range(7))
    return Section("by_score", f"Only alarms of high scores, within {within}", body=(table,))


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
            "out ({from} says otherwise)"
        )
    row = main_row(summary)
    weeks = row["recall_ci_weeks"] if summary["failures"] else None
    if weeks is not None:
        decides = deciding(row) == "recall_ci_weeks"
        found.append(
            f"a bootstrap over weeks gives {interval(weeks)} % for the verdict's recall"
            + (", which decides: failures of a week may be correlated" if decides else "")
        )
    found += [f"{one['text']} ({one['action']})" for one in summary["remarks"]]
    return found


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
