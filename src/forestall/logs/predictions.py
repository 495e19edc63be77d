"""Predictions made from a failure log: of a chosen accuracy, as the log has them, or perfect ones.

A failure is predicted from the node's failure before on, or from the start. What cannot be
predicted so, a failure in the second of the node's failure before or in the first second of all,
has no prediction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from forestall.core.files.findings import shown
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.predictions import Predictions
from forestall.core.model.units import MAX_SECONDS
from forestall.core.model.virtual import FAR
from forestall.core.streams import stream

Int = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
PredictionError = Literal["early", "two-sided"]

RECORDED: Final = "predicted times of the failure log"
PERFECT: Final = "true failure times"
DOUBT: Final = 2.0**-46
"""Of a gap: how near floating point may come to a whole second and still tell on which side."""


def synthetic(
    failures: Failures,
    *,
    accuracy: float,
    error: PredictionError = "early",
    false_negatives: float = 0.0,
    seed: int = 1,
    start: int = 0,
) -> Predictions:
    """Return predictions of a chosen accuracy.

    A failure at F after the node's last one at L (or `start`) is predicted, from L on, for
    floor(L + (F - L)(1 - eps)), with u uniform on [0, 1): eps = 2 (1 - A) u, so that predictions
    come early, by 1 - A of the gap in the mean; or, two-sided, eps = (1 - A)(4 u - 2), so that half
    of them come too late. Below A = 0.5 an early prediction may lie before L. The floor is that of
    the real number, whatever floating point makes of it.

    Parameters
    ----------
    failures : in order of (time, node), in which one u is drawn for each; the same failures get the
        same u at every accuracy, and with every share of false negatives
    accuracy : A, from 0 to 1
    error : "early" or "two-sided"
    false_negatives : share of the failures that get no prediction, drawn for each
    seed : a whole number of at least 0
    start : s, when predictions begin; no later than the first failure

    Raises ParameterError. Source: S. Fu and C.-Z. Xu, ARES 2009, Section 5, which tells of
    "synthetic traces of failure predictions with different accuracy" and of errors that precede the
    failure; the law of the error is an addition.

    >>> log = Failures.build([1000, 3000], [0, 0])
    >>> synthetic(log, accuracy=1.0).expected.tolist()
    [1000, 3000]
    """
    _check_share("accuracy", accuracy)
    _check_share("false_negatives", false_negatives)
    if error not in get_args(PredictionError):
        raise ParameterError("error", error, "early or two-sided")
    draws = stream(seed, "predictions", "error").random(len(failures))
    missed = stream(seed, "predictions", "missed").random(len(failures)) < false_negatives
    since = _since(failures, start)
    expected = since + _floors(failures.time - since, accuracy, draws, error)
    name = f"synthetic, {error}, accuracy {accuracy:g}"
    if false_negatives > 0:
        name += f", {false_negatives:g} not foreseen"
    return _predictions(failures, since, np.where(missed, FAR, expected), name)


def recorded(failures: Failures, *, start: int) -> Predictions:
    """Return the predictions that the failure log has, each from the node's failure before on, or
    from `start`; a predicted time after the failure comes too late, and is a miss.

    Raises ParameterError where the log has no column `predicted`.
    """
    if failures.predicted is None:
        allowed = "synthetic, hazard or learned: the failure log has no column predicted"
        raise ParameterError("predictor", "recorded", allowed)
    return _predictions(failures, _since(failures, start), failures.predicted, RECORDED)


def perfect(failures: Failures, *, start: int) -> Predictions:
    """Return the true time of each failure, known from the node's failure before on, or from
    `start`."""
    return _predictions(failures, _since(failures, start), failures.time, PERFECT)


def predicted_column(column: Any) -> Int:
    """Return the column `predicted` of a table, int64[n], s; `FAR` where it is blank.

    Parameters
    ----------
    column : of a Polars or pandas table, or anything that can be listed; null, None, nan and inf
        are blank

    Raises ParameterError for what is no whole number of seconds.
    """
    values = column.to_list() if hasattr(column, "to_list") else list(column)
    times = np.full(len(values), FAR, dtype=np.int64)
    for row, value in enumerate(values):
        if not _is_blank(value):
            times[row] = _second(value)
    return times


def _is_blank(value: Any) -> bool:
    """Return whether a value stands for none: None, nan, pandas' NA (which is not itself), inf."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, float | np.floating):
        return not math.isfinite(value)
    return isinstance(value, int | np.integer) and int(value) == FAR


def _second(value: Any) -> int:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or value != int(value) or abs(value) >= MAX_SECONDS:
        raise ParameterError("predicted", shown(value), "a whole number of seconds, or null")
    return int(value)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:  # also refuses nan
        raise ParameterError(name, value, "a number from 0 to 1")


def _since(failures: Failures, start: int) -> Int:
    """Return the time of the node's failure before each one, or the start, int64[n], s."""
    if len(failures) and start > int(failures.time[0]):
        allowed = f"a time no later than the first failure, at {int(failures.time[0])} s"
        raise ParameterError("start", start, allowed)
    order = np.argsort(failures.node, kind="stable")
    node, time = failures.node[order], failures.time[order]
    since = np.full(len(failures), start, dtype=np.int64)
    same = node[1:] == node[:-1]
    since[order[1:][same]] = time[:-1][same]
    return since


def _predictions(failures: Failures, since: Int, expected: Int, name: str) -> Predictions:
    """Return a row for each failure that is foreseen."""
    rows = np.flatnonzero((expected < FAR) & (failures.time > since))
    order = rows[np.lexsort((failures.node[rows], since[rows]))]
    return Predictions(since[order], failures.node[order], expected[order].astype(np.int64), name)


def _floors(gap: Int, accuracy: float, draws: Floats, error: PredictionError) -> Int:
    """Return floor(gap (1 - eps)), int64[n]; gaps below 2**40."""
    if accuracy == 1:
        return gap
    spread = 1.0 - accuracy
    eps = spread * 2.0 * draws if error == "early" else spread * (4.0 * draws - 2.0)
    ahead = gap * (1.0 - eps)
    floors: Int = np.floor(ahead).astype(np.int64)
    # Rounding moves `ahead` by less than 2**-48 of the gap; where that may matter, count exactly.
    for row in np.flatnonzero(np.abs(ahead - np.rint(ahead)) <= gap * DOUBT).tolist():
        floors[row] = math.floor(int(gap[row]) * (1 - _eps(accuracy, float(draws[row]), error)))
    return floors


def _eps(accuracy: float, draw: float, error: PredictionError) -> Fraction:
    share, u = 1 - Fraction(accuracy), Fraction(draw)
    return share * 2 * u if error == "early" else share * (4 * u - 2)
