"""In which order the scheduler starts jobs: learned from what started before what.

At each start of the past some jobs waited whose nodes were free; one of them was started. A
conditional logit (McFadden 1974) of features of jobs, users and partitions tells how likely each
was to be the one; jobs that wait are ordered by it. With the time since a job could start as the
only feature it is the order of submission, so that order is among those that it can learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.streams import stream

HALF_LIFE: Final = 86_400
"""Of what a user has used, s."""
MEMORY: Final = 10 * 86_400
"""Jobs that were submitted earlier count neither as waiting nor as used, s."""
STARTS: Final = 2000
"""The latest starts are learned from."""
FEWEST: Final = 100
"""With fewer choices among several jobs nothing is learned."""
OTHERS: Final = 31
"""Of the other jobs that could have started so many are looked at, drawn at random, which leaves
the estimates consistent (McFadden 1978)."""
PARTITIONS: Final = 6
PENALTY: Final = 1.0
STEPS: Final = 12


@dataclass(frozen=True)
class PastQueue:
    """Jobs in order of submission, int64[n] each; what lies after the time at which it is known is
    NEVER.

    Attributes
    ----------
    row : their rows in the records
    submit, ready, start, end : times, s; `ready` is when a job could first start
    size, limit : nodes, and seconds
    user, partition : codes
    pool : which nodes a job can have
    nodes : of each pool
    """

    row: Ints
    submit: Ints
    ready: Ints
    start: Ints
    end: Ints
    size: Ints
    limit: Ints
    user: Ints
    partition: Ints
    pool: Ints
    nodes: tuple[int, ...]

    def __post_init__(self) -> None:
        assert bool(np.all(np.diff(self.submit) >= 0)), "jobs are not in order of submit"

    def recent(self, now: int) -> Ints:
        """Return the rows that count at a time."""
        low = np.searchsorted(self.submit, now - MEMORY)
        return np.arange(low, np.searchsorted(self.submit, now, side="right"))

    def could_start(self, now: int) -> tuple[Ints, Bools]:
        """Return the rows that wait right before a second's starts and whose nodes are free, and
        which of them start in it."""
        rows = self.recent(now)
        runs = (self.start[rows] < now) & (self.end[rows] > now)
        used = np.bincount(self.pool[rows[runs]], self.size[rows[runs]], len(self.nodes))
        free = (np.array(self.nodes) - used)[self.pool[rows]]
        waits = (self.ready[rows] <= now) & (self.start[rows] >= now) & (self.end[rows] > now)
        begins = waits & (self.start[rows] == now)
        fits = waits & (begins | (self.size[rows] <= free))
        return rows[fits], begins[fits]

    def features(self, now: int, rows: Ints) -> Floats:
        """Return what is known of waiting jobs, float64[m, f]."""
        recent = self.recent(now)
        count = int(max(self.user.max(initial=0), 0)) + 2
        start, end = self.start[recent], np.minimum(self.end[recent], now)
        began = start < now
        used = self._used(recent[began], start[began], end[began], now, count)
        runs = recent[began & (self.end[recent] > now)]
        running = np.bincount(self.user[runs] + 1, self.size[runs], count)
        waits = recent[(self.ready[recent] <= now) & (start >= now) & (self.end[recent] > now)]
        queued = np.bincount(self.user[waits] + 1, minlength=count)
        who = self.user[rows] + 1
        since = np.maximum(now - self.ready[rows], 0)
        parts = [self.partition[rows] == part for part in range(PARTITIONS)]
        columns = (
            np.log1p(since / 60),
            np.sqrt(since / 3600),
            np.log(np.maximum(self.size[rows], 1)),
            np.log(np.maximum(self.limit[rows], 60) / 60),
            running[who] / max(sum(self.nodes), 1),
            np.log1p(used[who] / 3600),
            np.log1p(queued[who]),
            *parts,
        )
        return np.stack([np.asarray(one, np.float64) for one in columns], axis=1)

    def _used(self, rows: Ints, start: Ints, end: Ints, now: int, count: int) -> Floats:
        """Return the node-seconds that each user used, those of a half-life ago half."""
        rate = np.log(2) / HALF_LIFE
        part = (np.exp(rate * (end - now)) - np.exp(rate * (start - now))) / rate
        return np.asarray(np.bincount(self.user[rows] + 1, self.size[rows] * part, count), float)


@dataclass(frozen=True)
class StartOrder:
    """What makes a job start first: weights of standardized features, float64[f] each."""

    weight: Floats
    middle: Floats
    scale: Floats
    learned: int

    def rank(self, queue: PastQueue, now: int, rows: Ints) -> Ints:
        """Return the places of waiting jobs, the first to start first; ties by when ready."""
        score = self.score(queue.features(now, rows))
        return np.lexsort((queue.ready[rows], -score))

    def score(self, features: Floats) -> Floats:
        """Return how much speaks for each job."""
        return np.asarray(((features - self.middle) / self.scale) @ self.weight)


@dataclass(frozen=True)
class Choices:
    """Starts at which several jobs could have started: features float64[e, c, f], whether there is
    a job, and whether it started, bool[e, c]."""

    features: Floats
    there: Bools
    began: Bools
    time: Ints

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: slice) -> Choices:
        """Return some of them."""
        return Choices(self.features[index], self.there[index], self.began[index], self.time[index])

    def right(self, score: Floats) -> float:
        """Return the share in which the job of the highest score, float64[e, c], started."""
        best = np.argmax(np.where(self.there, score, -np.inf), axis=1)
        return float(np.mean(self.began[np.arange(len(self)), best]))


def choices(queue: PastQueue, until: int, seed: int) -> Choices:
    """Return the latest starts before a time at which more than those that started could have."""
    generator = stream(seed, "futures", "order")
    begun = np.unique(queue.start[(queue.start < until) & (queue.end > queue.start)])
    found: list[tuple[int, Ints, Bools]] = []
    for now in begun[::-1].tolist():
        rows, begins = queue.could_start(now)
        if len(found) == STARTS:
            break
        if bool(begins.all()) or not bool(begins.any()):
            continue
        others = np.flatnonzero(~begins)
        if len(others) > OTHERS:
            others = generator.choice(others, OTHERS, replace=False)
        keep = np.concatenate([np.flatnonzero(begins)[:OTHERS], others])
        found.append((now, rows[keep], begins[keep]))
    found.reverse()
    most = max((len(rows) for _, rows, _ in found), default=1)
    width = queue.features(until, queue.recent(until)[:0]).shape[1]
    features = np.zeros((len(found), most, width))
    there, began = np.zeros((2, len(found), most), np.bool_)
    for k, (now, rows, begins) in enumerate(found):
        features[k, : len(rows)] = queue.features(now, rows)
        there[k, : len(rows)], began[k, : len(rows)] = True, begins
    return Choices(features, there, began, np.array([one[0] for one in found], np.int64))


def fitted(past: Choices) -> StartOrder | None:
    """Return the order that choices tell, by Newton's method with a ridge; None for too few.

    Where several jobs start in one second each is an equal part of the choice.
    """
    if len(past) < FEWEST:
        return None
    seen = past.features[past.there]
    middle, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-9)
    x = np.where(past.there[:, :, None], (past.features - middle) / scale, 0.0)
    share = past.began / past.began.sum(axis=1, keepdims=True)
    weight = np.zeros(x.shape[2])
    for _ in range(STEPS):
        score = np.where(past.there, x @ weight, -np.inf)
        likely = np.exp(score - score.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        mean = np.einsum("ec,ecf->ef", likely, x)
        slope = np.einsum("ec,ecf->f", share - likely, x) - PENALTY * weight
        spread = np.einsum("ec,ecf,ecg->fg", likely, x, x) - mean.T @ mean
        step = np.linalg.solve(spread + PENALTY * np.eye(len(weight)), slope)
        weight = weight + step / max(1.0, float(np.abs(step).max()) / 2)
    return StartOrder(weight, middle, scale, len(past))
