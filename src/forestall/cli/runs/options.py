"""Every option that a run can have, as one table: a new parameter gets its option by one line.

Values are taken as text and checked in one place, `forestall.app.runs.settings`, whether they
come from
the command line or from a file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from forestall.cli.choice import CHECKPOINTS, MACHINE, PREDICTION, Choice
from forestall.cli.runs.options_cycle import CYCLE, HOSTS
from forestall.cli.runs.options_virtual import MODEL, VIRTUAL
from forestall.engine.promise.policies import POLICIES

JOBS: Final = "Job log"
FAILURES: Final = "Failure log"
TRAINED: Final = "Training log"
OUTPUT: Final = "Output"


PARAMETERS: Final = (
    Choice("nodes", MACHINE, "Nodes of the machine (default 128).", "N"),
    Choice(
        "policy",
        MACHINE,
        "Who decides: promises with deadlines, or a classic scheduler (default promise); or "
        "module:Class, a policy of your own, whose module is imported.",
        choices=tuple(POLICIES),
    ),
    Choice(
        "estimates",
        MACHINE,
        "What reservations are computed from (default runtime).",
        choices=("runtime", "requested"),
    ),
    Choice(
        "overrun",
        MACHINE,
        "What becomes of a job at the end of its requested time (default cut).",
        choices=("cut", "extend"),
    ),
    Choice(
        "compression",
        MACHINE,
        "Conservative: move waiting jobs forward when one ends early (default on).",
        flag=True,
        on=True,
    ),
    Choice(
        "min_runtime", MACHINE, "Shorter run times are raised to this (default 1s).", "DURATION"
    ),
    Choice(
        "seed",
        MACHINE,
        "Of whatever is drawn by chance (default 1); with --model cycle: which of the hosts of "
        "equal rank Condor takes, and nothing else.",
        "N",
    ),
    Choice(
        "predictor",
        PREDICTION,
        "What promises rest on: the log to come, seen with --accuracy (trace, the default), or "
        "what was learnt: hazard or a name of `predict list` with --train, or a predictor's file. "
        "With --model virtual: synthetic, the default there, recorded, or what was learnt.",
        "trace|hazard|NAME|FILE",
    ),
    Choice(
        "accuracy",
        PREDICTION,
        "Share of failures that the trace predictor foresees, 0 to 1 (default 0.7).",
        "A",
    ),
    Choice(
        "risk",
        PREDICTION,
        "Least promise that users take, 0 to 1: the paper's U (default 0.9).",
        "U",
    ),
    Choice(
        "placement",
        PREDICTION,
        "Nodes of least risk, or of lowest number (default fault-aware; first with classics).",
        choices=("fault-aware", "first"),
    ),
    Choice(
        "checkpoint",
        CHECKPOINTS,
        "Which checkpoint requests are performed (default risk; none with classic policies). With "
        "--model virtual: none, the default there, or periodic.",
        choices=("risk", "none", "periodic", "daly"),
    ),
    Choice(
        "checkpoint_overhead",
        CHECKPOINTS,
        "Pause of a checkpoint (default 720s; 0s with --model cycle).",
        "DURATION",
    ),
    Choice(
        "checkpoint_interval",
        CHECKPOINTS,
        "Progress between requests (default 1h). With --model cycle: running time between "
        "checkpoints of a guest, or none.",
        "DURATION",
    ),
    Choice(
        "downtime",
        CHECKPOINTS,
        "Of a failed node; log takes repair times from the failure log (default 120s, or what "
        "our own failure logs tell).",
        "DURATION|log",
    ),
    Choice(
        "requeue",
        CHECKPOINTS,
        "When a killed job queues again: now, or by its first submit time (default now).",
        choices=("now", "original"),
    ),
    Choice("repeat_failures", CHECKPOINTS, "Start the failure log again where it ends.", flag=True),
    Choice(
        "mtbf",
        CHECKPOINTS,
        "A node's mean time between failures, for --checkpoint daly (default: from the log).",
        "DURATION",
    ),
)
"""An option for every field of `forestall.simulate.promise.parameters.Parameters`."""

READING: Final = (
    Choice(
        "failures",
        FAILURES,
        "The failure log; without one nothing fails. With --model cycle: when hosts were down.",
        "FILE",
    ),
    Choice("failure_format", FAILURES, "Its format, where it shall not be guessed.", "NAME"),
    Choice("system", FAILURES, "Which system, of a log with several.", "NAME"),
    Choice("from", FAILURES, "Time 0, such as 2003-07-18T16:00.", "TIME"),
    Choice("days", FAILURES, "Length of the window from there.", "DAYS"),
    Choice("fold_nodes", FAILURES, "So many neighbouring nodes count as one.", "K"),
    Choice("jobs", JOBS, "Positions to take from the job log, such as 1:10000.", "FIRST:LAST"),
    Choice(
        "processors_per_node",
        JOBS,
        "Of SWF logs, whose sizes are processors; with --model virtual, what a node has.",
        "P",
    ),
    Choice("strict", JOBS, "A row that must be left out or changed is an error.", flag=True),
)
"""Options of reading: which rows of which logs."""

TRAINING: Final = (
    Choice("train", TRAINED, "The failure log to learn from, up to time 0 of the run.", "FILE"),
    Choice("train_from", TRAINED, "Where its window begins (default: first failure).", "TIME"),
    Choice("train_days", TRAINED, "Length of its window (default: up to the run).", "DAYS"),
)
"""Options of the log that a predictor learns from."""

OPTIONS: Final = {
    "format": "--failure-format",
    "gantt": "--gantt",
    **{
        choice.name: choice.spelling
        for choice in (*MODEL, *PARAMETERS, *VIRTUAL, *CYCLE, *HOSTS, *READING, *TRAINING)
    },
}
"""Spellings by key, for messages."""

READ_FAILURES: Final = tuple(
    replace(choice, panel=FAILURES)
    for choice in READING
    if choice.name in {"system", "from", "days", "fold_nodes", "failure_format", "strict"}
)
"""Options of commands that take a failure log as their argument."""

STUDY_OUT = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for tables, figures and report.html.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
"""Where a command puts what it found, as files."""

CONFIG = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        help="Options from a file, keys as the options are spelled; the command line wins.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
FORCE = Annotated[
    bool,
    typer.Option(
        "--force", help="Write into a folder that holds something else.", rich_help_panel=OUTPUT
    ),
]
QUIET = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)
]
JSON = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)
]


def chosen(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by their keys in settings."""
    return {name.rstrip("_"): value for name, value in given.items() if value is not None}
