"""Virtual machines as an entry in the table of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from forestall.app.kit.hints import on_failures, on_unseen
from forestall.app.kit.model import LOG_WORDS, Model

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from forestall.app.kit.measure import Measure
    from forestall.app.kit.model import AnyParameters
    from forestall.app.virtual.result import VirtualResult
    from forestall.model.failures import Failures
    from forestall.model.jobs import Jobs
    from forestall.simulate.virtual.parameters import VirtualParameters

_HOURS = 1 / 3600


class Virtual(Model):
    """Jobs of many tasks, each in a virtual machine, that share nodes and move before failures."""

    name = "virtual"
    certifier = "forestall.app.virtual.certify.certifier:certify_virtual"
    replayer = "forestall.app.virtual.log:replay_tasks"
    durations = frozenset(
        {
            "predict_every", "lead", "migration_cost", "checkpoint_interval",
            "checkpoint_overhead", "downtime", "min_runtime",
        }
    )  # fmt: skip
    whole = frozenset({"nodes", "processors_per_node", "seed"})
    shares = frozenset({"alpha", "prediction_accuracy", "false_negatives"})
    reals = shares | {
        "vm_memory", "link", "dirty_rate", "max_downtime", "task_processors", "least_rate", "slack",
    }  # fmt: skip
    flags = frozenset({"backfill", "random_migrates", "repeat_failures"})
    words: ClassVar[Mapping[str, str]] = {**LOG_WORDS, "alpha": "dynamic"}
    unlearnt = ("synthetic", "recorded")
    deep = frozenset({"wait"})
    drawn = (
        "job_completion_rate", "task_completion_rate", "lost_work", "migrations", "utilization",
    )  # fmt: skip
    shown = ("tasks_saved", "moves_in_vain", "jobs_dropped")
    orders: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "strategy": ("random", "first-fit", "best-fit", "omniscient")
    }
    told_by: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "rates": ("job_completion_rate", "task_completion_rate")
    }
    compiling = "about 25 s"
    labels: ClassVar[Mapping[str, tuple[str, float]]] = {
        "prediction_accuracy": ("Prediction accuracy A", 1),
        "alpha": ("Weight of capacity alpha", 1),
        "strategy": ("Strategy", 1),
        "rates": ("Jobs and tasks completed", 1),
        "job_completion_rate": ("Jobs completed (share)", 1),
        "task_completion_rate": ("Tasks completed (share)", 1),
        "lost_work": ("Lost work (processor-hours)", _HOURS),
        "migrations": ("Migrations (count)", 1),
        "processors_per_node": ("Processors of a node (count)", 1),
        "migration_cost": ("Time of a migration (s)", 1),
        "lead": ("Lead before the predicted time (s)", 1),
        "slack": ("Deadline (run times)", 1),
        "dirty_rate": ("Dirty rate (MiB/s)", 1),
        "vm_memory": ("Memory of a virtual machine (MiB)", 1),
        "link": ("Link (MiB/s)", 1),
    }

    @property
    def parameters(self) -> type[VirtualParameters]:
        """See `Model`."""
        from forestall.simulate.virtual.parameters import VirtualParameters

        return VirtualParameters

    def simulate(self, jobs: Jobs, failures: Failures, **more: Any) -> VirtualResult:
        """See `Model`."""
        from forestall.app.virtual.simulate import simulate_virtual

        return simulate_virtual(jobs, failures, **more)

    def is_compiled(self, parameters: AnyParameters) -> bool:
        """See `Model`."""
        from forestall.app.kit.progress import has_kernels

        return has_kernels("virtual_*/loop_kernels.*.nbc")

    def hints(self, jobs: Jobs, failures: Failures, result: Any) -> list[str]:
        """See `Model`."""
        outcome = result.outcome
        parameters = outcome.parameters
        found = [_on_machine(jobs, parameters), _on_predicted(failures, parameters)]
        first, last = int(outcome.workload.jobs.submit[0]), int(outcome.end)
        found += on_failures(failures, parameters, len(outcome.struck), first, last)
        seen = getattr(result.predictor, "seen", None)
        if seen is not None:
            found.append(on_unseen(seen.end, first))
        return [hint for hint in found if hint]

    def measures(self) -> tuple[Measure, ...]:
        """See `Model`."""
        from forestall.app.virtual.sweep import MEASURES

        return MEASURES

    def own_figures(
        self, table: pl.DataFrame, axes: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Figure]:
        """See `Model`."""
        from forestall.app.virtual.sweep import RATES_TELL

        if "prediction_accuracy" not in axes or not set(axes) <= RATES_TELL:
            return {}
        from forestall.app.virtual.figures import accuracy_lines

        return {"rates": accuracy_lines(table)}


def _on_machine(jobs: Jobs, parameters: VirtualParameters) -> str:
    """Return that the log's machine has another number of processors; sizes count tasks."""
    capacity = parameters.nodes * parameters.processors_per_node
    if jobs.nodes is None or jobs.nodes == capacity:
        return ""
    return (
        f"the job log's header says that its machine has {jobs.nodes:,} processors; these "
        f"{parameters.nodes:,} nodes have {capacity:,} (--nodes, --processors-per-node)"
    )


def _on_predicted(failures: Failures, parameters: VirtualParameters) -> str:
    """Return that the log's own predictions were taken, where synthetic ones were asked for."""
    synthetic = parameters.predictor == "synthetic" and parameters.strategy != "omniscient"
    if failures.predicted is None or not synthetic:
        return ""
    return (
        "the failure log has predicted times of its own, which count instead of "
        "--prediction-accuracy (say --predictor recorded to mean them)"
    )


VIRTUAL = Virtual()
