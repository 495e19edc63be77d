"""An independent look at a finished run of virtual machines: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, rates and work are whole thousandths of processors and processor-seconds: every check is
exact.
"""

from __future__ import annotations

from pathlib import Path

from forestall.core.certify.finding import (
    WHOLE_ROWS,
    Certificate,
    Rule,
    Unchecked,
    certificate,
)
from forestall.machines.certify import log, measures, stays
from forestall.machines.certify.facts import Facts
from forestall.machines.certify.moves import moves_and_stays

RULES: tuple[Rule[Facts], ...] = (
    Rule("capacity of nodes", stays.capacity),
    Rule("rates", stays.rates),
    Rule("one place at a time", stays.places),
    Rule("nothing on a node that is down", stays.while_down),
    Rule("failures and aborted tasks", stays.aborts),
    Rule("work of each stay", stays.work),
    Rule("work lost", stays.losses),
    Rule("deadlines", stays.deadlines),
    Rule("tasks and their stays", stays.tasks_and_stays),
    Rule("jobs and their tasks", stays.jobs_and_tasks),
    Rule("order of the queue", stays.order),
    Rule("moves and the stays they link", moves_and_stays),
    *measures.RULES,
    Rule("order of rows", stays.sorted_rows),
    Rule("events", log.events, lambda run: run.is_logged),
    Rule("decisions", log.decisions, lambda run: run.is_logged),
)
SUMMARY = "summary.json"
PARAMETERS = (
    *("alpha", "predictor", "prediction_accuracy", "prediction_error", "false_negatives"),
    *("predict_every", "lead", "migration", "migration_cost", "vm_memory", "link", "dirty_rate"),
    *("max_downtime", "past_deadline", "backfill", "random_stays", "slack", "checkpoint"),
    *("checkpoint_interval", "checkpoint_overhead", "downtime", "repeat_failures", "min_runtime"),
    *("tau", "overload_limit", "overload_hold", "least_rate", "node_sizes"),
)
ALWAYS = (
    Unchecked(
        SUMMARY, tuple(f"parameters.{name}" for name in PARAMETERS),
        "rules that choose: a change that alters no choice leaves no trace",
    ),
    Unchecked(SUMMARY, ("predictor",), "the quality of all predictions is not in the tables"),
    Unchecked("failures.csv", ("kind",), "the cause, which the run does not use"),
    Unchecked("failures.csv", ("downtime",), "for outages that last beyond the run"),
)  # fmt: skip
LOGGED = (
    Unchecked("events.csv", ("at",), "predicted failure times that no decision depended on"),
)  # fmt: skip
ASKED_OFTEN = (
    Unchecked(
        "events.csv", ("node", WHOLE_ROWS),
        "predictions replaced before a decision depended on them ({predict_every})",
    ),
)  # fmt: skip
QUIET = (
    Unchecked("jobs.csv", ("deadline",), "the requested time is not in the folder"),
    Unchecked("failures.csv", ("time",), "for failures of a node that was already down"),
    Unchecked("failures.csv", ("predicted",), "predictions are logged with {log_events}"),
    Unchecked("migrations.csv", ("predicted",), "predictions are logged with {log_events}"),
)
UNLOGGED = (
    "which node was chosen, and which of several was left first in the same second (simulate "
    "with {log_events} to have the decisions replayed)"
)


def certify_virtual(folder: Path) -> Certificate:
    """Check the folder of a run of virtual machines.

    Raises TraceError where a file is missing or cannot be read as what it should be; one that can
    be read but tells something impossible fails checks instead.
    """
    run = Facts(folder)
    if not run.is_logged:
        return certificate(run, RULES, (UNLOGGED,), unchecked=(*ALWAYS, *QUIET))
    often = run.given.parameters.get("predict_every") is not None
    unchecked = (*ALWAYS, *LOGGED, *(ASKED_OFTEN if often else ()))
    return certificate(run, RULES, (), unchecked=unchecked)
