"""The report of one run of virtual machines as one HTML page: what became of jobs, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from forestall._lazy import lazily
from forestall.app.kit import measure as measure_
from forestall.app.kit import series
from forestall.app.kit import shares as shares_
from forestall.app.kit.report import NO_FIGURES, left_out, parameter_table, show, versions
from forestall.app.virtual import counts, words
from forestall.app.virtual import tables as parts
from forestall.show import words as plain
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    cards,
    html,
    page,
    pairs,
    paragraph,
    section,
    write_page,
)
from forestall.show.style import has_matplotlib
from forestall.show.words import Summary
from forestall.simulate.virtual.parameters import VirtualParameters

with lazily():
    from forestall.app.virtual import figures as drawing

Tables = Mapping[str, pl.DataFrame]


def write_virtual_report(
    path: str | Path,
    *,
    summary: Summary,
    jobs: pl.DataFrame,
    tasks: pl.DataFrame,
    runs: pl.DataFrame,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    gantt_span: tuple[int, int] | None = None,
) -> Path:
    """Write the report of one run of virtual machines and return where it is.

    Parameters
    ----------
    path : the HTML file; it appears whole or not at all
    summary : what `summary.json` holds
    jobs, tasks, runs, migrations, failures : the tables of the CSV files of these names
    gantt_span : window [start, end) of the map of migrations, s; an eventful one without it

    Without Matplotlib the figures are left out and the page says how to get them.
    """
    given = {
        "jobs": jobs, "tasks": tasks, "runs": runs, "migrations": migrations, "failures": failures
    }  # fmt: skip
    tables = {name: counts.typed(table) for name, table in given.items()}
    told = counts.with_fates(tables["jobs"], tables["runs"])
    drawn = figures(summary, tables, gantt_span)
    text = page(
        "What became of jobs in virtual machines",
        lead(summary),
        verdict(summary, told),
        cards(headlines(summary, told)),
        EMPTY if has_matplotlib() else paragraph(NO_FIGURES, "soft"),
        section(
            "How jobs and tasks ended",
            parts.job_table(told),
            parts.task_table(tables["tasks"]),
            drawn.get("sizes", EMPTY),
        ),
        section("Where the processor time went", parts.processor_time(summary)),
        section("Capacity and queue over time", drawn.get("capacity", EMPTY)),
        section("Were failures foreseen?", parts.foresight_tables(summary, tables)),
        section(
            "What migrations bought",
            parts.moves_table(summary, tables["migrations"]),
            drawn.get("overview", EMPTY),
            drawn.get("map", EMPTY),
        ),
        section("Reliable and unreliable nodes", parts.quarters_table(summary, tables)),
        section("Jobs that lost most", parts.jobs_that_lost(told)),
        section("Failures that cost most", parts.failures_that_cost(tables)),
        section("Waiting", parts.waiting(summary)),
        section("What was left out", left_out(summary)),
        section("How to read this page", *(paragraph(text) for text in HOW)),
        section(
            "Parameters",
            parameter_table(VirtualParameters, summary.get("parameters") or {}),
        ),
        section("Made with", pairs(versions(summary), ("What", "Version"))),
    )
    return write_page(path, text)


HOW = (
    "A job is completed where all of its tasks did all of their work by the job's deadline: its "
    "submission and the time that it asked for or, where the log does not tell, its run time times "
    "slack. A task that a failure aborts for good, or that its deadline stops, leaves its job "
    "uncompleted; the job's other tasks run on, and their work counts.",
    "An interval (Wilson's, 95 %) is that of a share of jobs whose fates have nothing to do with "
    "one another. Jobs that wait for the same nodes, and tasks on one node, share theirs; so "
    "where the log is long enough a second interval counts days in place of jobs (or tasks), and "
    "is the one to trust. A run is one draw: forestall sweep with several seeds tells what "
    "another draw of predictions would have given.",
    "A task is saved by a migration where it was completed after leaving a node that failed before "
    "the task would have ended there. A move is in vain where the node did not fail before that. "
    "Other moves were needed, but the task was not completed, or had to move more than once.",
    "In the maps a node is a row. The darker it is, the more of its processors are held by virtual "
    "machines; dark grey is down. An orange triangle is the time that was predicted for a failure, "
    "and the dotted line goes from there until it came: as long as it lasts, the node is avoided. "
    "A green line is a task on the move, with a dot at its target.",
)


def lead(summary: Summary) -> str:
    """Return the line below the title."""
    told = words.headline(summary, told=False)
    span = f"{plain.duration(summary.get('makespan'))} from first submission to last end"
    return " · ".join([*told[:2], span, *told[2:]])


def verdict(summary: Summary, jobs: pl.DataFrame) -> Html:
    """Return the run in plain paragraphs; jobs are those with their fates."""
    ends = parts.ends_of(jobs)
    failed = pl.col("fate") == "failure"
    told = (
        words.on_completion(summary, shares_.shared_fate(jobs, "completed"), ends),
        words.on_failures(summary, shares_.shared_fate(jobs, failed), ends),
        words.on_moves(summary),
    )
    return Html(
        '<div class="verdict">' + "".join(f"<p>{html(text)}</p>" for text in told) + "</div>"
    )


def headlines(summary: Summary, jobs: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return the headline measures as (name, value, what it means)."""
    count, done = measure_.whole(summary, "jobs_count"), measure_.whole(summary, "jobs_completed")
    tasks, ended = (
        measure_.whole(summary, "tasks_count"),
        measure_.whole(summary, "tasks_completed"),
    )
    useful = plain.number((summary.get("processor_seconds") or {}).get("useful"))
    lost = plain.number(summary.get("lost_work"))
    share = f", {plain.percent(lost / useful)} of the useful work" if useful and lost else ""
    saved, vain = measure_.whole(summary, "tasks_saved"), measure_.whole(summary, "moves_in_vain")
    wait = summary.get("wait") or {}
    return [
        ("Jobs completed", plain.percent(summary.get("job_completion_rate")),
         f"by their deadlines: {done:,} of {count:,}; "
         + shares_.sureness(done, count, shares_.shared_fate(jobs, "completed"))),
        ("Tasks completed", plain.percent(summary.get("task_completion_rate")),
         f"by their deadlines: {ended:,} of {tasks:,}; "
         + shares_.sureness(ended, tasks, *counts.tasks_shared(jobs))),
        ("Utilization", plain.percent(summary.get("utilization")),
         "of processor time went into tasks that ended"),
        ("Lost work", plain.NOTHING if lost is None else parts.hours(lost),
         f"processor-hours lost to failures{share}"),
        ("Migrations", plain.count(summary.get("migrations")),
         f"{plain.counted(saved, 'task')} saved by them; {vain:,} moves in vain"),
        ("Median wait", plain.duration(wait.get("median")),
         f"mean {plain.duration(wait.get('mean'))}, 95 % within {plain.duration(wait.get('p95'))}"),
    ]  # fmt: skip


def figures(
    summary: Summary, tables: Tables, span: tuple[int, int] | None = None
) -> dict[str, Html]:
    """Return the figures that this run has, by name; none without Matplotlib or without jobs."""
    jobs, runs, failures = (tables[name] for name in ("jobs", "runs", "failures"))
    if not has_matplotlib() or jobs.is_empty() or runs.is_empty():
        return {}

    nodes, per_node = parts.machine(summary)
    start = int(series.column(jobs, "submit").min())
    maps = {"processors_per_node": per_node, "origin": start}
    moves = tables["migrations"]
    drawn = {
        "sizes": show(
            drawing.completion_by_size(jobs),
            "Share of jobs completed by their deadlines over their number of tasks.",
        ),
        "capacity": show(
            drawing.capacity_over_time(runs, failures, nodes, per_node, jobs),
            "Share of processors held by virtual machines and of those down, and tasks that wait, "
            "over time.",
            "Tasks wait until their jobs are placed, or dropped at their deadlines.",
        ),
    }
    if len(failures) or len(moves):
        drawn["overview"] = show(
            drawing.migration_overview(runs, moves, failures, nodes, **maps),
            "Map of nodes over the whole run: use, failures, and when tasks left nodes.",
            "The whole run. Larger dots: more tasks left the node."
            if len(moves)
            else "The whole run.",
        )
        drawn["map"] = show(
            drawing.migration_map(runs, moves, failures, nodes, *(span or ()), **maps),
            "Map of nodes over time: use, failures, predicted times, and each migration as a line "
            "from its source to its target.",
            ""
            if span
            else "The part of the run in which nodes were left, or failures hit tasks, most often.",
        )
    return drawn
