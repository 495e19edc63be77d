"""Quantiles of turnarounds learned from features of job, user and queue, in time order.

A forest of boosted quantiles (`forestall.site.learning.quantiles`) is fitted anew as jobs end, on
the latest of them, and told for the jobs that are submitted until the next one is. Its features are
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

from forestall.core._compile import records
from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.streams import stream
from forestall.prediction.models.heap_kernels import new_heap
from forestall.site.learning.quantiles.forest import QuantileForest, TreeSettings, fit
from forestall.site.learning.turnaround.book_state import FAR, FOREST, POINTS, pool
from forestall.site.learning.turnaround.classes import size_classes
from forestall.site.learning.turnaround.queue_features import Rows, queue_features
from forestall.site.learning.turnaround.replay import CHUNK
from forestall.site.learning.turnaround.targets import (
    TURNAROUND,
    WAIT,
    AskedAnswers,
    LearningTarget,
    looks_of,
    turnarounds_of,
    waits_of,
)
from forestall.site.learning.turnaround.tasks import Tasks

with lazily():
    from forestall.site.learning.turnaround import mixed_kernels, recent_kernels, shifts_kernels

Quantiles = npt.NDArray[np.float32]
Progress = Callable[[int, int], None]
Each = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]

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
RECENT: Final = 20
"""Latest waits of a user that make an expert."""


@dataclass(frozen=True)
class LearnedQuantiles:
    """Quantiles for all answers, each by what was known when it was asked for.

    Attributes
    ----------
    experts : float32[E, n, L], logarithms of 1 + s: what each of the target's experts says; of the
        forest nan where there is none yet
    mixed : float32[n, L], all of them, by their past record
    corrected : float32[n, L], the mixture as moved by what became of earlier answers
    shares : float32[n], weight of the forest in the mixture
    fits : how many forests
    """

    experts: Quantiles
    mixed: Quantiles
    corrected: Quantiles
    shares: npt.NDArray[np.float32]
    fits: int

    @property
    def alike(self) -> Quantiles:
        """What the latest similar jobs alone say."""
        return np.asarray(self.experts[0])

    @property
    def forest(self) -> Quantiles:
        """What the forests say."""
        return np.asarray(self.experts[FOREST])

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
    answers, rows = turnarounds_of(tasks), queue_features(tasks)
    told = new_told(TURNAROUND, len(tasks))
    told[0] = logs_of(seconds)
    return _learned(TURNAROUND, tasks, answers, rows, told, seed, each, progress)


def learn_waits(
    tasks: Tasks,
    seconds: Quantiles,
    seed: int,
    *,
    each: Each = map,
    progress: Progress | None = None,
    since: int | None = None,
    more: tuple[tuple[int, int], ...] = (),
) -> tuple[AskedAnswers, LearnedQuantiles]:
    """Return the quantiles of all jobs' waits, and of what was left of them at looks at jobs that
    waited (`targets.looks_of`): first those of all jobs, then those of the looks.

    seconds : float32[n, L], what the latest similar jobs alone say at `LEVELS`: `waits` of a replay
    each, progress : as in `learn_quantiles`
    since : forests are fitted for answers from then on only
    more : further looks, time and job
    """
    looks = looks_of(tasks, more)
    answers, rows = waits_of(tasks, looks), queue_features(tasks, looks)
    told, jobs = new_told(WAIT, len(rows)), len(tasks)
    told[0, :jobs] = logs_of(seconds)
    levels = np.array(LEVELS)
    recent = new_recent(len(tasks.user.words) + 2)
    recent_kernels.recall_all(
        recent, answers.asked, answers.known, answers.turn, answers.order, answers.age == 0,
        _user(tasks, answers), answers.value, told,
    )  # fmt: skip
    for row, (job, age) in enumerate(zip(looks[1], answers.age[jobs:], strict=True), jobs):
        for expert in (0, *range(2, len(told))):
            recent_kernels.left_at(told[expert, job], levels, recent.logit, age, told[expert, row])
    return answers, _learned(WAIT, tasks, answers, rows, told, seed, each, progress, since)


def new_told(target: LearningTarget, count: int) -> Quantiles:
    """Return room for what experts say, float32[E, n, L], nan until they do."""
    return np.full((len(target.experts), count, len(LEVELS)), np.nan, np.float32)


def new_recent(users: int, old: recent_kernels.Recent | None = None) -> recent_kernels.Recent:
    """Return room for the latest waits of so many users, those of `old` in it."""
    levels = np.array(LEVELS)
    rows, everybody = records(users, pool(RECENT)), records(1, pool(FAR))
    if old is not None:
        rows[: len(old.users)], everybody[:] = old.users, old.all
    return recent_kernels.Recent(rows, everybody, levels, np.log(levels / (1 - levels)))


def _user(tasks: Tasks, answers: AskedAnswers) -> Ints:
    """Return the group of each answer's user: 0 is everybody, 1 who says no name."""
    return np.asarray(tasks.user.code.astype(np.int64)[answers.job] + 2)


def _learned(
    target: LearningTarget,
    tasks: Tasks,
    answers: AskedAnswers,
    rows: Rows,
    told: Quantiles,
    seed: int,
    each: Each,
    progress: Progress | None,
    since: int | None = None,
) -> LearnedQuantiles:
    """Return what is learned for answers from rows of features and what the other experts say;
    `since` : what was asked before then gets no forest."""
    rows = np.concatenate([rows, told[0][:, SAMPLED]], axis=1)
    past, asked = answers.learned, answers.turn
    spans = list(windows(answers.asked[asked], answers.known[past]))
    if since is not None:
        spans = [one for one in spans if answers.asked[asked[one[3] - 1]] >= since]

    def one(at: int) -> None:
        number, count, first, last = spans[at]
        known, here = past[max(count - LATEST, 0) : count], asked[first:last]
        assert answers.known[known].max() < answers.asked[here].min(), "a label of the future"
        forest = fitted(target, rows[known], answers.value[known], seed, number)
        told[FOREST, here] = forest.tell(rows[here])

    for done, _ in enumerate(each(one, range(len(spans))), 1):
        if progress is not None:
            progress(done, len(spans))
    user, count = _user(tasks, answers), len(tasks.user.words) + 2
    mixed, shares = np.empty_like(told[0]), np.zeros(len(rows), np.float32)
    losses = np.zeros((count, len(target.candidates.parts)))
    mixing = mixed_kernels.Mixing(
        told, np.array(LEVELS), answers.value, user, answers.asked, answers.known, asked, past,
        losses,
    )  # fmt: skip
    mixed_kernels.mix(mixing, target.candidates, mixed, shares)
    corrected = _corrected(target, tasks, answers, asked, mixed)
    return LearnedQuantiles(told, mixed, corrected, shares, len(spans))


def logs_of(seconds: Quantiles) -> Quantiles:
    """Return logarithms of 1 + s of quantiles at `LEVELS`, none below the one before it."""
    return np.asarray(np.maximum.accumulate(np.log1p(np.maximum(seconds, 0)), axis=1))


def fitted(
    target: LearningTarget, rows: Quantiles, values: Floats, seed: int, number: int
) -> QuantileForest:
    """Return the forest of this number, from rows of features and a target's values."""
    rng = stream(seed, "promises", target.name, str(number))
    return fit(rows, values, rng, levels=LEVELS, settings=TREES)


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


def new_shifts(
    target: LearningTarget, quantiles: Quantiles, submit: Ints, user: Ints, size: Ints, groups: int
) -> shifts_kernels.Shifts:
    """Return quantiles that nothing has moved yet; see `shifts_kernels.Shifts`."""
    levels, jobs = np.array(LEVELS), len(submit)
    return shifts_kernels.Shifts(
        quantiles, submit, user, size, np.zeros(jobs, np.int64), new_heap(jobs), levels,
        np.log(levels / (1 - levels)), np.zeros(len(levels)), np.zeros((groups, len(levels))),
        np.zeros((groups, len(levels))), target.least, target.pace,
    )  # fmt: skip


def _corrected(
    target: LearningTarget, tasks: Tasks, answers: AskedAnswers, asked: Ints, quantiles: Quantiles
) -> Quantiles:
    """Return quantiles moved by what became of earlier answers; `asked`: in order of time."""
    size = size_classes(tasks.size)
    sizes = int(size.max(initial=0)) + 1
    user = tasks.user.code.astype(np.int64) + sizes + 1  # below: who says no name
    groups = sizes + len(tasks.user.words) + 1
    shifts = new_shifts(
        target, quantiles, answers.asked, user[answers.job], size[answers.job], groups
    )
    corrected = np.empty_like(quantiles)
    order, value = answers.order, answers.value
    shifts_kernels.shift_all(shifts, asked, answers.known, order, value, corrected)
    return corrected
