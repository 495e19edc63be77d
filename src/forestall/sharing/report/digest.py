"""A run of cycle sharing in short, as the terminal tells it: what was run, and its measures."""

from __future__ import annotations

from typing import Final

from forestall.core.kit.measure import Measure, whole
from forestall.core.kit.report import hours_of, measured
from forestall.core.kit.shares import sureness
from forestall.core.show import words
from forestall.core.show.facts import Fact
from forestall.core.show.words import Summary
from forestall.sharing.report.words import host_hours, scheduler_name
from forestall.vaults.api.vaulted import vault_facts

MEASURES: Final = (
    Measure("Makespan, mean", "makespan", words.duration, min),
    Measure("Makespan, median", "makespan_median", words.duration, min),
    Measure("Makespan, 95th percentile", "makespan_p95", words.duration, min),
    Measure("Stretch", "stretch", words.ratio, min),
    Measure("Wait for the first start, mean", "wait", words.duration, min),
    Measure("Failures per job", "failures_per_job", words.ratio, min),
    Measure("Jobs that lost a host", "jobs_failed_share", words.percent, min),
    Measure("Jobs unscheduled", "unscheduled_share", words.percent, min),
    Measure("Jobs unfinished", "unfinished_share", words.percent, min),
    Measure("Lost work, host-hours", "lost_work", hours_of, min),
    Measure("Harvested", "harvested", words.percent, max),
    Measure("Checkpoints", "checkpoints", words.count),
    Measure("Jobs simulated", "jobs_simulated", words.count),
)
"""By which sweeps and comparisons tell runs apart."""


def headline(summary: Summary, failures: int | None = None) -> list[str]:
    """Return what was run, in parts: jobs, hosts, scheduler, restart, seed; hosts tell of their
    `failures` themselves."""
    scheduler, hosts = scheduler_of(summary), hosts_of(summary)
    parts = [
        words.counted(summary.get("jobs_simulated"), "job"),
        words.counted(hosts, "host") if hosts else "",
        f"scheduler {scheduler}" if scheduler else "",
        restart_of(summary),
        f"seed {summary['seed']}" if "seed" in summary else "",
    ]
    return [part for part in parts if part]


def scheduler_of(summary: Summary) -> str:
    """Return the scheduler's name as the page writes it."""
    slug = summary.get("scheduler") or (summary.get("parameters") or {}).get("scheduler") or ""
    return scheduler_name(slug)


def hosts_of(summary: Summary) -> int:
    """Return the number of hosts that the summary tells; 0 where it does not."""
    for name in ("hosts_count", "hosts"):
        told = words.number(summary.get(name))
        if told is not None:
            return int(told)
    return 0


def restart_of(summary: Summary) -> str:
    """Return how jobs go on that lost their host."""
    told = (summary.get("parameters") or {}).get("restart")
    return {"scratch": "restart from scratch", "checkpoint": "restart from checkpoints"}.get(
        str(told), ""
    )


def measures(summary: Summary) -> tuple[Fact, ...]:
    """Return each measure of a run with its unit and what it means."""
    useful, lost = words.number(summary.get("useful_work")), words.number(summary.get("lost_work"))
    part = f"{words.percent(lost / useful)} of the useful work" if useful and lost else ""
    return (
        *_jobs(summary),
        measured("makespan_mean", "Makespan", summary.get("makespan"), "seconds",
                 "submission to completion, on average; median "
                 f"{words.duration(summary.get('makespan_median'))}, 95 % within "
                 f"{words.duration(summary.get('makespan_p95'))}", words.duration),
        measured("stretch_mean", "Stretch", summary.get("stretch"), "number",
                 "makespan over run time, on average", lambda value: words.ratio(value, 2)),
        measured("wait_mean", "Wait", summary.get("wait"), "seconds",
                 "until the first start, on average", words.duration),
        measured("failures_per_job", "Failures per job", summary.get("failures_per_job"), "number",
                 f"{words.percent(summary.get('jobs_failed_share'))} of jobs lost a host at least "
                 "once", words.ratio),
        *_promises(summary),
        measured("lost_work", "Lost work", None if lost is None else lost / 3600, "host_hours",
                 part or ("" if lost else "nothing was lost"), lambda _: host_hours(lost)),
        measured("harvested", "Harvested", summary.get("harvested"), "ratio",
                 "of what hosts could have done for guests became useful work", words.percent),
        *vault_facts(summary),
        *_moves(summary),
    )  # fmt: skip


def _jobs(summary: Summary) -> tuple[Fact, ...]:
    names = ("simulated", "completed", "unscheduled", "unfinished")
    count, done, never, still = (whole(summary, f"jobs_{name}") for name in names)
    share = f"{done:,} of {count:,}; " + sureness(done, count, None) if count else "no jobs"
    return (
        measured("jobs_completed", "Jobs completed", done / count if count else None, "ratio",
                 share, words.percent),
        measured("jobs_unscheduled", "Unscheduled", never, "count",
                 f"{words.percent(never / count if count else None)} of jobs: no host was free",
                 words.count),
        measured("jobs_unfinished", "Unfinished", still, "count", "the traces ended first",
                 words.count),
    )  # fmt: skip


def _moves(summary: Summary) -> tuple[Fact, ...]:
    """Return how many guests moved before their hosts left, and whether that was needed."""
    told = summary.get("moves")
    if not told:
        return ()
    if not told["made"]:
        why = "no host was likely enough to leave, or no other would have finished a guest earlier"
        return (measured("moves_made", "Guests moved", 0, "count", why, words.count),)
    part, each = words.percent(told["useful_share"]), told["seconds"] / told["made"]
    return (
        measured("moves_made", "Guests moved", told["made"], "count",
                 f"{told['useful']:,} ({part}) from hosts that left within the look-ahead; "
                 f"{told['broken']:,} more were too late", words.count),
        measured("moves_cost", "Time for moves", told["seconds"], "seconds",
                 "saving, waiting and recovering, of all guests; "
                 f"{words.duration(each)} a move", words.duration),
    )  # fmt: skip


def _promises(summary: Summary) -> tuple[Fact, ...]:
    kept = summary.get("kept_share")
    if kept is None:
        return ()
    said, brier = words.percent(summary["promised_mean"]), words.ratio(summary["brier"])
    meaning = f"of stays ended their jobs; {said} was stated on average; Brier score {brier}"
    return (measured("promises_kept", "Promises kept", kept, "ratio", meaning, words.percent),)
