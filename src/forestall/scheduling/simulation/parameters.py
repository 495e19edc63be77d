"""The parameters of a simulation: each declared once, with its default and what it allows."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from forestall.core._lazy import lazily
from forestall.core.model.own import is_own
from forestall.core.model.stores import MOST_PIECES, Stores
from forestall.core.model.users import Population
from forestall.core.world.fields import (
    CHECKPOINT_AXIS,
    MAX_NODES,
    CheckpointOverhead,
    Downtime,
    MinRuntime,
    Nodes,
    Positive,
    RepeatFailures,
    SeedNumber,
    Share,
    VaultStores,
    setting,
)
from forestall.logs.users import read_users
from forestall.scheduling.engine.policies import POLICIES, PolicyEntry
from forestall.scheduling.rules.entries import CHECKPOINTS, FORECASTS, PLACEMENTS

with lazily():
    from forestall.core.model import topology as topologies
    from forestall.logs import topology as topology_files

NAMED = ("trace", "hazard")
"""Predictors that a name is enough for; "learned" stands for a trained one."""
_WHERE_GIVEN: Final = (
    "users", "vault", "topology", "topology_slack", "ring", "spares", "failovers",
)  # fmt: skip
"""Parameters that are told only where they are given."""


def _spelled(users: str) -> str:
    """Return users who bargain in the one way of writing them."""
    return Population.of(users).text


def _spelled_topology(topology: str) -> str:
    """Return a topology in the one way of writing it."""
    return topologies.Topology.of(topology).text


class Parameters(BaseModel):
    """Everything that a run depends on besides jobs, failures and predictor.

    Defaults are those of Table 2 of Oliner et al., DSN 2005. `checkpoint` and `placement` None are
    resolved by the policy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Nodes = 128
    policy: Annotated[str, POLICIES] = setting(
        "promise", "Scheduling policy: promises with deadlines, a classic scheduler, or "
                   "module:Class, your own, which is imported",
        about="scheduling policy; `module:Class` is [a policy of your "
        "own](how-to/your-own/own-policy.md)",
        group="machine", order=tuple(POLICIES),
    )  # fmt: skip
    predictor: Annotated[str, FORECASTS] = setting(
        "trace", "Failure predictor: trace (sees future failures with {accuracy}), hazard or a "
                 "name from `predict list` trained on {train}, or the file of a trained "
                 "predictor",
        about="failure predictor behind promises; `hazard` [learns from a training "
        "log](how-to/runs/promise-from-the-past.md), in Python a fitted "
        "`fs.HazardPredictor`; `learned` is a trained [predictor](models/learners/index.md): on "
        "the command line its name with {train}, or its file, in Python an object from "
        "`fs.new_learner` or `fs.load_predictor`",
        group="prediction", shown="trace|hazard|NAME|FILE",
    )  # fmt: skip
    accuracy: Share = setting(
        0.7, "Share of failures that the trace predictor foresees, 0 to 1",
        about="a: share of failures that the trace predictor foresees, and its highest probability",
        group="prediction", shown="A", label="Prediction accuracy a",
    )  # fmt: skip
    risk: Share = setting(
        0.9, "Lowest probability that users accept, 0 to 1 (U of the paper)",
        about="U: lowest probability that users accept (`promise`)",
        group="prediction", shown="U", label="User risk strategy U", only=("policy", "promise"),
    )  # fmt: skip
    checkpoint: Annotated[str, CHECKPOINTS] | None = setting(
        None, "Checkpoint policy",
        group="checkpoints", unset="risk; none with classic policies",
    )  # fmt: skip
    checkpoint_overhead: CheckpointOverhead = 720
    checkpoint_interval: Positive = setting(
        3600, "Work between checkpoints",
        about="I: progress between checkpoint requests; `daly` computes its own",
        unit="s", group="checkpoints", label=CHECKPOINT_AXIS, axis="hours",
        only=("checkpoint", "risk", "periodic"),
    )  # fmt: skip
    vault: VaultStores = None
    ring: Annotated[int, Field(ge=1, le=MOST_PIECES)] | None = setting(
        None, "Copies of each checkpoint on a ring of the job's nodes, including its own; 3: "
              "also on both neighbors",
        about="copies of each checkpoint on [a ring of the job's "
            "nodes](models/spares-in-runs.md), including its own; 3: also on both neighbors; "
            "short for `layout=ring` in {vault}",
        group="checkpoints", shown="COPIES", unset="no ring", rare=True,
    )  # fmt: skip
    spares: Annotated[int, Field(ge=0, lt=MAX_NODES)] | None = setting(
        None, "Spare nodes, with the highest numbers, reserved for jobs that have lost a node",
        about="spare nodes, with the highest numbers, reserved for jobs that have lost a node "
        "([spares in runs](models/spares-in-runs.md))",
        group="checkpoints", shown="N", unset="none", only=("policy", "promise"),
        rare=True,
    )  # fmt: skip
    failovers: Annotated[int, Field(ge=0, le=1000)] | None = setting(
        None, "Number of failures that a reservation and its promise allow for, with {spares}",
        about="failures of a job's nodes that its reservation allows time for, and that its "
        "promise counts as survived, with {spares}",
        group="checkpoints", shown="K", unset="1, without {spares} 0", only=("policy", "promise"),
        rare=True,
    )  # fmt: skip
    downtime: Downtime = None
    placement: Annotated[str, PLACEMENTS] | None = setting(
        None, "Placement: nodes of least risk one by one (fault-aware) or together (least), or "
              "of lowest number (first); with {machine} those with the least free (best), the "
              "most free (worst), or the fewest GPUs left as fragments (gradient)",
        about="nodes of least risk, one by one or [together](models/promises/index.md#the-set-of-"
        "least-risk), or of lowest number; others on [shared nodes](models/shared-nodes.md#which-"
        "nodes-a-job-gets)",
        group="prediction", unset="fault-aware; first with classic policies",
        rare=True,
    )  # fmt: skip
    topology: Annotated[str, AfterValidator(_spelled_topology)] | None = setting(
        None, "Prefer nodes near each other: contiguous, a number of nodes per switch, "
              "switches such as 's0=0-15 s1=16-31', or Slurm's topology.conf or topology.yaml",
        about="prefer nodes [near each other](models/promises/index.md#nodes-near-each-other), "
        "given by: `contiguous`, a number of nodes per switch, switches such as "
        "`s0=0-15 s1=16-31`, or Slurm's `topology.conf` or `topology.yaml`",
        group="prediction", shown="WHERE", unset="no preference",
        rare=True, allowed="a topology", only=("policy", "promise"),
        read=lambda text: topology_files.read_topology(text).text,
    )  # fmt: skip
    topology_slack: Share | None = setting(
        None, "Probability that a promise may lose in exchange for nodes near each other, 0 to "
              "1",
        about="probability that a promise may lose in exchange for nodes near each other",
        group="prediction", shown="P", unset="0, only among sets of equal risk",
        only=("policy", "promise"), rare=True,
    )  # fmt: skip
    estimates: Literal["runtime", "requested"] = setting(
        "runtime", "Run time estimates for reservations: actual or requested run times",
        group="machine",
    )  # fmt: skip
    overrun: Literal["cut", "extend"] = setting(
        "cut", "What happens to a job at the end of its requested time",
        about="with `requested`: a job that runs longer is cut at its requested time, or its "
        "estimate is raised to its run time",
        group="machine", rare=True, only=("estimates", "requested"),
    )  # fmt: skip
    compression: bool = setting(
        True,
        "Conservative: move waiting jobs forward when one ends early",
        group="machine",
        rare=True,
        only=("policy", "conservative"),
    )
    requeue: Literal["now", "original"] = setting(
        "now", "Queue position of a requeued job: as submitted now, or by its original submit "
               "time",
        about="classic policies: queue position of a killed job: as submitted now, or by its "
        "original submit time",
        group="checkpoints", rare=True, only=("policy", "fcfs", "easy", "conservative"),
    )  # fmt: skip
    min_runtime: MinRuntime = 1
    repeat_failures: RepeatFailures = False
    mtbf: Positive | None = setting(
        None, "A node's mean time between failures, for {checkpoint} daly",
        unit="s", group="checkpoints", unset="from the log", rare=True,
        only=("checkpoint", "daly"),
    )  # fmt: skip
    users: Annotated[str, AfterValidator(_spelled)] | None = setting(
        None, "Users who negotiate deadlines, in place of {risk}: a TOML file, or settings "
              "such as 'least=0.5:0.99 patience=0:10'",
        about="users who [bargain](how-to/runs/users-who-bargain.md), in place of U: a TOML "
        "file, or settings such as `least=0.5:0.99 patience=0:10 value=1 rounds=4`",
        group="prediction", shown="FILE|SETTINGS", unset="all take {risk}",
        allowed="kinds of users",
        rare=True, only=("policy", "promise"), read=lambda text: read_users(text).text,
    )  # fmt: skip
    seed: SeedNumber = setting(
        1, "Seed of the random numbers",
        about="seed of the detectabilities and of users who bargain, a run's only random draws",
        group="machine",
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: dict[str, object]) -> dict[str, object]:
        policy = values.get("policy", "promise")
        if not isinstance(policy, str) or (policy not in POLICIES and not is_own(policy)):
            return values  # refused in a moment
        entry = POLICIES.chosen(policy)
        own: dict[str, object] = {"checkpoint": entry.checkpoint, "placement": entry.placement}
        if isinstance(spares := values.get("spares"), int):
            own["failovers"] = min(spares, 1)
        if isinstance(ring := values.get("ring"), int) and 1 <= ring <= MOST_PIECES:
            own["vault"] = f"layout=ring parity={ring - 1}"
        missing = {name: value for name, value in own.items() if values.get(name) is None}
        return {**values, **missing}

    @model_serializer(mode="wrap")
    def _without_unset(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the parameters; users only where they bargain, the vault and the topology
        only where there is one."""
        told: dict[str, Any] = write(self)
        return {n: v for n, v in told.items() if n not in _WHERE_GIVEN or v is not None}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        stores = self.stores
        if stores is not None and self.checkpoint == "none":
            name = "vault" if self.ring is None else "ring"
            raise ValueError(f"{name} should be none with {{checkpoint}} none: nothing is stored")
        if stores is not None and stores.fresh < 1:
            raise ValueError(
                "vault should have fresh=1 in runs of promises: versions share nothing"
            )
        if stores is not None and stores.layout == "code":
            keep = len(stores.numbers(self.nodes))
            if keep <= stores.pieces:
                raise ValueError(
                    f"vault should have more than {stores.pieces} nodes to keep pieces, not {keep}"
                )
        if self.ring is not None and (stores is None or (stores.layout, stores.pieces) != (
            "ring", self.ring
        )):  # fmt: skip
            raise ValueError("ring should be as many copies as layout=ring in {vault} has, or none")
        self._check_spares()
        return self

    def _check_spares(self) -> None:
        """Raise ValueError for spares that cannot be."""
        if self.spares is None:
            if self.failovers is not None:
                raise ValueError("failovers should be none without {spares}")
            return
        if not self.entry.promises:
            raise ValueError("spares should be none with another {policy} than promise")
        if self.spares >= self.nodes:
            raise ValueError(f"spares should be fewer than the {self.nodes} nodes")
        if self.users is not None:
            raise ValueError("spares should be none with {users}, who bargain")

    @property
    def ordinary(self) -> int:
        """The nodes that any job may have: all but the spares."""
        return self.nodes - (self.spares or 0)

    @property
    def near(self) -> topologies.Topology | None:
        """Which nodes are near each other; None where that does not matter."""
        return None if self.topology is None else topologies.Topology.of(self.topology)

    @property
    def stores(self) -> Stores | None:
        """Where checkpoints go; None where they cost C and are always there."""
        return None if self.vault is None else Stores.of(self.vault)

    @property
    def population(self) -> Population | None:
        """The users who bargain, None where none do."""
        return None if self.users is None else Population.of(self.users)

    @property
    def entry(self) -> PolicyEntry:
        """What is known of the policy."""
        return POLICIES.chosen(self.policy)
