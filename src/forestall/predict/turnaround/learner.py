"""Quantiles of turnarounds learned as jobs come and go, one event at a time.

Told the events of a record in their order, it says of each job what `learned` says of it, to the
last bit: the same features, forests fitted after as many ends, the same mixture by past record, and
moved alike.
Its memory grows with the jobs that are open, and with the users and kinds of jobs that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.arrays import Floats
from forestall.predict.kept import under
from forestall.predict.learner import State
from forestall.predict.quantiles.forest import QuantileForest
from forestall.predict.turnaround import learned
from forestall.predict.turnaround.book_state import CANCEL, END, POINTS
from forestall.predict.turnaround.kept import inside, spelled_out, taken
from forestall.predict.turnaround.learned import (
    LEVELS,
    SAMPLED,
    Quantiles,
    fitted,
    fitting_times,
    law_points,
    logs_of,
)
from forestall.predict.turnaround.queue_features import FEATURES, QueueWatch
from forestall.predict.turnaround.shifted import QuantileShifts

with lazily():
    from forestall.predict.turnaround import mixed_kernels

Work = Callable[[], QuantileForest]
Fitting = Callable[[Work], Work]

at_need: Final[Fitting] = cache
"""Fits a forest when it is asked for, once."""
WIDTH: Final = len(FEATURES) + len(SAMPLED)
LEVEL_ARRAY: Final = np.array(LEVELS)
NO_NAME: Final = 1
"""The row of the losses of jobs whose user is not known; row 0 is of all jobs."""


@dataclass(frozen=True)
class LearnedLaw:
    """What is learned of a job's turnaround at its submission.

    Attributes
    ----------
    quantiles : float32[L], logarithms of 1 + s at `learned.LEVELS`, as corrected
    share : weight of the forest in them; the rest is that of like jobs
    jobs : ended jobs that the forest learned from; 0 where there is no forest yet
    """

    quantiles: Quantiles
    share: float
    jobs: int

    def told(self) -> Floats:
        """Return the law as a book takes it, float64[POINTS], s; -1 where there is no forest."""
        if not self.jobs:
            return np.full(POINTS, -1.0)
        return np.asarray(law_points(self.quantiles[None])[0])


@dataclass(frozen=True)
class _OpenJob:
    """A job that has not ended: its features, float32[WIDTH], what like jobs and the forest say of
    it, float32[L] each, which losses it counts for, and its place among the shifts."""

    row: Quantiles
    alike: Quantiles
    forest: Quantiles
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


class TurnaroundLearner:
    """Learns quantiles of turnarounds from a queue's events; times never go back.

    Parameters
    ----------
    seed : of the forests
    fitting : takes the work of fitting a forest when all that it learns from is there, and returns
        what waits for its result, `learned.DELAY` ends later or more. By default the work is done
        then, if the forest is needed at all; ``lambda work: pool.submit(work).result`` does it in
        the background, with the same results.
    """

    def __init__(self, seed: int = 1, *, fitting: Fitting = at_need) -> None:
        self._seed, self._fitting = seed, fitting
        self._watch = QueueWatch()
        self._shifts = QuantileShifts()
        self._open: dict[Hashable, _OpenJob] = {}
        self._groups: dict[str, int] = {"": NO_NAME}
        self._losses = np.zeros((16, mixed_kernels.SHARES))
        # The latest jobs that ended, in a ring.
        self._rows = np.empty((learned.LATEST, WIDTH), np.float32)
        self._values = np.empty(learned.LATEST)
        self._ended = 0
        self._times = enumerate(fitting_times())
        self._due = next(self._times)
        self._next: list[_Fit] = []
        self._used: _Fit | None = None

    @property
    def ended(self) -> int:
        """Jobs that ended by themselves so far: those that are learned from."""
        return self._ended

    def submit(
        self,
        job: Hashable,
        now: int,
        alike: Quantiles,
        *,
        size: int,
        limit: int = 0,
        user: str = "",
        name: str = "",
        partition: str = "",
    ) -> LearnedLaw:
        """Enter a job, and return what is learned of its turnaround.

        Parameters
        ----------
        job : what it is called in `happen`
        now : s
        alike : float32[L], s, what the latest similar jobs alone say at `learned.LEVELS`
        size, limit, user, name, partition : as in `QueueWatch.submit`
        """
        seen = self._watch.submit(
            job, now, size=size, limit=limit, user=user, name=name, partition=partition
        )
        group = self._group(user)
        self._renew()
        logs, row, forest, mixed, share = self._tell(self._used, seen, alike, group)
        slot, moved = self._shifts.submit(now, user, size, mixed)
        self._open[job] = _OpenJob(row, logs, forest, group, now, slot)
        return LearnedLaw(moved, share, self._used.jobs if self._used else 0)

    def ask(
        self,
        now: int,
        alike: Quantiles,
        *,
        size: int,
        limit: int = 0,
        user: str = "",
        name: str = "",
        partition: str = "",
    ) -> LearnedLaw:
        """Return what `submit` would say of a job that is submitted now; nothing changes."""
        seen = self._watch.ask(
            now, size=size, limit=limit, user=user, name=name, partition=partition
        )
        group = self._groups.get(user, NO_NAME + len(self._groups))
        self._make_room(group)
        used = self._coming_into_use()
        mixed, share = self._tell(used, seen, alike, group)[3:]
        moved = self._shifts.ask(now, user, size, mixed)
        return LearnedLaw(moved, share, used.jobs if used else 0)

    def happen(self, kind: int, job: Hashable, now: int) -> None:
        """Take in what happened to a job, as `QueueWatch.happen` does."""
        self._watch.happen(kind, job, now)
        if kind not in learned.CLOSING or job not in self._open:
            return
        one, actual = self._open.pop(job), np.nan if kind == CANCEL else np.inf
        if kind == END:
            actual = np.log1p(np.array([max(now - one.submit, 0)], np.float64))[0]
            self._learn(one, actual)
        self._shifts.close(one.slot, now, actual)

    # ------------------------------------------------------------------------------------ inside

    def _tell(
        self, used: _Fit | None, seen: Quantiles, alike: Quantiles, group: int
    ) -> tuple[Quantiles, Quantiles, Quantiles, Quantiles, float]:
        """Return of a job with these features what like jobs say in logarithms, its row, what the
        forest says, the mixture of both, and the forest's weight in it."""
        logs = logs_of(alike[None])[0]
        row = np.empty(WIDTH, np.float32)
        row[: len(FEATURES)], row[len(FEATURES) :] = seen, logs[SAMPLED]
        forest = np.full(len(LEVELS), np.nan, np.float32)
        if used is not None:
            forest[:] = used.work().tell(row[None])[0]
        mixed = np.empty(len(LEVELS), np.float32)
        share = mixed_kernels.mixture(self._losses, group, logs, forest, mixed)
        return logs, row, forest, mixed, float(share)

    def _group(self, user: str) -> int:
        group = self._groups.setdefault(user, NO_NAME + len(self._groups))
        self._make_room(group)
        return group

    def _make_room(self, group: int) -> None:
        if group >= len(self._losses):
            more = np.zeros_like(self._losses)
            self._losses = np.concatenate((self._losses, more))

    def _learn(self, one: _OpenJob, value: float) -> None:
        """Take in the logarithm of 1 + turnaround of a job that ended."""
        if not np.isnan(one.forest[0]):
            mixed_kernels.learn(self._losses, one.group, one.alike, one.forest, value, LEVEL_ARRAY)
        at = self._ended % len(self._rows)
        self._rows[at], self._values[at] = one.row, value
        self._ended += 1
        number, count = self._due
        if self._ended == count:
            work = partial(fitted, *self._latest(), self._seed, number)
            self._next = [*self._usable(), _Fit(number, count, self._fitting(work))]
            self._due = next(self._times)

    def _latest(self) -> tuple[Quantiles, Floats]:
        """Return copies of the rows and values of the latest jobs that ended, in that order."""
        room = len(self._rows)
        order = np.arange(max(self._ended - room, 0), self._ended) % room
        return self._rows[order], self._values[order]

    def _usable(self) -> list[_Fit]:
        """Return the forests to come, without those that another one has overtaken unused."""
        ready = sum(self._ended >= one.count + learned.DELAY for one in self._next)
        return self._next[max(ready - 1, 0) :]

    def _coming_into_use(self) -> _Fit | None:
        """Return the forest that is used from now on."""
        coming = self._usable()
        ready = bool(coming) and self._ended >= coming[0].count + learned.DELAY
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
        watch, arrays = self._watch.state()
        fits = [one for one in (self._used, *self._next) if one is not None]
        values = {
            "seed": self._seed,
            "ended": self._ended,
            "users": list(self._groups),
            "used": self._used is not None,
            "fits": [[one.number, one.count] for one in fits],
            "open": spelled_out(self._open),
            "watch": watch,
        }
        arrays = {f"watch.{name}": array for name, array in arrays.items()}
        values["shifts"], shifts = self._shifts.state()
        arrays |= {f"shifts.{name}": array for name, array in shifts.items()}
        arrays["losses"] = self._losses[: NO_NAME + len(self._groups)]
        arrays["rows"], arrays["values"] = self._latest()
        for place, one in enumerate(fits):
            told = one.work().arrays()
            arrays |= {f"forest{place}.{name}": array for name, array in told.items()}
        jobs = self._open.values()
        for name in ("row", "alike", "forest"):
            width = WIDTH if name == "row" else len(LEVELS)
            column = [getattr(one, name) for one in jobs]
            arrays[f"open.{name}"] = np.array(column, np.float32).reshape(len(jobs), width)
        for name in ("group", "submit", "slot"):
            arrays[f"open.{name}"] = np.array([getattr(one, name) for one in jobs], np.int64)
        return values, arrays

    @classmethod
    def from_state(
        cls,
        values: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        fitting: Fitting = at_need,
    ) -> TurnaroundLearner:
        """Return the learner of which `state` told. Raises ValueError, or what else missing values
        raise, where they do not fit together."""
        self = cls(int(values["seed"]), fitting=fitting)
        self._watch = QueueWatch.from_state(values["watch"], under("watch.", arrays))
        self._groups = {str(user): NO_NAME + k for k, user in enumerate(values["users"])}
        count = NO_NAME + len(self._groups)
        self._losses = np.zeros((2 * count, mixed_kernels.SHARES))
        self._losses[:count] = taken(arrays, "losses", np.float64, (count, mixed_kernels.SHARES))
        self._shifts = QuantileShifts.from_state(values["shifts"], under("shifts.", arrays))
        self._fill(int(values["ended"]), arrays)
        self._enter(values["open"], arrays)
        fits = [
            _Fit(int(number), int(ended), at_need(partial(_forest, arrays, place)))
            for place, (number, ended) in enumerate(values["fits"])
        ]
        for one in fits:
            one.work()
        if values["used"]:
            self._used, fits = fits[0], fits[1:]
        self._next = fits
        return self

    def _fill(self, ended: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take in the latest jobs that ended, of so many."""
        room = len(self._rows)
        order = np.arange(max(ended - room, 0), ended) % room
        self._rows[order] = taken(arrays, "rows", np.float32, (len(order), WIDTH))
        self._values[order] = taken(arrays, "values", np.float64, (len(order),))
        self._ended = ended
        while self._due[1] <= ended:
            self._due = next(self._times)

    def _enter(self, jobs: list[Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter open jobs."""
        count, levels = len(jobs), len(LEVELS)
        row = taken(arrays, "open.row", np.float32, (count, WIDTH))
        alike = taken(arrays, "open.alike", np.float32, (count, levels))
        forest = taken(arrays, "open.forest", np.float32, (count, levels))
        group = taken(arrays, "open.group", np.int64, (count,))
        submit = taken(arrays, "open.submit", np.int64, (count,))
        inside("open.group", group, NO_NAME + len(self._groups))
        slot = taken(arrays, "open.slot", np.int64, (count,))
        self._shifts.holds(slot)
        numbers = (group.tolist(), submit.tolist(), slot.tolist())
        told = zip(jobs, row, alike, forest, *numbers, strict=True)
        self._open = {job: _OpenJob(*rest) for job, *rest in told}


def _forest(arrays: Mapping[str, npt.NDArray[Any]], place: int) -> QuantileForest:
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
    inside("feature", made.feature, WIDTH)
    return made
