"""Options that choose logs and output, as tables; those of a model's parameters are made of their
declarations (`forestall.runs.commands.parameters`).

Values are taken as text and checked in one place, `forestall.runs.settings`, whether they
come from the command line or from a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from forestall.core.commands.questions import Given, TextOptions, texts
from forestall.core.model.settings import Parameter, Setting

JOBS: Final = "Job log"
FAILURES: Final = "Failure log"
TRAINED: Final = "Training log"
OBSERVED: Final = "Observed and planned (--model promise)"
OUTPUT: Final = "Output"
HOST_TRACES: Final = "Host traces (--model cycle)"


READING: Final = (
    *texts(
        FAILURES,
        ("failures", "Failure log, or when hosts were down (default: nothing fails)", "FILE"),
        ("failure_format", "File format (default: detected)", "NAME"),
        ("system", "System to read, where the log holds several", "NAME"),
        ("from", "Start of the window, such as 2003-07-18T16:00", "TIME"),
        ("days", "Length of the window, in days", "DAYS"),
        ("fold_nodes", "Count this many neighboring nodes as one", "K"),
        rare={"failure_format", "fold_nodes"},
    ),
    *texts(
        JOBS,
        ("jobs", "Jobs to take from the log, by position, such as 1:10000", "FIRST:LAST"),
        ("processors_per_node", "Processors per node, to convert the job sizes of SWF logs", "P"),
        ("strict", "Reject a log with rows that would be skipped or changed", "off"),
        rare={"strict"},
    ),
)
"""Options of reading: which rows of which logs."""

TRAINING: Final = texts(
    TRAINED,
    ("train", "Failure log to learn from, up to time 0 of the run", "FILE"),
    ("train_from", "Start of the training window (default: first failure)", "TIME"),
    ("train_days", "Length of the training window (default: up to the run)", "DAYS"),
    rare={"train_from", "train_days"},
)
"""Options of the log that a predictor learns from."""

BESIDE: Final = texts(
    OBSERVED,
    ("events", "System events (RAS, syslog) that the predictor reads", "FILE"),
    ("metrics", "Metrics of nodes that the predictor reads", "FILE|DIR"),
    (
        "maintenance",
        "Planned outages, known in advance: START/END [NODES]; ... or a CSV file start,end,nodes",
        "WINDOWS|FILE",
    ),
    (
        "machine",
        "Nodes with cores, memory and GPUs, which jobs share: CSV, TOML, scontrol show node, or "
        "'nodes=32 cores=64 memory=512G gpus=8'",
        "FILE|NODES",
    ),
    rare={"events", "metrics", "maintenance"},
)
"""Options of what is known beside failures."""

HOSTS: Final = texts(
    HOST_TRACES,
    (
        "hosts",
        "Load of the hosts: samples time,node,cpu[,memory_free], another store of metrics, or a "
        "failure log; {from} and {days} select a window. Or use {failures}: up and down times.",
        "FILE|DIR",
    ),
    ("host_speeds", "Clock rate ratios, CSV host,speed (default 1 each)", "FILE"),
    (
        "period",
        "Time between samples (default: as in the trace; 60s with failure logs)",
        "DURATION",
    ),
    rare={"host_speeds", "period"},
)
"""Options of reading host traces."""


def shown_in(group: str, rows: Iterable[Parameter], names: Collection[str]) -> list[Parameter]:
    """Return those questions that have these names, all of them in help and in this group."""
    return [
        replace(one, setting=replace(one.setting, group=group, rare=False))
        for one in rows
        if one.name in names
    ]


READ_FAILURES: Final = shown_in(
    FAILURES, READING, {"system", "from", "days", "fold_nodes", "failure_format", "strict"}
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
