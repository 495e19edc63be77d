"""Cycle sharing as an entry in the table of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from forestall.core._lazy import lazily
from forestall.core.kit.model import Model
from forestall.core.kit.progress import has_kernels
from forestall.sharing.simulation.parameters import CycleParameters

with lazily():
    from forestall.sharing import simulate
    from forestall.sharing.report import digest, figures
    from forestall.sharing.report import hints as cycle_hints

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from forestall.core.kit.measure import Measure
    from forestall.core.kit.model import AnyParameters
    from forestall.core.model.jobs import Jobs
    from forestall.logs.inputs import Inputs
    from forestall.sharing.report.result import CycleResult

_HOURS = 1 / 3600
_LENGTHS_TELL: Final = frozenset({"job_length", "scheduler", "seed"})
"""Parameters that the figure ``lengths`` tells apart."""


class Cycle(Model):
    """Jobs that run as guests on hosts whose owners come back, placed by a scheduler."""

    name = "cycle"
    certifier = "forestall.sharing.certify.certifier:certify_cycle"
    replayer = "forestall.sharing.report.log:replay_guests"
    decides = "scheduler"
    decider = "forestall.sharing.rules.own:HostScheduler"
    on_hosts = True
    label = "Cycle sharing"
    plays = "guests"
    parameters = CycleParameters
    unlearnt: ClassVar[tuple[str, ...]] = ()
    deep = frozenset({"by_length", "makespan_interval", "failures_per_job_interval", "calibration"})
    drawn = ("makespan", "failures_per_job", "unscheduled_share")
    shown = ("stretch", "jobs_failed_share", "unfinished_share", "lost_work", "harvested")
    averaged = ("makespan", "failures_per_job", "unscheduled_share", "lost_work")
    told_by: ClassVar[Mapping[str, tuple[str, ...]]] = {"lengths": drawn}
    drawing = (
        "the seed only decides which of several hosts of equal rank Condor takes; other jobs or "
        "hosts need other logs"
    )
    compiling = "about 20 s"
    measured: ClassVar[Mapping[str, tuple[str, float]]] = {
        "lengths": ("Makespan, failures and unscheduled jobs against job length", 1),
        "makespan": ("Mean makespan of a job (hours)", _HOURS),
        "failures_per_job": ("Failures per job (mean count)", 1),
        "unscheduled_share": ("Jobs unscheduled (share)", 1),
        "unfinished_share": ("Jobs unfinished (share)", 1),
        "jobs_failed_share": ("Jobs that lost a host (share)", 1),
        "stretch": ("Makespan over run time (ratio)", 1),
        "lost_work": ("Lost work (host-hours)", _HOURS),
        "harvested": ("Work harvested (share)", 1),
    }

    def world(self, inputs: Inputs) -> simulate.SharedHosts:
        """See `Model`."""
        return simulate.SharedHosts(inputs.read_hosts())

    def simulate(self, jobs: Jobs, failures: Any, **more: Any) -> CycleResult:
        """See `Model`; `failures` are what `world` returned."""
        if not isinstance(failures, simulate.SharedHosts):
            return simulate.simulate_cycle(jobs, failures, **more)
        said = {n: v for n, v in more.items() if n in self.fields}
        if not isinstance(said.get(self.decides, ""), str):
            del said[self.decides]  # a scheduler in Python reads what `falcon` does
        settings = self.parameters(**said)
        if settings.warm_up < failures.traces.end:  # else `simulate_cycle` says what is wrong
            more["forecasts"] = failures.forecasts(settings)
        return simulate.simulate_cycle(jobs, failures.traces, **more)

    def needed(self, jobs: Jobs, world: Any, parameters: AnyParameters) -> float:
        """See `Model`."""
        return simulate.needed(len(jobs), simulate.hosts_of(getattr(world, "traces", world)))

    def is_compiled(self, parameters: AnyParameters) -> bool:
        """See `Model`."""
        return has_kernels("forestall.sharing.simulation.loop_kernels")

    def alike(self, parameters: AnyParameters) -> AnyParameters:
        """See `Model`: parameters that change nothing are as they are by default."""
        plain, idle = dict(self.parameters()), self.idle(parameters)
        return parameters.model_copy(update={name: plain[name] for name in idle})

    def hints(self, jobs: Jobs, failures: Any, result: Any) -> list[str]:
        """See `Model`."""
        idle = self.idle_hints(result.outcome.parameters)
        return [*idle, *cycle_hints.on_hosts(jobs, result.outcome)]

    def measures(self) -> tuple[Measure, ...]:
        """See `Model`."""
        return digest.MEASURES

    def own_figures(
        self, table: pl.DataFrame, axes: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Figure]:
        """See `Model`."""
        if "job_length" not in axes or not set(axes) <= _LENGTHS_TELL:
            return {}

        return {"lengths": figures.length_lines(table)}


CYCLE = Cycle()
