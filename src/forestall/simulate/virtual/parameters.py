"""The parameters of a run of virtual machines: each declared once, with its default and what it
allows."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from forestall.decide.virtual.entries import MIGRATIONS, SOURCES, STRATEGIES
from forestall.model.settings import Setting
from forestall.model.units import MOST_PROCESSORS
from forestall.simulate.kit.fields import (
    CHECKPOINT_AXIS,
    CheckpointOverhead,
    Downtime,
    MinRuntime,
    Nodes,
    Positive,
    RepeatFailures,
    Seconds,
    SeedNumber,
    Share,
)

Amount = Annotated[FiniteFloat, Field(gt=0, le=2**30)]
Processors = Annotated[FiniteFloat, Field(ge=0.001, le=MOST_PROCESSORS)]


class VirtualParameters(BaseModel):
    """Everything that a run of virtual machines depends on besides jobs, failures and predictor.

    Defaults are those of Fu and Xu, ARES 2009, where it tells them: migration by stop and copy in
    12 s, a prediction accuracy of 76.5 %, alpha 0.5.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Nodes = 128
    processors_per_node: Annotated[
        int,
        Field(ge=1, le=MOST_PROCESSORS),
        Setting("What a node has", about="capacity of a node; every node has the same",
                label="Processors of a node", axis="count"),
    ] = 1  # fmt: skip
    strategy: Annotated[
        str,
        STRATEGIES,
        Setting(
            "How nodes are chosen for tasks",
            about="how nodes are chosen; `omniscient` is `best-fit` with alpha 0.5 on the true "
            "failure times",
            order=tuple(STRATEGIES),
        ),
    ] = "best-fit"
    alpha: Annotated[
        Share | Literal["dynamic"],
        Setting(
            "Best-fit: weight of capacity against reliability, 0 to 1; dynamic: 1 less the share "
            "of nodes foreseen to fail before the deadline",
            about="weight of capacity against reliability in `best-fit`; `dynamic`: 1 less the "
            "share of up nodes that are foreseen to fail before the deadline",
            shown="ALPHA|dynamic", label="Weight of capacity alpha",
        ),
    ] = 0.5  # fmt: skip
    predictor: Annotated[
        str,
        SOURCES,
        Setting(
            "Synthetic predictions, those recorded in the failure log, or what was learnt",
            about="where predictions come from: made up with `prediction_accuracy`, the failure "
            "log's own column, or a predictor that has learnt; the last two as in the table above",
            group="prediction", shown="synthetic|recorded|hazard|NAME|FILE",
        ),
    ] = "synthetic"  # fmt: skip
    prediction_accuracy: Annotated[
        Share,
        Setting(
            "Of the synthetic predictions, 0 to 1; a column predicted in the failure log counts "
            "instead",
            about="of synthetic predictions; where the failure log has a column `predicted`, that "
            "counts",
            shown="A", label="Prediction accuracy A",
        ),
    ] = 0.765  # fmt: skip
    prediction_error: Annotated[
        Literal["early", "two-sided"],
        Setting(
            "Synthetic predictions come too early, or half of them too late",
            about="whether synthetic predictions all come before the failure",
        ),
    ] = "early"
    false_negatives: Annotated[
        Share,
        Setting("Share of failures that have no synthetic prediction, 0 to 1", shown="SHARE"),
    ] = 0.0
    predict_every: Annotated[
        Positive | None,
        Setting(
            "Ask a predictor that has learnt so often, beside the start and each failure of a node",
            about="between two more questions about all nodes to a predictor that has learnt; "
            "without them it is asked at the start and after each failure (footnote 1 of the "
            "paper)",
            unit="s", unset="no more",
        ),
    ] = None  # fmt: skip
    lead: Annotated[
        Seconds | None,
        Setting(
            "How long before the predicted time tasks leave a node",
            unit="s", unset="what a move takes", label="Lead before the predicted time",
        ),
    ] = None  # fmt: skip
    migration: Annotated[
        str,
        MIGRATIONS,
        Setting(
            "How tasks move: stopped meanwhile, live, or not at all",
            about="how tasks move: without progress meanwhile, live, or not at all",
        ),
    ] = "stop-and-copy"
    migration_cost: Annotated[
        Seconds,
        Setting("What a move takes, without {vm_memory}", unit="s", label="Time of a migration"),
    ] = 12
    vm_memory: Annotated[
        Amount | None,
        Setting(
            "Memory of a virtual machine, which tells what a move takes",
            about="memory of a virtual machine; then `link`, and for `pre-copy` `dirty_rate`, tell "
            "what a move takes",
            unit="MiB", label="Memory of a virtual machine",
        ),
    ] = None  # fmt: skip
    link: Annotated[Amount, Setting("Speed of the link", unit="MiB/s", label="Link")] = 119.0
    dirty_rate: Annotated[
        FiniteFloat,
        Field(ge=0, le=2**30),
        Setting("Pre-copy: memory written meanwhile", unit="MiB/s", label="Dirty rate"),
    ] = 0.0
    max_downtime: Annotated[
        FiniteFloat,
        Field(gt=0, le=3600),
        Setting("Pre-copy: standstill to aim at", unit="s", shown="SECONDS"),
    ] = 0.3
    past_deadline: Annotated[
        Literal["stop", "run"], Setting("What becomes of tasks at their deadline")
    ] = "stop"
    backfill: Annotated[bool, Setting("Jobs may pass others that wait")] = False
    random_migrates: Annotated[bool, Setting("Strategy random moves tasks, too")] = False
    task_processors: Annotated[
        Processors,
        Setting("Processors that a task can use, at most", shown="Q", allowed="whole thousandths"),
    ] = 1.0
    least_rate: Annotated[
        Processors,
        Setting(
            "Processors below which no task is started",
            shown="R", allowed="at most {task_processors} and a node's, whole thousandths",
        ),
    ] = 0.1  # fmt: skip
    slack: Annotated[
        FiniteFloat,
        Field(ge=1, le=1e6),
        Setting(
            "Deadline of jobs without requested time, in run times",
            shown="TIMES", label="Deadline", axis="run times",
        ),
    ] = 2.0  # fmt: skip
    checkpoint: Annotated[
        Literal["none", "periodic"],
        Setting(
            "Whether aborted tasks start again from their last checkpoint", group="checkpoints"
        ),
    ] = "none"
    checkpoint_interval: Annotated[
        Positive,
        Setting(
            "Progress between requests",
            about="progress between checkpoints",
            unit="s", group="checkpoints", label=CHECKPOINT_AXIS, axis="hours",
        ),
    ] = 3600  # fmt: skip
    checkpoint_overhead: CheckpointOverhead = 720
    downtime: Downtime = None
    repeat_failures: RepeatFailures = False
    min_runtime: MinRuntime = 1
    seed: Annotated[
        SeedNumber,
        Setting(
            "Of whatever is drawn by chance",
            about="of synthetic predictions and of random choices",
            group="machine",
        ),
    ] = 1

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name in ("task_processors", "least_rate"):
            thousandths = getattr(self, name) * 1000
            if abs(thousandths - round(thousandths)) > 1e-6:
                raise ValueError(f"{name} should be whole thousandths of a processor")
        if self.least_rate > min(self.task_processors, self.processors_per_node):
            raise ValueError("least_rate should be at most task_processors and a node's processors")
        return self
