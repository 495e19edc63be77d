"""What the commands on predictors can be asked: each setting declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import MOST_DRAWS, MOST_NODES, parse_duration

NO_GROUPS: Final = "none"
HOUR: Final = 3600
MOST_DECISIONS: Final = 1_000_000
"""Decisions judged for a horizon; of longer logs every k-th moment."""

COLUMNS: Final = "Columns"
JUDGING: Final = "Judging"
JUDGEMENT: Final = "Judgement"
STAKES: Final = "What is at stake"
JOBS_AND_METRICS: Final = "Jobs and metrics"
ACTING: Final = "Acting"
MACHINES: Final = "Generated machines"
JOBS: Final = "Jobs"
TRIAL: Final = "Trial"
COLLECTING: Final = "Collecting"
BESIDE: Final = "Other observations"
FAILURES: Final = "Failure log"

Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Amount: TypeAlias = Annotated[float, Field(ge=0)]
Seed: TypeAlias = Annotated[int, Field(ge=0)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Nodes: TypeAlias = Annotated[int, Field(ge=1, le=MOST_NODES)]
Draws: TypeAlias = Annotated[int, Field(gt=0, le=MOST_DRAWS)]
MOST_BINS: Final = 10_000
AboveZero: TypeAlias = Annotated[int, Field(gt=0)]
"""The same, checked by the question: Typer checks, and shows, only what is "at least"."""

Events: TypeAlias = Annotated[
    Path | None, Setting("An event log (RAS, syslog) of the same machine", group=BESIDE)
]
Metrics: TypeAlias = Annotated[Path | None, Setting("Metrics of the same nodes", group=BESIDE)]
MachineNodes: TypeAlias = Annotated[
    Nodes | None,
    Setting("Nodes of the machine, if more than the logs show", group=FAILURES),
]
Until: TypeAlias = Annotated[
    str | None,
    Setting(
        "Use only data before this time: a date, or an age such as 10d (default: the end)",
        shown="TIME",
        group=FAILURES,
    ),
]


def names_of(text: str) -> tuple[str, ...]:
    """Return names from text such as ``ours,theirs``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def names_or_all(text: str) -> tuple[str, ...] | None:
    """Return names from text, None for ``all``."""
    return None if text == "all" else names_of(text)


@dataclass(frozen=True)
class ScoreQuestion(Declared, group=JUDGING):
    """How scores are to be judged.

    The first column of `score` is judged, the others are compared with it. With groups ``none``
    cases are taken as independent. None for `probabilities`: whatever lies within 0 and 1 is, as
    are the other columns then; False: none is.
    """

    score: Annotated[
        tuple[str, ...],
        Setting(
            "Column to judge; with several, the others are compared with the first",
            shown="NAME,...",
            group=COLUMNS,
            read=names_of,
            typed="score",
        ),
    ] = ("score",)
    failed: Annotated[
        str, Setting("Column of outcomes: 1 (failed) or 0", shown="NAME", group=COLUMNS)
    ] = "failed"
    group: Annotated[
        str | None,
        Setting(
            "Column that groups dependent cases, such as the node (default: group, if present)",
            shown="NAME|none",
            group=COLUMNS,
        ),
    ] = None
    baseline: Annotated[
        str | None, Setting("Column of scores to compare with", shown="NAME", group=COLUMNS)
    ] = None
    threshold: Annotated[
        float | None, Setting("Scores of X or more are alarms (default: best F1)")
    ] = None
    loss: Annotated[
        Amount | None,
        Setting(
            "Node-hours that a failure destroys, to compute the benefit of acting",
            unit="node-hours",
            group=STAKES,
        ),
    ] = None
    action_cost: Annotated[
        Amount,
        Setting("Node-hours that acting costs, with {loss}", unit="node-hours", group=STAKES),
    ] = 0.0
    effect: Annotated[
        float,
        Field(ge=0, le=1),
        Setting("Share of the loss that acting avoids", shown="SHARE", group=STAKES),
    ] = 1.0
    draws: Annotated[Draws, Setting("Permutations for the p-value")] = 3000
    seed: Annotated[Seed, Setting("Seed of the permutations")] = 1
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    bins: Annotated[
        AboveZero, Field(le=MOST_BINS), Setting("Number of bins of the reliability table")
    ] = 10
    binning: Annotated[
        Literal["auto", "width", "count"],
        Setting("Bins of equal width or count; auto: count where one bin would hold most cases"),
    ] = "auto"
    probabilities: Annotated[
        bool | None,
        Setting("Whether scores are probabilities (default: if all lie within 0 and 1)"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.score or not all(self.score):
            raise ParameterError("score", ",".join(self.score), "a column, or several: a,b")
        if len(set(self.score)) < len(self.score):
            raise ParameterError("score", ",".join(self.score), "each column once")
        if self.baseline == self.score[0]:
            raise ParameterError("baseline", self.baseline, "another column than {score}")
        if self.failed in self.columns:
            raise ParameterError("failed", self.failed, "another column than the scores")
        if self.threshold is not None and math.isnan(self.threshold):
            raise ParameterError("threshold", self.threshold, "a number")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of scores, the judged one first."""
        more = () if self.baseline is None else (self.baseline,)
        return tuple(dict.fromkeys((*self.score, *more)))


def durations_of(name: str) -> Callable[[str], tuple[int, ...]]:
    """Return a reader of durations from text such as ``1h,6h,24h``, s, ascending, each once."""

    def read(text: str) -> tuple[int, ...]:
        found = {parse_duration(part, name) for part in names_of(text)}
        if not found or min(found) < 1:
            raise ParameterError(name, text, "durations of at least 1 s, such as 1m,6h,24h")
        return tuple(sorted(found))

    return read


@dataclass(frozen=True)
class AlarmSettings(Declared, group=JUDGING):
    """How alarms shall be judged; horizons ascend, and `draws` are of intervals."""

    horizons: Annotated[
        tuple[int, ...],
        Setting(
            "How long before a failure an alarm counts for it",
            shown="DURATION,...",
            read=durations_of("horizons"),
            typed="1h,6h,24h",
        ),
    ] = (HOUR, 6 * HOUR, 24 * HOUR)
    lead: Annotated[
        int, Setting("Shortest useful lead time; later alarms are late", unit="s", typed="0")
    ] = 0
    action_time: Annotated[
        Seed, Setting("How long an action occupies the nodes of a job", unit="s", group=ACTING)
    ] = 0
    action_cost: Annotated[
        Amount,
        Setting(
            "Node-hours that each action costs, besides its duration",
            unit="node-hours",
            group=ACTING,
        ),
    ] = 0.0
    nodes: Annotated[
        Nodes | None,
        Setting("Nodes of the machine (default: those that the log and the alarms name)"),
    ] = None
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    draws: int = 1000
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.horizons or self.lead >= min(self.horizons):
            raise ParameterError("lead", self.lead, "a duration below the shortest horizon")

    @property
    def main(self) -> int:
        """The place of the horizon that the verdict is about: the middle one."""
        return (len(self.horizons) - 1) // 2


def _states(option: str, text: str) -> tuple[str, ...]:
    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    if not found:
        raise ParameterError(option, text, "states such as FAILED,NODE_FAIL")
    return found


@dataclass(frozen=True)
class JobStudySettings(Declared, group=ACTING):
    """How a metric shall be judged as a predictor of failed jobs; `level` and `draws` are of
    intervals and permutations."""

    failed_states: Annotated[
        tuple[str, ...] | None,
        Setting(
            "Job states that count as failures (default: all but COMPLETED)",
            shown="STATE,...",
            group=JOBS_AND_METRICS,
            read=partial(_states, "failed_states"),
        ),
    ] = None
    ignored_states: Annotated[
        tuple[str, ...],
        Setting(
            "Job states that count neither as failures nor as successes",
            shown="STATE,...",
            group=JOBS_AND_METRICS,
            read=partial(_states, "ignored_states"),
        ),
    ] = ()
    value: Annotated[
        Literal["max", "mean", "last"],
        Setting("How an idle period's samples are summarized", group=JOBS_AND_METRICS),
    ] = "max"
    side: Annotated[
        Literal["high", "low"], Setting("Which values are suspect", group=JOBS_AND_METRICS)
    ] = "high"
    reboot: Annotated[int, Setting("How long an action takes", unit="s")] = 90
    cores: Annotated[Count | None, Setting("Cores of a node (default: as the records have it)")] = (
        None
    )
    scale: Annotated[
        Amount, Setting("Share of a failed job's time that an action saves", shown="S")
    ] = 1.0
    action_cost: Annotated[
        Amount,
        Setting("Node-hours that each action costs, besides its duration", unit="node-hours"),
    ] = 0.0
    price: Annotated[Amount | None, Setting("Price of a node-hour", shown="MONEY")] = None
    currency: Annotated[str, Setting("Currency of the price, such as EUR", shown="NAME")] = ""
    limit: Annotated[
        Seed,
        Setting(
            "Maximum number of nodes to act on at once; actions are only proposed, never taken"
        ),
    ] = 10
    level: float = 0.95
    draws: int = 3000
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.level < 1:
            raise ParameterError("level", self.level, "a number between 0 and 1")

    @property
    def sign(self) -> float:
        """What values are multiplied by, so that high ones are suspect."""
        return 1.0 if self.side == "high" else -1.0


FailedStates: TypeAlias = Annotated[
    tuple[str, ...] | None,
    Setting(
        "Job states that count as failures (default: all but COMPLETED)",
        shown="STATE,...",
        group=JOBS,
        read=partial(_states, "failed_states"),
    ),
]
IgnoredStates: TypeAlias = Annotated[
    tuple[str, ...],
    Setting(
        "Job states that count neither as failures nor as successes",
        shown="STATE,...",
        group=JOBS,
        read=partial(_states, "ignored_states"),
    ),
]
Measure: TypeAlias = Literal["failures", "lost"]


@dataclass(frozen=True)
class TrialPlanSettings(Declared, group=TRIAL):
    """What a trial shall show: `effect` is the share of the measure that acting takes away."""

    effect: Annotated[
        Level, Setting("Effect to detect: share of the measure that acting prevents", shown="SHARE")
    ]
    power: Annotated[
        Level,
        Setting("Statistical power: probability that the trial detects the effect", shown="SHARE"),
    ] = 0.8
    measure: Annotated[
        Measure, Setting("What is compared: failed jobs, or their node-hours lost")
    ] = "failures"
    pairs: Annotated[
        Count | None,
        Setting("Pairs of nodes, one acted on and one left alone (default: all nodes)"),
    ] = None
    failed_states: FailedStates = None
    ignored_states: IgnoredStates = ()
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    seed: Annotated[Seed, Setting("Seed of the random assignment")] = 1


@dataclass(frozen=True)
class TrialSettings(Declared, group=TRIAL):
    """How a trial shall be judged; the verdict is by `measure`."""

    measure: Annotated[
        Measure, Setting("Measure of the verdict: failed jobs, or their node-hours lost")
    ] = "failures"
    failed_states: FailedStates = None
    ignored_states: IgnoredStates = ()
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    draws: Annotated[Draws, Setting("Number of random reassignments of the arms")] = 10_000
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1


MEMORY_POLICIES: Final = ("nothing", "routine", "random", "reboot", "clear", "drain", "steer")
"""What can be done about leaking memory."""


def policies_named(text: str) -> tuple[str, ...]:
    """Return policies from text such as ``reboot,steer``, each once; every one for ``all``."""
    names = MEMORY_POLICIES if text == "all" else tuple(dict.fromkeys(names_of(text)))
    strange = [name for name in names if name not in MEMORY_POLICIES]
    if strange or not names:
        allowed = "one of " + ", ".join(MEMORY_POLICIES)
        raise ParameterError("policies", strange[0] if strange else text, allowed)
    return names


def thresholds_of(text: str) -> tuple[float, ...]:
    """Return thresholds from text such as ``0.05,0.09``, ascending, each once."""
    try:
        found = sorted({float(part) for part in names_of(text)})
    except ValueError:
        found = []
    if not found or not all(map(math.isfinite, found)):
        raise ParameterError("thresholds", text, "numbers such as 0.05,0.09")
    return tuple(found)


@dataclass(frozen=True)
class PolicySettings(Declared, group=ACTING):
    """Which policies are to be played, on which machines; `reboot`, `clear` and `drain` are how
    long a node is out of service."""

    policies: Annotated[
        tuple[str, ...],
        Setting("Policies to compare", shown="NAME,...", read=policies_named, typed="all"),
    ] = MEMORY_POLICIES
    thresholds: Annotated[
        tuple[float, ...],
        Setting(
            "Share of memory from which reboot, clear and drain act",
            shown="SHARE,...",
            read=thresholds_of,
            typed="0.05,0.09,0.2",
        ),
    ] = (0.05, 0.09, 0.2)
    share: Annotated[
        float,
        Field(ge=0, le=1),
        Setting("Share of idle periods in which the random policy reboots"),
    ] = 0.2
    reboot: Annotated[Seed, Setting("How long a reboot takes", unit="s")] = 90
    clear: Annotated[Seed, Setting("How long clearing processes takes", unit="s")] = 10
    clear_share: Annotated[
        float, Field(ge=0, le=1), Setting("Share of the missing memory that clearing recovers")
    ] = 0.8
    drain: Annotated[Seed, Setting("How long a drained node is away", unit="s")] = 4 * HOUR
    action_cost: Annotated[
        Amount,
        Setting("Node-hours that each action costs, besides its duration", unit="node-hours"),
    ] = 0.0
    nodes: Annotated[Count, Setting("Nodes of a machine", group=MACHINES)] = 288
    days: Annotated[float, Setting("Length in days", shown="DAYS", group=MACHINES)] = 16
    relation: Annotated[
        float,
        Setting(
            "How strongly lost memory makes jobs fail; 0: not at all", shown="R", group=MACHINES
        ),
    ] = 1.0
    load: Annotated[
        float, Setting("Share of node-time used by jobs", shown="SHARE", group=MACHINES)
    ] = 0.7
    period: Annotated[Count, Setting("Time between samples", unit="s", group=MACHINES)] = 60
    machines: Annotated[Count, Setting("Number of machines", group=MACHINES)] = 10
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    seed: Annotated[
        Seed, Setting("Seed of the first machine; each machine has its own", group=MACHINES)
    ] = 1


@dataclass(frozen=True)
class How(Declared, group=JUDGEMENT):
    """How predictors are judged by a log's own future; at most `most` decisions for a horizon."""

    split: Annotated[Level, Setting("Share of the window used for training", shown="SHARE")] = 2 / 3
    alarm_share: Annotated[
        Level, Setting("Node-time under alarm at which recall is measured", shown="SHARE")
    ] = 0.05
    draws: Annotated[
        Annotated[int, Field(ge=20, le=MOST_DRAWS)],
        Setting("Bootstrap samples of weeks for the intervals"),
    ] = 400
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.9
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1
    most: int = MOST_DECISIONS


def counts_of(text: str) -> tuple[int, ...]:
    """Return numbers of metrics from text such as ``1,2,4``."""
    found = names_of(text)
    if not found or not all(one.isdecimal() and int(one) for one in found):
        raise ParameterError("counts", text, "whole numbers of at least 1, such as 1,2,4")
    return tuple(map(int, found))


@dataclass(frozen=True)
class CollectionSettings(Declared, group=COLLECTING):
    """Which ways of collecting are to be judged, by which predictor."""

    counts: Annotated[
        tuple[int, ...] | None,
        Setting(
            "Numbers of metrics to try (default: 1, 2, 4, ... all)", shown="N,...", read=counts_of
        ),
    ] = None
    intervals: Annotated[
        tuple[int, ...] | None,
        Setting(
            "Times between samples to try (default: 1, 2, 4 and 8 periods)",
            shown="DURATION,...",
            read=durations_of("intervals"),
        ),
    ] = None
    order: Annotated[
        Literal["best", "file"],
        Setting("Order in which metrics are added: by their value so far, or as in the file"),
    ] = "best"
    predictor: Annotated[
        str, Setting("A name of `forestall predict list` that needs metrics", shown="NAME")
    ] = "outlier"


@dataclass(frozen=True)
class Stakes(Declared, group=STAKES):
    """What acting costs and what a failure destroys, node-hours; price of a node-hour."""

    cost: Annotated[
        Amount,
        Setting("Node-hours that acting on a node costs", option="action_cost", shown="NODE-HOURS"),
    ] = 0.5
    loss: Annotated[
        Amount, Setting("Node-hours that a failure destroys without action", shown="NODE-HOURS")
    ] = 24.0
    price: Annotated[Amount | None, Setting("Price of a node-hour", shown="MONEY")] = None
    currency: Annotated[str, Setting("Currency of the price, such as EUR", shown="NAME")] = "EUR"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.currency.strip():
            raise ParameterError("currency", self.currency, "a name such as EUR")
