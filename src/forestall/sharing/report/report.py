"""The report of one run of cycle sharing: what became of guests, and why.

Each section is a function of the run and an entry in `SECTIONS`; the renderers of
`forestall.core.show` make text, page and JSON of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import polars as pl

from forestall.core.kit.report import hours_of, measured, measures_by, part, run_report
from forestall.core.kit.shares import shared_fate, sureness
from forestall.core.kit.tables import fates_of, fates_table
from forestall.core.show import words as plain
from forestall.core.show.blocks import Figure
from forestall.core.show.report import Report, Section
from forestall.sharing.report import counts, digest, figures, tables, words
from forestall.sharing.report.told import ToldRun
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.vaults.api.vaulted import sections_of, vault_section

if TYPE_CHECKING:
    from forestall.core.show.facts import Fact

FAILED: Final = pl.col("failures").cast(pl.Int64) > 0
HOW: Final = (
    "A guest runs on a host while the host is in S1 or S2. If the owner's load stays high (S3), "
    "memory runs out (S4) or the host goes away (S5), the guest ends there, and its job starts "
    "again on another host: from scratch, or from its last checkpoint. Makespan is the time from "
    "submission to completion, all of that included. A job that finds no free host, twice in a row "
    "unless the parameters say otherwise, is given up as unscheduled.",
    "Run times are those of an unshared host of speed 1. So makespan over run time (stretch) is "
    "above 1 even if nothing goes wrong, because owners take their share, and below 1 on faster "
    "hosts.",
    "Work is in hours of such a host. Lost work had to be repeated; harvested is the "
    "useful work as a share of what all hosts could have done for guests during the run.",
    "Falcon predicts for each host how likely it is to stay until the job is done there. The "
    "promise is this probability, corrected by its own record: how often such predictions came "
    "true in all stays that had already ended. No choice depends on the correction.",
    "Jobs of one day meet the same owners, so if the log is long enough, intervals resample "
    "days instead of jobs; trust those. A run is one draw of its jobs: forestall sweep with "
    "several seeds shows what other draws would have given.",
)


def report(run: ToldRun) -> Report:
    """Return the report of a run."""
    return run_report(
        run.summary,
        CycleParameters,
        how=HOW,
        title="How guest jobs fared on shared hosts",
        headline=headline(run),
        sections=sections_of(run, SECTIONS),
        verdict=verdict(run),
        top=(*top(run), *_promises_kept(run)),
        cleaning=run.cleaning,
    )


def headline(run: ToldRun) -> str:
    """Return the line below the title."""
    hosts = len(run.hosts) or digest.hosts_of(run.summary)
    told = dict(run.summary) | {"jobs_simulated": len(run.jobs), "hosts_count": hosts}
    parts = digest.headline(told)
    return " · ".join([*parts[:2], plain.duration(run.span[1] - run.span[0]), *parts[2:]])


def verdict(run: ToldRun) -> tuple[str, ...]:
    """Return the run in plain paragraphs."""
    jobs = run.fates
    return (
        words.on_completion(
            fates_of(jobs, counts.FATES),
            (
                shared_fate(jobs, pl.col("outcome") == "completed"),
                shared_fate(jobs, pl.col("outcome") == "unscheduled"),
            ),
            counts.mean_of(run.done, pl.col("makespan")),
            counts.mean_of(run.done, pl.col("makespan") / pl.col("runtime")),
        ),
        words.on_failures(
            jobs.filter(FAILED).height,
            len(jobs),
            shared_fate(jobs, FAILED),
            counts.mean_of(jobs, pl.col("failures")),
            {row[0]: row[1] for row in counts.stay_ends(run.stays).iter_rows()},
            run.lost,
            run.useful,
        ),
        on_promises(run),
        words.on_hosts(run.time, run.lasting, run.summary.get("harvested")),
    )


def on_promises(run: ToldRun) -> str:
    """Return what was said of stays, and what came of it, in words."""
    ended = run.stays.filter(pl.col("ended") != "unfinished").with_columns(submit="start")
    return words.on_promises(
        run.promised,
        counts.brier(run.stays, run.said_in),
        shared_fate(ended, pl.col("ended") == "completed"),
        "promised" if run.said_in == "promise" else "foresaw",
    )


def _promises_kept(run: ToldRun) -> tuple[Fact, ...]:
    """Return how much of what was said of stays came true; nothing where nothing was."""
    found = run.promised
    count = sum(one.stays for one in found)
    if not count:
        return ()
    said = sum(one.stays * one.said for one in found) / count
    kept = sum(one.stays * one.kept for one in found) / count
    meaning = f"of stays ended their jobs; {plain.percent(said)} was stated on average"
    return (measured("promises_kept", "Promises kept", kept, "ratio", meaning, plain.percent),)


def top(run: ToldRun) -> tuple[Fact, ...]:
    """Return the facts that matter most."""
    jobs, count = run.fates, len(run.fates)
    whole = sum(run.time.values())
    free = (run.time["guest"] + run.time["S1"] + run.time["S2"]) / whole if whole else None
    ends = fates_of(jobs, counts.FATES)
    done, never = ends["straight"] + ends["after"], ends["unscheduled"]
    span = run.done["makespan"].cast(pl.Float64)
    makespan = counts.mean_of(run.done, pl.col("makespan"))
    failures = counts.mean_of(jobs, pl.col("failures"))
    hit = plain.percent(jobs.filter(FAILED).height / count if count else None)
    share = f", {plain.percent(run.lost / run.useful)} of the useful work" if run.useful else ""
    shared = shared_fate(jobs, pl.col("fate") == "unscheduled")
    return (
        measured("jobs_completed", "Jobs completed", done / count if count else None, "ratio",
                 f"{done:,} of {count:,}; "
                 + sureness(done, count, shared_fate(jobs, pl.col("outcome") == "completed")),
                 plain.percent),
        measured("makespan_mean", "Makespan", makespan.value if makespan else None, "seconds",
                 f"on average; median {plain.duration(span.median())}, 95 % within "
                 f"{plain.duration(span.quantile(0.95, 'linear'))}", words.lasted),
        measured("failures_per_job", "Failures per job", failures.value if failures else None,
                 "number", f"{hit} of jobs lost a host at least once", words.plain),
        measured("unscheduled", "Unscheduled", never / count if count else None, "ratio",
                 f"{plain.counted(never, 'job')} found no host; " + sureness(never, count, shared),
                 plain.percent),
        measured("lost_work", "Lost work", run.lost / 3600, "host_hours", f"host-hours{share}",
                 lambda _: hours_of(run.lost)),
        measured("wait_median", "Median wait", run.waits.median(), "seconds",
                 f"mean {plain.duration(run.waits.mean())}, 95 % within "
                 f"{plain.duration(run.waits.quantile(0.95, 'linear'))}", plain.duration),
        measured("available", "Available", free, "ratio", "of the hosts' time, in S1 or S2",
                 plain.percent),
        measured("harvested", "Harvested", run.summary.get("harvested"), "ratio",
                 "of what hosts could have done became useful work", plain.percent),
    )  # fmt: skip


# Sections -----------------------------------------------------------------------------------------


def makespan(run: ToldRun) -> Section:
    """Return how long jobs took, by their run times."""
    figure = Figure(
        "makespan",
        lambda: figures.makespans(run.jobs),
        "Makespan of jobs completed against their run time, and the share of jobs by makespan "
        "over run time.",
    )
    drawn = (figure,) if run.drawable and len(run.done) else ()
    table = tables.length_table(counts.by_length(run.jobs))
    return Section("makespan", "Makespan", body=(*drawn, *table))


def promises(run: ToldRun) -> Section:
    """Return what was said of stays as they began, and what came of it."""
    figure = Figure(
        "promises",
        lambda: figures.promises_kept(run.stays),
        "Share of stays that ended with their jobs done, over the stated probability.",
        "Bars: 95 % intervals. On the line the observed share equals the stated one.",
    )
    drawn = (figure,) if run.drawable and counts.promised(run.stays, "chance") else ()
    body = (*drawn, *tables.promise_table(run))
    return Section("promises", "Stated and observed probabilities", body=body)


def hosts(run: ToldRun) -> Section:
    """Return what hosts were over time, and how long they stay available."""
    figure = Figure(
        "overview",
        lambda: figures.states_over_time(run.availability, run.stays, run.jobs, run.count),
        "Share of hosts in each state and with a guest, over the whole run.",
        "The whole run; states S3, S4 and S5 end guests.",
    )
    maps = (figure, host_map(run)) if run.drawable else ()
    return Section("hosts", "Hosts over time", body=(*tables.time_table(run), *maps))


def host_map(run: ToldRun) -> Figure:
    """Return the map of hosts over a part of the run."""
    width = figures.width_of(len(run.hosts))
    shown = "chosen" if run.map_span else figures.part_shown(run.stays, *run.span, width)
    return Figure(
        "map",
        lambda: figures.host_map(
            run.availability, run.stays, run.jobs, run.hosts, *(run.map_span or ())
        ),
        "Map of hosts over time: the state of each, stays of guests, and where hosts ended them.",
        words.map_caption(len(run.hosts), figures.FEWER_HOSTS, shown=shown),
    )


def hours(run: ToldRun) -> Section:
    """Return when hosts are available."""
    figure = Figure(
        "hours",
        lambda: figures.hours_of_day(
            run.availability, run.stays, run.count, counts.origin_of(run.summary)
        ),
        "Share of hosts in each state by hour of the day, on weekdays and on weekends.",
        "Hours on the hosts' own clock. Bars: 95 % interval of the share that is available, by "
        "resampling days.",
    )
    body = (figure,) if run.drawable else ()
    return Section("hours", "When hosts are available", body=body)


SECTIONS: Final[tuple[Callable[[ToldRun], Section], ...]] = (
    measures_by(digest.measures),
    part("ends", "How jobs ended", lambda run: fates_table(run.fates, tables.FATES)),
    makespan,
    part("stays", "Why stays ended", tables.stays),
    vault_section,
    promises,
    hosts,
    hours,
    part("extremes", "Best and worst hosts", tables.extremes),
    part("lost_most", "Jobs that lost most", tables.jobs_that_lost),
    part("waiting", "Waiting", tables.wait_table),
)
"""In the order of the report; what has nothing to show is left out."""
