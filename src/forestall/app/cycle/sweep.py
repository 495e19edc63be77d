"""The measures of cycle sharing that sweeps and comparisons tell, in words."""

from __future__ import annotations

from typing import Final

from forestall.app.cycle.words import HOURS, host_hours
from forestall.app.kit.measure import Measure
from forestall.show import words


def _hours(value: object) -> str:
    """Return work in host-hours, without the unit, which the name has."""
    return host_hours(value).removesuffix(HOURS)


MEASURES: Final = (
    Measure("Makespan, mean", "makespan", words.duration, min),
    Measure("Makespan, median", "makespan_median", words.duration, min),
    Measure("Makespan, 95th percentile", "makespan_p95", words.duration, min),
    Measure("Stretch", "stretch", words.ratio, min),
    Measure("Wait for the first start, mean", "wait", words.duration, min),
    Measure("Failures per job", "failures_per_job", words.ratio, min),
    Measure("Jobs that lost a host", "jobs_failed_share", words.percent, min),
    Measure("Jobs unscheduled", "unscheduled_share", words.percent, min),
    Measure("Jobs unfinished", "unfinished_share", words.percent, min),
    Measure("Lost work, host-hours", "lost_work", _hours, min),
    Measure("Harvested", "harvested", words.percent, max),
    Measure("Checkpoints", "checkpoints", words.count),
    Measure("Jobs simulated", "jobs_simulated", words.count),
)
