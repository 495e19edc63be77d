"""A job with checkpoints as segments of work, and how far an attempt gets before it fails.

An attempt starts with a restart (the first one does not), then works segment after segment, each
ended by a checkpoint. It fails at a time X. Of the segments that it completed nothing is lost; the
rest of X, its restart among it, and the downtime are. With `s` the length of a segment with its
checkpoint, an attempt that completes `j` of them loses V = X - s j + downtime. The restart of the
attempt that finishes is put to the loss of the first attempt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.systems.ageing import SystemLifetime


@dataclass(frozen=True)
class CheckpointPlan:
    """A job and its checkpoints; all times in one unit.

    Parameters
    ----------
    work : how long the job runs where nothing fails and nothing is saved, > 0
    interval : work between checkpoints; at or above `work` there are none
    cost : time of a checkpoint, during which no work is done
    restart : time to read the last checkpoint back, before every attempt but the first; the system
        can fail meanwhile
    downtime : from a failure to the next attempt; nothing fails and nothing ages meanwhile. A
        `Lifetime` stands for repair times by chance, independent of all else
    last_checkpoint : whether the end of the work is saved too
    """

    work: float
    interval: float
    cost: float = 0.0
    restart: float = 0.0
    downtime: float | Lifetime = 0.0
    last_checkpoint: bool = False

    def __post_init__(self) -> None:
        for name in ("work", "interval", "cost", "restart", "downtime"):
            value = getattr(self, name)
            if isinstance(value, Lifetime):
                if not (math.isfinite(value.mean()) and math.isfinite(value.variance())):
                    raise ParameterError(name, str(value), "a law with finite mean and variance")
                continue
            least = name in ("work", "interval")
            if not (value > 0 if least else value >= 0) or not math.isfinite(value):
                if name == "interval" and value == math.inf:
                    continue
                allowed = "a finite time above 0" if least else "a finite time of at least 0"
                raise ParameterError(name, value, allowed)
        if self.work / self.interval > 1e9:
            raise ParameterError("interval", self.interval, "at most 1e9 checkpoints a job")

    @property
    def segments(self) -> int:
        """How many segments the work has."""
        return max(1, math.ceil(self.work / self.interval * (1 - 1e-12)))

    @property
    def period(self) -> float:
        """A segment with its checkpoint; of a job with one segment, that one."""
        return self.interval + self.cost if self.segments > 1 else self.last

    @property
    def last(self) -> float:
        """The last segment, with a checkpoint only where that is asked for."""
        done = (self.segments - 1) * self.interval if self.segments > 1 else 0.0
        return self.work - done + (self.cost if self.last_checkpoint else 0.0)

    @property
    def unhindered(self) -> float:
        """The job's time where nothing fails."""
        return (self.segments - 1) * self.period + self.last

    @property
    def pause(self) -> float:
        """What every failure costs at least, repair by chance apart: downtime and restart."""
        return self.restart + (0.0 if isinstance(self.downtime, Lifetime) else self.downtime)

    @property
    def repair(self) -> Lifetime | None:
        """The law of the downtime, where it is by chance."""
        return self.downtime if isinstance(self.downtime, Lifetime) else None

    @property
    def mean_downtime(self) -> float:
        """The mean downtime."""
        repair = self.repair
        return self.downtime if repair is None else repair.mean()  # type: ignore[return-value]

    def left(self, remaining: npt.ArrayLike) -> Floats:
        """Return the time from a checkpoint to the end with `remaining` >= 1 segments to go."""
        return (np.asarray(remaining, dtype=np.float64) - 1) * self.period + self.last


class Moments(NamedTuple):
    """By the number of segments that an attempt completes: float64[...] each."""

    chance: Floats
    mean: Floats
    square: Floats


class Attempt:
    """Attempts whose system follows `law` from their start: the first one (`lead` is 0), or one
    with a restart of that length.

    Rows stand for the number j of completed segments: an attempt that fails in [start_j, end_j).
    """

    def __init__(self, plan: CheckpointPlan, law: SystemLifetime, lead: float) -> None:
        self.plan, self.law, self.lead = plan, law, lead
        index = np.arange(plan.segments, dtype=np.float64)
        self.ready = lead + plan.period * index
        self.start = self.ready.copy()
        self.start[0] = 0.0
        self.offset = np.full(plan.segments, plan.pause)
        if lead > 0:
            self.offset[0] -= lead

    @cached_property
    def _begun(self) -> tuple[Floats, Floats]:
        return self.law.integral.both_up_to(self.start)

    def ends(self, *, last: bool) -> Floats:
        """Return where the windows end, whose last segment is the job's last one or not."""
        return self.ready + (self.plan.last if last else self.plan.period)

    def through(self, remaining: npt.ArrayLike) -> Floats:
        """Return the probability that an attempt finishes the job, by the segments to go."""
        return self.law.sf(self.lead + self.plan.left(remaining))

    def moments(self, *, last: bool) -> Moments:
        """Return the chance to fail in each window, and of V the mean and square times chance."""
        start, end, law = self.start, self.ends(last=last), self.law
        width = end - start
        before, after = self._begun, law.integral.both_up_to(end)
        area = np.maximum(after[0] - before[0], 0.0)
        tail = law.sf(end)
        chance = np.maximum(law.sf(start) - tail, 0.0)
        first = np.maximum(area - width * tail, 0.0)
        whole = after[1] - before[1]
        second = np.maximum(2 * (whole - start * area) - width**2 * tail, 0.0)
        mean = first + self.offset * chance
        square = second + 2 * self.offset * first + self.offset**2 * chance
        repair = self.plan.repair
        if repair is not None:
            more, spread = repair.mean(), repair.variance()
            square = square + 2 * mean * more + chance * (spread + more**2)
            mean = mean + chance * more
        return Moments(chance, mean, square)


class Waste(NamedTuple):
    """Mean and variance of all the time that failures cost a job."""

    mean: float
    variance: float


def waste(plan: CheckpointPlan, first: SystemLifetime, later: SystemLifetime) -> Waste:
    """Return mean and variance of what failures add to the time of a job, exact.

    `first` is the law of the time to failure at the start of the job, `later` that from each
    failure on, alike and independent of each other. Infinite where no attempt can get on.

    A renewal equation over the segments to go, solved as a power series.
    """
    n = plan.segments
    begin, again = Attempt(plan, first, 0.0), Attempt(plan, later, plan.restart)
    like = plan.last == plan.period  # then so are the windows
    at_last = again.moments(last=True)
    finish, advance = again.through(1), later.sf(plan.restart + plan.period)
    if not (finish > 0 and (advance > 0 or n == 1)):
        return Waste(math.inf, math.inf) if float(begin.through(n)) < 1 else Waste(0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, square = np.zeros(n + 1), np.zeros(n + 1)
        mean[1] = at_last.mean[0] / finish
        square[1] = (at_last.square[0] + 2 * at_last.mean[0] * mean[1]) / finish
        if n > 1:
            full = at_last if like else again.moments(last=False)
            sums = np.cumsum(full.mean[: n - 1]), np.cumsum(full.square[: n - 1])
            inverse = reciprocal(-full.chance[1 : n - 1] / advance)
            known = sums[0] + at_last.mean[1:] + at_last.chance[1:] * mean[1]
            mean[2:] = convolved(inverse, known / advance)
            known = sums[1] + at_last.square[1:] + at_last.chance[1:] * square[1]
            known += 2 * (at_last.mean[1:] * mean[1] + convolved(full.mean[: n - 1], mean[2:]))
            square[2:] = convolved(inverse, known / advance)
        short = begin.moments(last=True)
        full = short if like else begin.moments(last=False)
        back, back2 = mean[:1:-1], square[:1:-1]  # with n, n-1, ..., 2 segments to go
        chance, cost, cost2 = (part[: n - 1] for part in full)
        total = cost.sum() + short.mean[-1] + chance @ back + short.chance[-1] * mean[1]
        both = cost2.sum() + short.square[-1] + chance @ back2 + short.chance[-1] * square[1]
        both += 2 * (cost @ back + short.mean[-1] * mean[1])
        variance = max(0.0, float(both - total**2)) if math.isfinite(total) else math.inf
    return Waste(float(total), variance)


def convolved(a: Floats, b: Floats) -> Floats:
    """Return the first len(b) terms of the product of two power series."""
    n = len(b)
    if n <= 256:
        return np.convolve(a, b)[:n]
    size = 1 << (2 * n - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:n])


def reciprocal(rest: Floats) -> Floats:
    """Return the power series of 1 / (1 + rest_0 z + rest_1 z^2 + ...), len(rest) + 1 terms."""
    series = np.concatenate([[1.0], rest])
    found = np.ones(1)
    while len(found) < len(series):
        size = min(2 * len(found), len(series))
        wider = np.zeros(size)
        wider[: len(found)] = found
        error = -convolved(series[:size], wider)
        error[0] += 2.0
        found = convolved(wider, error)
    return found
