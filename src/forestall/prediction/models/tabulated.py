"""A learner's answers during a run, worked out beforehand: a table of hazards over time.

In a run failures come as the log has them, whatever is decided. So what a learner would say at any
moment can be worked out before, for all nodes and many moments at once, each from what was seen
strictly before it.
"""

from __future__ import annotations

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models import table_kernels as kernels
from forestall.prediction.models.learner import Learner, hazards_of, median_time
from forestall.prediction.models.table_kernels import HazardTable, table_of

STEP = 3600
"""Seconds between the moments of a table, at least."""
TICKS = (60, 600)
"""Seconds after which answers are renewed, at the soonest, by events and metrics."""
MOST_CELLS = 128 * 2**20
"""Numbers that a table may hold (of 4 bytes each); with more, its moments lie further apart."""
CHUNK = 4 * 2**20
"""Cells that are worked out at once."""


class Tabulated:
    """A predictor that reads its answers from a table.

    Attributes
    ----------
    times : int64[T], ascending; row k holds from times[k] to before times[k + 1]
    hazard : float32[T, nodes, H], cumulative hazards from times[k] to each horizon
    horizons : the H horizons, s
    """

    def __init__(self, times: Ints, hazard: np.ndarray, horizons: tuple[int, ...]) -> None:
        assert hazard.shape[::2] == (len(times), len(horizons)), f"{hazard.shape} for {times.shape}"
        self.times, self.hazard, self.horizons = times, hazard, tuple(horizons)
        self._table = table_of(hazard, times, self.horizons, 1)
        self._now = int(times[0])

    def arrays(self, downtime: int) -> HazardTable:
        """Return the table for compiled code, at its first moment; the numbers are not copied.

        `downtime` is how long a failed node is expected to stay down, s.
        """
        return table_of(self.hazard, self.times, self.horizons, downtime)

    def copy(self) -> Tabulated:
        """Return a predictor with the same table and a present moment of its own."""
        made = Tabulated(self.times, self.hazard, self.horizons)
        made.advance(self._now)
        return made

    def fit(self, history: object) -> None:
        """Do nothing: all there is to learn is in the table."""

    def advance(self, time: int) -> None:
        """Move the present moment to `time`."""
        self._now = max(self._now, int(time))
        kernels.advance(self._table, self._now)

    def update(self, time: int, node: int) -> None:
        """Move the present moment to `time`; the table knows of the failure."""
        self.advance(time)

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window."""
        numbers, answer = np.asarray(nodes, dtype=np.int64), np.empty(len(nodes))
        kernels.risk_of_each(self._table, numbers, max(int(start), self._now), int(end), answer)
        return answer

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window: they are taken to
        fail independently."""
        numbers, room = np.asarray(nodes, dtype=np.int64), np.empty(len(nodes))
        first = max(int(start), self._now)
        return float(kernels.risk_of_any(self._table, numbers, first, int(end), room))

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: the median time to each node's next failure, s."""
        row = int(self._table.row[0])
        table = self.hazard[row, np.asarray(nodes, dtype=np.int64)].astype(np.float64)
        wait: Floats = median_time(table, self.horizons) - (self._now - self.times[row])
        return np.maximum(wait, 0.0)


def tabulate(learner: Learner, later: Observations, nodes: int) -> Tabulated:
    """Return what a learner would say during a run.

    Parameters
    ----------
    learner : what was learnt before, and seen up to then
    later : what happens in the run, from its beginning
    nodes : size of the machine; of a smaller one, the first nodes
    """
    whole = learner.seen.then(later)
    times = moments(later, whole.nodes * len(learner.horizons))
    hazard = np.empty((len(times), nodes, len(learner.horizons)), dtype=np.float32)
    many = max(1, CHUNK // max(1, whole.nodes * len(learner.horizons)))
    for at in range(0, len(times), many):
        part = slice(at, min(at + many, len(times)))
        hazard[part] = hazards_of(learner.chances(whole, times[part]))[:, :nodes]
    return Tabulated(times, hazard, learner.horizons)


def moments(later: Observations, cells: int) -> Ints:
    """Return the ascending moments of a table with so many `cells` each: every hour of the window,
    just after each failure as long as these are not the most, and at the whole minute after events
    and samples (after ten minutes where the window is too long for that)."""
    most = max(2, MOST_CELLS // max(1, cells))
    span = max(later.end - later.begin, 1)
    step = max(STEP, -(-span // most) * 2)
    grid = np.arange(later.begin, later.end + step, step, dtype=np.int64)
    after = later.failures.time + 1
    if len(after) <= len(grid):
        grid = np.unique(np.concatenate((grid, after)))
    told = [part.time for part in (later.events, later.metrics) if part is not None and len(part)]
    tick = next((one for one in TICKS if span // one < most), None)
    if not told or tick is None:
        return grid
    # By the length of the window alone: what comes later must not say when answers are renewed.
    heard = np.unique(-(-(np.unique(np.concatenate(told)) + 1 - later.begin) // tick))
    return np.unique(np.concatenate((grid, later.begin + heard * tick)))
