"""How well predicted times of failures fit the failures that came.

A prediction for a node is in force from when it is known until the next one for that node, or its
next failure. What is in force when a failure comes decides whether that was foreseen; what was said
first after the node's failure before is the forecast of the gap, which papers judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR


@dataclass(frozen=True)
class PredictionScore:
    """Predictions beside the failures that came.

    Of a failure at F, with the node's failure before at L (or the start) and the predicted time P
    that was in force when it came:

    Attributes
    ----------
    failures : number of failures
    early, late, missed : shares of them: P <= F; P > F, so that nothing left the node in time; no P
        at all. They add up to 1
    lead : median of F - P over the early ones, s: how long before the failure its time had come
    error : mean of |P - F| / (F - L) over those with a P and F > L. One short gap with a far
        prediction can outweigh all others
    accuracy : 1 - error, by the paper's words as they stand; no bound below
    floored : mean of max(0, 1 - |P - F| / (F - L)) over the same
    first_late, first_error, first_accuracy, first_floored : the same of the first P that was known
        after L (in its second, or later), that is, of the forecast of the gap
    alarms : how often the predicted time of a node came while it was in force, or was past when it
        was made: so often would a node be left
    false_alarms : those of the alarms after which another prediction came, or the end, before a
        failure did
    doubtful : node-seconds from alarms on until the failure came, or another prediction, or the end

    Shares, means and medians of nothing are None.
    """

    failures: int
    early: float | None
    late: float | None
    missed: float | None
    lead: float | None
    error: float | None
    accuracy: float | None
    floored: float | None
    first_late: float | None
    first_error: float | None
    first_accuracy: float | None
    first_floored: float | None
    alarms: int
    false_alarms: int
    doubtful: int


def score(
    predictions: Predictions,
    failures: Failures,
    *,
    start: int | None = None,
    end: int | None = None,
    lead: int = 0,
) -> PredictionScore:
    """Return how well predictions fit the failures that came.

    Parameters
    ----------
    predictions, failures : on one clock
    start : s, from which the first gap of a node counts (None: the first moment of either)
    end : s, up to which predictions hold and failures count, that second included (None: the last
        moment of either)
    lead : s before the predicted time at which a node is left

    Raises ParameterError for a start after a failure or prediction, or a lead below 0.
    """
    first, last = _ends(predictions, failures)
    begin = first if start is None else start
    stop = last if end is None else end
    if begin > first:
        raise ParameterError("start", begin, f"a time of at most {first} s")
    if lead < 0:
        raise ParameterError("lead", lead, "seconds of at least 0")
    known, came = predictions.known <= stop, failures.time <= stop
    table = _PredictedRows.of(predictions, known, failures.take(came), begin, stop)
    held, said = table.in_force()
    time, since = table.time, table.since
    early, late = held & (said <= time), held & (said > time)
    whole = len(time)
    forecast, told = table.first()
    errors, firsts = _errors(held, said, time, since), _errors(forecast, told, time, since)
    due = np.maximum(table.known, np.minimum(table.expected, FAR) - lead)
    alarm = (table.expected < FAR) & (due < table.until)
    return PredictionScore(
        failures=whole,
        early=_share(early, whole),
        late=_share(late, whole),
        missed=_share(~held, whole),
        lead=float(np.median((time - said)[early])) if early.any() else None,
        error=_mean(errors),
        accuracy=_less(_mean(errors)),
        floored=_mean(np.maximum(1 - errors, 0.0)),
        first_late=_share(forecast & (told > time), int(forecast.sum())),
        first_error=_mean(firsts),
        first_accuracy=_less(_mean(firsts)),
        first_floored=_mean(np.maximum(1 - firsts, 0.0)),
        alarms=int(alarm.sum()),
        false_alarms=int((alarm & ~table.fails).sum()),
        doubtful=int((table.until - due)[alarm].sum()),
    )


@dataclass(frozen=True)
class _PredictedRows:
    """Predictions in order of (node, known), failures in that of (node, time).

    `until` is when each prediction's force ends, and `fails` whether by a failure; `since` is the
    time of the node's failure before each failure, or the start.
    """

    node: Ints
    known: Ints
    expected: Ints
    until: Ints
    fails: Bools
    failed: Ints
    time: Ints
    since: Ints
    low: int
    wide: int

    @classmethod
    def of(
        cls, predictions: Predictions, rows: Bools, failures: Failures, begin: int, stop: int
    ) -> _PredictedRows:
        low, wide = begin - 1, stop - begin + 4
        order = np.argsort(predictions.node[rows], kind="stable")  # ties stay as they were made
        node, known = predictions.node[rows][order], predictions.known[rows][order]
        sort = np.argsort(failures.node, kind="stable")
        failed, time = failures.node[sort], failures.time[sort]
        since = np.full(len(time), begin, dtype=np.int64)
        again = failed[1:] == failed[:-1]
        since[1:][again] = time[:-1][again]
        end = np.full(len(node), stop, dtype=np.int64)
        same = node[1:] == node[:-1]
        end[:-1][same] = known[1:][same]
        place = np.searchsorted(failed * wide + time - low, node * wide + known - low, side="right")
        there = place < len(failed)
        there[there] = failed[place[there]] == node[there]
        next_one = np.full(len(node), stop + 1, dtype=np.int64)
        next_one[there] = time[place[there]]
        # At one second the failure comes before a new prediction.
        fails = next_one <= end
        until = np.minimum(end, next_one)
        expected = predictions.expected[rows][order]
        return cls(node, known, expected, until, fails, failed, time, since, low, wide)

    def in_force(self) -> tuple[Bools, Ints]:
        """Return of which failures a time was foreseen as they came, and that time."""
        keys = self.node * self.wide + self.known - self.low
        asked = self.failed * self.wide + self.time - self.low
        place = np.searchsorted(keys, asked, side="left") - 1
        good = place >= 0
        good[good] = self.node[place[good]] == self.failed[good]
        good[good] = self.known[place[good]] >= self.since[good]
        return self._told(place, good)

    def first(self) -> tuple[Bools, Ints]:
        """Return of which failures a time was foreseen as their gap began, and that time."""
        keys = self.node * self.wide + self.known - self.low
        asked = self.failed * self.wide + self.since - self.low
        place = np.searchsorted(keys, asked, side="left")
        good = place < len(keys)
        good[good] = self.node[place[good]] == self.failed[good]
        good[good] = self.known[place[good]] < self.time[good]
        # Of those that were made in one second the last holds.
        second = np.where(good, keys[np.minimum(place, len(keys) - 1)] if len(keys) else 0, 0)
        return self._told(np.searchsorted(keys, second, side="right") - 1, good)

    def _told(self, place: Ints, good: Bools) -> tuple[Bools, Ints]:
        said = np.full(len(place), FAR, dtype=np.int64)
        said[good] = self.expected[place[good]]
        return said < FAR, said


def _ends(predictions: Predictions, failures: Failures) -> tuple[int, int]:
    moments = [t for part in (predictions.known, failures.time) if len(part) for t in part[[0, -1]]]
    return (int(min(moments)), int(max(moments))) if moments else (0, 0)


def _errors(held: Bools, said: Ints, time: Ints, since: Ints) -> Floats:
    good = held & (time > since)
    return np.asarray(np.abs(said - time)[good] / (time - since)[good])


def _share(flags: Bools, whole: int) -> float | None:
    return float(flags.sum()) / whole if whole else None


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _less(error: float | None) -> float | None:
    return None if error is None else 1 - error
