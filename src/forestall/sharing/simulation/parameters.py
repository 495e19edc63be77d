"""The parameters of a run of cycle sharing: each declared once, with its default and what it
allows."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from forestall.core.model.stores import Stores
from forestall.core.world.fields import (
    CHECKPOINT_AXIS,
    Positive,
    Seconds,
    SeedNumber,
    Share,
    VaultStores,
    setting,
)
from forestall.sharing.rules.entries import SCHEDULERS

DAY = 86_400
_CONDOR: Final = ("scheduler", "condor")
_SLIDES: Final = "falcon-slides"
_FALCON: Final = ("scheduler", *(one.name for one in SCHEDULERS.values() if one.foretells))
_FADING: Final = tuple(name for name in _FALCON if name != _SLIDES)
_CHECKPOINTS: Final = ("restart", "checkpoint")


class CycleParameters(BaseModel):
    """Everything that a run of cycle sharing depends on besides jobs and host traces.

    Defaults are those of Bagchi et al., the FALCON and iShare slides, where they tell them, but for
    `pooling` and `load_memory`: the scheduler "falcon-slides" has neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduler: Annotated[str, SCHEDULERS] = setting(
        "falcon", "Scheduler of guests: by predicted availability (falcon; falcon-slides: as "
                  "in the slides), by rank (condor), with perfect knowledge (omniscient), or "
                  "module:Class, your own, which is imported",
        about="chooses hosts by forecasts of their availability (`falcon`), by the same [as in the "
        "slides](models/cycle-sharing/index.md#as-the-slides-have-it), by best rank, ignoring "
        "failures (`condor`), or with perfect knowledge (`omniscient`); `module:Class` is [a "
        "scheduler of your own](how-to/your-own/own-scheduler.md)",
        label="Scheduler", order=("condor", _SLIDES, "falcon", "omniscient"),
    )  # fmt: skip
    rank: Literal["idle", "speed"] = setting(
        "idle", "Rank of hosts for Condor: speed times idle share, or speed alone",
        about="rank of hosts for `condor`: speed x (1 - load) now, or speed",
        only=_CONDOR,
    )  # fmt: skip
    job_length: Positive | None = setting(
        None, "Run time of each job on an idle host of speed 1",
        unit="s", absent="log", unset="from the log", label="Job length", axis="hours",
    )  # fmt: skip
    restart: Literal["scratch", "checkpoint"] = setting(
        "scratch", "Where a job resumes that lost its host: from scratch or from its last "
                   "checkpoint",
        order=("scratch", "checkpoint"),
    )  # fmt: skip
    checkpoint_interval: Positive | None = setting(
        3600, "Running time between checkpoints of a guest, or none",
        about="running time on a host between checkpoints; none: only the one at its end",
        unit="s", group="checkpoints", absent="none", label=CHECKPOINT_AXIS, axis="hours",
        only=_CHECKPOINTS,
    )  # fmt: skip
    checkpoint_overhead: Seconds = setting(
        0, "Time to write a checkpoint",
        unit="s", group="checkpoints", label="Checkpoint overhead", only=_CHECKPOINTS,
    )  # fmt: skip
    checkpoint_at_end: bool = setting(
        True, "With {restart} checkpoint: save a guest when the owner takes the host back",
        about="save a guest when its host enters S3 or S4",
        only=_CHECKPOINTS, rare=True,
    )  # fmt: skip
    restart_overhead: Seconds = setting(
        0, "Time to restart from a checkpoint", unit="s", only=_CHECKPOINTS, rare=True
    )
    vault: VaultStores = None
    move_below: Share | None = setting(
        None, "Falcon moves a guest when the probability that its host stays available for "
              "{look_ahead} falls below this, and the guest would finish earlier elsewhere",
        about="probability that a host stays for `look_ahead` below which Falcon (both versions) "
        "saves its guest and continues it elsewhere, if it is expected to finish earlier there "
        "([moves](models/cycle-sharing/falcon.md#moves-before-the-owner-comes))",
        group="checkpoints", unset="guests stay", absent="none", label="Guests move below",
        axis="share", only=_CHECKPOINTS,
    )  # fmt: skip
    look_ahead: Positive = setting(
        3600, "How far ahead {move_below} looks",
        about="how long a guest's host should stay, see `move_below`",
        unit="s", group="checkpoints", label="Look-ahead of moves", axis="hours",
        only=_CHECKPOINTS, rare=True,
    )  # fmt: skip
    look_every: Annotated[int, Field(ge=60, le=DAY)] = setting(
        900, "Time between two checks of {move_below}",
        about="time between checks of `move_below`, for all guests at once",
        unit="s", group="checkpoints", label="Time between looks", only=_CHECKPOINTS, rare=True,
    )  # fmt: skip
    retry: Annotated[int, Field(ge=1, le=3650 * DAY)] = setting(
        300,
        "Time between two tries to find a free host",
        unit="s",
        label="Time until a new try",
        rare=True,
    )
    retries: Annotated[int, Field(ge=0, le=1_000_000)] = setting(
        1, "Number of retries before a job that never started is given up",
        about="retries before a job that never started is given up as unscheduled; jobs that lost "
        "their host are retried until they end",
        label="New tries", axis="count", rare=True,
    )  # fmt: skip
    th1: Share = setting(
        0.2, "Load above which a guest gets lowest priority",
        about="load above which a host is in S2, and the guest gets the lowest priority",
        allowed="at most {th2}", label="Load Th1", axis="share",
    )  # fmt: skip
    th2: Share = setting(
        0.6, "Load above which a guest has to leave, if it lasts longer than {hold}",
        about="load above which a host, after more than `hold`, is in S3, and the guest must leave",
        label="Load Th2", axis="share",
    )  # fmt: skip
    hold: Seconds = setting(
        60, "How long a load above {th2}, or a gap in the samples, may last",
        about="how long a load above `th2`, or a gap without samples, may last",
        unit="s", label="Hold time", rare=True,
    )  # fmt: skip
    guest_memory: Share = setting(
        0.1, "Share of memory that a guest needs",
        about="share of a host's memory that a guest needs; a host with less free is in S4",
        label="Memory of a guest", axis="share", rare=True,
    )  # fmt: skip
    spikes: Literal["share", "stop"] = setting(
        "share", "During a load above {th2}: run on with what is left, or stop",
        about="during a load above `th2`: continue with what is left, or stop", rare=True,
    )  # fmt: skip
    warm_up: Seconds = setting(
        28 * DAY, "Length of the host traces used for learning, before time 0 of the jobs",
        unit="s", allowed="below the traces' length", label="Warm-up", axis="days",
    )  # fmt: skip
    history: Annotated[int, Field(ge=1, le=10_000)] = setting(
        20, "Maximum number of similar days that Falcon learns from",
        about="maximum number of days of the same kind (weekday or weekend) to learn from",
        shown="DAYS", label="Days learned from", axis="count", only=_FALCON, rare=True,
    )  # fmt: skip
    predict_every: Annotated[int, Field(ge=60, le=DAY)] = setting(
        3600, "Time between Falcon's forecasts",
        about="time between forecasts of all hosts",
        unit="s", label="Time between forecasts", only=_FALCON, rare=True,
    )  # fmt: skip
    predict_step: Annotated[int, Field(ge=1, le=3600)] = setting(
        60, "Time step of Falcon's forecasts",
        about="step of the semi-Markov process; at least a sample's period",
        unit="s", label="Step of forecasts", only=_FALCON, rare=True,
    )  # fmt: skip
    horizon: Annotated[int, Field(ge=3600, le=7 * DAY)] = setting(
        DAY, "How far Falcon's forecasts reach",
        about="length of a forecast; beyond it, the forecast continues as from its start",
        unit="s", allowed="a multiple of {predict_step}", label="Horizon of forecasts",
        axis="hours", only=_FALCON, rare=True,
    )  # fmt: skip
    pooling: Literal["partial", "none"] = setting(
        "partial", "Pool the hosts' statistics as far as chance explains their differences "
                   "(partial), or use each host's own (none)",
        about="shrink the hosts' probabilities of staying toward their mean as far as chance "
        "explains their differences (`partial`), or use each host's own (`none`)",
        only=_FADING, rare=True,
    )  # fmt: skip
    load_memory: Seconds = setting(
        7200, "Time in which the present load fades into the usual one in Falcon's forecasts",
        about="time in which the present load fades into the usual one; 0: the usual load only",
        unit="s", label="Time in which the present load fades", only=_FADING, rare=True,
    )  # fmt: skip
    seed: SeedNumber = setting(
        1, "Seed of the choice among hosts of equal rank (Condor)",
        group="machine", only=_CONDOR,
    )  # fmt: skip

    @property
    def loads_by_state(self) -> bool:
        """Whether the load to come is the mean of the windows that began in the host's present
        state; the slides' is that of all."""
        return self.scheduler != _SLIDES

    @property
    def pools(self) -> bool:
        """Whether the chances of hosts are drawn together."""
        return self.pooling == "partial" and self.scheduler != _SLIDES

    @property
    def load_fades(self) -> int:
        """Seconds in which the present load fades into the usual one; 0: it does not count."""
        return 0 if self.scheduler == _SLIDES else self.load_memory

    @property
    def moves(self) -> bool:
        """Whether guests move before their hosts are expected to leave."""
        forewarned = self.move_below is not None and self.scheduler in _FALCON[1:]
        return forewarned and self.restart == "checkpoint"

    @property
    def stores(self) -> Stores | None:
        """Where checkpoints go; None where they always survive, and where there are none."""
        if self.vault is None or self.restart != "checkpoint":
            return None
        return Stores.of(self.vault)

    @model_serializer(mode="wrap")
    def _without_unset(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the parameters; of the vault and of moves only where there are any."""
        told: dict[str, Any] = write(self)
        unset = {name for name in ("vault", "move_below") if getattr(self, name) is None}
        unset |= {"look_ahead", "look_every"} if "move_below" in unset else set()
        return {name: value for name, value in told.items() if name not in unset}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.stores is not None and SCHEDULERS.chosen(self.scheduler).knows:
            raise ValueError(
                "scheduler should be falcon, condor or your own with a vault: the true end of a "
                "job depends on all others that use its stores"
            )
        if self.th1 > self.th2:
            raise ValueError(f"th1 should be at most th2 ({self.th2:g})")
        if self.horizon % self.predict_step:
            raise ValueError(
                f"horizon should be a multiple of predict_step ({self.predict_step} s)"
            )
        return self
