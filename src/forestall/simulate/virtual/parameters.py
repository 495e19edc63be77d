"""The parameters of a run of virtual machines: names, defaults and allowed ranges in one place."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from forestall.model.virtual import MOST_PROCESSORS
from forestall.simulate.kit.fields import MAX_NODES, Positive, Seconds, Share

Strategy = Literal["random", "first-fit", "best-fit", "omniscient"]
Migration = Literal["stop-and-copy", "pre-copy", "none"]
Source = Literal["synthetic", "recorded", "hazard", "learned"]
Amount = Annotated[FiniteFloat, Field(gt=0, le=2**30)]


class VirtualParameters(BaseModel):
    """Everything that a run of virtual machines depends on besides jobs, failures and predictor.

    Defaults are those of Fu and Xu, ARES 2009, where it tells them: migration by stop and copy in
    12 s, a prediction accuracy of 76.5 %, alpha 0.5.

    Attributes
    ----------
    nodes, processors_per_node : the machine; every node has the same capacity
    strategy : how nodes are chosen; "omniscient" is best-fit(0.5) on the true failure times
    alpha : weight of capacity against reliability in best-fit; "dynamic" makes it 1 less the share
        of up nodes that are foreseen to fail before the deadline
    predictor : "synthetic" predictions of `prediction_accuracy`, "recorded" ones of the failure
        log's own column, or those of a predictor that has learnt
    prediction_accuracy, prediction_error, false_negatives : of synthetic predictions
    predict_every : s between two questions about all nodes to a predictor that has learnt; None: it
        is asked at the start and after each failure, as in the paper (footnote 1)
    lead : s before the predicted time at which tasks leave a node; None: what a migration takes
    migration : "stop-and-copy" (no progress meanwhile), "pre-copy" (live), or "none"
    migration_cost : s that a migration takes, where `vm_memory` is None
    vm_memory : MiB of a virtual machine; then `link` (MiB/s), and for pre-copy `dirty_rate`
        (MiB/s), tell how long a migration takes
    max_downtime : s of standstill that pre-copy aims at
    past_deadline : whether tasks are stopped at their deadline, or run on
    backfill : whether jobs may pass others that wait
    random_migrates : whether the strategy "random" migrates, too
    task_processors : processors that a task can use, at most
    least_rate : processors below which no task is started
    slack : deadline in run times, for jobs without a requested time
    checkpoint : "none", or "periodic": aborted tasks restart from their last checkpoint
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[int, Field(ge=1, le=MAX_NODES)] = 128
    processors_per_node: Annotated[int, Field(ge=1, le=MOST_PROCESSORS)] = 1
    strategy: Strategy = "best-fit"
    alpha: Share | Literal["dynamic"] = 0.5
    predictor: Source = "synthetic"
    prediction_accuracy: Share = 0.765
    prediction_error: Literal["early", "two-sided"] = "early"
    false_negatives: Share = 0.0
    predict_every: Positive | None = None
    lead: Seconds | None = None
    migration: Migration = "stop-and-copy"
    migration_cost: Seconds = 12
    vm_memory: Amount | None = None
    link: Amount = 119.0
    dirty_rate: Annotated[FiniteFloat, Field(ge=0, le=2**30)] = 0.0
    max_downtime: Annotated[FiniteFloat, Field(gt=0, le=3600)] = 0.3
    past_deadline: Literal["stop", "run"] = "stop"
    backfill: bool = False
    random_migrates: bool = False
    task_processors: Annotated[FiniteFloat, Field(ge=0.001, le=MOST_PROCESSORS)] = 1.0
    least_rate: Annotated[FiniteFloat, Field(ge=0.001, le=MOST_PROCESSORS)] = 0.1
    slack: Annotated[FiniteFloat, Field(ge=1, le=1e6)] = 2.0
    checkpoint: Literal["none", "periodic"] = "none"
    checkpoint_interval: Positive = 3600
    checkpoint_overhead: Seconds = 720
    downtime: Positive | Literal["log"] | None = None
    repeat_failures: bool = False
    min_runtime: Positive = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name in ("task_processors", "least_rate"):
            thousandths = getattr(self, name) * 1000
            if abs(thousandths - round(thousandths)) > 1e-6:
                raise ValueError(f"{name} should be whole thousandths of a processor")
        if self.least_rate > min(self.task_processors, self.processors_per_node):
            raise ValueError("least_rate should be at most task_processors and a node's processors")
        return self
