"""What the commands on how machines fail can be asked: each setting declared once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import MAX_SECONDS, MOST_DRAWS, parse_duration

with lazily():
    from forestall.reliability.lifetimes import registry

if TYPE_CHECKING:
    from forestall.reliability.report.failure_rate import MeasuredRate

DAY: Final = 86_400
FEWEST_DRAWS: Final = 19
"""Below it neither a 95 % interval nor a p-value of 0.05 can come out of draws."""
RATE: Final = 6.5
"""Failures per 1000 node-days of two large machines for training; Kokolis et al., 2410.21680."""
MEASURED: Final = "measured"
"""In the place of a repair time: that of the records."""

FIT: Final = "Fit"
ANALYSIS: Final = "Analysis"
NODES: Final = "Nodes and failures"
JOB: Final = "Job"
MODEL: Final = "Model"

Method: TypeAlias = Literal["likelihood", "wald", "bootstrap"]
RankBy: TypeAlias = Literal["aic", "bic", "loglik", "ks", "ad"]
Clock: TypeAlias = Literal["calendar", "uptime"]
YearsOf: TypeAlias = Literal["calendar", "age", "own"]
Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Seed: TypeAlias = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class FitQuestion(Declared, group=FIT):
    """How to fit, and what is wanted besides the parameters; for zeros and resolution see
    `Sample.of`. Without a family all are fitted and ranked."""

    family: Annotated[
        str | None,
        Setting(
            "Family to fit, such as weibull (default: fit and rank all families)",
            shown="NAME",
            offered=lambda: registry.FAMILIES,
        ),
    ] = None
    rank_by: Annotated[RankBy, Setting("Criterion that ranks the families")] = "aic"
    zeros: Annotated[
        Literal["auto", "censored", "exact", "drop"],
        Setting("Treat gaps of 0 as shorter than the resolution (censored), as 0, or drop them"),
    ] = "auto"
    resolution: Annotated[
        float | None,
        Setting(
            "Shortest gap that the log can resolve (default: the smallest gap above 0)",
            shown="TIME",
        ),
    ] = None
    level: Annotated[Level, Setting("Confidence level of the intervals", shown="SHARE")] = 0.95
    ci: Annotated[Method, Setting("Method for the confidence intervals")] = "likelihood"
    p_values: Annotated[bool, Setting("Compute p-values of the goodness of fit by bootstrap")] = (
        False
    )
    draws: Annotated[
        Annotated[int, Field(ge=FEWEST_DRAWS, le=MOST_DRAWS)], Setting("Samples to draw")
    ] = 999
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1
    unit: Annotated[str, Setting("Unit in which gaps are shown", shown="NAME")] = ""


def families_of(text: str) -> tuple[str, ...] | None:
    """Return the families that are named, None for ``all``."""
    if text.strip().lower() == "all":
        return None
    named = tuple(name.strip() for name in text.split(",") if name.strip())
    if not named:
        raise ParameterError("families", text, "all, or names such as weibull,lognormal")
    return named


@dataclass(frozen=True)
class FailureStudySettings(Declared, group=ANALYSIS):
    """How a failure log shall be looked at."""

    clock: Annotated[
        Clock, Setting("Measure gaps from failure to failure, or from repair to failure")
    ] = "calendar"
    families: Annotated[
        tuple[str, ...] | None,
        Setting("Distributions to rank", shown="NAME,...|all", read=families_of, typed="all"),
    ] = None
    draws: Annotated[
        Annotated[int, Field(ge=0, le=MOST_DRAWS)],
        Setting("Bootstrap samples for the p-values of fits; 0: none"),
    ] = 0
    seed: Annotated[Seed, Setting("Seed of the random numbers")] = 1
    level: float = 0.95
    unit: Annotated[Literal["s", "min", "h", "d"], Setting("Unit of gaps")] = "h"
    years: Annotated[
        YearsOf | None,
        Setting(
            "Count years by the calendar, or for each node from its start of service (age) or its "
            "own first failure (own) (default: calendar where the log has dates, else age)"
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.level < 1:
            raise ParameterError("level", self.level, "a number between 0 and 1")
        if self.draws and self.draws < FEWEST_DRAWS:
            allowed = f"0, or a whole number of at least {FEWEST_DRAWS}"
            raise ParameterError("draws", self.draws, allowed)
        for name in self.families or ():
            registry.family_of(name)

    @property
    def question(self) -> FitQuestion:
        """The same for fits of ranked families."""
        return FitQuestion(
            level=self.level,
            p_values=self.draws > 0,
            draws=self.draws or FEWEST_DRAWS,
            seed=self.seed,
            zeros="censored",
            unit=self.unit,
        )

    @property
    def plain_question(self) -> FitQuestion:
        """The same for fits to parts of the log, without p-values."""
        return FitQuestion(level=self.level, seed=self.seed, zeros="censored", unit=self.unit)


Shape: TypeAlias = Annotated[
    float,
    Setting("Weibull shape of a node's lifetime; 1 is exponential", shown="BETA", group=NODES),
]


@dataclass(frozen=True)
class IntervalQuestion(Declared):
    """How often to checkpoint: durations as text; `mtbf` may be measured instead."""

    checkpoint_overhead: Annotated[
        str | None,
        Setting(
            "Duration of a checkpoint (default with records: 5m)",
            shown="DURATION",
        ),
    ] = None
    mtbf: Annotated[
        str | None,
        Setting("Mean time between failures of a node (with records: measured)", shown="DURATION"),
    ] = None
    shape: Shape = 1.0
    nodes: Annotated[int, Setting("Nodes of the job", group=NODES)] = 1
    shortest: Annotated[
        str | None,
        Setting(
            "Shortest interval wanted: show how many nodes the job may then have",
            shown="DURATION",
            group=NODES,
        ),
    ] = None
    recall: Annotated[
        float,
        Setting(
            "Share of the failures that a predictor foresees in time to save the work",
            shown="R",
            group=NODES,
        ),
    ] = 0.0
    ages: Annotated[
        str,
        Setting(
            "Age of the nodes: new (all renewed at each failure), steady (a machine long in use),"
            " or an age at the start. With steady a single node is renewed at every failure",
            shown="new|steady|DURATION",
            group=NODES,
        ),
    ] = "steady"
    restart_overhead: Annotated[
        str, Setting("Time to read a checkpoint back", shown="DURATION", group=JOB)
    ] = "0"
    downtime: Annotated[
        str, Setting("Time from a failure to the restart", shown="DURATION", group=JOB)
    ] = "0"
    work: Annotated[
        str | None,
        Setting("Length of the job without failures (default: long)", shown="DURATION", group=JOB),
    ] = None


@dataclass(frozen=True)
class SparesQuestion(Declared):
    """How many spares: durations as text. A `measured` rate stands instead of `mtbf` and
    `rate`."""

    nodes: Annotated[
        int, Setting("Nodes of the job, or of the machine without the spares of a pool")
    ]
    hours: Annotated[
        str, Setting("Length of the run: hours, or a duration such as 4-00:00:00", shown="HOURS")
    ]
    target: Annotated[float, Setting("Wanted probability, such as 0.99", shown="P")] = 0.99
    mtbf: Annotated[
        str | None, Setting("Mean time between failures of a node", shown="DURATION", group=NODES)
    ] = None
    rate: Annotated[
        float | None,
        Setting(
            "Failures per 1,000 node-days, instead of {mtbf} (default 6.5)",
            shown="R",
            group=NODES,
        ),
    ] = None
    shape: Shape = 1.0
    ages: Annotated[
        str | None,
        Setting(
            "Age of the nodes at the start (default: new; steady with a pool)",
            shown="new|steady|DURATION",
            group=NODES,
        ),
    ] = None
    pool: Annotated[
        bool,
        Setting(
            "All N nodes work, and each failure takes a spare from a pool beside them", group=MODEL
        ),
    ] = False
    repair: Annotated[
        str | None,
        Setting(
            "Repair time after which failed nodes return to the pool, or measured from records",
            shown="DURATION|measured",
            group=MODEL,
        ),
    ] = None
    copies: Annotated[
        int,
        Setting(
            "Copies of each checkpoint: on its node and C - 1 neighbors; 0: checkpoints are never"
            " lost",
            shown="C",
            group=MODEL,
        ),
    ] = 0
    measured: MeasuredRate | None = None

    @property
    def seconds(self) -> float:
        """How long: a bare number is hours."""
        allowed = "hours above 0, or a duration such as 4-00:00:00 or 96h"
        try:
            seconds = float(self.hours) * 3600
        except ValueError:
            try:
                seconds = float(parse_duration(self.hours))
            except ParameterError:
                raise ParameterError("hours", self.hours, allowed) from None
        if not 0 < seconds < MAX_SECONDS:
            raise ParameterError("hours", self.hours, allowed)
        return seconds

    def mean(self) -> float:
        """Return a node's mean life, s."""
        if self.measured is not None:
            if self.mtbf is not None or self.rate is not None:
                name, value = ("mtbf", self.mtbf) if self.mtbf else ("rate", self.rate)
                raise ParameterError(name, value, "either that, or {slurm} and FILES")
            return self.measured.mttf
        if self.mtbf is not None and self.rate is not None:
            raise ParameterError("rate", self.rate, "either {mtbf} or {rate}")
        if self.mtbf is not None:
            mean = float(parse_duration(self.mtbf, "mtbf"))
            if mean == 0:
                raise ParameterError("mtbf", self.mtbf, "a duration above 0")
            return mean
        rate = RATE if self.rate is None else self.rate
        if not (rate > 0 and math.isfinite(rate)):
            raise ParameterError("rate", rate, "failures per 1000 node-days, above 0")
        return 1000 * DAY / rate
