"""A run of virtual machines in short, as the terminal tells it: what was run, and its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from forestall.core.kit.measure import Measure, whole
from forestall.core.kit.report import hours_of, measured
from forestall.core.kit.shares import between
from forestall.core.model.virtual import parse_node_sizes
from forestall.core.proportions import wilson
from forestall.core.show import words
from forestall.core.show.facts import Fact
from forestall.core.show.words import Summary
from forestall.machines.report.words import processor_hours
from forestall.machines.rules.entries import STRATEGIES

MEASURES: Final = (
    Measure("Jobs completed", "job_completion_rate", words.percent, max),
    Measure("Tasks completed", "task_completion_rate", words.percent, max),
    Measure("Utilization", "utilization", words.percent, max),
    Measure("Lost work, processor-hours", "lost_work", hours_of, min),
    Measure("Stopped, processor-hours", "stopped_work", hours_of, min),
    Measure("Jobs dropped while waiting", "jobs_dropped", words.count, min),
    Measure("Wait, mean", "wait.mean", words.duration, min),
    Measure("Migrations", "migrations", words.count),
    Measure("Moves in vain", "moves_in_vain", words.count, min),
    Measure("Tasks saved by moves", "tasks_saved", words.count, max),
    Measure("Restarts", "restarts", words.count),
    Measure("Work on the least reliable nodes", "least_reliable_share", words.percent),
    Measure("First submission to last end", "makespan", words.duration, min),
)
"""By which sweeps and comparisons tell runs apart."""


def processors_of(parameters: Mapping[str, Any]) -> str:
    """Return in words how many processors nodes have, "" where it was not told."""
    sizes = parameters.get("node_sizes")
    if not sizes:
        per_node = whole(parameters, "processors_per_node")
        return words.counted(per_node, "processor") if per_node else ""
    each = sorted({one.processors for one in parse_node_sizes(str(sizes))})
    most = words.counted(each[-1], "processor")
    return most if len(each) == 1 else f"{each[0]:,} to {most}"


def headline(summary: Summary, failures: int | None = None, *, told: bool = True) -> list[str]:
    """Return what was run, in parts: jobs and tasks, machine, failures (where `told`), strategy,
    predictions, migration, seed."""
    parameters = summary.get("parameters") or {}
    per_node = processors_of(parameters)
    jobs = words.counted(summary.get("jobs_count"), "job")
    machine = words.counted(parameters.get("nodes"), "node")
    log = "no failures" if failures is None else words.counted(failures, "failure")
    known = STRATEGIES.get(parameters.get("strategy", ""))
    moving = known is None or not known.draws or not parameters.get("random_stays")
    move = parameters.get("migration") if moving else "none"
    parts = [
        f"{jobs} of {words.counted(summary.get('tasks_count'), 'task')}",
        f"{machine} of {per_node}" if per_node else "",
        log if told else "",
        chosen_by(summary),
        foreseen_by(summary) if moving else "",
        {"none": "no migration", None: ""}.get(move, f"migration by {move}"),
        f"seed {summary['seed']}" if "seed" in summary else "",
    ]
    return [part for part in parts if part]


def chosen_by(summary: Summary) -> str:
    """Return the strategy, with its alpha: ``strategy best-fit, alpha 0.5``."""
    parameters = summary.get("parameters") or {}
    strategy = parameters.get("strategy", "")
    alpha = parameters.get("alpha")
    known = STRATEGIES.get(strategy)
    if known is None or not known.weighs or alpha is None:
        return f"strategy {strategy}" if strategy else ""
    return f"strategy {strategy}, alpha {alpha if isinstance(alpha, str) else format(alpha, 'g')}"


def foreseen_by(summary: Summary) -> str:
    """Return what predicted: ``predictions: synthetic, early, accuracy 0.765``; some names, such as
    ``true failure times``, say as much."""
    parameters = summary.get("parameters") or {}
    name = (summary.get("predictor") or {}).get("name") or parameters.get("predictor")
    if not name:
        return ""
    return str(name) if str(name).endswith("times") or " times " in name else f"predictions: {name}"


def measures(summary: Summary) -> tuple[Fact, ...]:
    """Return each measure of a run with its unit and what it means."""
    useful = words.number((summary.get("processor_seconds") or {}).get("useful"))
    lost = words.number(summary.get("lost_work")) or 0.0
    share = f"{words.percent(lost / useful)} of the useful work" if useful and lost else ""
    hit = words.count(summary.get("failures_hit"))
    return (
        *_jobs(summary),
        *_tasks(summary),
        measured("utilization", "Utilization", summary.get("utilization"), "ratio",
                 "of processor time was work of tasks that finished", words.percent),
        _work("lost_work", "Lost work", lost, share or "nothing was lost to failures"),
        *_stopped(summary),
        *_moves(summary),
        *_wait(summary),
        *_restarts(summary),
        measured("failures_played", "Failures", summary.get("failures_played"), "count",
                 f"during the run; {hit} of them hit tasks", words.count),
        *_least_reliable(summary),
        measured("makespan", "Makespan", summary.get("makespan"), "seconds",
                 "from first submission to last end", words.duration),
    )  # fmt: skip


def _jobs(summary: Summary) -> tuple[Fact, ...]:
    count, done, late = (whole(summary, f"jobs_{name}") for name in ("count", "completed", "late"))
    sure = f"{done:,} of {count:,} by their deadlines; 95 %: {interval_of(summary, 'job')}"
    dropped = whole(summary, "jobs_dropped")
    said = [
        f"{max(count - done - late - dropped, 0):,} uncompleted",
        f"{dropped:,} dropped while waiting",
        f"{late:,} completed late" if late else "",
    ]
    return (
        measured("jobs_completed", "Jobs completed", summary.get("job_completion_rate"), "ratio",
                 sure if count else "no jobs", words.percent),
        measured("jobs_other", "Other jobs", count - done, "count",
                 ", ".join(part for part in said if part), words.count),
    )  # fmt: skip


def _tasks(summary: Summary) -> tuple[Fact, ...]:
    count, done = whole(summary, "tasks_count"), whole(summary, "tasks_completed")
    names = ("aborted", "stopped", "dropped", "late")
    counts = {name: whole(summary, f"tasks_{name}") for name in names}
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    sure = f"{done:,} of {count:,} by their deadlines; 95 %: {interval_of(summary, 'task')}"
    completed = measured(
        "tasks_completed", "Tasks completed", summary.get("task_completion_rate"), "ratio",
        sure if count else "no tasks", words.percent,
    )  # fmt: skip
    other = measured("tasks_other", "Other tasks", count - done, "count", said, words.count)
    return (completed, other) if said else (completed,)


def interval_of(summary: Summary, kind: str) -> str:
    """Return the 95 % interval of the ``job`` or ``task`` completion rate; for a summary that has
    none, one that takes all as independent."""
    given = summary.get(f"{kind}_completion_interval")
    if isinstance(given, list | tuple) and len(given) == 2:
        low, high = (words.number(end) for end in given)
        if low is not None and high is not None:
            return between((low, high))
    return between(wilson(whole(summary, f"{kind}s_completed"), whole(summary, f"{kind}s_count")))


def _work(key: str, label: str, seconds: float, meaning: str) -> Fact:
    """Return work in processor-seconds."""
    return measured(
        key, label, seconds / 3600, "processor_hours", meaning, lambda _: processor_hours(seconds)
    )


def _stopped(summary: Summary) -> tuple[Fact, ...]:
    stopped = words.number(summary.get("stopped_work")) or 0.0
    meaning = "of other tasks that did not finish"
    return (_work("stopped_work", "Stopped work", stopped, meaning),) if stopped else ()


def _moves(summary: Summary) -> tuple[Fact, ...]:
    count = whole(summary, "migrations")
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    broken = f"{whole(summary, 'migrations_failed'):,} broken by failures"
    said = f"{words.counted(saved, 'task')} saved; {vain:,} in vain; {broken}"
    meaning = said if count else "no task was moved"
    begun = measured("migrations", "Migrations", count, "count", meaning, words.count)
    still = measured(
        "migration_time", "Standstill", summary.get("migration_time"), "seconds",
        "of migrating tasks, summed", words.duration,
    )  # fmt: skip
    return (begun, still) if count else (begun,)


def _wait(summary: Summary) -> tuple[Fact, ...]:
    wait = summary.get("wait") or {}
    meaning = (
        f"on average; median {words.duration(wait.get('median'))}, "
        f"95 % within {words.duration(wait.get('p95'))}"
    )
    mean = wait.get("mean")
    told = measured("wait_mean", "Wait", mean, "seconds", meaning, words.duration)
    return (told,) if wait else ()


def _restarts(summary: Summary) -> tuple[Fact, ...]:
    """Return how often tasks restarted, how many checkpoints were made, and how much time was held
    without progress."""
    if (summary.get("parameters") or {}).get("checkpoint", "none") == "none":
        return ()
    made = words.counted(summary.get("checkpoints"), "checkpoint") + " made"
    seconds = summary.get("processor_seconds") or {}
    paused, total = (words.number(seconds.get(name)) for name in ("paused", "total"))
    if paused and total:
        made += f"; {words.percent(paused / total)} of processor time paused"
    restarts = summary.get("restarts")
    return (measured("restarts", "Restarts", restarts, "count", made, words.count),)


def _least_reliable(summary: Summary) -> tuple[Fact, ...]:
    quarter = words.number(summary.get("least_reliable_share"))
    if quarter is None or not whole(summary, "failures_played"):
        return ()
    meaning = "of useful work, on the quarter of nodes with most failures"
    return (measured("least_reliable", "Least reliable", quarter, "ratio", meaning, words.percent),)
