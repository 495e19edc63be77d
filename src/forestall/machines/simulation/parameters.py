"""The parameters of a run of virtual machines: each declared once, with its default and what it
allows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MOST_PROCESSORS
from forestall.core.model.virtual import SizedNodes, parse_node_sizes
from forestall.core.world.fields import (
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
    setting,
)
from forestall.machines.rules.entries import MIGRATIONS, SOURCES, STRATEGIES

Amount = Annotated[FiniteFloat, Field(gt=0, le=2**30)]
Processors = Annotated[FiniteFloat, Field(ge=0.001, le=MOST_PROCESSORS)]


class VirtualParameters(BaseModel):
    """Everything that a run of virtual machines depends on besides jobs, failures and predictor.

    Defaults are those of Fu and Xu, ARES 2009, where it tells them: migration by stop and copy in
    12 s, a prediction accuracy of 76.5 %, alpha 0.5.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Nodes = 128
    processors_per_node: Annotated[int, Field(ge=1, le=MOST_PROCESSORS)] = setting(
        1, "Processors of a node",
        about="capacity of a node; the same for every node, unless `node_sizes` says otherwise",
        label="Processors of a node", axis="count",
    )  # fmt: skip
    node_sizes: str | None = setting(
        None, "Nodes of different sizes, in place of {processors_per_node}: counts, processors "
              "and, with {vm_memory}, memory, such as 48x4+16x8:64GiB",
        about="nodes of different sizes, in order, such as `48x4+16x8:64GiB`: 48 nodes of 4 "
        "processors, then 16 of 8 and 64 GiB. Their number is `nodes`; they replace "
        "`processors_per_node`; [memory](models/virtual-machines/index.md#nodes-of-unlike-size) "
        "counts if machines have some (`vm_memory`)",
        shown="NxP[:MEMORY]+...", unset="all alike", label="Nodes",
        rare=True,
    )  # fmt: skip
    strategy: Annotated[str, STRATEGIES] = setting(
        "best-fit", "How nodes are chosen for tasks; module:Class is your own strategy, which "
                    "is imported",
        about="how nodes are chosen; `omniscient` is `best-fit` with alpha 0.5 on the true "
        "failure times, and `module:Class` [a strategy of your "
        "own](how-to/your-own/own-strategy.md)",
        order=tuple(STRATEGIES),
    )  # fmt: skip
    alpha: Share | Literal["dynamic"] = setting(
        0.5, "Best-fit: weight of capacity against reliability, 0 to 1; dynamic: 1 minus the "
             "share of nodes predicted to fail before the deadline",
        about="weight of capacity against reliability in `best-fit`; `dynamic`: 1 minus the "
        "share of up nodes that are predicted to fail before the deadline",
        shown="ALPHA|dynamic", label="Weight of capacity alpha",
        rare=True,
    )  # fmt: skip
    predictor: Annotated[str, SOURCES] = setting(
        "synthetic", "Source of predictions: synthetic, recorded in the failure log, or a "
                     "trained predictor",
        about="source of predictions: synthetic with `prediction_accuracy`, the failure log's "
            "own column, or a trained predictor (`hazard` and `learned`, as in [the parameters "
            "of runs](reference/parameters/index.md))",
        group="prediction", shown="synthetic|recorded|hazard|NAME|FILE",
    )  # fmt: skip
    prediction_accuracy: Share = setting(
        0.765, "Accuracy of synthetic predictions, 0 to 1; replaced by the column predicted of "
               "the failure log, if it exists",
        about="accuracy of synthetic predictions; if the failure log has a column `predicted`, "
        "that column is used instead",
        shown="A", label="Prediction accuracy A",
    )  # fmt: skip
    prediction_error: Literal["early", "two-sided"] = setting(
        "early", "Errors of synthetic predictions: all too early, or half of them too late",
        about="whether synthetic predictions all come before the failure", rare=True,
    )  # fmt: skip
    false_negatives: Share = setting(
        0.0, "Share of failures that have no synthetic prediction, 0 to 1", shown="SHARE", rare=True
    )
    predict_every: Positive | None = setting(
        None, "Also ask a trained predictor at this interval, besides at starts and node "
              "failures",
        about="interval at which a trained predictor is also asked about all nodes, besides at "
            "the start and after each failure (footnote 1 of the paper)",
        unit="s", unset="at starts and failures only", rare=True,
    )  # fmt: skip
    lead: Seconds | None = setting(
        None, "How long before a predicted failure tasks leave the node",
        unit="s", unset="duration of a move", label="Lead before the predicted time", rare=True,
    )  # fmt: skip
    migration: Annotated[str, MIGRATIONS] = setting(
        "stop-and-copy", "How tasks migrate: stopped (stop-and-copy), live (pre-copy), or not "
                         "at all",
        about="how tasks move: stopped (`stop-and-copy`), live (`pre-copy`), or not at all",
    )  # fmt: skip
    migration_cost: Seconds = setting(
        12,
        "Duration of a migration, without {vm_memory}",
        unit="s",
        label="Time of a migration",
        rare=True,
    )
    vm_memory: Amount | None = setting(
        None, "Memory of a virtual machine, which determines the duration of a migration",
        about="memory of a virtual machine; with it, `link` (and for `pre-copy` `dirty_rate`) "
        "determines the duration of a move",
        unit="MiB", label="Memory of a virtual machine",
    )  # fmt: skip
    link: Amount = setting(
        119.0, "Network speed for migrations", unit="MiB/s", label="Link", rare=True
    )
    dirty_rate: Annotated[FiniteFloat, Field(ge=0, le=2**30)] = setting(
        0.0,
        "Pre-copy: rate at which tasks write memory",
        unit="MiB/s",
        label="Dirty rate",
        rare=True,
    )
    max_downtime: Annotated[FiniteFloat, Field(gt=0, le=3600)] = setting(
        0.3, "Pre-copy: downtime to aim at", unit="s", shown="SECONDS", rare=True
    )
    tau: Literal["told", "learned"] = setting(
        "told", "Assumed duration of a migration: the true one (told), or {migration_cost} at "
                "first and then learned from past migrations (learned)",
        about="assumed duration of a move when nodes are chosen and left: the true one (`told`), "
            "or `migration_cost` at first and then [learned](models/virtual-machines/index.md"
            "#learned-tau) from past moves (`learned`); `vm_memory` determines the true one",
        rare=True,
    )  # fmt: skip
    overload_limit: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = setting(
        None, "Share of processors in use above which tasks leave a node, if it lasts longer "
              "than {overload_hold}",
        about="share of processors in use above which a node is overloaded; after "
        "`overload_hold` [one task leaves it](models/virtual-machines/index.md#overload)",
        shown="SHARE", unset="no limit", allowed="whole thousandths", rare=True,
    )  # fmt: skip
    overload_hold: Positive = setting(
        300, "How long a node may be above {overload_limit}",
        about="how long a node may be above `overload_limit`", unit="s", rare=True,
    )  # fmt: skip
    past_deadline: Literal["stop", "run"] = setting(
        "stop", "What happens to tasks at their deadline", rare=True,
    )  # fmt: skip
    backfill: bool = setting(False, "Backfilling: later jobs may start before waiting ones")
    random_stays: bool = setting(
        False, "The random strategy migrates no tasks (baseline)", rare=True
    )
    task_processors: Processors = setting(
        1.0,
        "Maximum number of processors per task",
        shown="Q",
        allowed="whole thousandths",
        rare=True,
    )
    least_rate: Processors = setting(
        0.1, "Minimum number of processors to start a task",
        shown="R", allowed="at most {task_processors} and a node's, whole thousandths", rare=True,
    )  # fmt: skip
    slack: Annotated[FiniteFloat, Field(ge=1, le=1e6)] = setting(
        2.0, "Deadline of jobs without requested time, as a multiple of their run time",
        shown="TIMES", label="Deadline", axis="run times", rare=True,
    )  # fmt: skip
    checkpoint: Literal["none", "periodic"] = setting(
        "none", "Whether aborted tasks restart from their last checkpoint",
        group="checkpoints",
    )  # fmt: skip
    checkpoint_interval: Positive = setting(
        3600, "Work between checkpoints",
        about="progress between checkpoints",
        unit="s", group="checkpoints", label=CHECKPOINT_AXIS, axis="hours",
    )  # fmt: skip
    checkpoint_overhead: CheckpointOverhead = 720
    downtime: Downtime = None
    repeat_failures: RepeatFailures = False
    min_runtime: MinRuntime = 1
    seed: SeedNumber = setting(
        1, "Seed of the random numbers",
        about="seed of synthetic predictions and of random choices",
        group="machine",
    )  # fmt: skip

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name in ("task_processors", "least_rate", "overload_limit"):
            thousandths = (getattr(self, name) or 0) * 1000
            if abs(thousandths - round(thousandths)) > 1e-6:
                raise ValueError(f"{name} should be whole thousandths")
        fewest = min(one.processors for one in self.machine)
        if self.least_rate > min(self.task_processors, fewest):
            raise ValueError("least_rate should be at most task_processors and a node's processors")
        count = sum(one.nodes for one in self.machine)
        if count != self.nodes:
            raise ValueError(f"node_sizes should be sizes of {self.nodes} nodes, not of {count}")
        memories = [one.memory for one in self.machine if one.memory is not None]
        if memories and self.vm_memory is None:
            raise ValueError("vm_memory should be given where nodes have memory")
        if memories and self.vm_memory is not None and self.vm_memory > max(memories):
            raise ValueError("vm_memory should be at most what some node has")
        return self

    @property
    def machine(self) -> tuple[SizedNodes, ...]:
        """The nodes by size, in order."""
        if self.node_sizes is None:
            return (SizedNodes(self.nodes, self.processors_per_node, None),)
        try:
            return parse_node_sizes(self.node_sizes)
        except ParameterError as error:
            raise ValueError(f"node_sizes should be {error.allowed}") from None

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the parameters; sizes of nodes only where they are unlike, overload and what is
        learnt only where they are asked for."""
        told: dict[str, Any] = handler(self)
        unset = {name for name in ("node_sizes", "overload_limit") if told.get(name) is None}
        unset |= {"overload_hold"} if "overload_limit" in unset else set()
        unset |= {"tau"} if told.get("tau") == "told" else set()
        return {name: value for name, value in told.items() if name not in unset}
