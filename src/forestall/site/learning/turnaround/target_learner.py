"""Quantiles of one target learned as outcomes become known, one answer at a time.

Told of answers and outcomes in their order, it says of each what `learned` says of it, to the last
bit: forests fitted after as many outcomes, the same mixture by past record, and moved alike.
Its memory grows with the answers that are open, and with the users that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.prediction.models.kept import under
from forestall.prediction.models.learner import State
from forestall.site.learning.quantiles.forest import QuantileForest
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.book_state import FOREST, POINTS
from forestall.site.learning.turnaround.kept import inside, spelled_out, taken
from forestall.site.learning.turnaround.learned import (
    LEVELS,
    SAMPLED,
    Quantiles,
    fitted,
    fitting_times,
    law_points,
)
from forestall.site.learning.turnaround.queue_features import Rows
from forestall.site.learning.turnaround.shifted import QuantileShifts
from forestall.site.learning.turnaround.targets import LearningTarget

with lazily():
    from forestall.site.learning.turnaround import mixed_kernels

Work = Callable[[], QuantileForest]
Fitting = Callable[[Work], Work]

at_need: Final[Fitting] = cache
"""Fits a forest when it is asked for, once."""
LEVEL_ARRAY: Final = np.array(LEVELS)
NO_NAME: Final = 1
"""The row of the losses of jobs whose user is not known; row 0 is of all jobs."""


@dataclass(frozen=True)
class LearnedLaw:
    """What is learned of a job's turnaround, or of its wait.

    Attributes
    ----------
    quantiles : float32[L], logarithms of 1 + s at `learned.LEVELS`, as corrected
    share : weight of the forest in them; the rest is that of like jobs
    jobs : ended jobs that the forest learned from; 0 where there is no forest yet
    wait : beside a turnaround, what is learned of its wait, where that is learned
    """

    quantiles: Quantiles
    share: float
    jobs: int
    wait: LearnedLaw | None = None

    def told(self) -> Floats:
        """Return the law as a book takes it, float64[POINTS], s; -1 where there is no forest."""
        if not self.jobs:
            return np.full(POINTS, -1.0)
        return np.asarray(law_points(self.quantiles[None])[0])


@dataclass(frozen=True)
class _OpenAnswer:
    """An answer whose outcome is not known yet: its features, float32[width], what the experts say,
    float32[E, L], which losses it counts for, and its place among the shifts."""

    row: Quantiles
    told: Quantiles
    group: int
    submit: int
    slot: int


@dataclass(frozen=True)
class _Fit:
    """A forest, or the work that makes it: its number, and how many jobs had ended."""

    number: int
    count: int
    work: Work

    @property
    def jobs(self) -> int:
        return min(self.count, learned.LATEST)


class QuantileLearner:
    """Learns quantiles of one target, an answer at a time; times never go back.

    Parameters
    ----------
    target, width : what is learned, and how many features answers have
    seed : of the forests
    fitting : takes the work of fitting a forest when all that it learns from is there, and returns
        what waits for its result, `learned.DELAY` outcomes later or more. By default the work is
        done then, if the forest is needed at all; ``lambda work: pool.submit(work).result`` does it
        in the background, with the same results.
    """

    def __init__(self, target: LearningTarget, width: int, seed: int, fitting: Fitting) -> None:
        self._target, self._seed, self._fitting = target, seed, fitting
        self._shifts = QuantileShifts(target)
        self._open: dict[Hashable, _OpenAnswer] = {}
        self._groups: dict[str, int] = {"": NO_NAME}
        self._losses = np.zeros((16, len(target.candidates.parts)))
        # The latest answers whose outcomes are known, in a ring.
        self._rows = np.empty((learned.LATEST, width + len(SAMPLED)), np.float32)
        self._values = np.empty(learned.LATEST)
        self.ended = 0
        self._times = enumerate(fitting_times())
        self._due = next(self._times)
        self._next: list[_Fit] = []
        self._used: _Fit | None = None

    def enter(
        self, key: Hashable, now: int, seen: Rows, told: Quantiles, user: str, size: int
    ) -> LearnedLaw:
        """Return the law of an answer whose outcome will be told to `close`.

        seen : float32[width], features; told : float32[E, L], what the experts say, the forest's
        row of which is written
        """
        group = self._groups.setdefault(user, NO_NAME + len(self._groups))
        self._make_room(group)
        self._renew()
        row, mixed, share = self._tell(self._used, seen, told, group)
        slot, moved = self._shifts.submit(now, user, size, mixed)
        self._open[key] = _OpenAnswer(row, told, group, now, slot)
        return LearnedLaw(moved, share, self._used.jobs if self._used else 0)

    def would(self, now: int, seen: Rows, told: Quantiles, user: str, size: int) -> LearnedLaw:
        """Return what `enter` would say; nothing changes."""
        group = self._groups.get(user, NO_NAME + len(self._groups))
        self._make_room(group)
        used = self._coming_into_use()
        mixed, share = self._tell(used, seen, told, group)[1:]
        return LearnedLaw(self._shifts.ask(now, user, size, mixed), share, used.jobs if used else 0)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._open

    def asked(self, key: Hashable) -> int:
        """Return when an open answer was asked for."""
        return self._open[key].submit

    def said(self, key: Hashable) -> Quantiles:
        """Return what the experts said of an open answer, float32[E, L]."""
        return self._open[key].told

    def close(self, key: Hashable, now: int, value: float) -> None:
        """Take in what came true, as `targets.AskedAnswers.value` has it."""
        one = self._open.pop(key, None)
        if one is None:
            return
        if np.isfinite(value):
            self._learn(one, value)
        self._shifts.close(one.slot, now, value)

    # ------------------------------------------------------------------------------------ inside

    def _tell(
        self, used: _Fit | None, seen: Rows, told: Quantiles, group: int
    ) -> tuple[Quantiles, Quantiles, float]:
        """Return the row of an answer, the mixture of what experts say, and the forest's weight."""
        row = np.concatenate([seen, told[0][SAMPLED]], dtype=np.float32)
        told[FOREST] = np.nan if used is None else used.work().tell(row[None])[0]
        mixed = np.empty(len(LEVELS), np.float32)
        candidates = self._target.candidates
        return (
            row,
            mixed,
            float(mixed_kernels.mixture(self._losses, candidates, group, told, mixed)),
        )

    def _make_room(self, group: int) -> None:
        if group >= len(self._losses):
            more = np.zeros_like(self._losses)
            self._losses = np.concatenate((self._losses, more))

    def _learn(self, one: _OpenAnswer, value: float) -> None:
        """Take in an outcome."""
        if not np.isnan(one.told[FOREST, 0]):
            mixed_kernels.learn(
                self._losses, self._target.candidates, one.group, one.told, value, LEVEL_ARRAY
            )
        at = self.ended % len(self._rows)
        self._rows[at], self._values[at] = one.row, value
        self.ended += 1
        number, count = self._due
        if self.ended == count:
            work = partial(fitted, self._target, *self._latest(), self._seed, number)
            self._next = [*self._usable(), _Fit(number, count, self._fitting(work))]
            self._due = next(self._times)

    def _latest(self) -> tuple[Quantiles, Floats]:
        """Return copies of the rows and values of the latest jobs that ended, in that order."""
        room = len(self._rows)
        order = np.arange(max(self.ended - room, 0), self.ended) % room
        return self._rows[order], self._values[order]

    def _usable(self) -> list[_Fit]:
        """Return the forests to come, without those that another one has overtaken unused."""
        ready = sum(self.ended >= one.count + learned.DELAY for one in self._next)
        return self._next[max(ready - 1, 0) :]

    def _coming_into_use(self) -> _Fit | None:
        """Return the forest that is used from now on."""
        coming = self._usable()
        ready = bool(coming) and self.ended >= coming[0].count + learned.DELAY
        return coming[0] if ready else self._used

    def _renew(self) -> None:
        """Let the latest forest be used whose time has come."""
        coming, used = self._usable(), self._coming_into_use()
        self._next = coming[1:] if used is not self._used else coming
        self._used = used

    # -------------------------------------------------------------------------------------- kept

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays; a forest that is being fitted
        is waited for. Raises ParameterError for jobs that are called neither text nor number."""
        fits = [one for one in (self._used, *self._next) if one is not None]
        values = {
            "seed": self._seed,
            "ended": self.ended,
            "users": list(self._groups),
            "used": self._used is not None,
            "fits": [[one.number, one.count] for one in fits],
            "open": [_spelled(key) for key in self._open],
        }
        values["shifts"], shifts = self._shifts.state()
        arrays = {f"shifts.{name}": array for name, array in shifts.items()}
        arrays["losses"] = self._losses[: NO_NAME + len(self._groups)]
        arrays["rows"], arrays["values"] = self._latest()
        for place, fit in enumerate(fits):
            told = fit.work().arrays()
            arrays |= {f"forest{place}.{name}": array for name, array in told.items()}
        answers = self._open.values()
        count, experts = len(answers), self._target.experts
        rows = np.array([one.row for one in answers], np.float32)
        arrays["open.row"] = rows.reshape(count, self._rows.shape[1])
        for place, name in enumerate(experts):
            column = np.array([one.told[place] for one in answers], np.float32)
            arrays[f"open.{name}"] = column.reshape(count, len(LEVELS))
        for name in ("group", "submit", "slot"):
            arrays[f"open.{name}"] = np.array([getattr(one, name) for one in answers], np.int64)
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over all of what `state` told. Raises ValueError, or what else missing values raise,
        where it does not fit together."""
        self._groups = {str(user): NO_NAME + k for k, user in enumerate(values["users"])}
        count, wide = NO_NAME + len(self._groups), self._losses.shape[1]
        self._losses = np.zeros((2 * count, wide))
        self._losses[:count] = taken(arrays, "losses", np.float64, (count, wide))
        shifts = under("shifts.", arrays)
        self._shifts = QuantileShifts.from_state(values["shifts"], shifts, self._target)
        self._fill(int(values["ended"]), arrays)
        self._enter(values["open"], arrays)
        width = self._rows.shape[1]
        fits = [
            _Fit(int(number), int(ended), at_need(partial(_forest, arrays, place, width)))
            for place, (number, ended) in enumerate(values["fits"])
        ]
        for one in fits:
            one.work()
        if values["used"]:
            self._used, fits = fits[0], fits[1:]
        self._next = fits

    def _fill(self, ended: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take in the latest outcomes, of so many."""
        room, width = self._rows.shape
        order = np.arange(max(ended - room, 0), ended) % room
        self._rows[order] = taken(arrays, "rows", np.float32, (len(order), width))
        self._values[order] = taken(arrays, "values", np.float64, (len(order),))
        self.ended = ended
        while self._due[1] <= ended:
            self._due = next(self._times)

    def _enter(self, keys: list[Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter open answers."""
        count, levels = len(keys), len(LEVELS)
        row = taken(arrays, "open.row", np.float32, (count, self._rows.shape[1]))
        told = np.stack(
            [taken(arrays, f"open.{name}", np.float32, (count, levels))
             for name in self._target.experts], axis=1,
        )  # fmt: skip
        group, submit, slot = (
            taken(arrays, f"open.{name}", np.int64, (count,))
            for name in ("group", "submit", "slot")
        )
        inside("open.group", group, NO_NAME + len(self._groups))
        self._shifts.holds(slot)
        rest = zip(row, told, group.tolist(), submit.tolist(), slot.tolist(), strict=True)
        named = (tuple(key) if isinstance(key, list) else key for key in keys)
        self._open = {key: _OpenAnswer(*one) for key, one in zip(named, rest, strict=True)}


def _forest(arrays: Mapping[str, npt.NDArray[Any]], place: int, width: int) -> QuantileForest:
    """Return a forest that was kept. Raises ValueError where it is none for these features."""
    own = under(f"forest{place}.", arrays)
    trees, inner = own["feature"].shape
    # The children of node k are 2 k + 1 and 2 k + 2: all layers are full.
    if inner < 1 or (inner + 1) & inner:
        raise ValueError(f"trees of {inner} splits")
    levels = len(LEVELS)
    made = QuantileForest(
        taken(own, "levels", np.float64, (levels,)),
        taken(own, "start", np.float64, (levels,)),
        taken(own, "feature", np.int32, (trees, inner)),
        taken(own, "threshold", np.float32, (trees, inner)),
        taken(own, "value", np.float64, (trees, inner + 1, levels)),
    )
    inside("feature", made.feature, width)
    return made


def _spelled(key: Hashable) -> Any:
    """Return what an answer is called, as JSON can hold it: a job, or a word and a job."""
    if isinstance(key, tuple):
        return [key[0], *spelled_out(key[1:])]
    return spelled_out([key])[0]
