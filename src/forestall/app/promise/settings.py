"""The promise model, and the classic schedulers, as an entry in the table of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forestall._lazy import lazily
from forestall.app.kit.model import Model
from forestall.app.kit.progress import has_kernels
from forestall.engine.promise.policies import POLICIES
from forestall.simulation.promise.parameters import Parameters

with lazily():
    from forestall.app.kit import hints
    from forestall.app.promise import digest, simulate

if TYPE_CHECKING:
    from forestall.app.kit.measure import Measure
    from forestall.app.kit.model import AnyParameters
    from forestall.app.promise.result import Result
    from forestall.model.failures import Failures
    from forestall.model.jobs import Jobs


PREDICTIONS = {"trace": b"Foreseen", "hazard": b"Hazard", "learned": b"Table"}
"""The type of prediction that a predictor is compiled for."""


class Promise(Model):
    """Jobs that have nodes of their own, promises with deadlines, and checkpoints."""

    name = "promise"
    label = "Jobs and promises"
    plays = "jobs"
    parameters = Parameters
    certifier = "forestall.app.promise.certify.certifier:certify_promise"
    always = ("runs.csv",)
    replayer = "forestall.app.promise.log:replay"
    decides = "policy"
    decider = "forestall.engine.promise.own:Policy"
    unlearnt = ("trace",)
    deep = frozenset({"calibration"})
    drawn = (
        "qos", "utilization", "lost_work", "promises_kept", "wait_mean", "bounded_slowdown_mean",
    )  # fmt: skip
    shown = ("brier", "restarts", "checkpoints")

    def simulate(self, jobs: Jobs, failures: Failures, **more: Any) -> Result:
        """See `Model`."""
        return simulate.simulate(jobs, failures, **more)

    def needed(self, jobs: Jobs, world: Any, parameters: AnyParameters) -> float:
        """See `Model`."""
        return simulate.needed(len(jobs), dict(parameters)["nodes"])

    def is_compiled(self, parameters: AnyParameters) -> bool:
        """See `Model`."""
        given = dict(parameters)
        if POLICIES.chosen(given["policy"]).promises:
            return has_kernels("*promise_loop*.nbi", PREDICTIONS[given["predictor"]])
        return has_kernels("*classic_loop*.nbc")

    def hints(self, jobs: Jobs, failures: Failures, result: Any) -> list[str]:
        """See `Model`."""
        outcome = result.outcome
        parameters = outcome.parameters
        found = []
        if jobs.nodes is not None and jobs.nodes != parameters.nodes:
            found.append(
                f"the job log's header says that its machine has {jobs.nodes:,} nodes; use "
                f"{{nodes}} {jobs.nodes} for that machine"
            )
        first, last = int(outcome.workload.jobs.submit[0]), int(outcome.jobs["finish"].max())
        found += hints.on_failures(failures, parameters, len(outcome.played), first, last)
        if result.answers is not None:
            found.append(hints.on_unseen(result.predictor.seen.end, int(result.answers.times[0])))
        return [hint for hint in found if hint]

    def measures(self) -> tuple[Measure, ...]:
        """See `Model`."""
        return digest.MEASURES


PROMISE = Promise()
