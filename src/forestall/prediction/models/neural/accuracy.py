"""How right forecasts of the next failure's time are, under definitions that are written down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError


@dataclass(frozen=True)
class Accuracy:
    """Forecasts of gaps beside the gaps that came.

    With the gap g and the forecast f of each failure that had one:

    Attributes
    ----------
    failures, foreseen : how many failures, and how many of them had a forecast
    plain : mean of 1 - |f - g| / g, the paper's words taken as they stand; no bound below, since g
        may be small against f
    floored : the same, each at least 0
    ratio : mean of min(f, g) / max(f, g): from 0 to 1, and the same for twice as for half
    early : floored, over the forecasts that did not come too late (f <= g)
    late : share of the foreseen failures that came before their forecast
    unforeseen : share of all failures without a forecast
    within_half : share of the foreseen with |f - g| <= g / 2
    """

    failures: int
    foreseen: int
    plain: float
    floored: float
    ratio: float
    early: float
    late: float
    unforeseen: float
    within_half: float


def accuracy(gap: npt.ArrayLike, forecast: npt.ArrayLike) -> Accuracy:
    """Return how right the forecasts of gaps were, both float64[n], s; nan is no forecast.

    Where both are 0 the forecast is right; of a gap of 0 that was not foreseen as such, wrong
    altogether. Raises ParameterError for gaps or forecasts below 0, or of unlike lengths.
    """
    came, said = np.asarray(gap, dtype=np.float64), np.asarray(forecast, dtype=np.float64)
    if came.shape != said.shape or came.ndim != 1:
        raise ParameterError("forecast", said.shape, f"one for each gap, {came.shape}")
    for name, values in (("gap", came), ("forecast", said[~np.isnan(said)])):
        if not np.all(values >= 0):
            raise ParameterError(name, float(np.min(values)), "seconds of at least 0")
    there = ~np.isnan(said)
    g, f = came[there], said[there]
    if len(g) == 0:
        none = float("nan")
        missed = 1.0 if len(came) else none
        return Accuracy(len(came), 0, none, none, none, none, none, missed, none)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(f == g, 1.0, 1 - np.abs(f - g) / g)
        ratio = np.where(f == g, 1.0, np.minimum(f, g) / np.maximum(f, g))
    floored = np.maximum(plain, 0.0)
    late = f > g
    return Accuracy(
        failures=len(came),
        foreseen=len(g),
        plain=float(plain.mean()),
        floored=float(floored.mean()),
        ratio=float(ratio.mean()),
        early=float(floored[~late].mean()) if not late.all() else float("nan"),
        late=float(late.mean()),
        unforeseen=1 - len(g) / len(came),
        within_half=float((np.abs(f - g) <= g / 2).mean()),
    )
