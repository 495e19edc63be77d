"""Predict failures, quote deadlines with probabilities, and account for the outcomes.

>>> import forestall as fs
>>> fs.NodeSet.parse("0-3,7")
NodeSet(0-3,7)

Names are loaded when first asked for, so that `import forestall` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from forestall.__about__ import __version__

if TYPE_CHECKING:
    from forestall.core.model import errors as errors
    from forestall.core.model.entries import Entries as Entries
    from forestall.core.model.entries import Entry as Entry
    from forestall.core.model.failures import Failures as Failures
    from forestall.core.model.hostlist import Hostlist as Hostlist
    from forestall.core.model.hosts import HostTraces as HostTraces
    from forestall.core.model.job_records import JobRecords as JobRecords
    from forestall.core.model.jobs import Jobs as Jobs
    from forestall.core.model.metrics import Metrics as Metrics
    from forestall.core.model.nodes import NodeSet as NodeSet
    from forestall.core.model.observations import Observations as Observations
    from forestall.core.model.predictions import Predictions as Predictions
    from forestall.core.model.ras import RasLog as RasLog
    from forestall.core.streams import draw_detectability as draw_detectability
    from forestall.core.streams import stream as stream
    from forestall.logs import read_failures as read_failures
    from forestall.logs import read_jobs as read_jobs
    from forestall.logs.generate import Seeds as Seeds
    from forestall.logs.generate import generate_failures as generate_failures
    from forestall.logs.generate import generate_jobs as generate_jobs
    from forestall.logs.generate import generate_machine as generate_machine
    from forestall.logs.generate import generate_shared_jobs as generate_shared_jobs
    from forestall.logs.generate import preset_failures as preset_failures
    from forestall.logs.generate.guests import generate_guests as generate_guests
    from forestall.logs.generate.hosts import generate_hosts as generate_hosts
    from forestall.logs.generate.laws import LognormalTimes as LognormalTimes
    from forestall.logs.generate.memory import generate_memory as generate_memory
    from forestall.logs.generate.ras import generate_ras as generate_ras
    from forestall.logs.generate.tasks import generate_task_jobs as generate_task_jobs
    from forestall.logs.host_traces import read_host_traces as read_host_traces
    from forestall.logs.metrics.read import read_metrics as read_metrics
    from forestall.logs.observed import observed as observed
    from forestall.logs.ras.read import read_ras as read_ras
    from forestall.machines.report.result import VirtualResult as VirtualResult
    from forestall.machines.rules.own import Strategy as Strategy
    from forestall.machines.rules.placement import choose_node as choose_node
    from forestall.machines.simulate import simulate_virtual as simulate_virtual
    from forestall.machines.simulation.parameters import VirtualParameters as VirtualParameters
    from forestall.prediction.given.predictor_files import load_predictor as load_predictor
    from forestall.prediction.given.predictor_files import save_predictor as save_predictor
    from forestall.prediction.models.hazard.hazard import HazardPredictor as HazardPredictor
    from forestall.prediction.models.registry import new_learner as new_learner
    from forestall.prediction.models.semi_markov.process import SemiMarkov as SemiMarkov
    from forestall.prediction.models.trace import TracePredictor as TracePredictor
    from forestall.public import contention as contention
    from forestall.public import futures as futures
    from forestall.public import hosts as hosts
    from forestall.public import judge as judge
    from forestall.public import reports as reports
    from forestall.public import screen as screen
    from forestall.public import style as style
    from forestall.public import systems as systems
    from forestall.public import vault as vault
    from forestall.public.asked.acting import assess_collection as assess_collection
    from forestall.public.asked.acting import assess_jobs as assess_jobs
    from forestall.public.asked.acting import assess_policies as assess_policies
    from forestall.public.asked.acting import assess_trial as assess_trial
    from forestall.public.asked.acting import plan_trial as plan_trial
    from forestall.public.asked.predictors import assess_alarms as assess_alarms
    from forestall.public.asked.predictors import assess_predictors as assess_predictors
    from forestall.public.asked.predictors import assess_scores as assess_scores
    from forestall.public.asked.records import backtest_promises as backtest_promises
    from forestall.public.asked.records import lemons as lemons
    from forestall.public.asked.records import queue_futures as queue_futures
    from forestall.public.asked.reliability import design as design
    from forestall.public.asked.reliability import interval as interval
    from forestall.public.asked.reliability import spares as spares
    from forestall.public.asked.reliability import study_failures as study_failures
    from forestall.reliability.checkpoints.checkpoints import (
        checkpoint_interval as checkpoint_interval,
    )
    from forestall.reliability.checkpoints.completion import completion_time as completion_time
    from forestall.reliability.fits.estimate import fit as fit
    from forestall.reliability.fits.ranking import fit_all as fit_all
    from forestall.reliability.lifetimes.registry import lifetime as lifetime
    from forestall.reliability.queues.cluster import Cluster as Cluster
    from forestall.reliability.queues.queues import Queue as Queue
    from forestall.reliability.report.design.design import read_cluster as read_cluster
    from forestall.runs.certify import certify as certify
    from forestall.runs.compare import compare as compare
    from forestall.runs.on_cluster import over_cluster as over_cluster
    from forestall.runs.replay import replay as replay
    from forestall.runs.sweep_run import sweep as sweep
    from forestall.runs.warm_up import warm_up as warm_up
    from forestall.scheduling.engine.own import Policy as Policy
    from forestall.scheduling.report.result import Result as Result
    from forestall.scheduling.simulate import simulate as simulate
    from forestall.scheduling.simulation.parameters import Parameters as Parameters
    from forestall.sharing.report.result import CycleResult as CycleResult
    from forestall.sharing.rules.own import HostScheduler as HostScheduler
    from forestall.sharing.simulate import simulate_cycle as simulate_cycle
    from forestall.sharing.simulation.parameters import CycleParameters as CycleParameters
    from forestall.site.book_files import load_book as load_book
    from forestall.site.book_files import save_book as save_book
    from forestall.site.learning.turnaround.book import CompletionBook as CompletionBook
    from forestall.site.site import SiteReport as SiteReport
    from forestall.site.site import read_site as read_site
    from forestall.site.site import site_report as site_report
    from forestall.slurm.job_records import read_job_records as read_job_records
    from forestall.slurm.records.accounting import Accounting as Accounting
    from forestall.slurm.records.node_events import NodeEvents as NodeEvents
    from forestall.slurm.records.site_records import SiteRecords as SiteRecords

_HOME: Final[dict[str, str]] = {
    "Accounting": "forestall.slurm.records.accounting",
    "Cluster": "forestall.reliability.queues.cluster",
    "CompletionBook": "forestall.site.learning.turnaround.book",
    "CycleParameters": "forestall.sharing.simulation.parameters",
    "CycleResult": "forestall.sharing.report.result",
    "Entries": "forestall.core.model.entries",
    "Entry": "forestall.core.model.entries",
    "Failures": "forestall.core.model.failures",
    "HazardPredictor": "forestall.prediction.models.hazard.hazard",
    "HostScheduler": "forestall.sharing.rules.own",
    "HostTraces": "forestall.core.model.hosts",
    "Hostlist": "forestall.core.model.hostlist",
    "JobRecords": "forestall.core.model.job_records",
    "Jobs": "forestall.core.model.jobs",
    "LognormalTimes": "forestall.logs.generate.laws",
    "Metrics": "forestall.core.model.metrics",
    "NodeEvents": "forestall.slurm.records.node_events",
    "NodeSet": "forestall.core.model.nodes",
    "Observations": "forestall.core.model.observations",
    "Parameters": "forestall.scheduling.simulation.parameters",
    "Policy": "forestall.scheduling.engine.own",
    "Predictions": "forestall.core.model.predictions",
    "Queue": "forestall.reliability.queues.queues",
    "RasLog": "forestall.core.model.ras",
    "Result": "forestall.scheduling.report.result",
    "Seeds": "forestall.logs.generate",
    "SemiMarkov": "forestall.prediction.models.semi_markov.process",
    "SiteRecords": "forestall.slurm.records.site_records",
    "SiteReport": "forestall.site.site",
    "Strategy": "forestall.machines.rules.own",
    "TracePredictor": "forestall.prediction.models.trace",
    "VirtualParameters": "forestall.machines.simulation.parameters",
    "VirtualResult": "forestall.machines.report.result",
    "assess_alarms": "forestall.public.asked.predictors",
    "assess_collection": "forestall.public.asked.acting",
    "assess_jobs": "forestall.public.asked.acting",
    "assess_policies": "forestall.public.asked.acting",
    "assess_predictors": "forestall.public.asked.predictors",
    "assess_scores": "forestall.public.asked.predictors",
    "assess_trial": "forestall.public.asked.acting",
    "backtest_promises": "forestall.public.asked.records",
    "certify": "forestall.runs.certify",
    "checkpoint_interval": "forestall.reliability.checkpoints.checkpoints",
    "choose_node": "forestall.machines.rules.placement",
    "compare": "forestall.runs.compare",
    "completion_time": "forestall.reliability.checkpoints.completion",
    "contention": "forestall.public",
    "design": "forestall.public.asked.reliability",
    "draw_detectability": "forestall.core.streams",
    "errors": "forestall.core.model",
    "fit": "forestall.reliability.fits.estimate",
    "fit_all": "forestall.reliability.fits.ranking",
    "futures": "forestall.public",
    "generate_failures": "forestall.logs.generate",
    "generate_guests": "forestall.logs.generate.guests",
    "generate_hosts": "forestall.logs.generate.hosts",
    "generate_jobs": "forestall.logs.generate",
    "generate_machine": "forestall.logs.generate",
    "generate_memory": "forestall.logs.generate.memory",
    "generate_ras": "forestall.logs.generate.ras",
    "generate_shared_jobs": "forestall.logs.generate",
    "generate_task_jobs": "forestall.logs.generate.tasks",
    "hosts": "forestall.public",
    "interval": "forestall.public.asked.reliability",
    "judge": "forestall.public",
    "lemons": "forestall.public.asked.records",
    "lifetime": "forestall.reliability.lifetimes.registry",
    "load_book": "forestall.site.book_files",
    "load_predictor": "forestall.prediction.given.predictor_files",
    "new_learner": "forestall.prediction.models.registry",
    "observed": "forestall.logs.observed",
    "over_cluster": "forestall.runs.on_cluster",
    "plan_trial": "forestall.public.asked.acting",
    "preset_failures": "forestall.logs.generate",
    "queue_futures": "forestall.public.asked.records",
    "read_cluster": "forestall.reliability.report.design.design",
    "read_failures": "forestall.logs",
    "read_host_traces": "forestall.logs.host_traces",
    "read_job_records": "forestall.slurm.job_records",
    "read_jobs": "forestall.logs",
    "read_metrics": "forestall.logs.metrics.read",
    "read_ras": "forestall.logs.ras.read",
    "read_site": "forestall.site.site",
    "replay": "forestall.runs.replay",
    "reports": "forestall.public",
    "save_book": "forestall.site.book_files",
    "save_predictor": "forestall.prediction.given.predictor_files",
    "screen": "forestall.public",
    "simulate": "forestall.scheduling.simulate",
    "simulate_cycle": "forestall.sharing.simulate",
    "simulate_virtual": "forestall.machines.simulate",
    "site_report": "forestall.site.site",
    "spares": "forestall.public.asked.reliability",
    "stream": "forestall.core.streams",
    "study_failures": "forestall.public.asked.reliability",
    "style": "forestall.public",
    "sweep": "forestall.runs.sweep_run",
    "systems": "forestall.public",
    "vault": "forestall.public",
    "warm_up": "forestall.runs.warm_up",
}
"""Public names and the modules that hold them. A submodule stands beside its package."""

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'forestall' has no attribute {name!r}")
    module = import_module(home)
    if not hasattr(module, name):
        import_module(f"{home}.{name}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
