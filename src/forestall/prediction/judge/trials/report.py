"""Trials with controls in words: the plan, what came of it, and the folders of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import StudyFolder, made_with, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import NOTHING, Summary, count, counted, figure, percent
from forestall.core.show.words import chance as p_text

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.prediction.judge.trials.judge import Trial, TrialPlan

MEASURED: Final = {"failures": "failed jobs", "lost": "node-hours of failed jobs"}
SHOWN: Final = 12
SPILLED: Final = (
    "Each node of a failed job gets an equal part of the failure. A job on nodes of both arms "
    "counts in both, so with wide jobs the effect looks smaller than it is.",
)  # fmt: skip


def _days(value: float | None) -> str:
    return "no time is enough" if value is None else f"{figure(max(value, 1.0), 2)} days"


def plan_verdict(summary: Summary) -> str:
    """Return how long to act on how many nodes."""
    pairs, days = counted(summary["pairs"], "pair"), summary["days_needed"]
    what = f"{percent(summary['effect'])} less {MEASURED[summary['measure']]}"
    aim = f"{what}, in {percent(summary['power'])} of such trials"
    if not summary["per_node_day"]:
        return f"No trial can be planned: the records have no {MEASURED[summary['measure']]}."
    if days is None:
        return (
            f"{pairs} of nodes cannot show {aim}, however long they run: nodes differ too much "
            "in ways that this record does not show. Use more pairs, or a longer record."
        )
    return (
        f"Act on {counted(summary['pairs'], 'node')} and leave as many alone for {_days(days)}: "
        f"that shows {aim}."
    )


def trial_verdict(summary: Summary) -> str:
    """Return what acting brought."""
    one = next(row for row in summary["results"] if row["measure"] == summary["measure"])
    what = MEASURED[one["measure"]]
    if one["effect"] is None:
        return f"Not shown that acting helps: the control nodes had no {what}."
    low, high = one["effect_ci"]
    told = (
        f"{_less(one['effect'], f' {what}')} on nodes acted on "
        f"({_less(low)} to {_less(high)}; p {p_text(one['p_value'])})"
    )
    if low > 0:
        return f"Acting helps: {told}."
    if high < 0:
        return f"Acting harms: {told}."
    return f"Not shown that acting helps: {told}."


def _less(share: float, what: str = "") -> str:
    return f"{percent(abs(share))} {'less' if share >= 0 else 'more'}{what}"


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else ''}{percent(abs(share))}"


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= SHOWN else f" and {count(len(names) - SHOWN)} more"
    return ", ".join(names[:SHOWN]) + more


PAIRS: Final[tuple[Column, ...]] = (("Pairs", "pairs", count), ("Days needed", "days", _days))
EFFECTS: Final[tuple[Column, ...]] = (
    ("Days", "days", count),
    (
        "Least effect shown",
        "effect",
        lambda value: NOTHING if value is None or value > 1 else percent(value),
    ),
)


def _facts(summary: Summary) -> str:
    return (
        f"{counted(summary['nodes'], 'node')}, {summary['window']['days']:g} days; "
        f"{count(summary['jobs_failed'])} of {count(summary['jobs_counted'])} jobs that count "
        f"failed"
    )


def plan_report(made: TrialPlan) -> Report:
    """Return the plan as a report."""
    summary = made.summary
    body: tuple[Block, ...] = (
        Table.by("days_by_pairs", PAIRS, summary["days_by_pairs"], right=(0, 1)),
        Table.by("least_effect_by_days", EFFECTS, summary["least_effect_by_days"], right=(0, 1)),
        Prose(f"Act on: {_some(summary['act_on'])}."),
        Prose(f"Leave alone: {_some(summary['control'])}."),
        Prose("Nodes that failed alike are paired, and a coin says which of a pair is acted on. "
              "{out} writes all of them as arms.csv.", soft=True),
        *(Prose(line, soft=True) for line in SPILLED),
    )  # fmt: skip
    return Report(
        "A trial with controls",
        _facts(summary),
        (Section("plan", "Which nodes, and how long", body=body),),
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made_with(summary)),),
    )


def _ends(row: Any) -> str:
    ends = row["effect_ci"]
    return NOTHING if ends is None else f"{_signed(ends[0])} to {_signed(ends[1])}"


RESULTS: Final[tuple[Column, ...]] = (
    ("A node and day", "measure", MEASURED.__getitem__),
    ("Acted on", "acted_per_node_day", lambda value: figure(value, 3)),
    ("Left alone", "control_per_node_day", lambda value: figure(value, 3)),
    ("Less", "effect", lambda value: NOTHING if value is None else _signed(value)),
    ("Interval", _ends),
    ("p", "p_value", p_text),
)


def report_of(made: Trial) -> Report:
    """Return what came of a trial as a report."""
    summary = made.summary
    units = summary["results"][0]["units"]
    how = f"{counted(units, 'pair')} of nodes" if summary["results"][0]["paired"] else (
        f"{count(summary['acted_nodes'])} nodes acted on, {count(summary['control_nodes'])} left "
        "alone, not paired"
    )  # fmt: skip
    body: tuple[Block, ...] = (
        Table.by("results", RESULTS, summary["results"], right=(1, 2, 3, 5)),
        *(Prose(line, soft=True) for line in SPILLED),
    )
    return Report(
        "What acting brought",
        f"{how}; {summary['window']['days']:g} days; {count(summary['jobs_failed'])} of "
        f"{count(summary['jobs_counted'])} jobs that count failed",
        (Section("trial", "Nodes acted on beside their controls", body=body),),
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made_with(summary)),),
    )


def _plan_tables(made: TrialPlan) -> list[pl.DataFrame | None]:
    return [
        pl.DataFrame(made.arms_table(), strict=False),
        table_of(made.summary["days_by_pairs"]),
        table_of(made.summary["least_effect_by_days"]),
    ]


def _tables(made: Trial) -> list[pl.DataFrame | None]:
    return [
        pl.DataFrame({
            "node": made.arms.node,
            "arm": made.arms.arm,
            "pair": made.arms.pair,
            **{f"{name}_per_day": values for name, values in made.means.items()},
        })
    ]  # fmt: skip


PLAN_FOLDER: Final = StudyFolder(
    keys=("days_needed", "pairs", "act_on"),
    tables=("arms.csv", "days.csv", "effects.csv"),
    figures=(),
    report=plan_report,
    rows=_plan_tables,
)
FOLDER: Final = StudyFolder(
    keys=("acted_nodes", "control_nodes", "results"),
    tables=("nodes.csv",),
    figures=(),
    report=report_of,
    rows=_tables,
)
