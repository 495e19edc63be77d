"""The promise model, and the classic schedulers, as an entry in the table of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.core.kit.model import Model
from forestall.core.kit.progress import has_kernels
from forestall.core.model.own import is_own
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.rules.entries import (
    CHECKPOINTS,
    ONLY_SHARED,
    PLACEMENTS,
    SHARED_PLACEMENTS,
)
from forestall.scheduling.simulation.parameters import Parameters

with lazily():
    from forestall.core.kit import hints
    from forestall.scheduling import simulate
    from forestall.scheduling.report import digest

if TYPE_CHECKING:
    from forestall.core.kit.measure import Measure
    from forestall.core.kit.model import AnyParameters
    from forestall.core.model.failures import Failures
    from forestall.core.model.jobs import Jobs
    from forestall.scheduling.report.result import Result


LOOPS = "forestall.scheduling.simulation"
PREDICTIONS = {"trace": b"Foreseen", "hazard": b"Hazard", "learned": b"Table"}
"""The type of prediction that a predictor is compiled for."""


class Promise(Model):
    """Jobs that have nodes of their own, promises with deadlines, and checkpoints."""

    name = "promise"
    label = "Jobs and promises"
    plays = "jobs"
    parameters = Parameters
    certifier = "forestall.scheduling.certify.certifier:certify_promise"
    always = ("runs.csv",)
    replayer = "forestall.scheduling.report.log:replay"
    decides = "policy"
    decider = "forestall.scheduling.engine.own:Policy"
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
        if given["placement"] in ONLY_SHARED:
            return has_kernels(f"{LOOPS}.shared_loop_kernels")
        if POLICIES.chosen(given["policy"]).promises:
            return has_kernels(f"{LOOPS}.promise_loop_kernels", PREDICTIONS[given["predictor"]])
        return has_kernels(f"{LOOPS}.classic_loop_kernels")

    def idle(self, parameters: AnyParameters) -> dict[str, tuple[str, ...]]:
        """See `Model`."""
        found = super().idle(parameters)
        given = dict(parameters)
        checkpoint, placement = given["checkpoint"], given["placement"]
        if is_own(given["policy"]):
            return found
        if checkpoint == "none":
            others = (name for name in CHECKPOINTS if name != "none")
            found["checkpoint_overhead"] = ("checkpoint", *others)
        if given["predictor"] != "trace":
            found["accuracy"] = ("predictor", "trace")
        elif not POLICIES[given["policy"]].promises and (
            placement in SHARED_PLACEMENTS and checkpoint != "risk"
        ):
            by_risk = (name for name in PLACEMENTS if name not in SHARED_PLACEMENTS)
            found["accuracy"] = ("placement", *by_risk)
        return found

    def hints(self, jobs: Jobs, failures: Failures, result: Any) -> list[str]:
        """See `Model`."""
        outcome = result.outcome
        parameters = outcome.parameters
        found = self.idle_hints(parameters)
        alone = outcome.taken is None
        if alone and jobs.nodes is not None and jobs.nodes != parameters.nodes:
            found.append(
                f"the job log's header says that its machine has {jobs.nodes:,} nodes; use "
                f"{{nodes}} {jobs.nodes} for that machine"
            )
        known = jobs.requests is not None or jobs.processor_memory is not None
        if not alone and not known:
            found.append(
                "the job log does not say what jobs ask of a node (columns cores, memory, gpus): "
                "each has its nodes alone"
            )
        if alone and jobs.requests is not None:
            found.append(
                "jobs ask for cores, memory or GPUs, but without {machine} each takes whole nodes"
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
