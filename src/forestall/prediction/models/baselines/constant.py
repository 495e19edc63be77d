"""One rate for all nodes and all times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import ahead_of, node_seconds, probability
from forestall.prediction.models.learner import ExactLearner, State


class Constant(ExactLearner):
    """The machine's rate: what is said of every node at every time is the same.

    With n failures in E seconds of nodes in service the rate is (n + 1/2) / E, which is that of
    Jeffreys' prior, and not 0 where nothing has failed yet; the probability of failing within h is
    1 - exp(-rate h).

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending

    Examples
    --------
    >>> from forestall.core.model.failures import Failures
    >>> predictor = Constant(horizons=(86_400,))
    >>> past = Observations.of(Failures.build([100, 500], [0, 1]), begin=0, end=864_000, nodes=4)
    >>> predictor.fit(past)
    >>> predictor.failure_probability(np.array([0, 3]), 864_000, 950_400).round(4)
    array([0.0606, 0.0606])
    """

    name: ClassVar[str] = "constant"
    rate: float = 0.0

    def learn(self, past: Observations) -> None:
        """Learn the rate, failures per node-second."""
        seconds = node_seconds(past)
        self.rate = (len(past.failures) + 0.5) / seconds if seconds > 0 else 0.0

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        answer = np.empty((len(times), seen.nodes, len(horizons)))
        answer[:] = probability(self.rate * ahead_of(horizons))
        return answer

    def learnt(self) -> State:
        """Return the rate."""
        return {"rate": self.rate}, {}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.rate = Held(values).number("rate", 0)
