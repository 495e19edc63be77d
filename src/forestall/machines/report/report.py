"""The report of one run of virtual machines: what became of jobs, and why.

Each section is a function of the run and an entry in `SECTIONS`; the renderers of
`forestall.core.show` make text, page and JSON of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import polars as pl

from forestall.core.kit import shares as shares_
from forestall.core.kit.measure import whole
from forestall.core.kit.report import hours_of, measured, measures_by, part, run_report
from forestall.core.kit.tables import fates_of, fates_table, parts_table
from forestall.core.show import words as plain
from forestall.core.show.blocks import Figure
from forestall.core.show.report import Report, Section
from forestall.core.show.style import GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, YELLOW
from forestall.machines.report import counts, digest, figures, tables, words
from forestall.machines.report.told import ToldRun
from forestall.machines.simulation.parameters import VirtualParameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.core.show.facts import Fact

PROCESSOR_TIME: Final = (
    ("useful", "Useful: work of tasks that finished", GREEN),
    ("lost", "Lost to failures", VERMILLION),
    ("stopped", "Work of other tasks that did not finish", PURPLE),
    ("paused", "Held without progress: moves, checkpoints", SKY),
    ("down", "Down", ORANGE),
    ("idle", "Idle", GREY),
)
JOB_ENDS: Final = (
    ("completed", "Completed by their deadlines", GREEN),
    ("late", "Completed late", YELLOW),
    ("failure", "Uncompleted: lost tasks to failures", VERMILLION),
    ("deadline", "Uncompleted: reached the deadline", PURPLE),
    ("dropped", "Dropped: waited until the deadline", GREY),
)
HOW: Final = (
    "A job is completed if all of its tasks finish their work by the job's deadline: its "
    "submission plus its requested time or, if the log has none, plus its run time times slack. A "
    "task that a failure aborts for good, or that its deadline stops, leaves its job uncompleted; "
    "the job's other tasks run on, and their work counts.",
    "The first interval (Wilson, 95 %) assumes independent jobs. But jobs that wait for the same "
    "nodes, and tasks on one node, share their fate. So if the log is long enough, a second "
    "interval resamples days instead of jobs (or tasks); trust that one. A run is one draw: "
    "forestall sweep with several seeds shows what other draws of predictions would have given.",
    "A migration saves a task if the task was completed after leaving a node that failed before "
    "the task would have ended there. A move is in vain if the node did not fail before that. "
    "Other moves were needed, but the task was not completed, or had to move more than once.",
    "In a map a node is a row. The stronger its color, the more of its processors virtual machines "
    "hold; dark gray is down. An orange triangle is the predicted time of a failure, and the "
    "dotted line runs from there to the failure: meanwhile the node is avoided. A green line is a "
    "migration, with a dot at its target.",
)


def report(run: ToldRun) -> Report:
    """Return the report of a run."""
    return run_report(
        run.summary,
        VirtualParameters,
        how=HOW,
        title="How jobs in virtual machines fared",
        headline=headline(run),
        sections=tuple(section(run) for section in SECTIONS),
        verdict=verdict(run),
        top=top(run),
        cleaning=run.cleaning,
    )


def headline(run: ToldRun) -> str:
    """Return the line below the title."""
    told = digest.headline(run.summary, told=False)
    span = f"{plain.duration(run.summary.get('makespan'))} from first submission to last end"
    return " · ".join([*told[:2], span, *told[2:]])


def verdict(run: ToldRun) -> tuple[str, ...]:
    """Return the run in plain paragraphs."""
    ends = fates_of(run.fates, counts.FATES)
    failed = pl.col("fate") == "failure"
    return (
        words.on_completion(run.summary, shares_.shared_fate(run.jobs, "completed"), ends),
        words.on_failures(run.summary, shares_.shared_fate(run.fates, failed), ends),
        words.on_moves(run.summary),
    )


def top(run: ToldRun) -> tuple[Fact, ...]:
    """Return the facts that matter most."""
    summary, jobs = run.summary, run.jobs
    count, done = whole(summary, "jobs_count"), whole(summary, "jobs_completed")
    tasks, ended = whole(summary, "tasks_count"), whole(summary, "tasks_completed")
    useful = plain.number((summary.get("processor_seconds") or {}).get("useful"))
    lost = plain.number(summary.get("lost_work"))
    hours = plain.NOTHING if lost is None else hours_of(lost)
    share = f", {plain.percent(lost / useful)} of the useful work" if useful and lost else ""
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    wait = summary.get("wait") or {}
    return (
        measured("jobs_completed", "Jobs completed", summary.get("job_completion_rate"), "ratio",
                 f"by their deadlines: {done:,} of {count:,}; "
                 + shares_.sureness(done, count, shares_.shared_fate(jobs, "completed")),
                 plain.percent),
        measured("tasks_completed", "Tasks completed", summary.get("task_completion_rate"), "ratio",
                 f"by their deadlines: {ended:,} of {tasks:,}; "
                 + shares_.sureness(ended, tasks, *counts.tasks_shared(jobs)), plain.percent),
        measured("utilization", "Utilization", summary.get("utilization"), "ratio",
                 "of processor time was work of tasks that finished", plain.percent),
        measured("lost_work", "Lost work", None if lost is None else lost / 3600,
                 "processor_hours", f"processor-hours lost to failures{share}", lambda _: hours),
        measured("migrations", "Migrations", summary.get("migrations"), "count",
                 f"{plain.counted(saved, 'task')} saved; {vain:,} moves in vain",
                 plain.count),
        measured("wait_median", "Median wait", wait.get("median"), "seconds",
                 f"mean {plain.duration(wait.get('mean'))}, 95 % within "
                 f"{plain.duration(wait.get('p95'))}", plain.duration),
    )  # fmt: skip


# Sections -----------------------------------------------------------------------------------------


def ends(run: ToldRun) -> Section:
    """Return how jobs and tasks ended, and how that depends on the size of jobs."""
    figure = run.drawn(
        "sizes",
        lambda: figures.completion_by_size(run.jobs),
        "Share of jobs completed by their deadlines, by number of tasks.",
    )
    jobs = fates_table(run.fates, JOB_ENDS, always=("completed", "failure"))
    return Section(
        "ends", "How jobs and tasks ended", body=(*jobs, *tables.task_ends(run.tasks), *figure)
    )


def processor_time(run: ToldRun) -> Section:
    """Return what became of all processor-seconds."""
    seconds = run.summary.get("processor_seconds") or {}
    amount = ("processor_s", "Processor time", words.processor_hours)
    total = plain.number(seconds.get("total"))
    body = parts_table("processor_time", amount, PROCESSOR_TIME, seconds, total)
    return Section("processor_time", "Where the processor time went", body=body)


def capacity(run: ToldRun) -> Section:
    """Return processors and queue over time."""
    figure = run.drawn(
        "capacity",
        lambda: figures.capacity_over_time(
            run.runs, run.failures, run.nodes, run.processors, run.jobs
        ),
        "Share of processors held by virtual machines, share of processors down, and waiting "
        "tasks over time.",
        "Tasks wait until their job is placed, or dropped at its deadline.",
    )
    return Section("capacity", "Capacity and queue over time", body=figure)


def maps(run: ToldRun) -> tuple[Figure, ...]:
    """Return the maps of nodes over the run, and over a part of it."""
    if run.failures.is_empty() and run.migrations.is_empty():
        return ()
    given = (run.runs, run.migrations, run.failures, run.nodes)

    def overview() -> Drawn:
        return figures.migration_overview(
            *given, processors_per_node=run.processors, origin=run.start
        )

    def part() -> Drawn:
        return figures.migration_map(
            *given, *(run.gantt_span or ()), processors_per_node=run.processors, origin=run.start
        )

    return (
        *run.drawn(
            "overview",
            overview,
            "Map of nodes over the whole run: use, failures, and when tasks left nodes.",
            "The whole run. Larger dots: more tasks left the node."
            if len(run.migrations)
            else "The whole run.",
        ),
        *run.drawn(
            "map",
            part,
            "Map of nodes over time: use, failures, predicted times, and each migration as a line "
            "from its source to its target.",
            ""
            if run.gantt_span
            else "The part of the run with most departures and failures that hit tasks.",
        ),
    )


SECTIONS: Final[tuple[Callable[[ToldRun], Section], ...]] = (
    measures_by(digest.measures),
    ends,
    processor_time,
    capacity,
    part("foresight", "Were failures foreseen?", tables.foresight),
    part("migrations", "What migrations gained", lambda run: (*tables.moves(run), *maps(run))),
    part("quarters", "Reliable and unreliable nodes", tables.quarters),
    part("lost_most", "Jobs that lost most", tables.jobs_that_lost),
    part("cost_most", "Failures that cost most", tables.failures_that_cost),
    part("waiting", "Waiting", lambda run: tables.waiting(run.summary)),
)
"""In the order of the report; what has nothing to show is left out."""
