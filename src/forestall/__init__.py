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
    from forestall.app.cycle.result import CycleResult as CycleResult
    from forestall.app.cycle.simulate import simulate_cycle as simulate_cycle
    from forestall.app.job_records import read_job_records as read_job_records
    from forestall.app.kit.book_files import load_book as load_book
    from forestall.app.kit.book_files import save_book as save_book
    from forestall.app.kit.predictor_files import load_predictor as load_predictor
    from forestall.app.kit.predictor_files import save_predictor as save_predictor
    from forestall.app.promise.result import Result as Result
    from forestall.app.promise.simulate import simulate as simulate
    from forestall.app.reliability.design.design import read_cluster as read_cluster
    from forestall.app.runs.certify import certify as certify
    from forestall.app.runs.compare import compare as compare
    from forestall.app.runs.on_cluster import over_cluster as over_cluster
    from forestall.app.runs.replay import replay as replay
    from forestall.app.runs.sweep_run import sweep as sweep
    from forestall.app.runs.warm_up import warm_up as warm_up
    from forestall.app.site.site import SiteReport as SiteReport
    from forestall.app.site.site import read_site as read_site
    from forestall.app.site.site import site_report as site_report
    from forestall.app.virtual.result import VirtualResult as VirtualResult
    from forestall.app.virtual.simulate import simulate_virtual as simulate_virtual
    from forestall.decide.cycle.own import HostScheduler as HostScheduler
    from forestall.decide.virtual.own import Strategy as Strategy
    from forestall.decide.virtual.placement import choose_node as choose_node
    from forestall.engine.promise.own import Policy as Policy
    from forestall.model import errors as errors
    from forestall.model.entries import Entries as Entries
    from forestall.model.entries import Entry as Entry
    from forestall.model.failures import Failures as Failures
    from forestall.model.hosts import HostTraces as HostTraces
    from forestall.model.jobs import Jobs as Jobs
    from forestall.model.metrics import Metrics as Metrics
    from forestall.model.nodes import NodeSet as NodeSet
    from forestall.model.observations import Observations as Observations
    from forestall.model.predictions import Predictions as Predictions
    from forestall.model.ras import RasLog as RasLog
    from forestall.model.site.accounting import Accounting as Accounting
    from forestall.model.site.hostlist import Hostlist as Hostlist
    from forestall.model.site.job_records import JobRecords as JobRecords
    from forestall.model.site.node_events import NodeEvents as NodeEvents
    from forestall.model.site.site_records import SiteRecords as SiteRecords
    from forestall.predict.hazard.hazard import HazardPredictor as HazardPredictor
    from forestall.predict.registry import new_learner as new_learner
    from forestall.predict.semi_markov.process import SemiMarkov as SemiMarkov
    from forestall.predict.trace import TracePredictor as TracePredictor
    from forestall.predict.turnaround.book import CompletionBook as CompletionBook
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
    from forestall.simulation.cycle.parameters import CycleParameters as CycleParameters
    from forestall.simulation.promise.parameters import Parameters as Parameters
    from forestall.simulation.virtual.parameters import VirtualParameters as VirtualParameters
    from forestall.traces import read_failures as read_failures
    from forestall.traces import read_jobs as read_jobs
    from forestall.traces.generate import generate_failures as generate_failures
    from forestall.traces.generate import generate_jobs as generate_jobs
    from forestall.traces.generate.guests import generate_guests as generate_guests
    from forestall.traces.generate.hosts import generate_hosts as generate_hosts
    from forestall.traces.generate.laws import LognormalTimes as LognormalTimes
    from forestall.traces.generate.memory import generate_memory as generate_memory
    from forestall.traces.generate.ras import generate_ras as generate_ras
    from forestall.traces.generate.tasks import generate_task_jobs as generate_task_jobs
    from forestall.traces.host_traces import read_host_traces as read_host_traces
    from forestall.traces.metrics.read import read_metrics as read_metrics
    from forestall.traces.observed import observed as observed
    from forestall.traces.ras.read import read_ras as read_ras
    from forestall.traces.streams import stream as stream

_HOME: Final[dict[str, str]] = {
    "Accounting": "forestall.model.site.accounting",
    "Cluster": "forestall.reliability.queues.cluster",
    "CompletionBook": "forestall.predict.turnaround.book",
    "CycleParameters": "forestall.simulation.cycle.parameters",
    "CycleResult": "forestall.app.cycle.result",
    "Entries": "forestall.model.entries",
    "Entry": "forestall.model.entries",
    "Failures": "forestall.model.failures",
    "HazardPredictor": "forestall.predict.hazard.hazard",
    "HostScheduler": "forestall.decide.cycle.own",
    "HostTraces": "forestall.model.hosts",
    "Hostlist": "forestall.model.site.hostlist",
    "JobRecords": "forestall.model.site.job_records",
    "Jobs": "forestall.model.jobs",
    "LognormalTimes": "forestall.traces.generate.laws",
    "Metrics": "forestall.model.metrics",
    "NodeEvents": "forestall.model.site.node_events",
    "NodeSet": "forestall.model.nodes",
    "Observations": "forestall.model.observations",
    "Parameters": "forestall.simulation.promise.parameters",
    "Policy": "forestall.engine.promise.own",
    "Predictions": "forestall.model.predictions",
    "Queue": "forestall.reliability.queues.queues",
    "RasLog": "forestall.model.ras",
    "Result": "forestall.app.promise.result",
    "SemiMarkov": "forestall.predict.semi_markov.process",
    "SiteRecords": "forestall.model.site.site_records",
    "SiteReport": "forestall.app.site.site",
    "Strategy": "forestall.decide.virtual.own",
    "TracePredictor": "forestall.predict.trace",
    "VirtualParameters": "forestall.simulation.virtual.parameters",
    "VirtualResult": "forestall.app.virtual.result",
    "assess_alarms": "forestall.public.asked.predictors",
    "assess_collection": "forestall.public.asked.acting",
    "assess_jobs": "forestall.public.asked.acting",
    "assess_policies": "forestall.public.asked.acting",
    "assess_predictors": "forestall.public.asked.predictors",
    "assess_scores": "forestall.public.asked.predictors",
    "assess_trial": "forestall.public.asked.acting",
    "backtest_promises": "forestall.public.asked.records",
    "certify": "forestall.app.runs.certify",
    "checkpoint_interval": "forestall.reliability.checkpoints.checkpoints",
    "choose_node": "forestall.decide.virtual.placement",
    "compare": "forestall.app.runs.compare",
    "completion_time": "forestall.reliability.checkpoints.completion",
    "contention": "forestall.public",
    "design": "forestall.public.asked.reliability",
    "errors": "forestall.model",
    "fit": "forestall.reliability.fits.estimate",
    "fit_all": "forestall.reliability.fits.ranking",
    "futures": "forestall.public",
    "generate_failures": "forestall.traces.generate",
    "generate_guests": "forestall.traces.generate.guests",
    "generate_hosts": "forestall.traces.generate.hosts",
    "generate_jobs": "forestall.traces.generate",
    "generate_memory": "forestall.traces.generate.memory",
    "generate_ras": "forestall.traces.generate.ras",
    "generate_task_jobs": "forestall.traces.generate.tasks",
    "hosts": "forestall.public",
    "interval": "forestall.public.asked.reliability",
    "judge": "forestall.public",
    "lemons": "forestall.public.asked.records",
    "lifetime": "forestall.reliability.lifetimes.registry",
    "load_book": "forestall.app.kit.book_files",
    "load_predictor": "forestall.app.kit.predictor_files",
    "new_learner": "forestall.predict.registry",
    "observed": "forestall.traces.observed",
    "over_cluster": "forestall.app.runs.on_cluster",
    "plan_trial": "forestall.public.asked.acting",
    "queue_futures": "forestall.public.asked.records",
    "read_cluster": "forestall.app.reliability.design.design",
    "read_failures": "forestall.traces",
    "read_host_traces": "forestall.traces.host_traces",
    "read_job_records": "forestall.app.job_records",
    "read_jobs": "forestall.traces",
    "read_metrics": "forestall.traces.metrics.read",
    "read_ras": "forestall.traces.ras.read",
    "read_site": "forestall.app.site.site",
    "replay": "forestall.app.runs.replay",
    "reports": "forestall.public",
    "save_book": "forestall.app.kit.book_files",
    "save_predictor": "forestall.app.kit.predictor_files",
    "screen": "forestall.public",
    "simulate": "forestall.app.promise.simulate",
    "simulate_cycle": "forestall.app.cycle.simulate",
    "simulate_virtual": "forestall.app.virtual.simulate",
    "site_report": "forestall.app.site.site",
    "spares": "forestall.public.asked.reliability",
    "stream": "forestall.traces.streams",
    "study_failures": "forestall.public.asked.reliability",
    "style": "forestall.public",
    "sweep": "forestall.app.runs.sweep_run",
    "systems": "forestall.public",
    "vault": "forestall.public",
    "warm_up": "forestall.app.runs.warm_up",
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
