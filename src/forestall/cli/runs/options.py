"""Options that choose logs and output, as tables; those of a model's parameters are made of their
declarations (`forestall.cli.runs.parameters`).

Values are taken as text and checked in one place, `forestall.app.runs.settings`, whether they
come from the command line or from a file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from forestall.cli.choice import Choice, Given, TextOptions
from forestall.model.settings import Setting

JOBS: Final = "Job log"
FAILURES: Final = "Failure log"
TRAINED: Final = "Training log"
OBSERVED: Final = "Observed and planned (--model promise)"
OUTPUT: Final = "Output"
HOST_TRACES: Final = "Host traces (--model cycle)"


READING: Final = (
    Choice(
        "failures",
        FAILURES,
        "Failure log (default: nothing fails).",
        "FILE",
        otherwise={"cycle": "Failure log: when hosts were down."},
    ),
    Choice("failure_format", FAILURES, "File format (default: detected).", "NAME", rare=True),
    Choice("system", FAILURES, "System to read, where the log holds several.", "NAME"),
    Choice("from", FAILURES, "Start of the window, such as 2003-07-18T16:00.", "TIME"),
    Choice("days", FAILURES, "Length of the window, in days.", "DAYS"),
    Choice("fold_nodes", FAILURES, "Count this many neighboring nodes as one.", "K", rare=True),
    Choice("jobs", JOBS, "Jobs to take from the log, by position, such as 1:10000.", "FIRST:LAST"),
    Choice(
        "processors_per_node",
        JOBS,
        "Processors per node, to convert the job sizes of SWF logs.",
        "P",
        otherwise={"virtual": "Processors of a node; job sizes count processors."},
    ),
    Choice(
        "strict",
        JOBS,
        "Reject a log with rows that would be skipped or changed.",
        flag=True,
    ),
)
"""Options of reading: which rows of which logs."""

LEARN: Final = ("promise", "virtual")
TRAINING: Final = (
    Choice(
        "train", TRAINED, "Failure log to learn from, up to time 0 of the run.", "FILE",
        models=LEARN,
    ),
    Choice(
        "train_from", TRAINED, "Start of the training window (default: first failure).", "TIME",
        rare=True, models=LEARN,
    ),
    Choice(
        "train_days", TRAINED, "Length of the training window (default: up to the run).", "DAYS",
        rare=True, models=LEARN,
    ),
)  # fmt: skip
"""Options of the log that a predictor learns from."""

ONLY_PROMISE: Final = ("promise",)
ONLY_CYCLE: Final = ("cycle",)
BESIDE: Final = (
    Choice(
        "events",
        OBSERVED,
        "System events (RAS, syslog) that the predictor reads.",
        "FILE",
        models=ONLY_PROMISE,
    ),
    Choice(
        "metrics",
        OBSERVED,
        "Metrics of nodes that the predictor reads.",
        "FILE|DIR",
        models=ONLY_PROMISE,
    ),
    Choice(
        "maintenance",
        OBSERVED,
        "Planned outages, known in advance: START/END [NODES]; ... or a CSV file start,end,nodes.",
        "WINDOWS|FILE",
        models=ONLY_PROMISE,
    ),
)
"""Options of what is known beside failures."""

HOSTS: Final = (
    Choice(
        "hosts",
        HOST_TRACES,
        "Load of the hosts: samples time,node,cpu[,memory_free], another store of metrics, or "
        "a failure log; --from and --days select a window. Or use --failures: up and down "
        "times.",
        "FILE|DIR",
        models=ONLY_CYCLE,
    ),
    Choice(
        "host_speeds",
        HOST_TRACES,
        "Clock rate ratios, CSV host,speed (default 1 each).",
        "FILE",
        rare=True,
        models=ONLY_CYCLE,
    ),
    Choice(
        "period",
        HOST_TRACES,
        "Time between samples (default: as in the trace; 60s with failure logs).",
        "DURATION",
        rare=True,
        models=ONLY_CYCLE,
    ),
)
"""Options of reading host traces."""

READ_FAILURES: Final = tuple(
    replace(choice, panel=FAILURES, rare=False)
    for choice in READING
    if choice.name in {"system", "from", "days", "fold_nodes", "failure_format", "strict"}
)
"""Options of commands that take a failure log as their argument."""

FailureReading: TypeAlias = Annotated[Given, TextOptions(READ_FAILURES)]
FailureLog: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FAILURES", help="Failure log, in any known format.")
]
JobLog: TypeAlias = Annotated[
    Path, typer.Argument(metavar="JOBS", help="Job log: SWF, CSV or Parquet.")
]
Strict: TypeAlias = Annotated[bool, Setting("Reject a file with rows that would be skipped")]

Config: TypeAlias = Annotated[
    Path | None,
    Setting(
        "Read options from a TOML file whose keys are option names; the command line wins",
        shown="FILE.toml", group=OUTPUT,
    ),
]  # fmt: skip
StudyOut: TypeAlias = Annotated[
    Path | None,
    Setting("Folder for tables, figures and report.html", shown="DIR", group=OUTPUT),
]
Force: TypeAlias = Annotated[
    bool, Setting("Write into a folder that already holds other files", group=OUTPUT)
]
Quiet: TypeAlias = Annotated[bool, Setting("Print only errors", group=OUTPUT, short="q")]
Json: TypeAlias = Annotated[
    bool, Setting("Print JSON instead of text", group=OUTPUT, option="json")
]
