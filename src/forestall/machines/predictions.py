"""What is foreseen in a run of virtual machines, from whatever foresees it, as one table."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.core.model.predictions import Predictions
from forestall.core.model.units import MAX_SECONDS, format_duration
from forestall.core.model.virtual import FAR
from forestall.logs.predictions import perfect, recorded, synthetic
from forestall.machines.rules.entries import STRATEGIES
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.learner import Learner, hazards_of, median_time

if TYPE_CHECKING:
    from forestall.machines.simulation.parameters import VirtualParameters

Int = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHUNK = 4 * 2**20
"""Probabilities that are worked out at once."""
DOWNTIME = 120
"""s that a failed node is expected to stay down; expected times do not depend on it."""


class TimesToFailure(Protocol):
    """What a predictor must answer. It may also have `update(time, node)`, told of each failure,
    and `advance(time)`, told of the present moment before it is asked; see
    `forestall.prediction.models.base.Predictor`."""

    def time_to_failure(self, nodes: Int) -> Floats:
        """Return float64[len(nodes)]: seconds from now until each node's next foreseen failure,
        inf where none is foreseen."""
        ...


def predictions_for(
    parameters: VirtualParameters,
    failures: Failures,
    start: int,
    end: int,
    predictor: TimesToFailure | Predictions | None = None,
) -> Predictions:
    """Return what is foreseen during a run.

    The strategy "omniscient" knows the true times, whatever else is asked. Else a predictor, where
    there is one, is asked (see `asked`); the log's own predicted times count where they are asked
    for, and before synthetic ones where the log has them.

    Parameters
    ----------
    parameters : of the run
    failures : of its nodes, repeated already where they are to be
    start, end : first and last moment of the run, s
    predictor : one that has learned from what came before; it is left as it is where it can be
        copied. Or predictions that were made beforehand: these are taken as they are

    Raises ParameterError where a source of predictions that is asked for is not there, and where a
    predictor has seen what comes after the start or answers with what is no time.
    """
    source = parameters.predictor
    if STRATEGIES.chosen(parameters.strategy).knows:
        return perfect(failures, start=start)
    if isinstance(predictor, Predictions):
        return predictor
    if predictor is not None:
        if source == "recorded":
            allowed = "synthetic, hazard or learned, with a predictor of your own"
            raise ParameterError("predictor", source, allowed)
        return asked(predictor, parameters, failures, start, end)
    if source == "recorded" or (source == "synthetic" and failures.predicted is not None):
        return recorded(failures, start=start)
    if source == "synthetic":
        return synthetic(
            failures,
            accuracy=parameters.prediction_accuracy,
            error=parameters.prediction_error,
            false_negatives=parameters.false_negatives,
            seed=parameters.seed,
            start=start,
        )
    allowed = "a trained predictor: a training log, a file of a predictor, or the predictor itself"
    raise ParameterError("predictor", source, allowed)


def asked(
    predictor: TimesToFailure,
    parameters: VirtualParameters,
    failures: Failures,
    start: int,
    end: int,
) -> Predictions:
    """Return a predictor's answers during a run.

    It is asked of all nodes at the start and every `predict_every` seconds from there (None: never
    again), and of a node that fails at that moment, once it has been told of all failures of that
    second. The expected time is now plus the answer, rounded up; beyond what clocks here can tell
    (2,177 years) none. A row is made where that is another one than was in force (after a failure
    none is).
    """
    nodes, every = parameters.nodes, parameters.predict_every
    log = failures.take((failures.time >= start) & (failures.time <= end))
    step = max(end - start, 0) + 1 if every is None else every
    regular = np.arange(start, max(start, end) + 1, step, dtype=np.int64)
    moments = np.unique(np.concatenate((regular, log.time)))
    source = _answers(predictor, log, moments, nodes)
    first = np.searchsorted(log.time, moments, side="left").tolist()
    last = np.searchsorted(log.time, moments, side="right").tolist()
    due = np.isin(moments, regular).tolist()
    everyone = np.arange(nodes, dtype=np.int64)
    table = _Table(nodes)
    for now, low, high, all_of_them in zip(moments.tolist(), first, last, due, strict=True):
        failed = log.node[low:high]
        source.tell(now, failed)
        table.clear(failed)
        chosen = everyone if all_of_them else np.unique(failed)
        table.add(now, chosen, source.ask(now, chosen))
    often = "after each failure" if every is None else f"every {format_duration(every)}"
    return table.predictions(f"{_name(predictor)}, asked {often}")


class _Table:
    """The rows so far, and the time that is expected of each node."""

    def __init__(self, nodes: int) -> None:
        self._expected = np.full(nodes, FAR, dtype=np.int64)
        self._rows: list[tuple[Int, Int, Int]] = []

    def clear(self, failed: Int) -> None:
        """Take note that nothing is in force for nodes that failed."""
        self._expected[failed] = FAR

    def add(self, now: int, nodes: Int, wait: Floats) -> None:
        """Keep what is new of the answers about these nodes, in ascending order."""
        _check_answers(wait, now, nodes)
        foreseen = now + wait < MAX_SECONDS
        expected = np.full(len(nodes), FAR, dtype=np.int64)
        expected[foreseen] = now + np.ceil(wait[foreseen]).astype(np.int64)
        new = np.flatnonzero(expected != self._expected[nodes])
        self._expected[nodes] = expected
        self._rows.append((np.full(len(new), now, dtype=np.int64), nodes[new], expected[new]))

    def predictions(self, name: str) -> Predictions:
        """Return what was kept."""
        known, node, expected = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        return Predictions(known, node, expected, name)


def _check_answers(wait: Floats, now: int, nodes: Int) -> None:
    if wait.shape != nodes.shape:
        allowed = f"an answer for each of the {len(nodes)} nodes asked about"
        raise ParameterError("time_to_failure", f"{wait.shape} at {now} s", allowed)
    bad = wait[~(wait >= 0)]
    if len(bad):
        allowed = "seconds from 0 up, or inf"
        raise ParameterError("time_to_failure", f"{bad[0]} at {now} s", allowed)


class _Online:
    """A predictor that is asked moment by moment."""

    def __init__(self, predictor: Any) -> None:
        self._predictor = predictor
        self._update = getattr(predictor, "update", None)
        self._advance = getattr(predictor, "advance", None)

    def tell(self, now: int, failed: Int) -> None:
        """Tell it of the failures of a second."""
        if self._update is not None:
            for node in failed.tolist():
                self._update(now, node)

    def ask(self, now: int, nodes: Int) -> Floats:
        """Return the seconds until each node's next failure."""
        if self._advance is not None:
            self._advance(now)
        return np.asarray(self._predictor.time_to_failure(nodes), dtype=np.float64)


class _Beforehand:
    """A learner whose answers are worked out for many moments at once, each from what was seen
    before it: the same as if it were asked moment by moment, and quicker."""

    def __init__(self, learner: Learner, log: Failures, moments: Int, nodes: int) -> None:
        begin, end = learner.seen.end, int(moments[-1]) + 1
        # Of a failure it hears no more than when and where, as online: how long a node will be down
        # is not known yet. Times in service are those that it knows; the run's log has none before.
        plain = replace(Failures.build(log.time, log.node), nodes=nodes)
        later = Observations.of(plain, begin=begin, end=end, nodes=nodes)
        self._learner, self._whole = learner, learner.seen.then(later)
        # What failed in a second is seen from the next one on.
        self._times = np.unique(moments + np.isin(moments, log.time))
        self._failed = set(log.time.tolist())
        self._many = max(1, CHUNK // (self._whole.nodes * len(learner.horizons)))
        self._first, self._hazard = 0, np.empty((0, nodes, len(learner.horizons)))

    def tell(self, now: int, failed: Int) -> None:
        """Do nothing: it has all failures, and looks only at those before."""

    def ask(self, now: int, nodes: Int) -> Floats:
        """Return the seconds until each node's next failure."""
        place = int(np.searchsorted(self._times, now + (now in self._failed)))
        if place >= self._first + len(self._hazard):
            some = self._times[place : place + self._many]
            self._first = place
            self._hazard = hazards_of(self._learner.chances(self._whole, some))
        return median_time(self._hazard[place - self._first, nodes], self._learner.horizons)


def _answers(predictor: Any, log: Failures, moments: Int, nodes: int) -> _Online | _Beforehand:
    known = _at_start(predictor, nodes, int(moments[0]))
    if isinstance(known, Learner) and type(known).time_to_failure is Learner.time_to_failure:
        return _Beforehand(known, log, moments, nodes)
    return _Online(known)


def _name(predictor: object) -> str:
    if isinstance(predictor, HazardPredictor):
        return "hazard"
    return str(getattr(predictor, "name", "") or type(predictor).__name__)


def _at_start(predictor: Any, nodes: int, start: int) -> Any:
    """Return a copy of the predictor as it is when the run begins.

    Of the time between what it has seen and the start, it knows that nothing failed. Raises
    ParameterError where it has seen what comes after.
    """
    if type(predictor) is HazardPredictor:
        return _hazard_at(predictor, nodes, start)
    if isinstance(predictor, Learner):
        return _learner_at(predictor, nodes, start)
    own = getattr(predictor, "copy", None)
    try:
        return own() if callable(own) else copy.deepcopy(predictor)
    except Exception:  # whatever a class of somebody's own makes of it: then it is used itself
        return predictor


def _hazard_at(predictor: HazardPredictor, nodes: int, start: int) -> HazardPredictor:
    _check_past("hazard", predictor.end, start)
    since = start if predictor.end > 0 else min(start, 0)
    return predictor.for_run(nodes, since, DOWNTIME)


def _learner_at(learner: Learner, nodes: int, start: int) -> Learner:
    """Return a copy that knows of all nodes of the run; those that were in service when its
    training ended stay so."""
    seen = learner.seen
    _check_past(learner.name, seen.end, start)
    log = replace(Failures.none(), nodes=max(seen.nodes, nodes))
    told = seen.failures
    if told.service_start is not None and told.service_end is not None:
        fresh = log.nodes - len(told.service_start)
        stays = told.service_end >= min(learner.trained_until, seen.end)
        new = np.zeros(len(stays), dtype=np.bool_) if told.service_new is None else told.service_new
        log = replace(
            log,
            service_start=np.append(told.service_start, np.full(fresh, seen.begin)),
            service_end=np.append(np.where(stays, FAR, told.service_end), np.full(fresh, FAR)),
            service_new=np.append(new, np.zeros(fresh, dtype=np.bool_)),
        )
    made = learner.copy()
    made.observe(Observations.of(log, begin=start, end=start, nodes=log.nodes))
    return made


def _check_past(name: str, end: int, start: int) -> None:
    if end > start:
        raise ParameterError(
            "predictor",
            f"{name} with failures up to {end} s",
            f"one that has seen nothing after the run begins, at {start} s "
            "(predict train {until}; fit(history, end=0) moves a history)",
        )
