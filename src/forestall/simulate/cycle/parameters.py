"""The parameters of a run of cycle sharing: each declared once, with its default and what it
allows."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from forestall.decide.cycle.entries import SCHEDULERS
from forestall.model.settings import Setting
from forestall.simulate.kit.fields import CHECKPOINT_AXIS, Positive, Seconds, SeedNumber, Share

DAY = 86_400
_CONDOR: Final = ("scheduler", "condor")
_FALCON: Final = ("scheduler", "falcon")
_CHECKPOINTS: Final = ("restart", "checkpoint")


class CycleParameters(BaseModel):
    """Everything that a run of cycle sharing depends on besides jobs and host traces.

    Defaults are those of Bagchi et al., the FALCON and iShare slides, where they tell them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduler: Annotated[
        str,
        SCHEDULERS,
        Setting(
            "Who places jobs: by what is foretold of hosts, by best rank, or by the truth",
            about="by what is foretold of hosts, by best rank (blind to failures), by the truth",
            label="Scheduler", order=("condor", "falcon", "omniscient"),
        ),
    ] = "falcon"  # fmt: skip
    rank: Annotated[
        Literal["idle", "speed"],
        Setting(
            "Condor: speed times idle share now, or speed alone",
            about="of `condor`: speed x (1 - load) now, or speed",
            only=_CONDOR,
        ),
    ] = "idle"
    job_length: Annotated[
        Positive | None,
        Setting(
            "Run time of every job on an idle host of speed 1",
            unit="s", absent="log", unset="the log's", label="Job length", axis="hours",
        ),
    ] = None  # fmt: skip
    restart: Annotated[
        Literal["scratch", "checkpoint"],
        Setting("Where a job goes on that lost its host", order=("scratch", "checkpoint")),
    ] = "scratch"
    checkpoint_interval: Annotated[
        Positive | None,
        Setting(
            "Running time between checkpoints of a guest, or none",
            about="running time of a stay between checkpoints; none: only the one at its end",
            unit="s", group="checkpoints", absent="none", label=CHECKPOINT_AXIS, axis="hours",
            only=_CHECKPOINTS,
        ),
    ] = 3600  # fmt: skip
    checkpoint_overhead: Annotated[
        Seconds,
        Setting(
            "Pause of a checkpoint",
            unit="s", group="checkpoints", label="Checkpoint overhead", only=_CHECKPOINTS,
        ),
    ] = 0  # fmt: skip
    checkpoint_at_end: Annotated[
        bool,
        Setting(
            "With {restart} checkpoint: save a guest whose host its owner takes back",
            about="a guest is saved as its host goes into S3 or S4",
            only=_CHECKPOINTS,
        ),
    ] = True
    restart_overhead: Annotated[
        Seconds,
        Setting("Pause at the start from a checkpoint", unit="s", only=_CHECKPOINTS),
    ] = 0
    retry: Annotated[
        int,
        Field(ge=1, le=3650 * DAY),
        Setting(
            "Wait while no host is free, then try again", unit="s", label="Time until a new try"
        ),
    ] = 300  # fmt: skip
    retries: Annotated[
        int,
        Field(ge=0, le=1_000_000),
        Setting(
            "New tries before a job that never started is given up",
            about="new tries before a job that never started is given up as unscheduled; jobs that "
            "lost their host are tried until they end",
            label="New tries", axis="count",
        ),
    ] = 1  # fmt: skip
    th1: Annotated[
        Share,
        Setting(
            "Load above which a guest steps back",
            about="load above which a host is in S2: the guest gets the lowest priority",
            allowed="at most {th2}", label="Load Th1", axis="share",
        ),
    ] = 0.2  # fmt: skip
    th2: Annotated[
        Share,
        Setting(
            "Load above which it has to end, if that lasts",
            about="load above which, for longer than `hold`, it is in S3: the guest has to end",
            label="Load Th2", axis="share",
        ),
    ] = 0.6  # fmt: skip
    hold: Annotated[
        Seconds,
        Setting(
            "How long that, or a gap, may last",
            about="that a load above `th2`, or a gap without samples, may last",
            unit="s", label="Hold time",
        ),
    ] = 60  # fmt: skip
    guest_memory: Annotated[
        Share,
        Setting(
            "Share of memory that a guest needs",
            about="share of a host's memory that a guest needs; with less free a host is in S4",
            label="Memory of a guest", axis="share",
        ),
    ] = 0.1  # fmt: skip
    spikes: Annotated[
        Literal["share", "stop"],
        Setting(
            "While load is above th2: run on with what is left, or stop",
            about="above `th2`: run on with what is left, or stop",
        ),
    ] = "share"
    warm_up: Annotated[
        Seconds,
        Setting(
            "Of the host traces, before time 0 of the jobs, to learn from",
            unit="s", allowed="below the traces' length", label="Warm-up", axis="days",
        ),
    ] = 28 * DAY  # fmt: skip
    history: Annotated[
        int,
        Field(ge=1, le=10_000),
        Setting(
            "Like days that Falcon learns from, at most",
            about="days of the same kind, weekday or weekend, that are learnt from, at most",
            shown="DAYS", label="Days learnt from", axis="count", only=_FALCON,
        ),
    ] = 20  # fmt: skip
    predict_every: Annotated[
        int,
        Field(ge=60, le=DAY),
        Setting(
            "Time between Falcon's forecasts",
            about="between forecasts of all hosts",
            unit="s", label="Time between forecasts", only=_FALCON,
        ),
    ] = 3600  # fmt: skip
    predict_step: Annotated[
        int,
        Field(ge=1, le=3600),
        Setting(
            "Step of its forecasts",
            about="step of the semi-Markov process; at least a sample's period",
            unit="s", label="Step of forecasts", only=_FALCON,
        ),
    ] = 60  # fmt: skip
    horizon: Annotated[
        int,
        Field(ge=3600, le=7 * DAY),
        Setting(
            "How far they reach",
            about="that a forecast reaches; beyond, it goes on as from its start",
            unit="s", allowed="a multiple of {predict_step}",
            label="Horizon of forecasts", axis="hours", only=_FALCON,
        ),
    ] = DAY  # fmt: skip
    pooling: Annotated[
        Literal["partial", "none"],
        Setting(
            "Draw the chances of hosts together as far as chance explains how they differ, or take "
            "each host's own",
            about="Falcon's chances of hosts are drawn together as far as chance explains how they "
            "differ, or each host's own",
            only=_FALCON,
        ),
    ] = "partial"
    load_memory: Annotated[
        Seconds,
        Setting(
            "In which a load now fades into the usual one in Falcon's forecasts",
            about="in which the present load fades into the usual one; 0: the usual one alone, as "
            "in the slides",
            unit="s", label="Time in which the present load fades", only=_FALCON,
        ),
    ] = 7200  # fmt: skip
    seed: Annotated[
        SeedNumber,
        Setting(
            "Which of the hosts of equal rank Condor takes, and nothing else",
            group="machine", only=_CONDOR,
        ),
    ] = 1  # fmt: skip

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.th1 > self.th2:
            raise ValueError(f"th1 should be at most th2 ({self.th2:g})")
        if self.horizon % self.predict_step:
            raise ValueError(
                f"horizon should be a multiple of predict_step ({self.predict_step} s)"
            )
        return self
