"""What a command was told about its records, and what it is asked of them: each setting once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict

from pydantic import Field

from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import parse_duration

TIMEOUT: Final = 600
"""Seconds that one question to Slurm may take."""


@dataclass(frozen=True)
class GivenRecords:
    """What a command was told about its records; see `forestall.reliability.commands.records`.

    Attributes
    ----------
    paths : files and folders, told apart by content
    slurm : whether to ask the Slurm of this machine
    failures : a failure log; `system`, `start`, `days`, `fold_nodes` and `failure_format` say how
        to read it, as in `forestall.logs.read.read_failures`
    processors_per_node : of an SWF log, whose sizes are processors
    zone : time zone of times without one, and of `since` and `until`; None: UTC, or Slurm's own
    cluster : whose records of Slurm are read, where they are of several; None: the only one
    since, until : the window, as text
    partition, min_nodes : the cut
    timeout : s that a question to Slurm may take
    strict : whether a row that must be left out or changed is an error
    spell : how parameters are written in what is said of the records
    """

    paths: tuple[Path, ...] = ()
    slurm: bool = False
    failures: Path | None = None
    system: str | None = None
    start: str | None = None
    days: float | None = None
    fold_nodes: int = 1
    failure_format: str | None = None
    processors_per_node: int = 1
    zone: str | None = None
    cluster: str | None = None
    since: str | None = None
    until: str | None = None
    partition: str | None = None
    min_nodes: int = 1
    timeout: int = TIMEOUT
    strict: bool = False
    spell: Callable[[str], str] = str

    @property
    def nothing(self) -> bool:
        """Whether no source was named at all."""
        return not (self.paths or self.slurm or self.failures)


class RecordOptions(TypedDict, total=False):
    """What public functions may be told about a site's records; see `GivenRecords`."""

    slurm: bool
    failures: str | Path | None
    system: str | None
    start: str | None
    days: float | None
    fold_nodes: int
    failure_format: str | None
    processors_per_node: int
    zone: str | None
    cluster: str | None
    since: str | None
    until: str | None
    partition: str | None
    min_nodes: int
    timeout: int
    strict: bool


def records_of(files: Iterable[str | Path], options: Mapping[str, Any]) -> GivenRecords:
    """Return what a public function was told about its records; ParameterError for a name that is
    none of `RecordOptions`, and for files that are no paths."""
    for name in options:
        if name not in RecordOptions.__annotations__:
            allowed = "one of " + ", ".join(RecordOptions.__annotations__)
            raise ParameterError("an option", name, allowed)
    paths, told = list[Path](), list[object](files)
    for file in told:
        if not isinstance(file, str | Path):
            allowed = "paths, one after the other, such as 'jobs.txt', 'events.txt'"
            raise ParameterError("files", file, allowed)
        paths.append(Path(file))
    given = dict(options)
    if given.get("failures") is not None:
        given["failures"] = Path(given["failures"])
    return GivenRecords(tuple(paths), **given)


Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
ASSUMED: Final = "Assumptions"
PROMISES: Final = "Promises"
LEARN: Final = (
    "Learn quotes from jobs and the queue, or base them on similar jobs only, which is faster"
)


def interval_of(text: str) -> int:
    """Return the time between checkpoints, s, at least 1."""
    seconds = parse_duration(text, "checkpoint_interval")
    if seconds == 0:
        raise ParameterError("checkpoint_interval", text, "a duration of at least 1s")
    return seconds


@dataclass(frozen=True)
class Assumptions(Declared, group=ASSUMED):
    """What is assumed where records are silent; times in s. The interval is None where nobody
    said."""

    cost: Annotated[
        Annotated[float, Field(ge=0)] | None,
        Setting("Price of a node-hour, to show losses and savings in money", shown="MONEY"),
    ] = None
    currency: Annotated[str, Setting("Currency of {cost}", shown="NAME")] = "EUR"
    checkpoint_interval: Annotated[
        int | None,
        Setting(
            "How often jobs checkpoint today; records do not show it (default 1h)",
            shown="DURATION",
            read=interval_of,
        ),
    ] = None
    checkpoint_cost: Annotated[int, Setting("Duration of a checkpoint", unit="s")] = 300
    restart: Annotated[int, Setting("Duration of a restart", unit="s")] = 300
    learn: Annotated[bool, Setting(LEARN, group=PROMISES)] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.currency.strip():
            raise ParameterError("currency", self.currency, "a name such as EUR")

    def told(self) -> dict[str, Any]:
        """Return fields of `Asked`; the interval only where it was told."""
        interval = self.checkpoint_interval
        return {
            "node_hour_cost": self.cost,
            "currency": self.currency.strip(),
            "checkpoint_cost": self.checkpoint_cost,
            "restart": self.restart,
            "learn": self.learn,
            **({} if interval is None else {"checkpoint_interval": interval}),
        }


@dataclass(frozen=True)
class LemonQuestion(Declared, group="Analysis"):
    """Which share of the named nodes may be named in error, and how often jobs checkpoint, s."""

    false_discovery_rate: Annotated[
        Level,
        Setting("Accepted share of named nodes that are named in error", shown="SHARE"),
    ] = 0.05
    checkpoint_interval: Annotated[
        int | None,
        Setting(
            "How often jobs are assumed to checkpoint, to estimate lost work (default 1h)",
            shown="DURATION",
            read=interval_of,
        ),
    ] = None


@dataclass(frozen=True)
class JobQuestion(Declared, group=ASSUMED):
    """How often a job is taken to checkpoint, s; None: the default of a report."""

    checkpoint_interval: Annotated[
        int | None,
        Setting(
            "How often the job is assumed to checkpoint (default 1h)",
            shown="DURATION",
            read=interval_of,
        ),
    ] = None


@dataclass(frozen=True)
class WaitsQuestion(Declared, group=PROMISES):
    """Which answers on waits of past jobs are scored."""

    latest: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting("Replay only the latest N jobs (default: all)", shown="N"),
    ] = None
    seed: Annotated[Annotated[int, Field(ge=0)], Setting("Seed of what is learned")] = 1


@dataclass(frozen=True)
class BacktestQuestion(Declared, group=PROMISES):
    """What jobs of the past ask for, and which promises count."""

    question: Annotated[
        Literal["deadline", "probability", "both"],
        Setting(
            "What jobs ask for: a deadline for a given probability, or the probability of a "
            "given deadline"
        ),
    ] = "both"
    level: Annotated[
        Level | None,
        Setting(
            "The probability of every deadline (default: 0.01 to 0.99, spread evenly)", shown="P"
        ),
    ] = None
    warm_up: Annotated[int, Setting("Completed jobs before promises are counted")] = 1000
    seed: Annotated[
        Annotated[int, Field(ge=0)],
        Setting("Seed for the deadlines and probabilities that jobs ask for"),
    ] = 1
    learn: Annotated[bool, Setting(LEARN)] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level is not None and self.question == "probability":
            allowed = (
                "none with {question} probability: it sets the probability of the deadlines "
                "asked for"
            )
            raise ParameterError("level", self.level, allowed)
        if self.warm_up < 0:
            allowed = "a whole number of jobs, at least 0"
            raise ParameterError("warm_up", self.warm_up, allowed)
