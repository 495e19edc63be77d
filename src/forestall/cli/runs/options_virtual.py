"""The options of virtual machines, as one table, beside those that they share with other models."""

from __future__ import annotations

from typing import Final

from forestall.cli.choice import MACHINE, MACHINES, Choice

MODEL: Final = (
    Choice(
        "model",
        MACHINE,
        "Jobs with nodes of their own and promises, tasks in virtual machines that share nodes "
        "and leave them before they fail, or guests on hosts whose owners come back (default "
        "promise).",
        choices=("promise", "virtual", "cycle"),
    ),
)
"""Which model plays the jobs."""

VIRTUAL: Final = (
    Choice(
        "strategy",
        MACHINES,
        "How nodes are chosen for tasks (default best-fit).",
        choices=("random", "first-fit", "best-fit", "omniscient"),
    ),
    Choice(
        "alpha",
        MACHINES,
        "Best-fit: weight of capacity against reliability, 0 to 1; dynamic: 1 less the share of "
        "nodes foreseen to fail before the deadline (default 0.5).",
        "ALPHA|dynamic",
    ),
    Choice(
        "prediction_accuracy",
        MACHINES,
        "Of the synthetic predictions, 0 to 1; a column predicted in the failure log counts "
        "instead (default 0.765).",
        "A",
    ),
    Choice(
        "prediction_error",
        MACHINES,
        "Synthetic predictions come too early, or half of them too late (default early).",
        choices=("early", "two-sided"),
    ),
    Choice(
        "false_negatives",
        MACHINES,
        "Share of failures that have no synthetic prediction, 0 to 1 (default 0.0).",
        "SHARE",
    ),
    Choice(
        "predict_every",
        MACHINES,
        "Ask a predictor that has learnt so often, beside the start and each failure of a node "
        "(default: no more). With --model cycle: time between Falcon's forecasts, 1h.",
        "DURATION",
    ),
    Choice(
        "lead",
        MACHINES,
        "How long before the predicted time tasks leave a node (default: what a move takes).",
        "DURATION",
    ),
    Choice(
        "migration",
        MACHINES,
        "How tasks move: stopped meanwhile, live, or not at all (default stop-and-copy).",
        choices=("stop-and-copy", "pre-copy", "none"),
    ),
    Choice(
        "migration_cost",
        MACHINES,
        "What a move takes, without --vm-memory (default 12s).",
        "DURATION",
    ),
    Choice(
        "vm_memory", MACHINES, "Memory of a virtual machine, which tells what a move takes.", "MIB"
    ),
    Choice("link", MACHINES, "Speed of the link, MiB/s (default 119.0).", "MIB/S"),
    Choice("dirty_rate", MACHINES, "Pre-copy: memory written, MiB/s (default 0.0).", "MIB/S"),
    Choice("max_downtime", MACHINES, "Pre-copy: standstill to aim at, s (default 0.3).", "SECONDS"),
    Choice(
        "past_deadline",
        MACHINES,
        "What becomes of tasks at their deadline (default stop).",
        choices=("stop", "run"),
    ),
    Choice("backfill", MACHINES, "Jobs may pass others that wait.", flag=True),
    Choice("random_migrates", MACHINES, "Strategy random moves tasks, too.", flag=True),
    Choice(
        "task_processors", MACHINES, "Processors that a task can use, at most (default 1.0).", "Q"
    ),
    Choice("least_rate", MACHINES, "Processors below which no task is started (default 0.1).", "R"),
    Choice(
        "slack",
        MACHINES,
        "Deadline of jobs without requested time, in run times (default 2.0).",
        "TIMES",
    ),
)
"""An option for every field of `forestall.simulate.virtual.parameters.VirtualParameters` that no
other table has."""
