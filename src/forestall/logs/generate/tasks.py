"""A year of jobs of many tasks, with the statistics of the paper's cluster, at a wanted load.

S. Fu and C.-Z. Xu, "Proactive resource management for failure resilient high performance computing
clusters", ARES 2009, tell of LANL's system 20: 112,454 jobs of 1 to 256 tasks in a year; a mean run
time of 8.28 h; 90 % of the finished jobs within 9 h, less than 1 % longer than a week. One
lognormal law can meet all three (a median of 22 min, a deviation of 2.5 of the logarithm), but the
longest job of a year would then last for years. So run times are a mixture of two: many short jobs,
and some that last for days, the longest for weeks. The log itself was published: LA-UR-06-0803,
`lanl_usage`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import Jobs
from forestall.core.streams import stream
from forestall.logs.generate.estimates import LIMIT, TAIL_STEP, requested_times
from forestall.logs.generate.jobs import BYTES
from forestall.logs.generate.lublin import DAY, MODELS, clock, gaps

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

HOUR: Final = 3600
JOBS: Final = 112_454
DAYS: Final = 365
LARGEST: Final = 256
CAPACITY: Final = 4 * 256
"""Processors of the 256 active nodes."""


@dataclass(frozen=True)
class Mixture:
    """Two lognormal laws of run times: medians in hours, deviations of the logarithm, and the share
    of jobs of the second, longer one.

    The defaults give a mean of 8.28 h, 90 % within 9 h, 0.86 % above a week and 4.6 % above 48 h.
    """

    median: float = 1.0
    spread: float = 1.2
    long_median: float = 66.824
    long_spread: float = 0.8
    long_share: float = 0.069195

    def draw(self, count: int, rng: np.random.Generator) -> Int:
        """Return run times in whole seconds of at least 1, int64[count]."""
        long = rng.random(count) < self.long_share
        z = rng.standard_normal(count)
        middle = np.where(long, math.log(self.long_median), math.log(self.median))
        hours = np.exp(middle + np.where(long, self.long_spread, self.spread) * z)
        out: Int = np.maximum(1, np.rint(hours * HOUR)).astype(np.int64)
        return out


RUN_TIMES: Final = Mixture()


def generate_task_jobs(
    seed: int,
    *,
    count: int = JOBS,
    days: float = DAYS,
    load: float = 0.7,
    largest: int = LARGEST,
    capacity: int = CAPACITY,
    long_limit: float | None = 28.0,
) -> Jobs:
    """Return jobs whose `size` is their number of tasks.

    Parameters
    ----------
    seed : sizes, run times, gaps and requests each have a stream of their own from it, the same at
        any load
    count, days : how many jobs, and in how many days they are submitted
    load : sum of tasks times run time, over `capacity` times the days. It is met exactly, but for
        rounding, by bending the law of the sizes: log2(size) / log2(largest) is raised to a power.
        With run times as the paper has them, the sizes of the Lublin-Feitelson model as published
        (22 tasks on average) would make a load of 2.3 on 1,024 processors
    largest : most tasks of a job
    capacity : processors of the machine, one for each task
    long_limit : jobs beyond the 48 h that the generator of requests is made for ask for the next
        whole multiple of 5 min above the run time over an even draw from (0, 1], at most so many
        days where that is enough; None leaves them the generator's own requests, which exceed such
        run times by less than 5 min

    Sizes do not depend on run times: the paper tells nothing about that. Arrivals have the daily
    cycle of the Lublin-Feitelson model. Time 0 is the midnight before the first job. Raises
    ParameterError.
    """
    _check(count, days, load, largest, capacity, long_limit)
    runtime = RUN_TIMES.draw(count, stream(seed, "tasks", "runtimes"))
    size = _sizes(largest, seed, runtime, load * capacity * days * DAY)
    points = np.cumsum(gaps(MODELS["all"], count + 1, stream(seed, "tasks", "gaps")))
    points *= days * DAY / points[-1]
    submit = np.floor(clock(MODELS["all"], points[:-1])).astype(np.int64)
    estimate = requested_times(runtime, stream(seed, "tasks", "requests"))
    if long_limit is not None:
        used = stream(seed, "tasks", "long requests").random(count)
        estimate = np.where(runtime > LIMIT, _long(runtime, used, long_limit * DAY), estimate)
    return Jobs(
        np.arange(1, count + 1, dtype=np.int64),
        submit,
        size,
        runtime,
        estimate,
        source=f"jobs of many tasks, seed {seed}",
    )


def _check(
    count: int, days: float, load: float, largest: int, capacity: int, long_limit: float | None
) -> None:
    if not 1 <= count <= 100_000_000:
        raise ParameterError("count", count, "from 1 to 100,000,000 jobs")
    budget.require(BYTES * count, f"{count:,} jobs ({{count}})", count=count, of="jobs")
    if not 0 < days < 2**36 / DAY:
        raise ParameterError("days", days, "a finite number above 0")
    if not (load > 0 and math.isfinite(load)):
        raise ParameterError("load", load, "a finite number above 0, such as 0.7")
    if largest < 1:
        raise ParameterError("largest", largest, "at least 1")
    if capacity < 1:
        raise ParameterError("capacity", capacity, "at least 1")
    if long_limit is not None and not 2 <= long_limit < 2**36 / DAY:
        raise ParameterError("long-limit", long_limit, "at least 2 days")


def _long(runtime: Int, used: Real, limit: float) -> Int:
    """Return requests whose used part is even, as far as the limit allows."""
    aim = np.minimum(runtime / (1 - used), np.maximum(runtime, limit))
    out: Int = np.ceil(aim / TAIL_STEP).astype(np.int64) * TAIL_STEP
    return out


def _sizes(largest: int, seed: int, runtime: Int, work: float) -> Int:
    """Return sizes int64[n] of 1 to `largest` whose sum with the run times is nearest to `work`.

    The two-stage uniform law of log2(size) of Lublin and Feitelson, bent towards small sizes (or
    large ones) by a power that is found by halving.
    """
    law, count = MODELS["all"], len(runtime)
    high = max(math.log2(largest), 0.0)
    medium = max(high - law.below, 0.0)
    low = min(law.low, medium)
    kind, stage, place = stream(seed, "tasks", "sizes").random((3, count))
    first = stage <= law.first
    power = np.where(first, low + (medium - low) * place, medium + (high - medium) * place)
    serial, pow2 = kind <= law.serial, kind <= law.serial + law.pow2
    seconds = runtime.astype(np.float64)

    def bent(bend: float) -> Int:
        drawn = high * (power / max(high, 1e-9)) ** bend
        drawn = np.where(pow2, np.rint(drawn), drawn)
        size = np.clip(np.rint(np.exp2(drawn)).astype(np.int64), 1, largest)
        found: Int = np.where(serial, 1, size)
        return found

    flat, steep = math.log(1 / 16), math.log(16)
    for _ in range(40):
        middle = (flat + steep) / 2
        if float(np.dot(bent(math.exp(middle)), seconds)) > work:
            flat = middle
        else:
            steep = middle
    return bent(math.exp(steep))
