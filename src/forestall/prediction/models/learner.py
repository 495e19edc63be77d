"""What all predictors that learn from observations share: the past, online updates, windows.

A learner is what it has learnt (parameters without any absolute time) and what it has seen. What it
answers at a time t is a function of both, and of what was seen strictly before t: `chances`. Online
use, tables for a run and the assessment all go through that one function, for one moment or for
many.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models import settings as check
from forestall.prediction.models.entries import LEARNERS
from forestall.prediction.models.kept import packed, unpacked

HORIZONS: tuple[int, ...] = (3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
"""Seconds ahead for which learners answer; in between, hazards are taken to be constant."""

State = tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]
"""What was learnt: values that JSON can hold, and arrays of numbers."""


class Learner(ABC):
    """A predictor that learns from observations; satisfies `prediction.models.base.Predictor`.

    A new one gives `name`, `summary`, `needs` and the three abstract methods below, and a line in
    `forestall.prediction.models.entries`. Its settings are keyword arguments of `__init__`, kept in
    `settings` as JSON can hold them.

    Attributes
    ----------
    name : as `--predictor` and files know it
    needs : what of `Observations.parts` it cannot do without
    extra : the extra of the package that it needs to be trained, or None
    memory : seconds of events and metrics that must be kept to answer (failures are kept whole)
    settings : how it was made
    seen : everything observed so far; its `end` is the latest known moment
    trained : number of failures that it was fitted on
    trained_until : the moment at which its training ended, s
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset({"failures"})
    extra: ClassVar[str | None] = None
    memory: ClassVar[int] = 30 * 86_400

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.horizons = tuple(check.seconds(settings.get("horizons", HORIZONS)))
        self.trained = 0
        self.trained_until = 0
        self._seen: Observations | None = None
        self._fresh: list[tuple[int, int]] = []
        self._now = 0
        self._answer: tuple[int, Floats] | None = None

    @property
    def summary(self) -> str:
        """What it does, as its entry tells it."""
        return LEARNERS[self.name].about

    # ------------------------------------------------------------------ what a new one must give

    @abstractmethod
    def learn(self, past: Observations) -> None:
        """Learn from a window that has ended; what was learnt before is forgotten."""

    @abstractmethod
    def chances(self, seen: Observations, times: Ints) -> Floats:
        """Return float64[len(times), seen.nodes, len(self.horizons)]: the probabilities that each
        node fails within [t, t + horizon).

        For each of the ascending `times` only what was seen strictly before it may count: the
        answer must be the same whatever `seen` holds later. Ascending along the last axis.
        """

    @abstractmethod
    def learnt(self) -> State:
        """Return what was learnt, without any absolute time."""

    @abstractmethod
    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `learnt` returned."""

    # ------------------------------------------------------------------------------- the past

    @property
    def seen(self) -> Observations:
        """Everything observed so far."""
        if self._seen is None:
            raise ParameterError("predictor", f"{self.name}, untrained", "a trained one: call fit")
        if self._fresh:
            times, nodes = zip(*self._fresh, strict=True)
            self._fresh = []
            self._seen = self._seen.then(
                Observations.of(
                    Failures.build(times, nodes),
                    begin=self._seen.end,
                    end=self._now + 1,
                    nodes=self._seen.nodes,
                )
            )
        return self._seen

    @property
    def now(self) -> int:
        """The latest known moment, s."""
        return self._now

    @property
    def nodes(self) -> int:
        """Number of nodes of the machine."""
        return self.seen.nodes

    def fit(
        self,
        history: Failures | Observations,
        *,
        nodes: int | None = None,
        end: int | None = None,
    ) -> None:
        """Learn from what was observed up to the end of a window; forget all else.

        Parameters
        ----------
        history : what was observed; of a failure log alone, the window that it covers
        nodes : number of nodes where that is more than the log tells
        end : the moment at which the window ends on the clock of a run; all times move with it

        Raises InputError where something that the predictor `needs` is missing.
        """
        past = history if isinstance(history, Observations) else Observations.of(history)
        if nodes is not None and nodes > past.nodes:
            past = replace(past, nodes=nodes)
        for part in sorted(self.needs - set(past.parts())):
            raise InputError(f"{self.name} needs {part}, and there are none")
        self.learn(past)
        self._take(past.moved(0 if end is None else end - past.end))
        self.trained, self.trained_until = len(past.failures), self.seen.end

    def _take(self, seen: Observations) -> None:
        since = seen.end - self.memory
        recent = {
            name: None if part is None else part.take(part.time >= since)
            for name, part in (("events", seen.events), ("metrics", seen.metrics))
        }
        self._seen = replace(seen, **recent)  # type: ignore[arg-type]
        self._fresh, self._now, self._answer = [], seen.end, None

    def observe(self, later: Observations) -> None:
        """Take note of what came after all that was known, up to the end of its window."""
        known = self.seen
        if later.begin < known.end:
            later = later.between(known.end, later.end)
        self._take(known.then(later))

    def update(self, time: int, node: int) -> None:
        """Take note that `node` failed at `time`, which is now the latest known moment."""
        self.advance(time)
        self._fresh.append((max(int(time), self._seen.end if self._seen else 0), int(node)))
        self._answer = None

    def advance(self, time: int) -> None:
        """Move the present moment to `time`; nothing has failed since the last one."""
        self._now = max(self._now, int(time))

    def moved(self, seconds: int) -> Self:
        """Return a copy on a clock that shows `seconds` more."""
        made = self.copy()
        made._take(self.seen.moved(seconds))
        made._now = self._now + seconds
        made.trained_until = self.trained_until + seconds
        return made

    def copy(self) -> Self:
        """Return a predictor that knows the same, and learns by itself from here on."""
        made = copy.copy(self)
        made._fresh = list(self._fresh)
        return made

    # ------------------------------------------------------------------------------- answers

    def hazards(self) -> Floats:
        """Return float64[nodes, len(horizons)]: cumulative hazards from now to each horizon."""
        seen = self.seen
        moment = self.moment()
        if self._answer is None or self._answer[0] != moment:
            self._answer = moment, hazards_of(self.chances(seen, np.array([moment]))[0])
        return self._answer[1]

    def moment(self) -> int:
        """Return the moment that answers are for, s: now, or just after the last failure."""
        log = self.seen.failures
        return max(self._now, int(log.time[-1]) + 1 if len(log) else 0)

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails within the window.

        Between the horizons the hazard is constant, and beyond the last as just before it.
        """
        numbers = np.asarray(nodes, dtype=np.int64)
        table = self.hazards()
        if int(numbers.max(initial=-1)) >= len(table):
            raise ParameterError("nodes", int(numbers.max()), f"nodes below {len(table)}")
        ahead = np.array([start, max(start, end)]) - self._now
        within = cumulative(table[numbers], self.horizons, np.maximum(ahead, 0))
        return -np.expm1(-(within[:, 1] - within[:, 0]))

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        """Return the probability that any of the nodes fails within the window: they are taken to
        fail independently."""
        risk = np.minimum(self.failure_probability(nodes, start, end), 1 - 1e-16)
        return float(-math.expm1(float(np.log1p(-risk).sum())))

    def time_to_failure(self, nodes: Ints) -> Floats:
        """Return float64[len(nodes)]: the median time from now to each node's next failure, s."""
        table = self.hazards()[np.asarray(nodes, dtype=np.int64)]
        return median_time(table, self.horizons)

    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        """Return float64[len(times), seen.nodes, len(horizons)]: what it would have said at each
        of the ascending `times` about [t, t + horizon), had it seen what came before t."""
        if tuple(horizons) == self.horizons:
            return self.chances(seen, times)
        hazard = hazards_of(self.chances(seen, times))
        ahead = np.asarray(horizons, dtype=np.int64)
        return -np.expm1(-cumulative(hazard, self.horizons, ahead))

    # ------------------------------------------------------------------------------- to a file

    def state(self) -> State:
        """Return all of it, as values that JSON can hold and arrays; see `from_state`."""
        values, arrays = self.learnt()
        kept, held = packed(self.seen)
        about = {"trained": self.trained, "trained_until": self.trained_until, "now": self._now}
        head = {"settings": self.settings, "about": about, "learnt": values, "seen": kept}
        return head, {
            **{f"learnt.{name}": array for name, array in arrays.items()},
            **{f"seen.{name}": array for name, array in held.items()},
        }

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the predictor whose `state` this is. Raises ParameterError, and what else parts
        that do not fit together raise, where it is none."""
        held = Held(values, arrays)
        made = cls(**held.part("settings").values)
        made.restore(held.part("learnt").values, held.under("learnt."))
        made._take(unpacked(held.value("seen"), held.under("seen.")))
        about = held.part("about")
        made.trained, made.trained_until = about.whole("trained", 0), about.whole("trained_until")
        made._now = about.whole("now")
        return made


class ExactLearner(Learner):
    """A learner that answers for any horizon exactly, from failures alone: `risks` is the answer.

    What it knows before it has learnt stands in its class.
    """

    memory: ClassVar[int] = 0

    def __init__(self, *, horizons: Sequence[int] = HORIZONS, **settings: Any) -> None:
        super().__init__(**settings, horizons=check.seconds(horizons))

    def chances(self, seen: Observations, times: Ints) -> Floats:
        """Return float64[len(times), seen.nodes, len(self.horizons)], see `Learner`."""
        return self.risks(seen, times, self.horizons)

    @abstractmethod
    def risks(self, seen: Observations, times: Ints, horizons: tuple[int, ...]) -> Floats:
        """Return float64[len(times), seen.nodes, len(horizons)], exact for any horizon."""


def hazards_of(chances: Floats) -> Floats:
    """Return cumulative hazards of probabilities that ascend along the last axis."""
    rising = np.maximum.accumulate(np.clip(chances, 0.0, 1 - 1e-12), axis=-1)
    return -np.log1p(-rising)


def cumulative(hazard: Floats, horizons: tuple[int, ...], ahead: Ints) -> Floats:
    """Return the cumulative hazards at `ahead` seconds from those at the horizons.

    Parameters
    ----------
    hazard : float64[..., len(horizons)]
    ahead : int64[k], s, >= 0

    Returns float64[..., k]: linear in between, and beyond the last as just before it.
    """
    at = np.concatenate(([0.0], np.asarray(horizons, dtype=np.float64)))
    table = np.concatenate((np.zeros((*hazard.shape[:-1], 1)), hazard), axis=-1)
    right = np.clip(np.searchsorted(at, ahead, side="left"), 1, len(horizons))
    share = (ahead - at[right - 1]) / (at[right] - at[right - 1])
    answer: Floats = table[..., right - 1] + share * (table[..., right] - table[..., right - 1])
    return answer


def median_time(hazard: Floats, horizons: tuple[int, ...]) -> Floats:
    """Return float64[n]: when the cumulative hazard float64[n, len(horizons)] reaches log 2, s;
    inf where it never does."""
    at = np.concatenate(([0.0], np.asarray(horizons, dtype=np.float64)))
    table = np.concatenate((np.zeros((len(hazard), 1)), hazard), axis=-1)
    right = np.clip((table < math.log(2)).sum(axis=-1), 1, len(horizons))
    rows = np.arange(len(table))
    rise = table[rows, right] - table[rows, right - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        more = (math.log(2) - table[rows, right - 1]) / rise * (at[right] - at[right - 1])
    return np.where(rise > 0, at[right - 1] + more, np.inf)
