"""The tables of the report of a run of virtual machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import polars as pl

from forestall.core.figures.series import amounts
from forestall.core.kit.measure import whole
from forestall.core.kit.report import hours_of
from forestall.core.kit.tables import MOST, Column, bar_of, tabled, worst_of
from forestall.core.show import words as plain
from forestall.core.show.blocks import Block, Prose, Table
from forestall.core.show.style import BLUE, GREEN, GREY, PURPLE, VERMILLION, YELLOW
from forestall.core.show.words import Summary
from forestall.machines.report import counts, words
from forestall.machines.report.told import ToldRun

TASK_ENDS: Final = (
    ("completed", "Completed by their deadlines", GREEN),
    ("late", "Completed late", YELLOW),
    ("aborted", "Aborted by a failure", VERMILLION),
    ("stopped", "Stopped at the deadline", PURPLE),
    ("dropped", "Never placed", GREY),
)
WHY: Final = {
    "unforeseen": "The failure was not foreseen, or was predicted for a later time",
    "placed": "Foreseen; the task was placed there anyway",
    "stayed": "Foreseen; the task was already there and stayed",
}
MOVE_ENDS: Final = (
    ("arrived", "arrived at their targets"),
    ("target failed", "broken: the target failed"),
    ("source failed", "broken: the source failed"),
    ("ended first", "overtaken: the task ended first"),
    ("deadline first", "overtaken: the deadline came first"),
)
ACCURACY: Final = (
    "Accuracy: 1 minus the mean error, as a share of the time between two failures of a node. "
    "From the predicted time to the failure the node is avoided: this is the cost of early "
    "predictions."
)
ALL_THE_SAME: Final = (
    "A task is placed on a node past its predicted time if no other node has room (or the strategy "
    "ignores predictions); a task stays if it has nowhere to go, no time left, or does not "
    "migrate."
)
QUARTERED: Final = (
    "Nodes in quarters by failures. Work is in processor-hours; moved off and aborted count "
    "tasks. A low share in the first quarter shows that failures guided the choice of nodes."
)
Entry = tuple[str, str, Any, Callable[[Any], str], str]
"""A row on one measure: its key with its unit, its name, its value, how that is written, and what
stands beside it."""


def entries(key: str, rows: list[Entry]) -> Table:
    """Return a table of measures."""
    return Table.of(
        key,
        ("", "", "Share"),
        [(name, tell(value), beside) for _, name, value, tell, beside in rows],
        [{"what": what, "value": value} for what, _, value, _, _ in rows],
    )


def task_ends(tasks: pl.DataFrame) -> tuple[Block, ...]:
    """Return the bar and the table of how tasks ended, with the work that they did."""
    if tasks.is_empty():
        return ()
    told = tasks.group_by("outcome").agg(
        n=pl.len(), done=pl.col("done").cast(pl.Float64).sum(),
        lost=pl.col("lost").cast(pl.Float64).sum(),
    )  # fmt: skip
    found = {row[0]: row[1:] for row in told.iter_rows()}
    known = {slug for slug, _, _ in TASK_ENDS}
    other = [(slug, slug.capitalize(), BLUE) for slug in sorted(found) if slug not in known]
    named = [one for one in (*TASK_ENDS, *other) if one[0] in found]
    names = {slug: name for slug, name, _ in named}
    columns: list[Column] = [
        ("outcome", "Tasks", lambda slug: names[slug]),
        ("count", "Count", plain.count),
        ("share", "Share", plain.percent),
        ("done_processor_s", "Work done", words.processor_hours),
        ("lost_processor_s", "Work lost", words.processor_hours),
    ]
    share = {slug: n / len(tasks) for slug, (n, _, _) in found.items()}
    values = [(slug, found[slug][0], share[slug], *found[slug][1:]) for slug in names]
    return (
        bar_of((name, share[slug], colour) for slug, name, colour in named),
        tabled("tasks", columns, values, colours=tuple(colour for *_, colour in named)),
    )


def foresight(run: ToldRun) -> tuple[Block, ...]:
    """Return how well failures were foreseen, and why they hit tasks."""
    if run.failures.is_empty() or run.jobs.is_empty():
        return ()
    start, end = counts.span_of(run.runs, run.jobs)
    told = counts.foresight(run.failures, start, end, run.nodes)
    never = told.failures - told.early - told.late
    rows: list[Entry] = [("failures", "Failures", told.failures, plain.count, "")]
    rows += [
        (what, name, number, plain.count, plain.percent(number / told.failures))
        for what, name, number in (
            ("early", "Foreseen: predicted for before the failure", told.early),
            ("late", "Predicted for after the failure", told.late),
            ("unforeseen", "Not foreseen", never),
        )
    ]
    if told.gap is not None:
        name = "Median time from the predicted time to the failure"
        rows.append(("gap_median_s", name, told.gap, plain.duration, ""))
    if told.accuracy is not None:
        rows.append(_share("accuracy", "Achieved accuracy", told.accuracy))
    if told.early:
        name = "Node time between predicted times and failures"
        rows.append(_share("doubtful_share", name, told.doubtful))
    return entries("foresight", rows), Prose(ACCURACY, soft=True), *why_aborted(run)


def _share(what: str, name: str, share: float) -> Entry:
    return what, name, share, lambda _: "", plain.percent(share)


def why_aborted(run: ToldRun) -> tuple[Block, ...]:
    """Return why tasks were on a node when it failed."""
    told = counts.why_aborted(run.runs, run.failures)
    found = {row[0]: row[1:] for row in told.iter_rows()}
    if not found:
        return ()
    every = sum(n for n, _ in found.values())
    columns: list[Column] = [
        ("why", "Why tasks were on a node when it failed", lambda slug: WHY[slug]),
        ("tasks", "Tasks", plain.count),
        ("share", "Share", plain.percent),
        ("lost_processor_s", "Processor-hours lost", hours_of),
    ]
    values = [
        (slug, found[slug][0], found[slug][0] / every, found[slug][1])
        for slug in WHY if slug in found
    ]  # fmt: skip
    return tabled("why_aborted", columns, values), Prose(ALL_THE_SAME, soft=True)


def moves(run: ToldRun) -> tuple[Block, ...]:
    """Return what became of migrations, what they bought and what they cost."""
    if run.migrations.is_empty():
        return (Prose(words.on_moves(run.summary)),)
    summary, count = run.summary, len(run.migrations)
    found = dict(run.migrations["outcome"].value_counts().iter_rows())
    nodes = run.migrations.select("time", "source").unique()
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    tasks = whole(summary, "tasks_count")
    share = plain.percent(saved / tasks) + " of all tasks" if tasks else ""
    rows: list[Entry] = [
        ("migrations", "Migrations begun", count, plain.count, ""),
        *(
            (slug.replace(" ", "_"), f"\N{EN DASH} {name}", found[slug], plain.count,
             plain.percent(found[slug] / count))
            for slug, name in MOVE_ENDS if slug in found
        ),
        ("nodes_left", "Times that tasks left a node", len(nodes), plain.count, ""),
        ("tasks_saved", "Gain: tasks saved", saved, plain.count, share),
        ("moves_in_vain", "Moves in vain", vain, plain.count, plain.percent(vain / count)),
    ]  # fmt: skip
    still = plain.number(summary.get("migration_time"))
    if still is not None:
        each = f"{plain.duration(still / count)} a migration"
        rows.append(("standstill_s", "Cost: time tasks stood still", still, plain.duration, each))
    held = plain.number(summary.get("migration_work"))
    if held is not None:
        name = "Cost: processor time held meanwhile"
        rows.append(("held_processor_s", name, held, words.processor_hours, ""))
    return (entries("moves", rows),)


def quarters(run: ToldRun) -> tuple[Block, ...]:
    """Return the nodes in quarters by failures: what was done and lost there."""
    if run.runs.is_empty() or run.failures.is_empty():
        return ()
    found = counts.quarters(run.runs, run.tasks, run.failures, run.nodes)
    useful = sum(one.useful for one in found) or 1.0
    columns: list[Column] = [
        ("with", "Nodes with", str.capitalize),
        ("nodes", "Nodes", plain.count),
        ("failures", "Failures", plain.count),
        ("useful_processor_s", "Useful work", hours_of),
        ("share", "Share", plain.percent),
        ("moved_off", "Moved off", plain.count),
        ("aborted", "Aborted", plain.count),
        ("lost_processor_s", "Lost", hours_of),
    ]
    values = [
        (one.name, one.nodes, one.failures, one.useful, one.useful / useful, one.left, one.aborted,
         one.lost)
        for one in found
    ]  # fmt: skip
    return (tabled("quarters", columns, values, caption=QUARTERED),)


def jobs_that_lost(run: ToldRun) -> tuple[Block, ...]:
    """Return the jobs that lost most work to failures."""
    worst, caption = worst_of(run.jobs, "lost work to failures")
    columns: list[Column] = [
        ("job", "Job", str),
        ("submitted_after_s", "Submitted after", plain.duration),
        ("tasks", "Tasks", plain.count),
        ("tasks_completed", "Completed", plain.count),
        ("lost_processor_s", "Work lost", words.processor_hours),
        ("outcome", "The job", str),
    ]
    values = [
        (row["job"], row["submit"] - run.start, row["size"], row["tasks_completed"],
         float(row["lost"]), row["outcome"])
        for row in worst.iter_rows(named=True)
    ]  # fmt: skip
    return (tabled("lost_most", columns, values, caption=caption),) if values else ()


def failures_that_cost(run: ToldRun) -> tuple[Block, ...]:
    """Return the failures that took most work."""
    worst = counts.with_predictions(run.failures).filter(pl.col("tasks") > 0)
    if worst.is_empty():
        return ()
    first = worst.sort("lost", "time", "node", descending=[True, False, False]).head(MOST)
    columns: list[Column] = [
        ("failed_after_s", "Failed after", plain.duration),
        ("node", "Node", str),
        ("kind", "Kind", lambda kind: kind or plain.NOTHING),
        (("time", "expected"), "Predicted", lambda times: seen(*times)),
        ("tasks", "Tasks aborted", plain.count),
        ("lost_processor_s", "Work lost", words.processor_hours),
    ]
    values = [
        (row["time"] - run.start, row["node"], row["kind"], (row["time"], row["expected"]),
         row["tasks"], lost)
        for row, lost in zip(first.iter_rows(named=True), amounts(first, "lost"), strict=True)
    ]  # fmt: skip
    caption = f"{plain.counted(len(worst), 'failure')} hit tasks."
    return (tabled("cost_most", columns, values, caption=caption),)


def seen(time: int, expected: int | None) -> str:
    """Return how a failure was foreseen, in words."""
    if expected is None:
        return "no"
    if expected > time:
        return f"{plain.duration(expected - time)} too late"
    return f"{plain.duration(time - expected)} before"


def waiting(summary: Summary) -> tuple[Block, ...]:
    """Return how long jobs waited for their first start."""
    wait = summary.get("wait") or {}
    if plain.number(wait.get("median")) is None:
        return ()
    columns: list[Column] = [
        ("what", "", lambda _: "Wait until the first start"),
        ("mean_s", "Mean", plain.duration),
        ("median_s", "Median", plain.duration),
        ("p95_s", "95th percentile", plain.duration),
    ]
    dropped = whole(summary, "jobs_dropped")
    caption = f"Placed jobs only; {dropped:,} jobs were dropped." if dropped else ""
    row = ("wait", *(wait.get(name) for name in ("mean", "median", "p95")))
    return (tabled("waiting", columns, [row], caption=caption),)
