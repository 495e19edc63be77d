"""Job logs from the Lublin-Feitelson model, at a wanted load, with requested times."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import Jobs
from forestall.core.streams import stream
from forestall.logs.generate.estimates import requested_times
from forestall.logs.generate.lublin import (
    CHUNK,
    DAY,
    MODELS,
    Constants,
    clock,
    gaps,
    runtimes,
    sizes,
)

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

MOST_JOBS = 100_000_000
BYTES = 440
"""That a job takes while it is made up and written."""


def generate_jobs(
    nodes: int,
    seed: int,
    *,
    count: int | None = None,
    days: float | None = None,
    load: float | None = None,
    model: str = "all",
) -> Jobs:
    """Return generated jobs for a machine of `nodes`.

    Parameters
    ----------
    nodes : size of the machine
    seed : sizes, run times, gaps and requests each have a stream of their own from it
    count, days : how many jobs, or from how many days; exactly one of them
    load : offered load, sum of size times run time over nodes times the span of submits.
        The gaps are scaled to it, not the run times; None leaves the gaps as the model has them
    model : which of `MODELS`: all, batch or interactive jobs

    Time 0 is the midnight before the first job. Raises ParameterError.
    """
    constants = _checked(nodes, count, days, load, model)
    if count is None:
        assert days is not None
        count = _count_of_days(constants, nodes, seed, days, load)
    size, runtime = _work(constants, nodes, seed, count)
    points = np.cumsum(gaps(constants, count, stream(seed, "jobs", "gaps")))
    if load is not None:
        work = float(np.dot(size.astype(np.float64), runtime.astype(np.float64)))
        points *= stretch(constants, points, work / (nodes * load))
    return Jobs(
        np.arange(1, count + 1, dtype=np.int64),
        np.floor(clock(constants, points)).astype(np.int64),
        size,
        runtime,
        requested_times(runtime, stream(seed, "jobs", "requests")),
        source=f"Lublin-Feitelson model, {model} jobs, seed {seed}",
        nodes=nodes,
    )


def _checked(
    nodes: int, count: int | None, days: float | None, load: float | None, model: str
) -> Constants:
    if nodes < 1:
        raise ParameterError("nodes", nodes, "at least 1")
    if (count is None) == (days is None):
        raise ParameterError("count", count, "either a number of jobs or a number of days")
    if count is not None and not 1 <= count <= MOST_JOBS:
        raise ParameterError("count", count, f"from 1 to {MOST_JOBS:,} jobs")
    if count is not None:
        budget.require(BYTES * count, f"{count:,} jobs ({{count}})", count=count, of="jobs")
    if days is not None and not 0 < days < 2**36 / DAY:
        raise ParameterError("days", days, "a finite number above 0")
    if load is not None and not (load > 0 and math.isfinite(load)):
        raise ParameterError("load", load, "a finite number above 0, such as 0.8")
    if model not in MODELS:
        raise ParameterError("model", model, f"one of {', '.join(MODELS)}")
    return MODELS[model]


def _work(constants: Constants, nodes: int, seed: int, count: int) -> tuple[Int, Int]:
    size = sizes(constants, nodes, count, stream(seed, "jobs", "sizes"))
    return size, runtimes(constants, size, stream(seed, "jobs", "runtimes"))


def _count_of_days(
    constants: Constants, nodes: int, seed: int, days: float, load: float | None
) -> int:
    """Return how many jobs arrive in the days; with a load, how many make it up."""
    tried = CHUNK
    while tried <= MOST_JOBS:
        budget.require(BYTES / 2 * tried, f"the jobs of {days:g} days ({{days}})")
        if load is None:
            passed = np.cumsum(gaps(constants, tried, stream(seed, "jobs", "gaps")))
            reached = clock(constants, passed) / DAY
        else:
            size, runtime = _work(constants, nodes, seed, tried)
            reached = np.cumsum(size * runtime.astype(np.float64)) / (nodes * load * DAY)
        if reached[-1] > days:
            return max(1, int(np.searchsorted(reached, days)))
        tried *= 2
    raise ParameterError("days", days, f"fewer: these make more than {MOST_JOBS:,} jobs")


def stretch(constants: Constants, points: Real, span: float) -> float:
    """Return by what to multiply the gaps so that the submits span so many seconds.

    With one job there is no span, and nothing to stretch.
    """
    if len(points) < 2 or points[-1] <= points[0]:
        return 1.0
    ends = np.array([points[0], points[-1]])
    low, high = 0.0, 2 * (span + 2 * DAY) / (points[-1] - points[0])
    for _ in range(100):  # the span grows with the factor; halving is sure and quick enough
        middle = (low + high) / 2
        first, last = clock(constants, ends * middle)
        if last - first + 1 < span:
            low = middle
        else:
            high = middle
    return float(high)
