"""A run of virtual machines in plain words and rows: every number with its unit."""

from __future__ import annotations

from collections.abc import Mapping

from forestall.app.kit.measure import whole
from forestall.app.kit.shares import between, sureness
from forestall.reliability.shares import wilson
from forestall.show import words
from forestall.show.words import Summary

HOURS = " processor-hours"


def processor_hours(value: object) -> str:
    """Return processor-seconds as processor-hours."""
    text = words.node_hours(value)
    return text.removesuffix(words.NODE_HOURS) + (HOURS if text != words.NOTHING else "")


def interval_of(summary: Summary, kind: str) -> str:
    """Return the 95 % interval of the ``job`` or ``task`` completion rate; for a summary that has
    none, one that takes all as independent."""
    given = summary.get(f"{kind}_completion_interval")
    if isinstance(given, list | tuple) and len(given) == 2:
        low, high = (words.number(end) for end in given)
        if low is not None and high is not None:
            return between((low, high))
    return between(wilson(whole(summary, f"{kind}s_completed"), whole(summary, f"{kind}s_count")))


def uncompleted(summary: Summary) -> int:
    """Return how many jobs were placed and did not end, by the deadline or after it."""
    names = ("jobs_completed", "jobs_late", "jobs_dropped")
    return max(whole(summary, "jobs_count") - sum(whole(summary, name) for name in names), 0)


def chosen_by(summary: Summary) -> str:
    """Return the strategy, with its alpha: ``strategy best-fit, alpha 0.5``."""
    parameters = summary.get("parameters") or {}
    strategy = parameters.get("strategy", "")
    alpha = parameters.get("alpha")
    if strategy != "best-fit" or alpha is None:
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


def headline(summary: Summary, failures: int | None = None, *, told: bool = True) -> list[str]:
    """Return what was run, in parts: jobs and tasks, machine, failures (where `told`), strategy,
    predictions, migration, seed."""
    parameters = summary.get("parameters") or {}
    per_node = whole(parameters, "processors_per_node")
    jobs = words.counted(summary.get("jobs_count"), "job")
    machine = words.counted(parameters.get("nodes"), "node")
    log = "no failures" if failures is None else words.counted(failures, "failure")
    moving = parameters.get("strategy") != "random" or parameters.get("random_migrates")
    move = parameters.get("migration") if moving else "none"
    parts = [
        f"{jobs} of {words.counted(summary.get('tasks_count'), 'task')}",
        f"{machine} of {words.counted(per_node, 'processor')}" if per_node else "",
        log if told else "",
        chosen_by(summary),
        foreseen_by(summary) if moving else "",
        {"none": "no migration", None: ""}.get(move, f"migration by {move}"),
        f"seed {summary['seed']}" if "seed" in summary else "",
    ]
    return [part for part in parts if part]


# ---------------------------------------------------------------------------------- in the terminal


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return (measure, value with unit, what it means) for each measure of a run."""
    count, done = whole(summary, "jobs_count"), whole(summary, "jobs_completed")
    useful = words.number((summary.get("processor_seconds") or {}).get("useful"))
    lost = words.number(summary.get("lost_work")) or 0.0
    share = f"{words.percent(lost / useful)} of the useful work" if useful and lost else ""
    stopped = words.number(summary.get("stopped_work")) or 0.0
    found: list[tuple[str, ...]] = [
        (
            "Jobs completed",
            words.percent(summary.get("job_completion_rate")),
            f"{done:,} of {count:,} by their deadlines; 95 %: {interval_of(summary, 'job')}"
            if count
            else "there was no job",
        ),
        ("Other jobs", f"{count - done:,}", _others(summary)),
        *_tasks(summary),
        (
            "Utilization",
            words.percent(summary.get("utilization")),
            "of processor time went into tasks that ended",
        ),
        ("Lost work", processor_hours(lost), share or "nothing was lost to failures"),
    ]
    if stopped:
        found.append(("Stopped work", processor_hours(stopped), "of other tasks that did not end"))
    found += _moves(summary)
    wait = summary.get("wait") or {}
    if wait:
        meaning = (
            f"on average; median {words.duration(wait.get('median'))}, "
            f"95 % within {words.duration(wait.get('p95'))}"
        )
        found.append(("Wait", words.duration(wait.get("mean")), meaning))
    if (summary.get("parameters") or {}).get("checkpoint", "none") != "none":
        found.append(("Restarts", words.count(summary.get("restarts")), _checkpoints(summary)))
    hit = words.count(summary.get("failures_hit"))
    found.append(
        (
            "Failures",
            words.count(summary.get("failures_played")),
            f"while jobs were there; {hit} of them hit tasks",
        )
    )
    quarter = words.number(summary.get("least_reliable_share"))
    if quarter is not None and whole(summary, "failures_played"):
        meaning = "of useful work, on the quarter of nodes with most failures"
        found.append(("Least reliable", words.percent(quarter), meaning))
    span = words.duration(summary.get("makespan"))
    return [*found, ("Makespan", span, "from first submission to last end")]


def _others(summary: Summary) -> str:
    late = whole(summary, "jobs_late")
    said = [
        f"{uncompleted(summary):,} uncompleted",
        f"{whole(summary, 'jobs_dropped'):,} dropped waiting",
        f"{late:,} completed late" if late else "",
    ]
    return ", ".join(part for part in said if part)


def _tasks(summary: Summary) -> list[tuple[str, ...]]:
    count, done = whole(summary, "tasks_count"), whole(summary, "tasks_completed")
    names = ("aborted", "stopped", "dropped", "late")
    counts = {name: whole(summary, f"tasks_{name}") for name in names}
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    share = words.percent(summary.get("task_completion_rate"))
    sure = f"{done:,} of {count:,} by their deadlines; 95 %: {interval_of(summary, 'task')}"
    found: list[tuple[str, ...]] = [
        ("Tasks completed", share, sure if count else "there was no task")
    ]
    return [*found, ("Other tasks", f"{count - done:,}", said)] if said else found


def _checkpoints(summary: Summary) -> str:
    """Say how many checkpoints were made, and how much time was held without progress."""
    made = words.counted(summary.get("checkpoints"), "checkpoint") + " made"
    seconds = summary.get("processor_seconds") or {}
    paused, total = (words.number(seconds.get(name)) for name in ("paused", "total"))
    if not paused or not total:
        return made
    return f"{made}; {words.percent(paused / total)} of all time paused"


def _moves(summary: Summary) -> list[tuple[str, ...]]:
    count = whole(summary, "migrations")
    if not count:
        return [("Migrations", "0", "no task was moved")]
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    broken = f"{whole(summary, 'migrations_failed'):,} broken by failures"
    return [
        (
            "Migrations",
            f"{count:,}",
            f"{words.counted(saved, 'task')} saved; {vain:,} in vain; {broken}",
        ),
        (
            "Standstill",
            words.duration(summary.get("migration_time")),
            "of tasks on the move, summed over them",
        ),
    ]


# ------------------------------------------------------------------------------------- in the page


def on_completion(summary: Summary, shared: float | None, ends: Mapping[str, int]) -> str:
    """Say how many jobs were completed by their deadlines, how sure that is, and why others were
    not.

    Parameters
    ----------
    shared : the design effect of days, or None
    ends : jobs by `fate`, as `virtual_report_counts.with_fates` has it
    """
    count, done = whole(summary, "jobs_count"), whole(summary, "jobs_completed")
    if not count:
        return "There was no job."
    alone = between(wilson(done, count))
    text = (
        f"{done:,} of {words.counted(count, 'job')} ({words.percent(done / count)}) had all their "
        f"tasks done by their deadlines; the 95 % interval is {alone}"
    )
    over = alone if shared is None else between(wilson(done, count, shared=shared))
    if over != alone:
        text += f", or {over} where jobs of one day count as sharing their fate"
    named = {
        "failure": ("lost tasks to failures",) * 2,
        "deadline": ("ran into its deadline", "ran into their deadlines"),
        "dropped": (
            "waited until its deadline and was dropped",
            "waited until their deadlines and were dropped",
        ),
        "late": ("was completed late", "were completed late"),
    }
    said = [f"{ends[k]:,} {why[ends[k] != 1]}" for k, why in named.items() if ends.get(k)]
    return f"{text}. Of the others, {_list(said)}." if said else f"{text}."


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def on_failures(summary: Summary, shared: float | None, ends: Mapping[str, int]) -> str:
    """Say what failures took; see `on_completion`, `shared` is that of jobs that lost tasks."""
    played, hit = whole(summary, "failures_played"), whole(summary, "failures_hit")
    if not played:
        return "No node failed while there were jobs."
    times = f"Nodes failed {played:,} times" if played > 1 else "A node failed once"
    if not hit:
        return f"{times} while there were jobs; no task was hit."
    lost = words.number(summary.get("lost_work")) or 0.0
    useful = words.number((summary.get("processor_seconds") or {}).get("useful"))
    share = f", {words.percent(lost / useful)} of the useful work" if useful and lost else ""
    count, failed = whole(summary, "jobs_count"), ends.get("failure", 0)
    left = "No job was left uncompleted by them."
    if failed and count:
        sure = sureness(failed, count, shared)
        jobs = words.counted(failed, "job")
        left = (
            f"{jobs} that lost tasks to them stayed uncompleted: "
            f"{words.percent(failed / count)} of all, {sure}."
        )
    restarts = whole(summary, "restarts")
    again = f" Tasks restarted from checkpoints {restarts:,} times." if restarts else ""
    return (
        f"{times} while there were jobs; {hit:,} of these failures hit tasks and took "
        f"{processor_hours(lost)} of their work{share}. {left}{again}"
    )


def on_moves(summary: Summary) -> str:
    """Say what migrations bought and cost."""
    count = whole(summary, "migrations")
    parameters = summary.get("parameters") or {}
    if not count:
        off = parameters.get("migration") == "none"
        return "Migration was switched off." if off else "No task was moved before a failure."
    saved, vain = whole(summary, "tasks_saved"), whole(summary, "moves_in_vain")
    broken = whole(summary, "migrations_failed")
    still = words.number(summary.get("migration_time"))
    begun = "once" if count == 1 else f"{count:,} times"
    rows = {1: "1 move was", 0: "No move was"}
    text = (
        f"A task was moved off a node before a predicted failure {begun}. "
        f"{words.counted(saved, 'task')} that {'was' if saved == 1 else 'were'} completed would "
        f"have been on a node when it failed. {rows.get(vain, f'{vain:,} moves were')} in vain"
        f"{': the node did not fail before the task would have ended there' if vain else ''}. "
        f"{rows.get(broken, f'{broken:,} moves were')} broken by a failure."
    )
    if still is None:
        return text
    return f"{text} Tasks on the move stood still for {words.duration(still)}, summed over them."
