"""Cycle sharing as an entry in the table of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from forestall.app.cycle.hints import on_hosts
from forestall.app.kit.model import Model

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from forestall.app.cycle.result import CycleResult
    from forestall.app.cycle.simulate import SharedHosts
    from forestall.app.kit.measure import Measure
    from forestall.app.kit.model import AnyParameters
    from forestall.app.runs.inputs import Inputs
    from forestall.model.jobs import Jobs
    from forestall.simulate.cycle.parameters import CycleParameters

_HOURS = 1 / 3600
_LENGTHS_TELL: Final = frozenset({"job_length", "scheduler", "seed"})
"""Parameters that the figure ``lengths`` tells apart."""
_FORESEEING: Final = (
    *("pooling", "load_memory", "history", "predict_every", "predict_step", "horizon"),
)
_CHECKPOINTING: Final = (
    *("checkpoint_interval", "checkpoint_overhead", "checkpoint_at_end", "restart_overhead"),
)


class Cycle(Model):
    """Jobs that run as guests on hosts whose owners come back, placed by a scheduler."""

    name = "cycle"
    on_hosts = True
    durations = frozenset(
        {
            "job_length", "checkpoint_interval", "checkpoint_overhead", "restart_overhead",
            "retry", "hold", "warm_up", "load_memory", "predict_every", "predict_step", "horizon",
        }
    )  # fmt: skip
    whole = frozenset({"retries", "history", "seed"})
    shares = frozenset({"th1", "th2", "guest_memory"})
    reals = shares
    flags = frozenset({"checkpoint_at_end"})
    words: ClassVar[Mapping[str, str]] = {"checkpoint_interval": "none", "job_length": "log"}
    unlearnt: ClassVar[tuple[str, ...]] = ()
    deep = frozenset({"by_length", "makespan_interval", "failures_per_job_interval", "calibration"})
    drawn = ("makespan", "failures_per_job", "unscheduled_share")
    shown = ("stretch", "jobs_failed_share", "unfinished_share", "lost_work", "harvested")
    averaged = ("makespan", "failures_per_job", "unscheduled_share", "lost_work")
    orders: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "scheduler": ("condor", "falcon", "omniscient"),
        "restart": ("scratch", "checkpoint"),
    }
    told_by: ClassVar[Mapping[str, tuple[str, ...]]] = {"lengths": drawn}
    drawing = (
        "the seed draws which of the hosts of equal rank Condor takes, and nothing else; other "
        "jobs and hosts are other logs"
    )
    compiling = "about 20 s"
    labels: ClassVar[Mapping[str, tuple[str, float]]] = {
        "lengths": ("Makespan, failures and unscheduled jobs against job length", 1),
        "job_length": ("Job length (hours)", _HOURS),
        "scheduler": ("Scheduler", 1),
        "restart": ("Restart", 1),
        "makespan": ("Mean makespan of a job (hours)", _HOURS),
        "failures_per_job": ("Failures per job (mean count)", 1),
        "unscheduled_share": ("Jobs unscheduled (share)", 1),
        "unfinished_share": ("Jobs unfinished (share)", 1),
        "jobs_failed_share": ("Jobs that lost a host (share)", 1),
        "stretch": ("Makespan over run time (ratio)", 1),
        "lost_work": ("Lost work (host-hours)", _HOURS),
        "harvested": ("Work harvested (share)", 1),
        "th1": ("Load Th1 (share)", 1),
        "th2": ("Load Th2 (share)", 1),
        "hold": ("Hold time (s)", 1),
        "retry": ("Time until a new try (s)", 1),
        "retries": ("New tries (count)", 1),
        "history": ("Days learnt from (count)", 1),
        "horizon": ("Horizon of forecasts (hours)", _HOURS),
        "warm_up": ("Warm-up (days)", _HOURS / 24),
        "predict_every": ("Time between forecasts (s)", 1),
        "predict_step": ("Step of forecasts (s)", 1),
        "load_memory": ("Time in which the present load fades (s)", 1),
        "guest_memory": ("Memory of a guest (share)", 1),
        "restart_overhead": ("Restart overhead (s)", 1),
    }

    @property
    def parameters(self) -> type[CycleParameters]:
        """See `Model`."""
        from forestall.simulate.cycle.parameters import CycleParameters

        return CycleParameters

    def checked(self, values: Mapping[str, Any]) -> AnyParameters:
        """See `Model`; the words for what is not given stand for None."""
        words = self.words
        plain = {n: None if n in words and v == words[n] else v for n, v in values.items()}
        return super().checked(plain)

    def world(self, inputs: Inputs) -> SharedHosts:
        """See `Model`."""
        from forestall.app.cycle.simulate import SharedHosts

        return SharedHosts(inputs.read_hosts())

    def simulate(self, jobs: Jobs, failures: Any, **more: Any) -> CycleResult:
        """See `Model`; `failures` are what `world` returned."""
        from forestall.app.cycle.simulate import SharedHosts, simulate_cycle

        if not isinstance(failures, SharedHosts):
            return simulate_cycle(jobs, failures, **more)
        names = set(self.fields)
        settings = self.parameters(**{n: v for n, v in more.items() if n in names})
        if settings.warm_up < failures.traces.end:  # else `simulate_cycle` says what is wrong
            more["forecasts"] = failures.forecasts(settings)
        return simulate_cycle(jobs, failures.traces, **more)

    def is_compiled(self, parameters: AnyParameters) -> bool:
        """See `Model`."""
        from forestall.app.kit.progress import has_kernels

        return has_kernels("cycle_*/loop_kernels.*.nbc")

    def alike(self, parameters: AnyParameters) -> AnyParameters:
        """See `Model`: the seed draws ties of Condor-style ranks and nothing else, there are
        forecasts only for Falcon, and checkpoints only where jobs go on from one."""
        plain, unused = self.parameters(), _unused(dict(parameters))
        return parameters.model_copy(update={name: getattr(plain, name) for name in unused})

    def hints(self, jobs: Jobs, failures: Any, result: Any) -> list[str]:
        """See `Model`."""
        given, plain = dict(result.outcome.parameters), self.parameters()
        idle = [
            f"--{name.replace('_', '-')} has no effect without {needs}"
            for name, needs in _unused(given).items()
            if name != "seed" and given[name] != getattr(plain, name)
        ]
        return [*idle, *on_hosts(jobs, result.outcome)]

    def measures(self) -> tuple[Measure, ...]:
        """See `Model`."""
        from forestall.app.cycle.sweep import MEASURES

        return MEASURES

    def own_figures(
        self, table: pl.DataFrame, axes: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Figure]:
        """See `Model`."""
        if "job_length" not in axes or not set(axes) <= _LENGTHS_TELL:
            return {}
        from forestall.app.cycle.figures import length_lines

        return {"lengths": length_lines(table)}


def _unused(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that change nothing in such a run, and what they would need."""
    unused: dict[str, str] = {}
    if given["scheduler"] != "condor":
        unused |= dict.fromkeys(("seed", "rank"), "--scheduler condor")
    if given["scheduler"] != "falcon":
        unused |= dict.fromkeys(_FORESEEING, "--scheduler falcon")
    if given["restart"] == "scratch":
        unused |= dict.fromkeys(_CHECKPOINTING, "--restart checkpoint")
    return unused


CYCLE = Cycle()
