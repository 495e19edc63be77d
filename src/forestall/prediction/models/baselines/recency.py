"""How soon after a failure nodes fail again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import (
    ahead_of,
    histories,
    node_seconds,
    previous,
    probability,
    service,
)
from forestall.prediction.models.learner import ExactLearner, State
from forestall.reliability.nodes.nodes import negative_binomial

EDGES: Floats = np.concatenate(([0.0], 300.0 * 2.0 ** np.arange(21)))
"""Where bins of age begin, s: 0, 5 min, and so on by factors of 2 up to 10 years."""
SLOPE = 0.5
"""Standard deviation of the trend's power of age, before anything is seen."""
STEPS = 50


@dataclass(frozen=True)
class Ages:
    """A hazard that is constant within bins of age.

    Attributes
    ----------
    hazard : float64[len(EDGES)], failures per second from each edge to the next, and beyond the
        last
    """

    hazard: Floats

    def cumulative(self, age: Floats) -> Floats:
        """Return the hazard integrated from 0 to each age (s)."""
        known = np.concatenate(([0.0], np.cumsum(self.hazard[:-1] * np.diff(EDGES))))
        place = np.clip(np.searchsorted(EDGES, age, side="right") - 1, 0, len(EDGES) - 1)
        return known[place] + self.hazard[place] * (age - EDGES[place])


class Recency(ExactLearner):
    """The hazard as a function of the time since the node's last failure.

    A life table: in each bin of age, failures over the time that nodes spent at such an age, all
    nodes taken together, gaps under way counted up to where they were cut. Each bin is drawn
    towards a power of age fitted to all of them (Poisson regression), the more the better the
    bins agree with it (gamma law of the departures, empirical Bayes); nothing makes the hazard
    fall or rise. Nodes that have not failed have a table of their own, by the time since their
    observation began. The hazard is integrated exactly over each horizon.

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending

    Source: the life table with piecewise constant hazards, Holford, "Life tables with concomitant
    information", Biometrics 32, 1976.
    """

    name: ClassVar[str] = "recency"
    again = first = Ages(np.zeros(len(EDGES)))

    def learn(self, past: Observations) -> None:
        """Learn both tables: of gaps after a failure, and before the first one."""
        log = past.failures
        begin, stop = service(past)
        stop = np.minimum(stop, past.end)
        before = previous(log)
        again = before >= 0
        last = begin.copy()
        last[log.node] = log.time
        gaps = log.time[again] - log.time[before[again]]
        first = np.maximum(log.time[~again] - begin[log.node[~again]], 0)
        ever = np.zeros(past.nodes, dtype=np.bool_)
        ever[log.node] = True
        running = np.maximum(stop - last, 0)
        seconds = node_seconds(past)
        rate = (len(log) + 0.5) / seconds if seconds > 0 else 0.0
        self.again = life_table(gaps, running[ever], rate)
        self.first = life_table(first, running[~ever], rate)

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        past = histories(seen, times)
        age, failed = past.age().astype(np.float64), past.failed()
        answer = np.empty((*age.shape, len(horizons)))
        for where, table in ((failed, self.again), (~failed, self.first)):
            mine = age[where]
            before = table.cumulative(mine)
            for k, ahead in enumerate(ahead_of(horizons)):
                answer[where, k] = table.cumulative(mine + ahead) - before
        np.maximum.accumulate(answer, axis=-1, out=answer)
        return probability(answer)

    def learnt(self) -> State:
        """Return both tables."""
        return {}, {"again": self.again.hazard, "first": self.first.hazard}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values, arrays)
        self.again, self.first = (
            Ages(held.array(name, np.float64, len(EDGES), least=0)) for name in ("again", "first")
        )


def life_table(ended: Ints, running: Ints, rate: float) -> Ages:
    """Return the hazards of gaps that ended and of some that were cut while they ran, s.

    `rate` is what to believe of gaps where there are none, failures per second.
    """
    lengths = np.concatenate((ended, running)).astype(np.float64)
    widths = np.diff(np.append(EDGES, np.inf))
    seconds = np.array(
        [np.clip(lengths - e, 0.0, w).sum() for e, w in zip(EDGES, widths, strict=True)]
    )
    place = np.searchsorted(EDGES, ended, side="right") - 1
    count = np.bincount(place, minlength=len(EDGES))
    trend = _power_of_age(count, seconds, rate)
    used = (seconds > 0) & (trend > 0)
    if not count[used].any():
        return Ages(trend)
    fleet = negative_binomial(count[used], (seconds * trend)[used])
    shape = float(np.clip(fleet.shape, 0.5, 1e4))
    return Ages(trend * (shape + count) / (shape + seconds * trend))


def _power_of_age(count: Ints, seconds: Floats, rate: float) -> Floats:
    """Return float64[len(EDGES)]: the hazard c * age ** p that makes the counts most likely, p
    near 0 beforehand; by Newton's steps."""
    if rate <= 0:
        return np.zeros(len(EDGES))
    middle = np.sqrt(np.maximum(EDGES, 60.0) * np.append(EDGES[1:], 2 * EDGES[-1]))
    # a failure's worth of the machine's rate holds the level where gaps are few
    number, time = np.append(count, 1.0), np.append(seconds, 1.0 / rate)
    typical = np.log(middle[int(np.argmax(seconds))])
    power = np.append(np.log(middle) - typical, 0.0)
    at = np.array([np.log(number.sum() / time.sum()), 0.0])
    for _ in range(STEPS):
        mean = time * np.exp(np.clip(at[0] + at[1] * power, -80.0, 20.0))
        slope = np.array(
            [(number - mean).sum(), ((number - mean) * power).sum() - at[1] / SLOPE**2]
        )
        cross = (mean * power).sum()
        bend = np.array([[mean.sum(), cross], [cross, (mean * power**2).sum() + 1 / SLOPE**2]])
        step = np.clip(np.linalg.solve(bend, slope), -1.0, 1.0)
        at += step
        if np.abs(step).max() < 1e-12:
            break
    answer: Floats = np.exp(np.clip(at[0] + at[1] * (np.log(middle) - typical), -80.0, 20.0))
    return answer
