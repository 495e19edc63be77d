"""Cycle sharing as one function: guests on hosts whose owners come back, placed by a scheduler."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from forestall.core.files import budget
from forestall.core.kit.checked import checked
from forestall.core.kit.model import COMPILED
from forestall.core.kit.own import own_of
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.core.model.metrics import Metrics
from forestall.logs.given import jobs_of
from forestall.logs.host_traces import (
    host_traces_of_failures,
    host_traces_of_metrics,
    read_host_traces,
)
from forestall.sharing.keywords import CycleKeywords
from forestall.sharing.report.result import CycleResult
from forestall.sharing.rules.own import HostScheduler, OwnScheduler
from forestall.sharing.simulation.forecasts import ABOUT_HOSTS, Forecasts
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle

if TYPE_CHECKING:
    from forestall.core.clock.progress import Progress

JOB, SAMPLE = 600, 32
"""Bytes that a job and a sample of a host take in a run, about."""
KEPT: Final = 2
"""Sets of parameters about hosts whose forecasts are kept for runs to come."""


def simulate_cycle(
    jobs: Jobs | str | Path | Any,
    hosts: HostTraces | Metrics | Failures | str | Path,
    *,
    scheduler: HostScheduler | str = "falcon",
    forecasts: Forecasts | None = None,
    log_events: bool = False,
    progress: Progress | None = None,
    **parameters: Unpack[CycleKeywords],
) -> CycleResult:
    """Run jobs as guests on hosts whose owners come back, and account for the outcomes.

    Parameters
    ----------
    jobs : a Jobs, a path (SWF, CSV, Parquet), or a Polars or pandas table; each is one guest
    hosts : a HostTraces, metrics of nodes with their load, failures that say when nodes were up, or
        the path of either (see `forestall.logs.host_traces.read_host_traces`)
    scheduler : the name of one, a `fs.HostScheduler` of your own, or its class as "module:Class"
    forecasts : of the same hosts and parameters about hosts, to share them between runs
    log_events : keep what the engine was told and decided, for `events.csv`, `decisions.csv` and
        `candidates.csv`
    progress : called periodically with the number of jobs done and of all jobs
    **parameters : see `forestall.sharing.simulation.parameters.CycleParameters`

    Time 0 of the jobs lies `warm_up` seconds into the host traces. Raises InputError and its kin
    for unusable input. Source: Bagchi et al., the FALCON and iShare slides.

    Examples
    --------
    >>> import numpy as np
    >>> import forestall as fs
    >>> from forestall.core.model.hosts import HostTraces
    >>> load = np.array([[0.5] * 240, [0.0] * 120 + [0.9] * 120])
    >>> hosts = HostTraces(load, None, 60, np.ones(2), ("lab1", "lab2"))
    >>> jobs = fs.Jobs.build(submit=[0], size=[1], runtime=[3600])
    >>> given = {"warm_up": 0, "restart": "scratch"}
    >>> late = simulate_cycle(jobs, hosts, scheduler="condor", **given)
    >>> late.jobs["finish"].to_list(), late.failures_per_job
    ([3600], 0.0)
    """
    decider = own_of("scheduler", HostScheduler, scheduler)  # type: ignore[type-abstract]
    name = scheduler if decider is None else decider.name
    settings = checked(CycleParameters, {"scheduler": name, **parameters})
    traces = hosts_of(hosts)
    given = jobs_of(jobs)
    what = (
        f"a run of {len(given):,} guests on {len(traces):,} hosts with {traces.samples:,} samples"
    )
    budget.require(needed(len(given), traces), what, hint="choose fewer {days}")
    workload = prepare_guests(given, traces, settings)
    with waiting(progress, "jobs") as bar:
        outcome = play_cycle(
            workload,
            traces,
            settings,
            forecasts=forecasts,
            own=None if decider is None else OwnScheduler(decider),
            log_events=log_events,
            progress=bar,
        )
    sources = {"jobs": workload.jobs.source, "hosts": traces.source}
    return CycleResult(outcome, sources, workload.cleaning + traces.cleaning)


def needed(jobs: int, hosts: HostTraces) -> float:
    """Return the bytes that a run takes beside its traces, about."""
    return COMPILED + JOB * jobs + SAMPLE * hosts.load.size


def hosts_of(hosts: HostTraces | Metrics | Failures | str | Path) -> HostTraces:
    """Return host traces from what tells of them; ParameterError for anything else."""
    if isinstance(hosts, HostTraces):
        return hosts
    if isinstance(hosts, Metrics):
        return host_traces_of_metrics(hosts)
    if isinstance(hosts, Failures):
        return host_traces_of_failures(hosts)
    if isinstance(hosts, str | Path):
        return read_host_traces(hosts)
    raise ParameterError("hosts", type(hosts).__name__, "HostTraces, Metrics, Failures, or a path")


class SharedHosts:
    """Host traces, with the forecasts that runs on them have made.

    Attributes
    ----------
    traces : as read
    """

    def __init__(self, traces: HostTraces) -> None:
        self.traces = traces
        self._kept: OrderedDict[tuple[Any, ...], Forecasts] = OrderedDict()

    def forecasts(self, parameters: CycleParameters) -> Forecasts:
        """Return the forecasts of these parameters about hosts, new where there are none yet."""
        key = tuple(getattr(parameters, name) for name in ABOUT_HOSTS)
        if key not in self._kept:
            while len(self._kept) >= KEPT:
                self._kept.popitem(last=False)
            self._kept[key] = Forecasts(self.traces, parameters)
        self._kept.move_to_end(key)
        return self._kept[key]
