"""A queue's futures as a report: by job, by hour, and by what a drain would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.study_folder import StudyFolder, table_of
from forestall.core.show.blocks import Figure, Prose, Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact
from forestall.core.show.quantities import counted, duration
from forestall.core.show.report import Report, Section
from forestall.site.futures.pictures import SHOWN, draw_drain, draw_free, draw_queue
from forestall.site.futures.study import HOUR, SOON, QueueFutures

if TYPE_CHECKING:
    import polars as pl

TITLE: Final = "The queue's next day"
FIGURES: Final = ("queue", "free_nodes", "drain")
AFTER: Final = (0, 1, 2, 4, 8, 12, 16, 20, 24)
"""Hours in the table of free nodes."""
WIDE_NAME: Final = 12
RESTS: Final = (
    "Each future draws a run time for every job from similar past jobs, given how long it has "
    "already run, and simulates the scheduler forward. The scheduler plans with time limits."
)


def report(found: QueueFutures) -> Report:
    """Return the futures as a report."""
    summary = found.summary
    sections = [jobs_section(found), free_section(found)]
    if found.drain is not None:
        sections.insert(0, drain_section(found))
    return Report(
        title=TITLE,
        headline=headline(found),
        sections=tuple(sections),
        verdict=tuple(part.lead for part in sections),
        top=tuple(fact for part in sections for fact in part.facts[:1]),
        sources=found.site.sources,
        cleaning=found.site.cleanings(),
        parameters={name: value for name, value in summary["parameters"].items() if value},
        versions=summary["versions"],
    )


def headline(found: QueueFutures) -> str:
    """Say of what and when the futures are."""
    snapshot = found.queue.snapshot
    used = int(snapshot.size[snapshot.running].sum())
    running, waiting = int(snapshot.running.sum()), int((~snapshot.running).sum())
    more = "at least " * found.more_wait
    return (
        f"At {found.told(found.now)}: {counted(running, 'running jobs')} on {used:,} of "
        f"{sum(snapshot.nodes):,} nodes, {more}{waiting:,} waiting. {len(found.futures)} futures, "
        f"run times learned from {counted(found.queue.learned, 'jobs')}."
    )


def hours(time: int | None, now: int) -> str:
    """Return how many hours from now a time lies, with a digit; a dash for never."""
    return "-" if time is None else f"{max(time - now, 0) / HOUR:,.1f}"


def jobs_section(found: QueueFutures) -> Section:
    """Return when waiting jobs start and end."""
    waiting = [one for one in found.jobs if one["state"] == "waiting"]
    starts = [one["start_50"] - found.now for one in waiting if one["start_50"] is not None]
    more = "at least " * found.more_wait
    if not waiting:
        lead = "No job waits."
    elif not starts:
        lead = "No waiting job starts in at least half of the futures."
    else:
        within = sum(one <= 24 * HOUR for one in starts)
        lead = (
            f"{within:,} of {more}{counted(len(waiting), 'waiting jobs')} "
            f"{'starts' if len(waiting) == 1 else 'start'} within a day in at least half of the "
            f"futures; the median start is in {duration(float(np.median(starts)))}."
        )
    label = f"Jobs that wait{', at least' * found.more_wait}"
    facts = [Fact("waiting", label, len(waiting), "jobs")]
    if starts:
        middle = float(np.median(starts))
        facts.insert(0, Fact("start_in", "Median start of waiting jobs", middle, "seconds"))
    figures = (Figure("queue", lambda: draw_queue(found), alt_of(waiting), lead),)
    return Section(
        key="queue",
        title="When waiting jobs start and end",
        lead=lead,
        facts=tuple(facts),
        body=(
            jobs_table(waiting, found.now),
            *(Prose(one, soft=True) for one in found.assumed),
            *(figures if starts else ()),
        ),
        notes=(RESTS, *found.queue.remarks),
    )


def alt_of(waiting: Sequence[dict[str, Any]]) -> str:
    """Say what the picture of the queue is."""
    return (
        f"Two bands for each of the first {min(len(waiting), SHOWN)} waiting jobs: when it "
        "starts (blue) and ends (orange) in 10 to 90 % of futures, with the medians. Bands end "
        "at the right edge."
    )


def jobs_table(rows: Sequence[dict[str, Any]], now: int) -> Table:
    """Return waiting jobs in order of priority, in hours from now."""
    heads = ("Job", "User", "Nodes", "Limit h", "Starts 10 %", "50 %", "90 %", "Ends 10 %", "50 %",
             "90 %")  # fmt: skip
    cells = [
        (
            str(one["job"]),
            clean(one["user"])[:WIDE_NAME],
            f"{one['nodes']:,}",
            f"{one['limit_s'] / HOUR:,.1f}",
            *(hours(one[f"{what}_{level}"], now) for what in ("start", "end")
              for level in (10, 50, 90)),
        )
        for one in rows
    ]  # fmt: skip
    return Table.of("jobs", heads, cells, rows, right=range(2, len(heads)),
                    caption="In hours from now, in order of priority",
                    note="- : not reached in that share of the futures.")  # fmt: skip


def alone(found: QueueFutures) -> str:
    """Say whether somebody arrives."""
    return ", if no job arrives" if found.futures.arrivals is None else ""


def free_section(found: QueueFutures) -> Section:
    """Return when nodes are free."""
    rows, nodes = found.free, sum(found.queue.snapshot.nodes)
    half = next((one["hours"] for one in rows if one["free_50"] * 2 >= nodes), None)
    when = "now" if half == 0 else f"in {half} h"
    if half is None:
        lead = f"At no hour of the next day are half of the {nodes:,} nodes free"
    else:
        lead = f"Half of the {nodes:,} nodes are free {when}"
    lead = f"{lead}, in half of the futures{alone(found)}."
    picked = [rows[hour] for hour in AFTER]
    cells = [
        (str(one["hours"]), found.told(one["time"]),
         *(f"{one[f'free_{level}']:,}" for level in (10, 50, 90)))
        for one in picked
    ]  # fmt: skip
    heads = ("In h", "At", "Free nodes 10 %", "50 %", "90 %")
    table = Table.of("free_nodes", heads, cells, picked, right=(0, 2, 3, 4))
    figure = Figure(
        "free_nodes", lambda: draw_free(found),
        "Free nodes over the next 24 hours: the median, the band of 10 to 90 % of futures, and the "
        "median with the drain where one was asked about.",
        lead,
    )  # fmt: skip
    free = Fact("free_now", "Nodes free after the jobs that can start", rows[0]["free_50"], "nodes")
    return Section("free", "When nodes are free", lead, (free,), (table, figure))


def drain_section(found: QueueFutures) -> Section:
    """Return what a drain would do to whom."""
    assert found.drain is not None
    drain, now = found.drain, found.now
    moved = [one for one in found.jobs if abs(one["end_later_s"]) >= SOON]
    later = sorted(
        (one for one in moved if one["end_later_s"] > 0), key=lambda one: -one["end_later_s"]
    )
    sooner = len(moved) - len(later)
    node_hours = sum(one["end_later_s"] * one["nodes"] for one in later) / HOUR
    what = (
        f"A drain of {counted(drain.nodes, 'nodes')} from {found.told(drain.start)} for "
        f"{duration(drain.until - drain.start)}"
    )
    if later:
        worst = later[0]
        lead = (
            f"{what} delays {counted(len(later), 'jobs')} of {len(found.jobs):,}, most of all "
            f"job {worst['job']} of {clean(worst['user']) or 'an unknown user'}: by a median of "
            f"{duration(worst['end_later_s'])}."
        )
    else:
        lead = f"{what} delays no job by a median of a minute or more."
    heads = ("Job", "User", "Nodes", "Ends in h", "With the drain", "Later h")
    cells = [
        (
            str(one["job"]),
            clean(one["user"])[:WIDE_NAME],
            f"{one['nodes']:,}",
            hours(one["end_50"], now),
            hours(one["end_50"] + one["end_later_s"], now),
            f"{one['end_later_s'] / HOUR:,.1f}",
        )
        for one in later
    ]
    table = Table.of("delayed", heads, cells, later, right=range(2, 6), ranked=True,
                     caption="Medians, in hours from now")  # fmt: skip
    facts = (
        Fact("delayed", "Jobs that end later", len(later), "jobs"),
        Fact("delay_node_hours", "Delay, in node-hours", node_hours, "node_hours"),
        Fact("sooner", "Jobs that end sooner", sooner, "jobs"),
    )
    body = (table, by_user(later), drain_figure(found, later)) if later else ()
    note = "A drain takes nodes as jobs leave them; running jobs keep theirs."
    return Section("drain", "Jobs that the drain delays", lead, facts, body, notes=(note,))


def by_user(later: Sequence[dict[str, Any]]) -> Table:
    """Return delays by user."""
    users = dict.fromkeys(one["user"] for one in later)
    rows = []
    for user in users:
        own = [one["end_later_s"] for one in later if one["user"] == user]
        rows.append({"user": user, "jobs": len(own), "median_later_s": float(np.median(own)),
                     "most_later_s": max(own)})  # fmt: skip
    rows.sort(key=lambda one: -one["most_later_s"])
    cells = [
        (clean(one["user"])[:WIDE_NAME] or "-", str(one["jobs"]),
         f"{one['median_later_s'] / HOUR:,.1f}", f"{one['most_later_s'] / HOUR:,.1f}")
        for one in rows
    ]  # fmt: skip
    heads = ("User", "Jobs delayed", "Median later h", "Most later h")
    return Table.of("delayed_users", heads, cells, rows, ranked=True)


def drain_figure(found: QueueFutures, later: Sequence[dict[str, Any]]) -> Figure:
    """Return the delays as a picture."""

    text = "The median end of each delayed job with and without the drain, which is shaded."
    return Figure("drain", lambda: draw_drain(found, later), text)


def tables(found: QueueFutures) -> list[pl.DataFrame | None]:
    """Return the tables of the folder."""
    return [table_of(found.jobs), table_of(found.free)]


FOLDER: Final = StudyFolder[QueueFutures](
    keys=("waiting_jobs", "free_nodes", "learned_from_jobs"),
    tables=("jobs.csv", "free_nodes.csv"),
    figures=FIGURES,
    report=report,
    rows=tables,
)
