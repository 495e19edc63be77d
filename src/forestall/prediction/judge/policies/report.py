"""What policies against leaking memory are worth: the verdict in words, the report, the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.study_folder import StudyFolder, made_with, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Figure, Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import NOTHING, Summary, count, figure, percent
from forestall.prediction.assess.figures_benefit import plot_actions

if TYPE_CHECKING:
    import polars as pl

    from forestall.prediction.judge.policies.judge import PolicyStudy

FIGURES: Final = ("actions",)


def best_of(summary: Summary) -> Mapping[str, Any]:
    """Return the policy of the highest net benefit, of several the one that acts least."""
    rows: list[Mapping[str, Any]] = summary["policies"]
    return max(rows, key=lambda one: (one["net_per_month_node_hours"], -one["actions"]))


def verdict(summary: Summary) -> str:
    """Return in a few sentences which policy is worth most, and what static counting says of it."""
    best = best_of(summary)
    lost = figure(summary["lost_alone_per_month_node_hours"], 3)
    alone = f"Left alone, a machine loses {lost} node-hours a month to memory"
    if best["net_per_month_node_hours"] <= 0:
        return f"{alone}. No policy here saves more than it costs."
    low, high = best["net_per_month_ci_node_hours"]
    sure = "" if low is None else f" ({figure(low, 3)} to {figure(high, 3)})"
    if low is not None and low <= 0:
        sure += ", not clearly more than nothing"
    text = (
        f"{alone}. Most is saved by {best['policy']}: {percent(best['saved_share'])} of that, "
        f"{figure(best['net_per_month_node_hours'], 3)} node-hours a month net{sure}, with "
        f"{count(best['actions'])} actions."
    )
    acting = [one for one in summary["policies"] if one["threshold"] is not None]
    if not acting:
        return text
    one = max(acting, key=lambda row: row["net_per_month_node_hours"])
    return (
        f"{text} Counted statically, {one['policy']} takes {count(one['static_actions'])} actions "
        f"for {percent(one['static_saved_share'])}; played, {count(one['actions'])} for "
        f"{percent(one['saved_share'])}."
    )


def _between(ends: Sequence[float | None]) -> str:
    low, high = ends
    return NOTHING if low is None or high is None else f"{figure(low, 3)} to {figure(high, 3)}"


def _or_nothing(show: Any) -> Any:
    return lambda value: NOTHING if value is None else show(value)


PLAYED: Final[tuple[Column, ...]] = (
    ("Policy", "policy", str),
    ("Killed", "killed", lambda value: figure(value, 3)),
    ("Saved", "saved_share", _or_nothing(percent)),
    ("Waited", "waited_per_month_node_hours", lambda v: figure(v, 3)),
    ("Actions", "actions", count),
    ("Net", "net_per_month_node_hours", lambda value: figure(value, 3)),
    ("Interval", "net_per_month_ci_node_hours", _between),
    ("Static actions", "static_actions", _or_nothing(count)),
    ("Saved", "static_saved_share", _or_nothing(percent)),
)

NOTES: Final = (
    "Killed: jobs of a machine killed by lack of memory. Saved: share of the node-hours lost "
    "when nothing is done. Waited: node-hours a month of jobs that start later than without "
    "actions. Net: node-hours a month saved, minus those waited and {action_cost} for each "
    "action. Static: the same counted in the record of the machine left alone, in which a "
    "leaking node asks for an action again and again.",
    "The remaining jobs die on nodes that lost memory to the job just before, with no idle "
    "period between.",
)


def report_of(found: PolicyStudy) -> Report:
    """Return what policies are worth as a report."""
    summary = found.summary
    table = Table.by("policies", PLAYED, summary["policies"], right=(1, 2, 3, 4, 5, 7, 8))
    drawn = Figure(
        FIGURES[0],
        lambda: plot_actions(summary["policies"]),
        "Share of the loss that is saved over the number of actions, played and counted.",
        "Filled: played. Hollow: counted in the record of the machine left alone.",
    )
    body: tuple[Block, ...] = (table, drawn, *(Prose(line, soft=True) for line in NOTES))
    told = (
        f"{summary['machines']} generated machines of {count(summary['nodes'])} nodes, "
        f"{summary['days']:g} days; memory kills {figure(summary['killed_alone'], 3)} jobs of each "
        "where nothing is done"
    )
    return Report(
        "What to do about memory that leaks",
        told,
        (Section("policies", "Played in a closed loop", body=body),),
        verdict=(summary["verdict"],),
        closing=(closing.made_with(made_with(summary)),),
    )


def tables(found: PolicyStudy) -> list[pl.DataFrame | None]:
    """Return the tables of the folder: policies, and each policy on each machine."""
    flat = [
        {**one, "net_per_month_low": one["net_per_month_ci_node_hours"][0],
         "net_per_month_high": one["net_per_month_ci_node_hours"][1]}
        for one in found.summary["policies"]
    ]  # fmt: skip
    for one in flat:
        del one["net_per_month_ci_node_hours"]
    runs = [
        {"machine": k, "seed": found.asked.seed + k, "policy": policy.name, **account._asdict()}
        for policy, accounts in zip(found.policies, found.accounts, strict=True)
        for k, account in enumerate(accounts)
    ]
    return [table_of(flat), table_of(runs)]


FOLDER: Final = StudyFolder(
    keys=("machines", "policies", "killed_alone"),
    tables=("policies.csv", "runs.csv"),
    figures=FIGURES,
    report=report_of,
    rows=tables,
)
