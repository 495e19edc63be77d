"""Predictors that a run is given: by their file, or by name with a log to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.logs.training import TrainingLog, read_training
from forestall.prediction.given.beside import NOTHING, Beside
from forestall.prediction.given.predictor_files import load_predictor, spoken
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.logs.inputs import Inputs

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
    def trained(cls, name: str, log: TrainingLog, nodes: int, beside: Beside = NOTHING) -> Learned:
        """Return a predictor that has learned from a training log, and from the events and metrics
        `beside` it, on the clock of the run."""
        learner = new_learner(name)
        past = beside.training(log, nodes) if beside else log.failures
        learner.fit(past, nodes=nodes, end=log.end)
        return cls(learner)


def by_name(
    predictor: str | Path, named: Sequence[str], parameters: Mapping[str, Any], run: Failures
) -> tuple[dict[str, Any], Learner | None]:
    """Return the parameters and the predictor that a name or a file stands for, where `named` are
    those that a name is enough for."""
    if str(predictor) in named:
        return {"predictor": str(predictor), **parameters}, None
    if not Path(predictor).is_file():
        allowed = f"{', '.join(named)}, or the file of a trained predictor"
        raise ParameterError("predictor", str(predictor), allowed)
    return dict(parameters), Learned.from_file(Path(predictor), run).learner


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
                f"one that learned from the same nodes: its node {number} is {one}, that of "
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
            f"one that has not learned from the run's failures: it knows {seen.failures.source} "
            f"up to {spoken(seen.end, None)}, and the run begins at {spoken(begins, None)} of "
            "that log (predict train {until})",
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


@dataclass(frozen=True)
class Training:
    """A log to learn from, and the predictor that learnt from it."""

    log: TrainingLog
    beside: Beside = NOTHING
    _made: dict[tuple[int, str | None], HazardPredictor | Learner] = field(
        default_factory=dict, repr=False, compare=False
    )

    def predictor(self, nodes: int, name: str | None = None) -> HazardPredictor | Learner:
        """Return a predictor for a machine of so many nodes; of that name in `predict list`, or
        None for the hazard predictor. It is fitted once: runs leave it as it is."""
        if (nodes, name) not in self._made:
            self._made[nodes, name] = self._fitted(nodes, name)
        return self._made[nodes, name]

    def _fitted(self, nodes: int, name: str | None) -> HazardPredictor | Learner:
        if name is not None:
            return Learned.trained(name, self.log, nodes, self.beside).learner
        learnt = HazardPredictor()
        learnt.fit(self.log.failures, nodes=nodes, end=self.log.end)
        return learnt


def training_of(inputs: Inputs, failures: Failures) -> Training | None:
    """Return what was known before these failures, None without a training log."""
    if inputs.train is None:
        return None
    log = read_training(
        inputs.train,
        failures,
        run_start=inputs.start,
        start=inputs.train_from,
        days=inputs.train_days,
        system=inputs.system,
        fold_nodes=inputs.fold_nodes,
        format=inputs.failure_format,
        strict=inputs.strict,
    )
    return Training(log, _beside(inputs, failures))


def besides_of(inputs: Inputs, failures: Failures) -> dict[str, Any]:
    """Return what a run of promises is given besides, as `Model.simulate` takes it."""
    one = _beside(inputs, failures)
    found: dict[str, Any] = {"events": one.events, "metrics": one.metrics} if one else {}
    if inputs.maintenance is not None:
        found["maintenance"] = inputs.maintenance
    if inputs.machine is not None:
        found["machine"] = inputs.machine
    return found


def _beside(inputs: Inputs, failures: Failures) -> Beside:
    if inputs.events is None and inputs.metrics is None:
        return NOTHING
    return Beside.of(failures, inputs.events, inputs.metrics, strict=inputs.strict)
