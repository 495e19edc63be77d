"""Forecasts that no scheduler could make: from the law of a host, and from what will happen."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs

DAY: Final = 86_400
LAW_WEEKS: Final = 28
MANY: Final = 10_000
"""Days: all that there are."""


class LawForecasts(fs.hosts.Forecasts):
    """Made from many other weeks of the same hosts, whatever the week: the law of each by weekday
    or weekend and time of day, as well as a semi-Markov process can hold it; nothing has to be
    learnt from other hosts."""

    def __init__(
        self, hosts: fs.HostTraces, parameters: fs.CycleParameters, others: fs.HostTraces
    ) -> None:
        """`others` are whole weeks of the same hosts, beginning on the same day of the week."""
        super().__init__(hosts, parameters)
        assert others.end % (7 * DAY) == 0, "whole weeks"
        assert others.period == hosts.period
        origin = fs.hosts.MONDAY if hosts.origin is None else hosts.origin
        every = max(1, -(-parameters.predict_step // hosts.period))
        self._law = []
        for number in range(len(others)):
            states = fs.hosts.states_of(others, number, parameters)
            rates = fs.hosts.rates_of(others, number, states, parameters)
            usable = fs.hosts.usable_of(others.load[number], states)
            self._law.append(
                fs.hosts.HostPast.of(
                    states, rates, usable, speed=float(others.speed[number]), period=others.period,
                    every=every, origin=origin - others.end,
                )
            )  # fmt: skip
        self._first = origin
        self._known: dict[tuple[bool, int], fs.hosts.Outlook] = {}

    def curves(self, slot: int) -> fs.hosts.HostCurves:
        """Return the curves of a slot: those of its kind of day and time of day."""
        start = self._first + slot * self.parameters.predict_every
        key = bool(fs.hosts.weekend(np.array([start]))[0]), start % DAY
        if key not in self._known:
            midnight = self._first - self._first % DAY
            week = midnight + DAY * np.arange(1, 8)  # all of what was seen ends before
            begin = int(week[fs.hosts.weekend(week) == key[0]][0]) + key[1]
            self._known[key] = fs.hosts.foretold(
                self._law, begin, self.steps, days=MANY, pooled=False
            )
            self.made += 1
        return fs.hosts.curves(
            *self._known[key],
            self.hosts.speed,
            self._law[0].history.runs.period,
            memory=self.parameters.load_memory,
        )


class OtherwiseTaken(fs.hosts.Forecasts):
    """What other forecasts say of the same hosts, taken otherwise: as if no host ever left
    (`safe`), or with another memory of the present load, as the parameters say."""

    def __init__(
        self, seen: fs.hosts.Forecasts, parameters: fs.CycleParameters, *, safe: bool = False
    ) -> None:
        super().__init__(seen.hosts, parameters)
        self._seen, self._safe = seen, safe

    def curves(self, slot: int) -> fs.hosts.HostCurves:
        """Return the curves of a slot."""
        seen = self._seen.curves(slot)
        self.made = self._seen.made
        speed, step = self.hosts.speed, seen.step
        memory = self._seen.parameters.load_memory
        fresh = np.zeros(seen.work.shape[-1] - 1)
        if memory > 0:
            fading = np.exp(-step * np.arange(len(fresh) + 1) / memory)
            fresh = memory / step * (fading[:-1] - fading[1:])
        usual = np.diff(seen.work, axis=-1)
        share = usual / (speed[:, None, None] * step * (1 - fresh))
        stays = np.ones_like(seen.work) if self._safe else seen.reliability
        return fs.hosts.curves(share, stays, speed, step, memory=self.parameters.load_memory)


class TrueForecasts(fs.hosts.Forecasts):
    """What will happen: each host stays until it leaves, with the load that it will have."""

    def __init__(self, hosts: fs.HostTraces, parameters: fs.CycleParameters) -> None:
        super().__init__(hosts, parameters)
        step = parameters.predict_step
        assert step % hosts.period == 0 or hosts.period >= step
        self._every_samples = max(1, -(-step // hosts.period))
        self._failing: list[npt.NDArray[np.int64]] = []
        shares = []
        for number in range(len(hosts)):
            states = fs.hosts.states_of(hosts, number, parameters)
            rates = fs.hosts.rates_of(hosts, number, states, parameters)
            self._failing.append(np.flatnonzero(states >= fs.hosts.FAILING[0]))
            shares.append(np.cumsum(np.append(0, rates)) / (1e6 * hosts.speed[number]))
        self._given = np.stack(shares)

    def curves(self, slot: int) -> fs.hosts.HostCurves:
        """Return the curves of a slot: from its beginning on, nothing being unknown."""
        every, samples = self._every_samples, self.hosts.samples
        first = slot * self.parameters.predict_every // self.hosts.period
        at = np.minimum(first + every * np.arange(self.steps + 1), samples)
        width = np.maximum(np.diff(at), 1)
        share = np.diff(self._given[:, at], axis=1) / width
        leaves = np.array([_next(one, first, samples) for one in self._failing])
        stays = (at[None, :] <= leaves[:, None]).astype(np.float64)
        self.made += 1
        return fs.hosts.curves(
            np.repeat(share[:, None, :], 2, axis=1),
            np.repeat(stays[:, None, :], 2, axis=1),
            self.hosts.speed,
            every * self.hosts.period,
        )


def _next(failing: npt.NDArray[np.int64], first: int, samples: int) -> int:
    """Return the first sample from `first` on that is a failing one; the last one where none is."""
    place = int(np.searchsorted(failing, first))
    return int(failing[place]) if place < len(failing) else samples
