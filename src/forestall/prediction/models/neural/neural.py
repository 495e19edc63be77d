"""An order-8 neural network on the times between a node's failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import (
    histories,
    node_seconds,
    previous,
    probability,
    service,
)
from forestall.prediction.models.learner import HORIZONS, ExactLearner, State
from forestall.prediction.models.neural import network
from forestall.prediction.models.neural.accuracy import Accuracy, accuracy

FEWEST = 10
"""Failures below which nothing is learnt but the machine's rate."""
LONGEST = 1e12
"""The mean gap, s, where nothing was observed."""


class Neural(ExactLearner):
    """From the last gaps of a node to the law of the next, by a network shared by all nodes.

    After each failure the network turns the node's last `order` gaps into the location and scale
    of a Weibull law of the next gap; gaps that are missing stand at the mean of all. A node at age
    x fails within h with probability 1 - exp(H(x) - H(x + h)), H(x) = (x / exp(location)) ** (1 /
    scale): given that the gap has lasted so long. Time to failure is the median of that law.

    Parameters
    ----------
    order : how many gaps it looks back on, 1 to 64
    units : tanh units of its one layer, 1 to 64
    decay : how strongly weights are drawn to 0 (one over the variance of their prior), above 0
    most : the most gaps that it is trained on, evenly taken of all
    seed : of the weights that training starts from
    horizons : seconds ahead that it answers for, ascending

    Source: S. Fu and C.-Z. Xu, "Proactive resource management for failure resilient high
    performance computing clusters", ARES 2009, Section 5, which names an order-8 neural network on
    times between failures and leaves the rest open. The law around the forecast and the censored
    gaps are additions.
    """

    name: ClassVar[str] = "neural"

    def __init__(
        self,
        *,
        order: int = 8,
        units: int = 8,
        decay: float = 25.0,
        most: int = 50_000,
        seed: int = 0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        order, units = check.whole("order", order, 1, 64), check.whole("units", units, 1, 64)
        super().__init__(
            order=order,
            units=units,
            decay=check.number("decay", decay, "a finite number above 0", above=0),
            most=check.whole("most", most, 100, 10_000_000),
            seed=check.whole("seed", seed, 0, 2**63 - 1),
            horizons=horizons,
        )
        self.network = network.exponential(LONGEST, order, units)

    def learn(self, past: Observations) -> None:
        """Learn the weights from all gaps of the past, those under way included."""
        order, units = self.settings["order"], self.settings["units"]
        log, (begin, stop) = past.failures, service(past)
        if len(log) < FEWEST:
            seconds = node_seconds(past) / (len(log) + 0.5)
            self.network = network.exponential(seconds or LONGEST, order, units)
            return
        gaps = network.log_gaps(log)
        gaps = gaps[~np.isnan(gaps)]
        seconds = max(node_seconds(past) / len(log), network.SHORTEST)
        mean = float(gaps.mean()) if len(gaps) >= FEWEST else float(np.log(seconds))
        spread = max(float(gaps.std()), 0.1) if len(gaps) >= FEWEST else 1.0
        begin = np.minimum(begin, past.end)
        stop = np.maximum(np.minimum(stop, past.end), begin)
        samples = network.samples_of(log, begin, stop, order, mean, spread)
        self.network = network.trained(
            samples.thinned(self.settings["most"]),
            (mean, spread),
            units,
            self.settings["decay"],
            self.settings["seed"],
        )

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        age, location, power = self._laws(seen, times)
        before = _hazard(age, location, power)
        hazard = np.empty((*age.shape, len(horizons)))
        for k, ahead in enumerate(horizons):
            hazard[..., k] = np.maximum(_hazard(age + ahead, location, power) - before, 0.0)
        return probability(np.maximum.accumulate(hazard, axis=-1, out=hazard))

    def _laws(self, seen: Observations, times: Ints) -> tuple[Floats, Floats, Floats]:
        """Return float64[T, N] three times: age (s), location, and one over scale."""
        past, net = histories(seen, times), self.network
        counts = np.zeros(len(seen.failures) + 1, dtype=np.bool_)
        counts[past.last] = True  # the one at the end stands for none
        asked = np.flatnonzero(counts[:-1])
        place = np.zeros(len(seen.failures), dtype=np.int64)
        place[asked] = np.arange(1, len(asked) + 1)
        row = past.of_last(place, 0)
        told = network.inputs_after(seen.failures, net.order, net.mean, net.spread, asked)
        location, scale = net.law(np.concatenate((network.first_inputs(net.order), told)))
        return past.age().astype(np.float64), location[row], (1 / scale)[row]

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: the median time from now to each node's next failure, s."""
        age, location, power = self._laws(self.seen, np.array([self.moment()]))
        reached = _hazard(age, location, power) + np.log(2)
        with np.errstate(over="ignore"):
            length = np.exp(location + np.log(reached) / power)
        ahead: Floats = np.maximum(length - age, 1.0)[0][np.asarray(nodes, dtype=np.int64)]
        return ahead

    def forecasts(self, seen: Observations) -> Floats:
        """Return float64[n]: for each failure that was seen, how long its gap was to last by what
        was known when it began (the median, s); nan for the first failure of a node."""
        log, net = seen.failures, self.network
        every = np.arange(len(log))
        told = network.inputs_after(log, net.order, net.mean, net.spread, every)
        location, scale = net.law(told)
        before = previous(log)
        median = np.exp(location + scale * np.log(np.log(2)))
        return np.where(before >= 0, median[before], np.nan)

    def accuracy(self, seen: Observations, begin: int, end: int) -> Accuracy:
        """Return how right its forecasts were of the failures within [begin, end)."""
        log, before = seen.failures, previous(seen.failures)
        asked = (log.time >= begin) & (log.time < end)
        gap = np.where(before >= 0, log.time - log.time[before], 0)
        return accuracy(gap[asked], self.forecasts(seen)[asked])

    def learnt(self) -> State:
        """Return the weights."""
        net = self.network
        names = ("inner", "inner_bias", "outer", "outer_bias")
        return {"mean": net.mean, "spread": net.spread}, {n: getattr(net, n) for n in names}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held, units = Held(values, arrays), self.settings["units"]
        self.network = network.Network(
            held.number("mean"),
            held.number("spread", 0, above=True),
            held.array("inner", np.float64, self.settings["order"] + 2, units),
            held.array("inner_bias", np.float64, units),
            held.array("outer", np.float64, units, 2),
            held.array("outer_bias", np.float64, 2),
        )


def _hazard(age: Floats, location: Floats, power: Floats) -> Floats:
    """Return the cumulative hazard at an age, s."""
    with np.errstate(divide="ignore"):
        z = (np.log(age) - location) * power
    return np.exp(np.minimum(z, 2 * network.STEEPEST))
