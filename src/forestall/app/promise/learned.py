"""A learner's way into a run and into its folder, from which its answers can be had back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.app.kit.predictor_files import described, load_predictor, spoken
from forestall.engine.promise.plugin import Placement, Plugin, least_risky, lowest
from forestall.model.errors import ParameterError, TraceError
from forestall.model.observations import Observations
from forestall.predict.learner import Learner
from forestall.predict.tabulated import Tabulated, tabulate
from forestall.simulate.promise.prepare import DEFAULT_DOWNTIME
from forestall.traces.files.bundle import read_bundle, write_bundle

if TYPE_CHECKING:
    from forestall.model.failures import Failures
    from forestall.predict.base import Predictor
    from forestall.simulate.promise.parameters import Parameters
    from forestall.traces.training import TrainingLog

TABLE_FILE = "predictions.npz"
WHAT = "forestall table of predictions"
VERSION = 1
SAME_FILE, OTHER_FILE = 3, 10
"""Failures that two logs must share to be one log: of the same file, and of two."""
ANCHORS, QUICK = 5, 50
"""Failures that are looked for in another log, and those compared before all are."""


@dataclass(frozen=True)
class Learned:
    """A predictor for runs: from a file, or by name with a log to learn from."""

    learner: Learner

    @classmethod
    def from_file(cls, path: Path, run: Failures) -> Learned:
        """Return the predictor of a file, on the clock of a run's failures.

        Where a log has no dates, what the predictor has seen is taken to end where the run begins.
        Raises ParameterError where nodes have other names, and where it learnt from failures of the
        run.
        """
        learner = load_predictor(path)
        _check_names(path, learner.seen, run)
        _check_not_seen(path, learner, run)
        return cls(learner.moved(shift_to(learner.seen, run)))

    @classmethod
    def trained(cls, name: str, log: TrainingLog, nodes: int) -> Learned:
        """Return a predictor that has learnt from a training log, on the clock of the run."""
        from forestall.predict.registry import new_learner

        learner = new_learner(name)
        learner.fit(log.failures, nodes=nodes, end=log.end)
        return cls(learner)


def shift_to(seen: Observations, run: Failures) -> int:
    """Return by how much the clock of a run runs ahead of that of what was seen, s."""
    if seen.origin is not None and run.origin is not None:
        return seen.origin - run.origin
    return -seen.end


def _check_names(path: Path, seen: Observations, run: Failures) -> None:
    mine, theirs = seen.failures.names, run.names
    if mine is None or theirs is None:
        return
    for number, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if one != other:
            raise ParameterError(
                "predictor",
                str(path),
                f"one that learnt of the same nodes: its node {number} is {one}, that of "
                f"{run.source} is {other} (predict train {{until}} on that log, or {{train}})",
            )


def _check_not_seen(path: Path, learner: Learner, run: Failures) -> None:
    """Raise ParameterError where clocks have no dates, and a run's failures are among those that
    were seen: they are of one log, and it must not begin before what was seen ends."""
    seen = learner.seen
    if seen.origin is not None or run.origin is not None:
        return
    begins = _begin_within(seen, run, least=SAME_FILE if _one_file(seen, run) else OTHER_FILE)
    if begins is not None:
        raise ParameterError(
            "predictor",
            str(path),
            f"one that has not learnt from the run's failures: it knows {seen.failures.source} up "
            f"to {spoken(seen.end, None)}, and the run begins at {spoken(begins, None)} of that "
            "log (predict train {until})",
        )


def _one_file(seen: Observations, run: Failures) -> bool:
    mine = seen.failures.source
    return bool(mine and run.source) and Path(mine).resolve() == Path(run.source).resolve()


def _begin_within(seen: Observations, run: Failures, least: int) -> int | None:
    """Return when, on the clock of what was seen, a run begins whose failures are those that were
    seen from then on: more than half of them, and at least `least`; None where they are not."""
    log = seen.failures
    low, high = seen.begin, seen.end
    wide = 2 * (high - low) + 1
    keys = np.unique(log.node * wide + (log.time - low))
    for anchor in range(min(ANCHORS, len(run))):
        for shift in (log.time[log.node == run.node[anchor]] - run.time[anchor]).tolist():
            for most in (QUICK, len(run)):
                time, node = run.time[:most] + shift, run.node[:most]
                inside = (time >= low) & (time < high)
                held = int(np.isin(node[inside] * wide + (time[inside] - low), keys).sum())
                if 2 * held <= int(inside.sum()) or held < min(least, most):
                    break
            else:
                return int(shift)
    return None


def answers(learner: Learner, settings: Parameters, log: Failures, start: int) -> Tabulated:
    """Return what the learner will say during a run whose first event is at `start`, each answer
    from what came before it.

    Raises ParameterError where it knows of what comes later, or the run does not suit it.
    """
    if learner.seen.end > start:
        raise ParameterError(
            "predictor",
            f"{learner.name} with failures up to {_when(learner.seen.end, log)}",
            f"one that has seen nothing after the run begins, at {_when(start, log)} "
            "(predict train {until})",
        )
    if settings.policy != "promise":
        raise ParameterError("policy", settings.policy, f"promise, with predictor {learner.name}")
    if settings.repeat_failures:
        allowed = f"false, with predictor {learner.name}: it learns from failures as they come"
        raise ParameterError("repeat_failures", True, allowed)
    last = int(log.time[-1]) + 1 if len(log) else start
    end = max(start + 1, last, log.span if len(log) else 0)
    later = Observations.of(log, begin=start, end=end, nodes=settings.nodes)
    return tabulate(learner, later, settings.nodes)


def _when(time: int, log: Failures) -> str:
    return f"{time} s" if log.origin is None else spoken(time, log.origin)


def plugin_of(
    predictor: Predictor | None, placement: Placement | None, settings: Parameters, period: int = 0
) -> Plugin:
    """Return what answers in the place of compiled predictors and placement rules; without a
    placement, that of the settings. Raises ParameterError for another policy than the promise."""
    if settings.policy != "promise":
        raise ParameterError(
            "policy", settings.policy, "promise, with a predictor or placement of your own"
        )
    if placement is None:
        placement = least_risky if settings.placement == "fault-aware" else lowest
    downtime = settings.downtime if isinstance(settings.downtime, int) else DEFAULT_DOWNTIME
    return Plugin(predictor, placement, downtime, period)


def described_run(learner: Learner) -> dict[str, Any]:
    """Return what `summary.json` says of the predictor."""
    return {**described(learner), "kind": "learned"}


def write_table(table: Tabulated, path: Path) -> None:
    """Write the answers of a run."""
    values = {"horizons": list(table.horizons)}
    write_bundle(path, WHAT, VERSION, values, {"times": table.times, "hazard": table.hazard})


def read_table(folder: Path) -> Tabulated:
    """Return the answers of the run in this folder. Raises TraceError where they are missing."""
    path = folder / TABLE_FILE
    if not path.exists():
        raise TraceError(path, "is missing; simulate with {log_events} writes it")
    values, arrays = read_bundle(path, WHAT, VERSION)
    try:
        times, hazard = arrays["times"].astype(np.int64), arrays["hazard"]
        return Tabulated(times, hazard, tuple(values["horizons"]))
    except (KeyError, AssertionError, TypeError) as error:
        raise TraceError(path, f"is a damaged {WHAT} ({error!r})") from None
