"""Quantiles of turnarounds learned from features of job, user and queue, in time order.

A forest of boosted quantiles (`forestall.predict.quantiles`) is fitted anew as jobs end, on the
latest of them, and told for the jobs that are submitted until the next one is. Its features are
those of the queue (`queue_features`), and what the latest similar jobs alone say (`book_kernels`).
What is used for a job is a mixture of both, by their own past record (`mixed_kernels`), moved by
what became of earlier jobs (`shifts_kernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.arrays import Bools, Floats, Ints
from forestall.model.site.job_records import NEVER
from forestall.predict.heap_kernels import new_heap
from forestall.predict.quantiles.forest import QuantileForest, TreeSettings, fit
from forestall.predict.turnaround.book_state import CANCEL, END, LOSE, POINTS, STOP
from forestall.predict.turnaround.classes import size_classes
from forestall.predict.turnaround.queue_features import queue_features
from forestall.predict.turnaround.replay import CHUNK
from forestall.predict.turnaround.tasks import Tasks
from forestall.traces.streams import stream

with lazily():
    from forestall.predict.turnaround import mixed_kernels, shifts_kernels

Quantiles = npt.NDArray[np.float32]
Progress = Callable[[int, int], None]
Each = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]

CLOSING: Final = (END, CANCEL, LOSE, STOP)
"""Events with which a job comes to an end."""
LEVELS: Final = (0.01, 0.025, *(k / 20 for k in range(1, 20)), 0.975, 0.99)
"""Levels of the quantiles that are learned, mixed and told."""
FIRST: Final = 500
"""Jobs that have ended before the first forest."""
AFTER: Final = 1000
"""A forest is fitted anew after so many more, or a share `GROWTH` of those before."""
GROWTH: Final = 0.06
DELAY: Final = 50
"""A forest is used once so many more have ended: there is time to fit it in the background."""
LATEST: Final = 30_000
"""Jobs that a forest learns from."""
SAMPLE: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Levels of the quantiles by like jobs that are features."""
SAMPLED: Final = [LEVELS.index(level) for level in SAMPLE]
TREES: Final = TreeSettings()


@dataclass(frozen=True)
class LearnedQuantiles:
    """Quantiles of the turnarounds of all jobs, each by what was known at its submission.

    Attributes
    ----------
    alike : float32[n, L], logarithms of 1 + s: by the latest similar jobs alone
    forest : float32[n, L], by the forests; nan where there is none yet
    mixed : float32[n, L], both, by their past record
    corrected : float32[n, L], the mixture as moved by what became of earlier jobs
    shares : float32[n], weight of the forest in the mixture
    fits : how many forests
    """

    alike: Quantiles
    forest: Quantiles
    mixed: Quantiles
    corrected: Quantiles
    shares: npt.NDArray[np.float32]
    fits: int

    def told(self) -> Quantiles:
        """Return turnarounds, s, as a book takes them: float32[n, POINTS]; -1 where there is no
        forest yet, and the law of like jobs stands."""
        out = np.full((len(self.corrected), POINTS), -1.0, np.float32)
        for first in range(0, len(out), CHUNK):
            last = min(first + CHUNK, len(out))
            learned = first + np.flatnonzero(~np.isnan(self.forest[first:last, 0]))
            out[learned] = law_points(self.corrected[learned])
        return out


def law_points(quantiles: npt.NDArray[np.floating]) -> Floats:
    """Return the quantiles in the middles of `POINTS` equal parts, s, float64[n, POINTS], from
    logarithms of 1 + s at `LEVELS`: straight between them."""
    middles = (np.arange(POINTS) + 0.5) / POINTS
    levels = np.array(LEVELS)
    at = np.clip(np.searchsorted(levels, middles), 1, len(levels) - 1)
    part = (middles - levels[at - 1]) / (levels[at] - levels[at - 1])
    known = quantiles.astype(np.float64)
    points = known[:, at - 1] + part * (known[:, at] - known[:, at - 1])
    # In one piece of memory: NumPy's results differ in the last bit where they are strided.
    times = np.expm1(np.ascontiguousarray(points))
    return np.asarray(np.maximum.accumulate(np.maximum(times, 0.0), axis=1))


def learn_quantiles(
    tasks: Tasks,
    seconds: Quantiles,
    seed: int,
    *,
    each: Each = map,
    progress: Progress | None = None,
) -> LearnedQuantiles:
    """Return the quantiles of all jobs' turnarounds.

    seconds : float32[n, L], what the latest similar jobs alone say at `LEVELS`: `alike` of a replay
    each : does something for each of several, as `map` does; that of a pool of threads fits forests
        at the same time, with the same result
    """
    alike = logs_of(seconds)
    rows = queue_features(tasks, more=len(SAMPLE))
    rows[:, -len(SAMPLE) :] = alike[:, SAMPLED]
    forest = np.full(alike.shape, np.nan, np.float32)
    values, known = turnarounds(tasks)
    order = ended_in_order(tasks, known)
    spans = list(windows(tasks.submit, tasks.finish[order]))

    def one(at: int) -> None:
        number, count, first, last = spans[at]
        past = order[max(count - LATEST, 0) : count]
        told = fitted(rows[past], values[past], seed, number)
        forest[first:last] = told.tell(rows[first:last])

    for done, _ in enumerate(each(one, range(len(spans))), 1):
        if progress is not None:
            progress(done, len(spans))
    mixed, shares = mixed_quantiles(tasks, alike, forest, values, order)
    corrected = corrected_quantiles(tasks, mixed)
    return LearnedQuantiles(alike, forest, mixed, corrected, shares, len(spans))


def logs_of(seconds: Quantiles) -> Quantiles:
    """Return logarithms of 1 + s of quantiles at `LEVELS`, none below the one before it."""
    return np.asarray(np.maximum.accumulate(np.log1p(np.maximum(seconds, 0)), axis=1))


def fitted(rows: Quantiles, values: Floats, seed: int, number: int) -> QuantileForest:
    """Return the forest of this number, from rows of features and logarithms of turnarounds."""
    rng = stream(seed, "promises", "forest", str(number))
    return fit(rows, values, rng, levels=LEVELS, settings=TREES)


def ended_in_order(tasks: Tasks, known: Bools) -> Ints:
    """Return the jobs whose turnarounds are known in the end, in the order in which that was."""
    closed = closed_in_order(tasks)
    return np.asarray(closed[known[closed]])


def closed_in_order(tasks: Tasks) -> Ints:
    """Return the jobs that came to an end of any kind, in the order in which they did."""
    _, kind, job = tasks.events
    return np.asarray(job[np.isin(kind, CLOSING)])


def turnarounds(tasks: Tasks) -> tuple[Floats, Bools]:
    """Return logarithms of 1 + turnaround, s, and for which jobs they are known in the end: those
    that ended by themselves."""
    known = (tasks.finish < NEVER) & (tasks.ending == END)
    took = np.where(known, tasks.finish - tasks.submit, 0)
    return np.log1p(np.maximum(took, 0).astype(np.float64)), known


def fitting_times() -> Iterator[int]:
    """Yield how many jobs have ended whenever a forest is fitted, without an end."""
    count = FIRST
    while True:
        yield count
        count += max(AFTER, int(GROWTH * count))


def windows(submit: Ints, finish: Ints) -> Iterator[tuple[int, int, int, int]]:
    """Yield the forests that are used: their numbers, how many jobs had ended when each was fitted,
    from which job on, and up to which, it is used.

    submit : int64[n], ascending; finish : int64[m], ascending, of jobs that are learned from
    """
    # In one second submissions come before ends, as in the book.
    ended = np.searchsorted(finish, submit, side="left")
    for number, (count, then) in enumerate(pairwise(fitting_times())):
        first, last = np.searchsorted(ended, (count + DELAY, then + DELAY)).tolist()
        if first == len(submit):
            return
        if first < last:
            yield number, count, first, last


def mixed_quantiles(
    tasks: Tasks, alike: Quantiles, forest: Quantiles, values: Floats, order: Ints
) -> tuple[Quantiles, npt.NDArray[np.float32]]:
    """Return mixtures of both by their past record, and the weights of the forest in them; `order`
    as in `ended_in_order`."""
    user = tasks.user.code.astype(np.int64) + 2  # row 0 is everybody, 1 who says no name
    losses = np.zeros((len(tasks.user.words) + 2, mixed_kernels.SHARES))
    mixed, shares = np.empty_like(alike), np.zeros(len(tasks), np.float32)
    mixing = mixed_kernels.Mixing(
        alike, forest, np.array(LEVELS), values, user, tasks.submit, tasks.finish, order, losses
    )
    mixed_kernels.mix(mixing, mixed, shares)
    return mixed, shares


def new_shifts(
    quantiles: Quantiles, submit: Ints, user: Ints, size: Ints, groups: int
) -> shifts_kernels.Shifts:
    """Return quantiles that nothing has moved yet; see `shifts_kernels.Shifts`."""
    levels, jobs = np.array(LEVELS), len(submit)
    return shifts_kernels.Shifts(
        quantiles, submit, user, size, np.zeros(jobs, np.int64), new_heap(jobs), levels,
        np.log(levels / (1 - levels)), np.zeros(len(levels)), np.zeros((groups, len(levels))),
        np.zeros((groups, len(levels))),
    )  # fmt: skip


def corrected_quantiles(tasks: Tasks, quantiles: Quantiles) -> Quantiles:
    """Return quantiles moved by what became of jobs that were submitted earlier."""
    size = size_classes(tasks.size)
    user = tasks.user.code.astype(np.int64) + size.max(initial=0) + 2  # below: who says no name
    groups = int(size.max(initial=0)) + len(tasks.user.words) + 2
    shifts = new_shifts(quantiles, tasks.submit, user, size, groups)
    order = closed_in_order(tasks)
    values, known = turnarounds(tasks)
    silent = np.where(tasks.ending == CANCEL, np.nan, shifts_kernels.AFTER)
    corrected = np.empty_like(quantiles)
    actual = np.where(known, values, silent)
    shifts_kernels.shift_all(shifts, tasks.finish, order, actual, corrected)
    return corrected
