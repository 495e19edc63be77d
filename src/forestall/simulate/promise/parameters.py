"""The parameters of a simulation: names, defaults and allowed ranges in one place."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from forestall.engine.promise.policies import POLICIES, PolicyEntry, is_own
from forestall.simulate.kit.fields import MAX_NODES, Positive, Seconds, Share

Checkpoint = Literal["risk", "none", "periodic", "daly"]
Placement = Literal["fault-aware", "first"]
Forecast = Literal["trace", "hazard", "learned"]
NAMED = frozenset({"trace", "hazard"})
"""Predictors that a name is enough for; "learned" stands for a trained one."""


class Parameters(BaseModel):
    """Everything that a run depends on besides jobs, failures and predictor.

    Defaults are those of Table 2 of Oliner et al., DSN 2005. `accuracy` is that of the trace
    predictor. `checkpoint` and `placement` None mean risk-based and fault-aware for the promise
    policy, none and first for the classic ones; `downtime` None means what our own failure logs
    tell of each failure, and 120 s where they tell nothing or the log tells repair times ("log"
    uses those too); `mtbf` is a node's, in seconds, for `checkpoint="daly"` (None: from the log).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[int, Field(ge=1, le=MAX_NODES)] = 128
    policy: Annotated[str, POLICIES] = "promise"
    predictor: Forecast = "trace"
    accuracy: Share = 0.7
    risk: Share = 0.9
    checkpoint: Checkpoint | None = None
    checkpoint_overhead: Seconds = 720
    checkpoint_interval: Positive = 3600
    downtime: Positive | Literal["log"] | None = None
    placement: Placement | None = None
    estimates: Literal["runtime", "requested"] = "runtime"
    overrun: Literal["cut", "extend"] = "cut"
    compression: bool = True
    requeue: Literal["now", "original"] = "now"
    min_runtime: Positive = 1
    repeat_failures: bool = False
    mtbf: Positive | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: dict[str, object]) -> dict[str, object]:
        policy = values.get("policy", "promise")
        if not isinstance(policy, str) or (policy not in POLICIES and not is_own(policy)):
            return values  # refused in a moment
        entry = POLICIES.chosen(policy)
        own = {"checkpoint": entry.checkpoint, "placement": entry.placement}
        missing = {name: value for name, value in own.items() if values.get(name) is None}
        return {**values, **missing}

    @property
    def entry(self) -> PolicyEntry:
        """What is known of the policy."""
        return POLICIES.chosen(self.policy)
