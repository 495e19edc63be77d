"""Linear time series of a machine's failure counts as predictors: LAST, BM, MA, AR, ARMA."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import fails_within, outcome_known
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.linear.arma import Arma, fit_arma
from forestall.prediction.models.linear.counts import (
    TRANSFORMS,
    Binned,
    arma_ahead,
    counted,
    levels,
    transformed,
)
from forestall.prediction.models.linear.forecasts import best_window
from forestall.prediction.models.linear.pool import pooled
from forestall.prediction.models.linear.shares import DAY, Shares
from forestall.prediction.models.linear.starts import is_stationary

CELLS = 300_000
"""How many moments and nodes the pooling looks at, at most."""

MOST_BINS: Final = 100_000
"""Bins that are forecast, at most: with the default of 6 h that is 68 years."""


class Counting(Learner):
    """A forecast of the machine's failures, shared out to the nodes.

    The failures of the machine within [t, t + h) are forecast, M(t, h); node i is expected to have
    the share s_i(t) of them (see `shares.Shares`), and its own long-run rate r_i(t) of failures a
    day. It fails with the probability 1 - exp(-(u r_i h + v s_i M)); u and v, one pair a horizon,
    are those of greatest likelihood on the past (see `pool.pooled`), so that a forecast which tells
    nothing gets v near 0.

    Parameters
    ----------
    bin : length of a bin, s
    order : see the subclasses
    horizons : seconds ahead that it answers for, ascending
    """

    memory: ClassVar[int] = 0

    def __init__(
        self, *, bin: int = 21_600, order: int = 8, horizons: Sequence[int] = HORIZONS, **more: Any
    ) -> None:
        super().__init__(
            bin=check.whole("bin", bin, 1), order=check.whole("order", order, 1),
            horizons=check.seconds(horizons), **more,
        )  # fmt: skip
        self.bin, self.order = self.settings["bin"], self.settings["order"]
        if self.horizons[-1] > MOST_BINS * self.bin:
            raise ParameterError("horizons", list(horizons), f"at most {MOST_BINS:,} bins each")
        self.shares = Shares()
        self.pool = np.tile([1.0, 0.0], (len(self.horizons), 1))

    @abstractmethod
    def learn_counts(self, past: Observations, counts: Floats) -> None:
        """Learn from the counts of the whole bins of a window."""

    @abstractmethod
    def machine(self, seen: Observations, times: Ints) -> Floats:
        """Return float64[T, H]: failures of the machine expected within each horizon."""

    @abstractmethod
    def counts_learnt(self) -> State:
        """Return what `learn_counts` learnt."""

    @abstractmethod
    def counts_restored(self, held: Held) -> None:
        """Take over what `counts_learnt` returned. Raises ParameterError where that cannot be."""

    def learn(self, past: Observations) -> None:
        """Learn the series, the shares and how far the series is to be believed."""
        self.shares = Shares.learn(past)
        self.learn_counts(past, counted(past, self.bin, past.end))
        self.pool = np.tile([1.0, 0.0], (len(self.horizons), 1))
        for k, horizon in enumerate(self.horizons):
            times = training_times(past, horizon)
            if len(times) == 0:
                continue
            rates, shares = self.shares.of(past, times)
            machine = self.machine(past, times)[:, k, None]
            failed, active = outcomes(past, times, horizon)
            self.pool[k] = pooled(
                (rates * (horizon / DAY))[active], (shares * machine)[active], failed[active]
            )

    def chances(self, seen: Observations, times: Ints) -> Floats:
        """Return float64[T, nodes, H], see `Learner`."""
        moments = np.asarray(times, dtype=np.int64)
        rates, shares = self.shares.of(seen, moments)
        machine = self.machine(seen, moments)
        answer = np.empty((len(moments), seen.nodes, len(self.horizons)))
        for k, horizon in enumerate(self.horizons):
            hazard = rates * (self.pool[k, 0] * horizon / DAY)
            hazard += shares * (self.pool[k, 1] * machine[:, k, None])
            np.negative(np.expm1(-hazard), out=answer[:, :, k])
        return np.maximum.accumulate(answer, axis=2, out=answer)

    def learnt(self) -> State:
        """Return the series, the shares and the pools."""
        values, arrays = self.counts_learnt()
        return {"series": values, "shares": self.shares.values()}, {**arrays, "pool": self.pool}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `learnt` returned."""
        held = Held(values, arrays)
        self.shares = Shares.of_values(held.value("shares"))
        self.pool = held.array("pool", np.float64, len(self.horizons), 2, least=0)
        self.counts_restored(Held(held.value("series"), arrays))


def training_times(past: Observations, horizon: int) -> Ints:
    """Return moments a day (or more) apart in the later three quarters of a window, of which the
    outcomes within the horizon are known."""
    start = past.begin + (past.end - past.begin) // 4
    rows = max(1, CELLS // max(past.nodes, 1))
    step = max(DAY, math.ceil((past.end - start) / rows))
    return np.arange(start, past.end - horizon + 1, step, dtype=np.int64)


def outcomes(past: Observations, times: Ints, horizon: int) -> tuple[Bools, Bools]:
    """Return whether nodes failed within [t, t + horizon), and whether that may be learnt, see
    `outcome_known`; bool[T, nodes]."""
    failed = fails_within(past.failures, times, past.nodes, horizon)
    return failed, outcome_known(past, times, horizon, failed)


class Last(Counting):
    """LAST: as many failures as in the window of the same length before.

    Parameters
    ----------
    bin, order : not used
    horizons : seconds ahead that it answers for, ascending

    Source: a baseline of Bagchi et al..
    """

    name: ClassVar[str] = "last"

    def learn_counts(self, past: Observations, counts: Floats) -> None:
        """Nothing is to be learnt."""

    def machine(self, seen: Observations, times: Ints) -> Floats:
        """Return the failures of [t - h, t)."""
        lengths = np.asarray(self.horizons, dtype=np.int64)
        log = seen.failures.time
        starts = np.maximum(times[:, None] - lengths, seen.begin)
        count = np.searchsorted(log, times)[:, None] - np.searchsorted(log, starts)
        known = np.maximum(times[:, None] - starts, 1)
        answer: Floats = count * (lengths / known)
        return answer

    def counts_learnt(self) -> State:
        """Return nothing."""
        return {}, {}

    def counts_restored(self, held: Held) -> None:
        """Nothing is to be taken over."""


class WindowMean(Counting):
    """BM: the mean count of the last N bins, N of least squared error on the past.

    Parameters
    ----------
    bin : length of a bin, s
    order : the largest N
    horizons : seconds ahead that it answers for, ascending

    Source: a baseline of Bagchi et al..
    """

    name: ClassVar[str] = "bm"

    def __init__(
        self, *, bin: int = 21_600, order: int = 120, horizons: Sequence[int] = HORIZONS
    ) -> None:
        super().__init__(bin=bin, order=order, horizons=horizons)
        self.window, self.mean = 1, 0.0

    def learn_counts(self, past: Observations, counts: Floats) -> None:
        """Learn N."""
        self.window = best_window(counts, self.order) if len(counts) > 1 else 1
        self.mean = float(counts.mean()) if len(counts) else 0.0

    def machine(self, seen: Observations, times: Ints) -> Floats:
        """Return the mean of the last N whole bins, by the horizon's length."""
        grid = Binned.of(seen, times, self.bin)
        sums = np.concatenate(([0.0], np.cumsum(grid.counts)))
        first = np.maximum(grid.place - self.window, 0)
        number = grid.place - first
        mean = (sums[grid.place] - sums[first]) / np.maximum(number, 1)
        mean = np.where(number > 0, mean, self.mean)
        answer: Floats = mean[:, None] * (np.asarray(self.horizons) / self.bin)
        return answer

    def counts_learnt(self) -> State:
        """Return N."""
        return {"window": self.window, "mean": self.mean}, {}

    def counts_restored(self, held: Held) -> None:
        """Take over N."""
        self.window, self.mean = held.whole("window", 1), held.number("mean", 0)


class _ByArma(Counting):
    """Forecasts by a model of the ARMA family, of which the Kalman filter runs over all that was
    seen; the coefficients stay as learnt."""

    orders: ClassVar[tuple[int, int]]

    def __init__(
        self,
        *,
        bin: int = 21_600,
        order: int = 8,
        transform: str = "none",
        level_days: float = 90.0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        super().__init__(
            bin=bin, order=order, transform=check.choice("transform", transform, [*TRANSFORMS]),
            level_days=check.number("level_days", level_days, "a finite number above 0", above=0),
            horizons=horizons,
        )  # fmt: skip
        self.transform = transform
        self.model = Arma(np.zeros(0), np.zeros(0), 0.0, 0.0)
        self.half_life, self.first = float(level_days) * DAY / self.bin, 0.0

    def learn_counts(self, past: Observations, counts: Floats) -> None:
        """Fit the model to the transformed counts."""
        series = transformed(counts if len(counts) else np.zeros(1), self.transform)
        self.first = float(series.mean())
        away = series - levels(series, self.half_life, self.first)[:-1]
        self.model = fit_arma(away, *(self.order * part for part in self.orders))

    def machine(self, seen: Observations, times: Ints) -> Floats:
        """Return the model's forecasts, summed up over the bins of each horizon."""
        grid = Binned.of(seen, times, self.bin)
        lengths = np.asarray(self.horizons, dtype=np.float64) / self.bin
        level = self.half_life, self.first
        return arma_ahead(self.model, grid, self.transform, lengths, level)

    def counts_learnt(self) -> State:
        """Return the model."""
        values = {
            "mean": self.model.mean,
            "variance": self.model.variance,
            "first": self.first,
        }
        return values, {"ar": self.model.ar, "ma": self.model.ma}

    def counts_restored(self, held: Held) -> None:
        """Take over the model."""
        self.first = held.number("first")
        ar, ma = (held.array(name, np.float64, None) for name in ("ar", "ma"))
        for name, given, part in (("ar", ar, self.orders[0]), ("ma", ma, self.orders[1])):
            held.hold(name, len(given) <= self.order * part, f"at most {self.order * part} numbers")
            sound = is_stationary(given if name == "ar" else -given)
            held.hold(name, sound, "coefficients of a series that does not grow without end")
        self.model = Arma(ar, ma, held.number("mean"), held.number("variance", 0))


class MovingAverage(_ByArma):
    """MA(q): a moving average of shocks to the machine's failure counts.

    Parameters
    ----------
    bin : length of a bin, s
    order : q
    transform : how counts become the series: ``none``, ``sqrt`` or ``log``, see
        `counts.TRANSFORMS`; as they are is best calibrated on the logs of LANL
    level_days : the model is of what counts differ from their mean so far, which fades by half in
        so many days: machines grow up and old
    horizons : seconds ahead that it answers for, ascending

    Source: a baseline of Bagchi et al..
    """

    name: ClassVar[str] = "ma"
    orders: ClassVar[tuple[int, int]] = (0, 1)


class Autoregressive(_ByArma):
    """AR(p): an autoregression of the machine's failure counts.

    Parameters
    ----------
    bin : length of a bin, s
    order : p
    transform : how counts become the series: ``none``, ``sqrt`` or ``log``, see
        `counts.TRANSFORMS`; as they are is best calibrated on the logs of LANL
    level_days : the model is of what counts differ from their mean so far, which fades by half in
        so many days: machines grow up and old
    horizons : seconds ahead that it answers for, ascending

    Source: Sahoo et al., KDD 2003; a baseline of Bagchi et al..
    """

    name: ClassVar[str] = "ar"
    orders: ClassVar[tuple[int, int]] = (1, 0)


class AutoregressiveMovingAverage(_ByArma):
    """ARMA(p, p) of the machine's failure counts.

    Parameters
    ----------
    bin : length of a bin, s
    order : p, and q
    transform : how counts become the series: ``none``, ``sqrt`` or ``log``, see
        `counts.TRANSFORMS`; as they are is best calibrated on the logs of LANL
    level_days : the model is of what counts differ from their mean so far, which fades by half in
        so many days: machines grow up and old
    horizons : seconds ahead that it answers for, ascending

    Source: a baseline of Bagchi et al..
    """

    name: ClassVar[str] = "arma"
    orders: ClassVar[tuple[int, int]] = (1, 1)
