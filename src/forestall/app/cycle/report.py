"""The report of one run of cycle sharing as one HTML page: what became of guests, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from forestall._lazy import lazily
from forestall.app.cycle import counts, words
from forestall.app.cycle import tables as parts
from forestall.app.kit.report import NO_FIGURES, left_out, parameter_table, show, versions
from forestall.app.kit.shares import shared_fate, sureness
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
from forestall.simulate.cycle.parameters import CycleParameters

with lazily():
    from forestall.app.cycle import figures as drawing

Tables = Mapping[str, pl.DataFrame]
FAILED = pl.col("failures").cast(pl.Int64) > 0


def write_cycle_report(
    path: str | Path,
    *,
    summary: Summary,
    jobs: pl.DataFrame,
    stays: pl.DataFrame,
    hosts: pl.DataFrame,
    availability: pl.DataFrame,
    map_span: tuple[int, int] | None = None,
) -> Path:
    """Write the report of one run of cycle sharing and return where it is.

    Parameters
    ----------
    path : the HTML file; it appears whole or not at all
    summary : what `summary.json` holds; `origin`, the Unix time of time 0, tells hours of the day
    jobs, stays, hosts, availability : the tables of the CSV files of these names
    map_span : window [start, end) of the map of hosts, s; an eventful one without it

    Without Matplotlib the figures are left out and the page says how to get them.
    """
    given = {"jobs": jobs, "stays": stays, "hosts": hosts, "availability": availability}
    tables = {name: counts.typed(table) for name, table in given.items()}
    told = counts.with_fates(tables["jobs"])
    tables["hosts"] = parts.with_left(tables["hosts"], tables["stays"])
    span = counts.span_of(tables["jobs"], tables["availability"], tables["stays"])
    time = counts.host_hours(tables["availability"], tables["stays"], *span)
    lasting = counts.lasting(tables["availability"])
    lengths = counts.by_length(tables["jobs"])
    drawn = figures(summary, tables, map_span)
    text = page(
        "What became of guest jobs on shared hosts",
        lead(summary, tables, span),
        verdict(summary, tables, told, time, lasting),
        cards([*headlines(summary, told, time), *promise_card(tables["stays"])]),
        EMPTY if has_matplotlib() else paragraph(NO_FIGURES, "soft"),
        section("How jobs ended", parts.fate_table(told)),
        section("Makespan", drawn.get("makespan", EMPTY), parts.length_table(lengths)),
        section(
            "Why stays ended", parts.end_table(tables["stays"]), parts.failure_table(tables["jobs"])
        ),
        section(
            "What was promised and what was kept",
            drawn.get("promises", EMPTY),
            parts.promise_table(tables["stays"]),
        ),
        section(
            "Hosts over time",
            parts.time_table(time, lasting),
            drawn.get("overview", EMPTY),
            drawn.get("map", EMPTY),
        ),
        section("When hosts are available", drawn.get("hours", EMPTY)),
        section("Best and worst hosts", parts.host_table(tables["hosts"])),
        section("Jobs that lost most", parts.jobs_that_lost(tables["jobs"])),
        section("Waiting", parts.wait_table(tables["jobs"])),
        section("What was left out", left_out(summary)),
        section("How to read this page", *(paragraph(text) for text in HOW)),
        section(
            "Parameters",
            parameter_table(CycleParameters, summary.get("parameters") or {}),
        ),
        section("Made with", pairs(versions(summary), ("What", "Version"))),
    )
    return write_page(path, text)


HOW = (
    "A guest runs on a host while the host is in S1 or S2. Where the owner's load stays high (S3), "
    "memory runs out (S4) or the host goes away (S5), the guest ends there, and its job starts "
    "again on another host: from scratch, or from its last checkpoint. Makespan is the time from "
    "submission to completion, all of that included; a job that finds no free host, twice in a row "
    "unless the parameters say otherwise, is given up as unscheduled.",
    "Run times are those of a host of speed 1 that nobody else uses; so makespan over run time "
    "(stretch) is above 1 even where nothing goes wrong, as owners take their share, and below 1 "
    "where hosts are faster.",
    "Work is counted in hours of such a host. Lost work is what had to be done again; harvested is "
    "the useful work as a share of what all hosts could have done for guests in the run.",
    "Falcon foresees for each host how likely it is to stay until the job is done there. What "
    "it foresees is promised after a correction by its own record: of all stays that had ended "
    "before, how often such a foresight came true. No choice depends on the correction.",
    "Jobs of one day meet the same owners, so where the log is long enough intervals draw days in "
    "place of jobs; those are the ones to trust. A run is one draw of its jobs: forestall sweep "
    "with several seeds tells what another draw would have given.",
)


def lead(summary: Summary, tables: Tables, span: tuple[int, int]) -> str:
    """Return the line below the title."""
    jobs, hosts = len(tables["jobs"]), len(tables["hosts"]) or words.hosts_of(summary)
    told = dict(summary) | {"jobs_simulated": jobs, "hosts_count": hosts}
    parts = words.headline(told)
    return " · ".join([*parts[:2], plain.duration(span[1] - span[0]), *parts[2:]])


def verdict(
    summary: Summary,
    tables: Tables,
    told: pl.DataFrame,
    time: Mapping[str, float],
    lasting: list[counts.Lasting],
) -> Html:
    """Return the run in plain paragraphs; `told` are the jobs with their fates."""
    done = told.filter(pl.col("outcome") == "completed")
    stretch = pl.col("makespan") / pl.col("runtime")
    ends = {row[0]: row[1] for row in counts.stay_ends(tables["stays"]).iter_rows()}
    lost = float(counts.reals(told, "lost").sum())
    texts = (
        words.on_completion(
            parts.fates_of(told),
            (
                shared_fate(told, pl.col("outcome") == "completed"),
                shared_fate(told, pl.col("outcome") == "unscheduled"),
            ),
            counts.mean_of(done, pl.col("makespan")),
            counts.mean_of(done, stretch),
        ),
        words.on_failures(
            told.filter(FAILED).height,
            len(told),
            shared_fate(told, FAILED),
            counts.mean_of(told, pl.col("failures")),
            ends,
            lost,
            useful_of(summary, told),
        ),
        on_promises(tables["stays"]),
        words.on_hosts(time, lasting, summary.get("harvested")),
    )
    return Html(
        '<div class="verdict">' + "".join(f"<p>{html(t)}</p>" for t in texts if t) + "</div>"
    )


def on_promises(stays: pl.DataFrame) -> str:
    """Return what was said of stays, and what came of it, in words."""
    column = parts.said_in(stays)
    ended = stays.filter(pl.col("ended") != "unfinished").with_columns(submit="start")
    return words.on_promises(
        counts.promised(stays, column),
        counts.brier(stays, column),
        shared_fate(ended, pl.col("ended") == "completed"),
        "promised" if column == "promise" else "foresaw",
    )


def useful_of(summary: Summary, jobs: pl.DataFrame) -> float:
    """Return the useful work of a run, s: as the summary says, else run times of jobs completed."""
    given = plain.number(summary.get("useful_work"))
    done = jobs.filter(pl.col("outcome") == "completed")
    return float(counts.reals(done, "runtime").sum()) if given is None else given


def promise_card(stays: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return the headline measure of what was said of stays; none where nothing was."""
    found = counts.promised(stays, parts.said_in(stays))
    count = sum(one.stays for one in found)
    if not count:
        return []
    said = sum(one.stays * one.said for one in found) / count
    kept = sum(one.stays * one.kept for one in found) / count
    meaning = f"of stays ended their jobs; {plain.percent(said)} had been said on average"
    return [("Promises kept", plain.percent(kept), meaning)]


def headlines(
    summary: Summary, told: pl.DataFrame, time: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """Return the headline measures as (name, value, what it means)."""
    whole = sum(time.values())
    free = (time["guest"] + time["S1"] + time["S2"]) / whole if whole else None
    count = len(told)
    ends = parts.fates_of(told)
    done = ends["straight"] + ends["after"]
    made = told.filter(pl.col("outcome") == "completed")
    span = made["makespan"].cast(pl.Float64)
    makespan = counts.mean_of(made, pl.col("makespan"))
    failures = counts.mean_of(told, pl.col("failures"))
    lost, useful = float(counts.reals(told, "lost").sum()), useful_of(summary, told)
    waits = (told["start"].cast(pl.Float64) - told["submit"].cast(pl.Float64)).drop_nulls()
    never = ends["unscheduled"]
    shared = shared_fate(told, pl.col("fate") == "unscheduled")
    return [
        ("Jobs completed", plain.percent(done / count if count else None),
         f"{done:,} of {count:,}; "
         + sureness(done, count, shared_fate(told, pl.col("outcome") == "completed"))),
        ("Makespan", words.lasted(makespan.value if makespan else None),
         f"on average; median {plain.duration(span.median())}, 95 % within "
         f"{plain.duration(span.quantile(0.95, 'linear'))}"),
        ("Failures per job", words.plain(failures.value if failures else None),
         f"{plain.percent(told.filter(FAILED).height / count if count else None)} of jobs lost a "
         "host at least once"),
        ("Unscheduled", plain.percent(never / count if count else None),
         f"{plain.counted(never, 'job')} found no host; " + sureness(never, count, shared)),
        ("Lost work", parts.hours(lost),
         "host-hours" + (f", {plain.percent(lost / useful)} of the useful work" if useful else "")),
        ("Median wait", plain.duration(waits.median()),
         f"mean {plain.duration(waits.mean())}, 95 % within "
         f"{plain.duration(waits.quantile(0.95, 'linear'))}"),
        ("Available", plain.percent(free), "of the hosts' time, in S1 or S2"),
        ("Harvested", plain.percent(summary.get("harvested")),
         "of what hosts could have done became useful work"),
    ]  # fmt: skip


def figures(
    summary: Summary, tables: Tables, span: tuple[int, int] | None = None
) -> dict[str, Html]:
    """Return the figures that this run has, by name; none without Matplotlib or without jobs."""
    jobs, stays, hosts = (tables[name] for name in ("jobs", "stays", "hosts"))
    availability = tables["availability"]
    if not has_matplotlib() or jobs.is_empty() or availability.is_empty():
        return {}

    drawn = {}
    if (jobs["outcome"] == "completed").any():
        drawn["makespan"] = show(
            drawing.makespans(jobs),
            "Makespan of jobs completed against their run time, and the share of jobs by makespan "
            "over run time.",
        )
    if counts.promised(stays, "chance"):
        drawn["promises"] = show(
            drawing.promises_kept(stays),
            "Share of stays that ended with their jobs done, over the probability said.",
            "Bars: 95 % intervals. On the line what was said came true.",
        )
    drawn["overview"] = show(
        drawing.states_over_time(availability, stays, jobs, max(len(hosts), 1)),
        "Share of hosts in each state and with a guest, over the whole run.",
        "The whole run; states S3, S4 and S5 end guests.",
    )
    first, last = counts.span_of(jobs, availability, stays)
    shown = drawing.part_shown(stays, first, last, drawing.width_of(len(hosts)))
    shown = shown if span is None else "chosen"
    drawn["map"] = show(
        drawing.host_map(availability, stays, jobs, hosts, *(span or ())),
        "Map of hosts over time: the state of each, stays of guests, and where hosts ended them.",
        words.map_caption(len(hosts), drawing.FEWER_HOSTS, shown=shown),
    )
    drawn["hours"] = show(
        drawing.hours_of_day(availability, stays, max(len(hosts), 1), counts.origin_of(summary)),
        "Share of hosts in each state by hour of the day, on weekdays and on weekends.",
        "Hours on the hosts' own clock. Bars: 95 % interval of the share that is available, days "
        "being drawn.",
    )
    return drawn
