"""Virtual machines as an entry in the table of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from forestall.core._lazy import lazily
from forestall.core.kit.model import Model
from forestall.core.kit.progress import has_kernels
from forestall.machines.rules.entries import STRATEGIES
from forestall.machines.simulation.parameters import VirtualParameters

with lazily():
    from forestall.core.kit import hints
    from forestall.machines import simulate
    from forestall.machines.report import digest, figures

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from forestall.core.kit.measure import Measure
    from forestall.core.kit.model import AnyParameters
    from forestall.core.model.failures import Failures
    from forestall.core.model.jobs import Jobs
    from forestall.machines.report.result import VirtualResult

_HOURS = 1 / 3600
_RATES_TELL: Final = frozenset({"prediction_accuracy", "strategy", "alpha", "seed"})
"""Parameters that the figure ``rates`` tells apart: where others vary, it would average over
them."""


class Virtual(Model):
    """Jobs of many tasks, each in a virtual machine, that share nodes and move before failures."""

    name = "virtual"
    label = "Virtual machines"
    plays = "tasks"
    parameters = VirtualParameters
    certifier = "forestall.machines.certify.certifier:certify_virtual"
    replayer = "forestall.machines.report.log:replay_tasks"
    decides = "strategy"
    decider = "forestall.machines.rules.own:Strategy"
    unlearnt = ("synthetic", "recorded")
    deep = frozenset({"wait"})
    drawn = (
        "job_completion_rate", "task_completion_rate", "lost_work", "migrations", "utilization",
    )  # fmt: skip
    shown = ("tasks_saved", "moves_in_vain", "jobs_dropped")
    told_by: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "rates": ("job_completion_rate", "task_completion_rate")
    }
    compiling = "about 25 s"
    measured: ClassVar[Mapping[str, tuple[str, float]]] = {
        "rates": ("Jobs and tasks completed", 1),
        "job_completion_rate": ("Jobs completed (share)", 1),
        "task_completion_rate": ("Tasks completed (share)", 1),
        "lost_work": ("Lost work (processor-hours)", _HOURS),
        "migrations": ("Migrations (count)", 1),
    }

    def simulate(self, jobs: Jobs, failures: Failures, **more: Any) -> VirtualResult:
        """See `Model`."""
        return simulate.simulate_virtual(jobs, failures, **more)

    def needed(self, jobs: Jobs, world: Any, parameters: AnyParameters) -> float:
        """See `Model`."""
        return simulate.needed(int(jobs.size.sum()), dict(parameters)["nodes"])

    def is_compiled(self, parameters: AnyParameters) -> bool:
        """See `Model`."""
        return has_kernels("forestall.machines.simulation.loop_kernels")

    def hints(self, jobs: Jobs, failures: Failures, result: Any) -> list[str]:
        """See `Model`."""
        outcome = result.outcome
        parameters = outcome.parameters
        found = [_on_machine(jobs, parameters), _on_predicted(failures, parameters)]
        first, last = int(outcome.workload.jobs.submit[0]), int(outcome.end)
        found += hints.on_failures(failures, parameters, len(outcome.struck), first, last)
        seen = getattr(result.predictor, "seen", None)
        if seen is not None:
            found.append(hints.on_unseen(seen.end, first))
        return [hint for hint in found if hint]

    def measures(self) -> tuple[Measure, ...]:
        """See `Model`."""
        return digest.MEASURES

    def own_figures(
        self, table: pl.DataFrame, axes: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Figure]:
        """See `Model`."""
        if "prediction_accuracy" not in axes or not set(axes) <= _RATES_TELL:
            return {}

        return {"rates": figures.accuracy_lines(table)}


def _on_machine(jobs: Jobs, parameters: VirtualParameters) -> str:
    """Return that the log's machine has another number of processors; sizes count tasks."""
    capacity = sum(one.nodes * one.processors for one in parameters.machine)
    if jobs.nodes is None or jobs.nodes == capacity:
        return ""
    return (
        f"the job log's header says that its machine has {jobs.nodes:,} processors; these "
        f"{parameters.nodes:,} nodes have {capacity:,} ({{nodes}}, {{processors_per_node}})"
    )


def _on_predicted(failures: Failures, parameters: VirtualParameters) -> str:
    """Return that the log's own predictions were taken, where synthetic ones were asked for."""
    synthetic = (
        parameters.predictor == "synthetic" and not STRATEGIES.chosen(parameters.strategy).knows
    )
    if failures.predicted is None or not synthetic:
        return ""
    return (
        "the failure log has predicted times of its own, which are used instead of "
        "{prediction_accuracy} ({predictor} recorded makes this explicit)"
    )


VIRTUAL = Virtual()
