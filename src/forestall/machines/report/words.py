"""A run of virtual machines in plain words: every number with its unit."""

from __future__ import annotations

from collections.abc import Mapping

from forestall.core.kit.measure import whole
from forestall.core.kit.report import hours_of, listed
from forestall.core.kit.shares import between, sureness
from forestall.core.proportions import wilson
from forestall.core.show import words
from forestall.core.show.words import Summary


def processor_hours(value: object) -> str:
    """Return processor-seconds as processor-hours."""
    return hours_of(value, " processor-hours")


def on_completion(summary: Summary, shared: float | None, ends: Mapping[str, int]) -> str:
    """Say how many jobs were completed by their deadlines, how sure that is, and why others were
    not.

    Parameters
    ----------
    shared : the design effect of days, or None
    ends : jobs by `fate`, as `forestall.machines.report.counts.with_fates` has it
    """
    count, done = whole(summary, "jobs_count"), whole(summary, "jobs_completed")
    if not count:
        return "There were no jobs."
    alone = between(wilson(done, count))
    text = (
        f"{done:,} of {words.counted(count, 'job')} ({words.percent(done / count)}) had all their "
        f"tasks done by their deadlines; the 95 % interval is {alone}"
    )
    over = alone if shared is None else between(wilson(done, count, shared=shared))
    if over != alone:
        text += f", or {over} if jobs of one day share their fate"
    named = {
        "failure": ("lost tasks to failures",) * 2,
        "deadline": ("reached its deadline", "reached their deadlines"),
        "dropped": (
            "waited until its deadline and was dropped",
            "waited until their deadlines and were dropped",
        ),
        "late": ("was completed late", "were completed late"),
    }
    said = [f"{ends[k]:,} {why[ends[k] != 1]}" for k, why in named.items() if ends.get(k)]
    return f"{text}. Of the others, {listed(said)}." if said else f"{text}."


def on_failures(summary: Summary, shared: float | None, ends: Mapping[str, int]) -> str:
    """Say what failures took; see `on_completion`, `shared` is that of jobs that lost tasks."""
    played, hit = whole(summary, "failures_played"), whole(summary, "failures_hit")
    if not played:
        return "No node failed during the run."
    times = f"Nodes failed {played:,} times" if played > 1 else "A node failed once"
    if not hit:
        return f"{times} during the run; no task was hit."
    lost = words.number(summary.get("lost_work")) or 0.0
    useful = words.number((summary.get("processor_seconds") or {}).get("useful"))
    share = f", {words.percent(lost / useful)} of the useful work" if useful and lost else ""
    count, failed = whole(summary, "jobs_count"), ends.get("failure", 0)
    left = "They left no job uncompleted."
    if failed and count:
        sure = sureness(failed, count, shared)
        jobs = words.counted(failed, "job")
        left = (
            f"{jobs} lost tasks to them and stayed uncompleted: "
            f"{words.percent(failed / count)} of all, {sure}."
        )
    restarts = whole(summary, "restarts")
    again = f" Tasks restarted from checkpoints {restarts:,} times." if restarts else ""
    return (
        f"{times} during the run; {hit:,} of these failures hit tasks and destroyed "
        f"{processor_hours(lost)} of work{share}. {left}{again}"
    )


def on_moves(summary: Summary) -> str:
    """Say what migrations bought and cost."""
    count = whole(summary, "migrations")
    parameters = summary.get("parameters") or {}
    if not count:
        off = parameters.get("migration") == "none"
        return "Migration was off." if off else "No task was moved before a failure."
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    broken = whole(summary, "migrations_failed")
    still = words.number(summary.get("migration_time"))
    begun = "once" if count == 1 else f"{count:,} times"
    rows = {1: "1 move was", 0: "No move was"}
    text = (
        f"A task was moved off a node before a predicted failure {begun}. "
        f"{words.counted(saved, 'task')} {'was' if saved == 1 else 'were'} saved: completed after "
        f"leaving a node that then failed. {rows.get(vain, f'{vain:,} moves were')} in vain"
        f"{': the node did not fail before the task would have ended there' if vain else ''}. "
        f"{rows.get(broken, f'{broken:,} moves were')} broken by a failure."
    )
    if still is None:
        return text
    return f"{text} Migrating tasks stood still for {words.duration(still)} in all."
