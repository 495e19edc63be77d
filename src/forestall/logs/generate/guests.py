"""Guest jobs for shared hosts, and how fast such hosts are.

The workload of Bagchi et al., the FALCON slides: jobs of seven lengths from 0.5 to 6 h, submitted
between 6:00 and 22:00. A job is one guest on one host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.core.model.units import MAX_SECONDS
from forestall.core.streams import stream

DAY: Final = 86_400
LENGTHS: Final = (1800, 3600, 7200, 10_800, 14_400, 18_000, 21_600)
"""Seven run times from 0.5 to 6 h, s."""
HOURS: Final = (6.0, 22.0)
"""Hours of the day between which jobs are submitted."""
MOST_JOBS: Final = 10_000_000
BYTES: Final = 130
"""That a job takes while it is made up and written."""
SPEEDS: Final = (0.7, 1.3)
"""Between which clock rate ratios of hosts are drawn."""


def generate_guests(
    count: int,
    seed: int,
    *,
    days: int = 28,
    lengths: Sequence[int] = LENGTHS,
    hours: tuple[float, float] = HOURS,
) -> Jobs:
    """Return guest jobs of one processor each, in submit order; time 0 is a Monday's midnight.

    Parameters
    ----------
    count : how many
    seed : submit times and lengths each have a stream of their own from it
    days : over how many days they are submitted, weekends among them
    lengths : run times, s; each is had by as many jobs as the others, give or take one
    hours : the hours of the day between which jobs are submitted, evenly

    Raises ParameterError.
    """
    if isinstance(count, bool) or not 1 <= count <= MOST_JOBS:
        raise ParameterError("count", count, f"from 1 to {MOST_JOBS:,} jobs")
    budget.require(BYTES * count, f"{count:,} jobs ({{count}})", count=count, of="jobs")
    if isinstance(days, bool) or not 1 <= days <= 100_000:
        raise ParameterError("days", days, "a whole number of days, at least 1")
    if not lengths or any(not 1 <= length < MAX_SECONDS for length in lengths):
        raise ParameterError("lengths", list(lengths), "durations of at least 1 s")
    first, last = (round(3600 * hour) if 0 <= hour <= 24 else -1 for hour in hours)
    if not 0 <= first < last:
        raise ParameterError("hours", f"{hours[0]:g}:{hours[1]:g}", "FROM:TO within 0:24")
    drawn = stream(seed, "guests", "submit")
    day, second = drawn.integers(0, days, count), drawn.integers(first, last, count)
    whole = np.resize(np.array(lengths, dtype=np.int64), count)
    return Jobs(
        np.arange(1, count + 1, dtype=np.int64),
        np.sort(day * DAY + second),
        np.ones(count, dtype=np.int64),
        whole[stream(seed, "guests", "lengths").permutation(count)],
        np.full(count, UNKNOWN),
        source=f"generated, guests, seed {seed}",
    )


def draw_speeds(count: int, seed: int) -> npt.NDArray[np.float64]:
    """Return float64[count], speeds of generated hosts, evenly from 0.70 to 1.30; host k's is the
    same in any number of hosts."""
    drawn = stream(seed, "hosts", "speeds").uniform(*SPEEDS, count)
    return np.round(drawn, 2)
