"""Which share of the machine's failures each node is expected to have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import service

DAY: Final = 86_400
HALF_LIVES: Final = (7.0, 30.0, 90.0, 365.0, math.inf)
"""Days after which a failure counts half, of which the past chooses one."""
WEIGHTS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""How many failures the mean rate of all nodes is worth, of which the past chooses one."""
CELLS: Final = 300_000


@dataclass(frozen=True)
class Shares:
    """A node's rate is (a + W) / (a / m + E), and its share that among the nodes in service.

    W is the number of its failures and E its days in service, both fading by half in `half_life`
    days; m is the rate of all nodes together, faded alike; a is `weight`.
    """

    half_life: float = math.inf
    weight: float = 1.0

    @classmethod
    def learn(cls, past: Observations) -> Shares:
        """Return those under which the nodes that failed are likeliest, day by day over the second
        half of the past."""
        days = (past.end - past.begin) // DAY
        log = past.failures
        first = past.begin + days // 2 * DAY
        if days < 4 or past.nodes < 2 or not bool(np.any(log.time >= first)):
            return cls()
        step = max(1, math.ceil((days - days // 2) * past.nodes / CELLS))
        times = np.arange(first, past.end - DAY + 1, step * DAY)
        row = np.searchsorted(times, log.time, side="right") - 1
        near = (row >= 0) & (log.time - times[np.maximum(row, 0)] < DAY)
        row, node = row[near], log.node[near]
        best, chosen = -math.inf, cls()
        for half_life in HALF_LIVES:
            made = cls(half_life, 1.0)
            faded = made.faded(past, times)
            for weight in WEIGHTS:
                share = cls(half_life, weight)._of(*faded)
                found = float(np.log(share[row, node]).sum())
                if found > best:
                    best, chosen = found, cls(half_life, weight)
        return chosen

    def of(self, seen: Observations, times: Ints) -> tuple[Floats, Floats]:
        """Return the rates, failures a day, and the shares at each of the ascending times, from
        what was seen strictly before; float64[T, nodes] both. Shares of the nodes in service sum to
        1."""
        faded = self.faded(seen, times)
        return self._rates(*faded[:2]), self._of(*faded)

    def faded(self, seen: Observations, times: Ints) -> tuple[Floats, Floats, Floats]:
        """Return W and E, float64[T, nodes], and 1.0 for nodes in service at the time, else 0."""
        begin, stop = service(seen)
        log = seen.failures
        number, many = len(times), seen.nodes
        count = np.zeros((number, many))
        rate = math.log(2) / (self.half_life * DAY)
        last = int(times[-1]) if number else seen.begin
        inside = int(np.searchsorted(log.time, last, side="left"))
        row = np.searchsorted(times, log.time[:inside], side="right")
        worth = np.exp(-rate * (times[row] - log.time[:inside]))
        np.add.at(count, (row, log.node[:inside]), worth)
        for k in range(1, number):
            count[k] += count[k - 1] * math.exp(-rate * float(times[k] - times[k - 1]))
        until = np.minimum(times[:, None], stop)
        spent = np.maximum(until - begin, 0).astype(np.float64)
        if rate > 0:
            idle = np.maximum(times[:, None] - stop, 0)
            spent = -np.expm1(-rate * spent) * np.exp(-rate * idle) / rate
        active = ((begin <= times[:, None]) & (times[:, None] < stop)).astype(np.float64)
        return count, spent / DAY, active

    def _rates(self, count: Floats, days: Floats) -> Floats:
        total = (count.sum(axis=1) + 0.5) / (days.sum(axis=1) + 1.0)
        answer: Floats = (self.weight + count) / (self.weight / total[:, None] + days)
        return answer

    def _of(self, count: Floats, days: Floats, active: Floats) -> Floats:
        rates = self._rates(count, days)
        whole = (rates * active).sum(axis=1)
        whole = np.where(whole > 0, whole, rates.sum(axis=1))
        answer: Floats = rates / whole[:, None]
        return answer

    def values(self) -> dict[str, Any]:
        """Return both, as JSON can hold them (no half-life: None)."""
        endless = math.isinf(self.half_life)
        return {"half_life": None if endless else self.half_life, "weight": self.weight}

    @classmethod
    def of_values(cls, values: Any) -> Shares:
        """Return what `values` told. Raises ParameterError where they cannot have."""
        held = Held(values)
        endless = held.value("half_life") is None
        half_life = math.inf if endless else held.number("half_life", 0, above=True)
        return cls(half_life, held.number("weight", 0, above=True))
