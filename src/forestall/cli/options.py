"""Every option that a run can have, as one table: a new parameter gets its option by one line.

Values are taken as text and checked in one place, `forestall.app.settings`, whether they come from
the command line or from a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

F = TypeVar("F", bound=Callable[..., Any])

MACHINE: Final = "Machine and policy"
PREDICTION: Final = "Prediction and promises"
CHECKPOINTS: Final = "Checkpoints and failures"
JOBS: Final = "Job log"
FAILURES: Final = "Failure log"
TRAINED: Final = "Training log"
OUTPUT: Final = "Output"


@dataclass(frozen=True)
class Choice:
    """An option: its key in settings and files (`name`), its help, and how its value is shown.

    `choices` are completed by the shell; `flag` is for those that are on or off, `on` for those of
    them that are on unless ``--no-...`` is said.
    """

    name: str
    panel: str
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    flag: bool = False
    on: bool = False

    @property
    def spelling(self) -> str:
        """The option as it is typed: ``--checkpoint-overhead``."""
        return "--" + self.name.replace("_", "-")

    def parameter(self, *, varied: bool) -> inspect.Parameter:
        """Return the option as a keyword of a command; `varied` ones take ranges and lists."""
        several = varied and not self.flag and self.panel in {MACHINE, PREDICTION, CHECKPOINTS}
        spellings = [self.spelling]
        if self.flag and self.on:
            spellings = [f"{self.spelling}/--no-{self.spelling[2:]}"]
        info = typer.Option(
            *spellings,
            help=self.help,
            metavar=" " if self.flag else (f"{self.shown}[,...]" if several else self.shown),
            rich_help_panel=self.panel,
            show_default=False,
            autocompletion=self._complete if self.choices else None,
        )
        annotation = Annotated[bool | None if self.flag else str | None, info]  # type: ignore[valid-type]
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.identifier, kind, default=None, annotation=annotation)

    @property
    def identifier(self) -> str:
        """The name of the Python keyword; `from` is taken."""
        return f"{self.name}_" if self.name == "from" else self.name

    @property
    def shown(self) -> str:
        """What help shows in the place of a value."""
        return "|".join(self.choices) or self.metavar

    def _complete(self, incomplete: str) -> list[str]:
        return [choice for choice in self.choices if choice.startswith(incomplete)]


PARAMETERS: Final = (
    Choice("nodes", MACHINE, "Nodes of the machine (default 128).", "N"),
    Choice(
        "policy",
        MACHINE,
        "Who decides: promises with deadlines, or a classic scheduler (default promise).",
        choices=("promise", "fcfs", "easy", "conservative"),
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
    Choice("seed", MACHINE, "Of whatever is drawn by chance (default 1).", "N"),
    Choice(
        "predictor",
        PREDICTION,
        "What promises rest on: the log to come, seen with --accuracy (trace, the default), or "
        "what was learnt: hazard or a name of `predict list` with --train, or a predictor's file.",
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
        "Which checkpoint requests are performed (default risk; none with classic policies).",
        choices=("risk", "none", "periodic", "daly"),
    ),
    Choice("checkpoint_overhead", CHECKPOINTS, "Pause of a checkpoint (default 720s).", "DURATION"),
    Choice(
        "checkpoint_interval", CHECKPOINTS, "Progress between requests (default 1h).", "DURATION"
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
"""An option for every field of `forestall.simulate.parameters.Parameters`."""

READING: Final = (
    Choice("failures", FAILURES, "The failure log; without one nothing fails.", "FILE"),
    Choice("failure_format", FAILURES, "Its format, where it shall not be guessed.", "NAME"),
    Choice("system", FAILURES, "Which system, of a log with several.", "NAME"),
    Choice("from", FAILURES, "Time 0, such as 2003-07-18T16:00.", "TIME"),
    Choice("days", FAILURES, "Length of the window from there.", "DAYS"),
    Choice("fold_nodes", FAILURES, "So many neighbouring nodes count as one.", "K"),
    Choice("jobs", JOBS, "Positions to take from the job log, such as 1:10000.", "FIRST:LAST"),
    Choice("processors_per_node", JOBS, "Of SWF logs, whose sizes are processors.", "P"),
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
    **{choice.name: choice.spelling for choice in (*PARAMETERS, *READING, *TRAINING)},
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


def with_options(*tables: Iterable[Choice], varied: bool = False) -> Callable[[F], F]:
    """Give a command, which takes them as ``**given``, an option for each entry of the tables."""

    def decorate(function: F) -> F:
        own = inspect.signature(function, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [choice.parameter(varied=varied) for table in tables for choice in table]
        first = [p for p in kept if p.default is p.empty]
        rest = [p for p in kept if p.default is not p.empty]
        keyword = inspect.Parameter.KEYWORD_ONLY
        ordered = [*first, *more, *(p.replace(kind=keyword) for p in rest)]
        function.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
        function.__annotations__ = {p.name: p.annotation for p in ordered}
        return function

    return decorate


def chosen(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by their keys in settings."""
    return {name.rstrip("_"): value for name, value in given.items() if value is not None}


def examples(*lines: str) -> str:
    """Return the end of a help page: runnable examples, a line each."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))
