"""The parameters of a run of cycle sharing: names, defaults and allowed ranges in one place."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from forestall.simulate.kit.fields import Positive, Seconds, Share

Scheduler = Literal["falcon", "condor", "omniscient"]

DAY = 86_400


class CycleParameters(BaseModel):
    """Everything that a run of cycle sharing depends on besides jobs and host traces.

    Defaults are those of Bagchi et al., the FALCON and iShare slides, where they tell them.

    Attributes
    ----------
    scheduler : "falcon" foresees how long hosts stay available; "condor" takes the free host of
        best rank, blind to failures; "omniscient" knows what will happen
    rank : of "condor": "idle" is speed x (1 - load) now, "speed" the speed alone
    job_length : run time of every job, s, on a host of speed 1 without load; None: the log's own
    restart : where a job goes on that lost its host: from "scratch", or from its last "checkpoint"
    checkpoint_interval : s of a guest's stay from one checkpoint to the next; None: none but the
        one at the end of a stay
    checkpoint_overhead : s without progress while a checkpoint is taken
    checkpoint_at_end : whether a guest whose host goes into S3 or S4 is saved as it ends
    restart_overhead : s without progress at the start of a stay that goes on from a checkpoint
    retry : s until a job for which no host was free is tried again
    retries : how often a job that was never started is tried again before it is given up as
        unscheduled; jobs that lost their host are tried until they end
    th1, th2 : loads at which the guest gets the lowest priority (S2), and above which, for longer
        than `hold`, it has to end (S3)
    hold : s that a load above th2, or a gap without samples, may last
    guest_memory : share of a host's memory that a guest needs (S4 below)
    spikes : whether a guest runs on with what is left while the load is above th2 ("share"), or is
        stopped meanwhile ("stop")
    warm_up : s of the host traces that lie before the jobs' time 0, to learn from
    history : days of the same kind, weekday or weekend, that are learnt from, at most
    predict_every : s after which the forecasts of all hosts are made anew
    predict_step : s of a step of the semi-Markov process; at least a sample's period
    horizon : s that a forecast reaches; beyond, it goes on as from its start
    pooling : "partial": hosts' chances to stay are drawn together as far as they differ by no more
        than chance would have it; "none": each host is foretold from its own past alone
    load_memory : s over which the present load fades into the usual one; 0: the usual load alone
        counts, as in the slides
    seed : of all that is drawn
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduler: Scheduler = "falcon"
    rank: Literal["idle", "speed"] = "idle"
    job_length: Positive | None = None
    restart: Literal["scratch", "checkpoint"] = "scratch"
    checkpoint_interval: Positive | None = 3600
    checkpoint_overhead: Seconds = 0
    checkpoint_at_end: bool = True
    restart_overhead: Seconds = 0
    retry: Annotated[int, Field(ge=1, le=3650 * DAY)] = 300
    retries: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    th1: Share = 0.2
    th2: Share = 0.6
    hold: Seconds = 60
    guest_memory: Share = 0.1
    spikes: Literal["share", "stop"] = "share"
    warm_up: Seconds = 28 * DAY
    history: Annotated[int, Field(ge=1, le=10_000)] = 20
    predict_every: Annotated[int, Field(ge=60, le=DAY)] = 3600
    predict_step: Annotated[int, Field(ge=1, le=3600)] = 60
    horizon: Annotated[int, Field(ge=3600, le=7 * DAY)] = DAY
    pooling: Literal["partial", "none"] = "partial"
    load_memory: Seconds = 7200
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.th1 > self.th2:
            raise ValueError(f"th1 should be at most th2 ({self.th2:g})")
        if self.horizon % self.predict_step:
            raise ValueError(
                f"horizon should be a multiple of predict_step ({self.predict_step} s)"
            )
        return self
