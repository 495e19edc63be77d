"""The state a host is in, as its samples come: without NumPy what `semi_markov.states` says of all
samples at once with `causal`."""

from __future__ import annotations

import math
from typing import Final

from forestall.core.model.errors import ParameterError

NAMES: Final = ("S1", "S2", "S3", "S4", "S5")
S1, S2, S3, S4, S5 = range(5)
TH1, TH2, HOLD, PERIOD = 0.20, 0.60, 60, 6
"""Thresholds of load, hold time and sampling period in s of the model."""


class StateWatch:
    """Names the state of a host at each sample.

    Parameters
    ----------
    thresholds : Th1, Th2, loads from 0 to 1
    hold : s; a load above Th2, or a gap, of k samples is longer where k * period > hold
    guest_memory : free memory that a guest needs, in the unit of the samples; 0: S4 never is
    period : s between samples

    Attributes
    ----------
    state : the last state named, S5 before any sample

    Raises ParameterError for settings that do not fit.
    """

    def __init__(
        self,
        thresholds: tuple[float, float] = (TH1, TH2),
        hold: float = HOLD,
        guest_memory: float = 0.0,
        period: float = PERIOD,
    ) -> None:
        low, high = (float(v) for v in thresholds)
        if not 0 <= low <= high:
            raise ParameterError("thresholds", thresholds, "0 <= Th1 <= Th2")
        if not period > 0:
            raise ParameterError("period", period, "seconds above 0")
        if not hold >= 0:
            raise ParameterError("hold", hold, "seconds, at least 0")
        if math.isnan(guest_memory):
            raise ParameterError("guest_memory", guest_memory, "a number")
        self.low, self.high = low, high
        self.need, self.period = float(guest_memory), period
        self.slots = int(hold // period)
        self.state = S5
        self._heavy = self._gap = 0  # samples under way of a heavy load, and without a value
        self._last = S5  # of the last sample that had a value, heavy loads as S2
        self._was_heavy = False
        self._time: float | None = None

    def see(self, time: float, cpu: float, memory_free: float = math.nan) -> int:
        """Take a sample and return the state, 0 (S1) to 4 (S5).

        Parameters
        ----------
        time : s, of a clock that does not jump; samples that did not come since the last one are a
            gap. A sample no later than the one before counts as the next
        cpu : the owner's load, 0 to 1; nan: no sample came
        memory_free : nan where it is not known, which counts as enough
        """
        if self._time is not None:
            missed = int((time - self._time) / self.period + 0.5) - 1
            self._miss(missed)
        self._time = time if self._time is None else max(time, self._time)
        if math.isnan(cpu):
            return self._miss(1)
        state = S1 if cpu <= self.low else S2
        self._was_heavy = cpu > self.high
        if memory_free < self.need:
            state = S4
        self._gap, self._last = 0, state
        self.state = self._held(state)
        return self.state

    def gap(self, samples: int = 1) -> int:
        """Say that so many samples did not come; returns the state after them."""
        if self._time is not None:
            self._time += samples * self.period
        return self._miss(samples)

    def _miss(self, samples: int) -> int:
        for _ in range(min(samples, self.slots + 1)):  # beyond that nothing changes any more
            self._gap += 1
            if self._gap > self.slots:
                self._heavy, self._was_heavy, self.state = 0, False, S5
            else:
                self.state = self._held(self._last)
        return self.state

    def _held(self, state: int) -> int:
        """Return S3 for S2 where the load has been heavy for longer than the hold time."""
        self._heavy = self._heavy + 1 if self._was_heavy else 0
        return S3 if state == S2 and self._heavy > self.slots else state
