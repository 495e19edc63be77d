"""A predictor or placement rule of the user's own, in plain Python.

It takes part in the same search as compiled ones: where that comes to a question that only Python
can answer, it stops; the answer is written into the state, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.base import KnowsOutages
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine.state import Prediction, Rules, State
from forestall.scheduling.rules.asked_risk_kernels import AskedPredictor, new_asked
from forestall.scheduling.rules.search_state import (
    CHOSEN,
    EACH,
    FREE,
    LEARN,
    MOMENT,
    OWN,
    PICK,
    RECOVERY,
    RISKY,
    TOGETHER,
)

if TYPE_CHECKING:
    from forestall.prediction.models.base import Predictor

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Placement = Callable[[Int, int, Float, int, int], npt.ArrayLike]
"""placement(free, size, risk, start, end) -> `size` of the free nodes; risk is
float64[len(free)]."""


def members(row: npt.NDArray[np.uint64]) -> Int:
    """Return the node numbers of a bitset row, ascending."""
    words = row.nonzero()[0]  # most are empty on a large machine
    octets = row[words].astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    place, bit = np.unpackbits(octets, axis=1, bitorder="little").nonzero()
    return np.asarray(64 * words[place] + bit, dtype=np.int64)


def row_of(nodes: Int, words: int) -> npt.NDArray[np.uint64]:
    """Return the bitset row of these nodes."""
    flags = np.zeros(64 * words, dtype=np.uint8)
    flags[nodes] = 1
    return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64)


@dataclass(frozen=True)
class OneDowntime:
    """A predictor that knows of failures but not how long each lasts: one downtime, s, stands for
    all, so that a job is disrupted by what fails within `downtime` - 1 s of its start too."""

    predictor: Predictor
    downtime: int
    now: int

    def _since(self, start: int) -> int:
        """Return the earliest failure that could still leave a node down at `start`."""
        return max(self.now, start - self.downtime + 1)

    def disruption_probability(self, nodes: Int, start: int, end: int) -> Any:
        """See `KnowsOutages`."""
        return self.predictor.failure_probability(nodes, self._since(start), end)

    def partition_disruption_probability(self, nodes: Int, start: int, end: int) -> Any:
        """See `KnowsOutages`."""
        return self.predictor.partition_failure_probability(nodes, self._since(start), end)

    def next_predicted_recovery(self, time: int) -> int | None:
        """See `KnowsOutages`."""
        ask = getattr(self.predictor, "next_predicted_failure", None)
        failure = None if ask is None else ask(max(self.now, time - self.downtime))
        return None if failure is None else int(failure) + self.downtime


@dataclass(frozen=True)
class Plugin:
    """A predictor, a placement rule, or both (None: the compiled ones).

    `downtime` is how long a node that the predictor means is expected to stay down, s, where it
    does not know of each outage (`base.KnowsOutages`); `period` the seconds after which
    what is predicted repeats for ever (0: never).
    """

    predictor: Predictor | None = None
    placement: Placement | None = None
    downtime: int = 1
    period: int = 0

    def rules(self, rules: Rules) -> Rules:
        """Return the rules of a run in which this takes part."""
        return rules if self.placement is None else rules._replace(placement=int(OWN))

    def prediction(self, other: Prediction) -> Prediction:
        """Return what stands in a state for the predictor; the other one where there is none."""
        if self.predictor is None:
            return other
        foresees = getattr(self.predictor, "next_predicted_failure", None) is not None
        return new_asked(self.period, knows=self._knows, foresees=foresees or self._knows)

    @property
    def _knows(self) -> bool:
        return isinstance(self.predictor, KnowsOutages)

    def answer(self, state: State, now: int) -> None:
        """Answer what a search has stopped at. Raises ParameterError for an answer that is none."""
        question = state.scratch.search[0]
        asks = int(question["asks"])
        if asks == PICK:
            self._pick(state, question)
        elif asks == LEARN:
            assert self.predictor is not None
            self.predictor.update(now, int(question["node"]))
        else:
            self._predict(state, question, asks, now)
        question["known"], question["asks"] = int(question["known"]) | asks, 0

    def _pick(self, state: State, question: Any) -> None:
        rows, size = state.scratch.rows, int(question["size"])
        free, risky = members(rows[FREE]), members(rows[RISKY])
        noted = np.zeros(len(state.machine.nodes))
        noted[risky] = state.scratch.work["risk"][risky]
        assert self.placement is not None
        window = int(question["start"]), int(question["end"])
        chosen = self.placement(free, size, noted[free], *window)
        rows[CHOSEN] = row_of(_checked(chosen, free, size), rows.shape[1])

    def _predict(self, state: State, question: Any, asks: int, now: int) -> None:
        asked, rows = state.prediction, state.scratch.rows
        assert isinstance(asked, AskedPredictor)
        advance = getattr(self.predictor, "advance", None)
        if advance is not None:
            advance(now)
        about = self._about(now)
        start, end = int(question["start"]), int(question["end"])
        if asks == EACH:
            free = members(rows[FREE])
            risk = _risks(about.disruption_probability(free, start, end), len(free))
            state.scratch.work["risk"][free] = risk
            rows[RISKY] = row_of(free[risk > 0], rows.shape[1])
        elif asks == TOGETHER:
            chosen = members(rows[CHOSEN])
            asked.risk[0] = _risk(about.partition_disruption_probability(chosen, start, end))
        elif asks == RECOVERY:
            back = about.next_predicted_recovery(int(question["lower"]))
            asked.time[0] = FAR if back is None else back
        elif asks == MOMENT:
            assert isinstance(about, KnowsOutages)
            moment = about.first_disruption(int(question["node"]), start, end)
            asked.time[0] = -1 if moment is None else moment

    def _about(self, now: int) -> KnowsOutages | OneDowntime:
        assert self.predictor is not None
        if isinstance(self.predictor, KnowsOutages):
            return self.predictor
        return OneDowntime(self.predictor, self.downtime, now)


def _risks(answer: Any, count: int) -> Float:
    risks = _numbers(answer)
    if risks is None or risks.shape != (count,) or not bool(((risks >= 0) & (risks <= 1)).all()):
        allowed = f"a probability from 0 to 1 for each of {count} nodes"
        raise ParameterError("predictor", answer, allowed)
    return risks


def _risk(answer: Any) -> float:
    risk = _numbers(answer)
    if risk is None or risk.ndim != 0 or not 0.0 <= float(risk) <= 1.0:
        raise ParameterError("predictor", answer, "a probability from 0 to 1")
    return float(risk)


def _numbers(answer: Any) -> Float | None:
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _checked(chosen: Any, free: Int, size: int) -> Int:
    given = np.asarray(chosen)
    whole = given.ndim == 1 and np.issubdtype(given.dtype, np.integer)
    if not whole or len(given) != size or len(np.unique(given[np.isin(given, free)])) != size:
        raise ParameterError("placement", given.tolist(), f"{size} of the free nodes")
    return np.unique(given).astype(np.int64)
