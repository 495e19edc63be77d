"""Failures by the hour of the day, on weekdays and at weekends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import histories, probability, service
from forestall.prediction.models.baselines.rate import SHAPES, UNSEEN, law_of_rates
from forestall.prediction.models.learner import ExactLearner, State
from forestall.reliability.nodes.nodes import negative_binomial

HOUR: Final = 3600
WEEK: Final = 168 * HOUR
MONDAY: Final = 4 * 24 * HOUR
"""A midnight that begins a Monday, Unix seconds (1970-01-05)."""
CELLS: Final = np.array([hour % 24 + (24 if hour >= 120 else 0) for hour in range(168)])
"""Which of the 48 kinds of hour each hour of the week is, from Monday's first one."""


class Periodic(ExactLearner):
    """Each node's rate, times a profile of the week: the hour of the day, weekday or weekend.

    Each of the 48 kinds of hour has a factor: its failures over those that the machine's rate
    would bring, drawn towards 1 as far as the counts do not tell (gamma law of the factors,
    empirical Bayes), and scaled so that the mean over a week is 1. Time runs as fast as the factor
    says; in that time each node fails at a rate of its own, known as by the predictor "rate". The
    factor is integrated exactly over each horizon.

    Where the log has no dates, time 0 is taken to be the midnight that begins a Monday.

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending
    """

    name: ClassVar[str] = "periodic"
    prior_failures: float = 1.0
    prior_seconds: float = UNSEEN
    profile: Floats = np.ones(48)

    def learn(self, past: Observations) -> None:
        """Learn the law of the rates and the profile."""
        self.prior_failures, self.prior_seconds = law_of_rates(past)
        begin, stop = service(past)
        stop = np.maximum(np.minimum(stop, past.end), begin)
        phase = _phase(past)
        windows, nodes = np.unique(np.stack((begin, stop)), axis=1, return_counts=True)
        seconds = nodes @ (_in_cells(windows[1] + phase) - _in_cells(windows[0] + phase))
        hour = (past.failures.time + phase) % WEEK // HOUR
        self.profile = _factors(np.bincount(CELLS[hour], minlength=48), seconds)

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        past, phase = histories(seen, times), _phase(seen)
        now = self._clock(past.times + phase)
        growth = np.stack([self._clock(past.times + phase + h) - now for h in horizons], axis=-1)
        known = self.prior_seconds + past.exposure()
        failures = self.prior_failures + past.count()
        ahead = np.log1p(np.maximum(growth, 0.0)[:, None, :] / known[..., None])
        hazard = np.maximum.accumulate(failures[..., None] * ahead, axis=-1)
        return probability(hazard)

    def _clock(self, time: Ints) -> Floats:
        """Return how far the factors have run since time 0, s."""
        week = np.concatenate(([0.0], np.cumsum(self.profile[CELLS]))) * HOUR
        hour, rest = time % WEEK // HOUR, time % HOUR
        answer: Floats = time // WEEK * week[-1] + week[hour] + self.profile[CELLS[hour]] * rest
        return answer

    def learnt(self) -> State:
        """Return the law of the rates and the profile."""
        values = {"prior_failures": self.prior_failures, "prior_seconds": self.prior_seconds}
        return values, {"profile": self.profile}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values, arrays)
        self.prior_failures = held.number("prior_failures", 0, above=True)
        self.prior_seconds = held.number("prior_seconds", 0, above=True)
        self.profile = held.array("profile", np.float64, 48, least=0)


def _phase(seen: Observations) -> int:
    """Return what to add to a time to count from the midnight that begins a Monday, s."""
    return 0 if seen.origin is None else (seen.origin - MONDAY) % WEEK


def _in_cells(time: Ints) -> Floats:
    """Return float64[n, 48]: how many of the seconds from 0 to each time are of each kind."""
    one = np.eye(48)[CELLS] * HOUR
    week = np.concatenate((np.zeros((1, 48)), np.cumsum(one, axis=0)))
    hour, rest = time % WEEK // HOUR, time % HOUR
    whole = (time // WEEK)[:, None] * week[-1]
    answer: Floats = whole + week[hour] + one[hour] * (rest / HOUR)[:, None]
    return answer


def _factors(count: Ints, seconds: Floats) -> Floats:
    """Return float64[48], the factors of the kinds of hour, of mean 1 over a week."""
    seen = seconds > 0
    if not count[seen].any():
        return np.ones(48)
    shape = float(np.clip(negative_binomial(count[seen], seconds[seen]).shape, *SHAPES))
    expected = seconds * (count[seen].sum() / seconds[seen].sum())
    factor = (shape + count) / (shape + expected)
    answer: Floats = factor / factor[CELLS].mean()
    return answer
