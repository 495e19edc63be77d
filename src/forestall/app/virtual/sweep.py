"""The measures of virtual machines that sweeps and comparisons tell, in words."""

from __future__ import annotations

from typing import Final

from forestall.app.kit.measure import Measure
from forestall.app.virtual.words import HOURS, processor_hours
from forestall.show import words


def _hours(value: object) -> str:
    """Return processor-seconds in processor-hours, without the unit, which the name has."""
    return processor_hours(value).removesuffix(HOURS)


MEASURES: Final = (
    Measure("Jobs completed", "job_completion_rate", words.percent, max),
    Measure("Tasks completed", "task_completion_rate", words.percent, max),
    Measure("Utilization", "utilization", words.percent, max),
    Measure("Lost work, processor-hours", "lost_work", _hours, min),
    Measure("Stopped, processor-hours", "stopped_work", _hours, min),
    Measure("Jobs dropped waiting", "jobs_dropped", words.count, min),
    Measure("Wait, mean", "wait.mean", words.duration, min),
    Measure("Migrations", "migrations", words.count),
    Measure("Moves in vain", "moves_in_vain", words.count, min),
    Measure("Tasks saved by moves", "tasks_saved", words.count, max),
    Measure("Restarts", "restarts", words.count),
    Measure("Done on least reliable nodes", "least_reliable_share", words.percent),
    Measure("First submission to last end", "makespan", words.duration, min),
)

RATES_TELL: Final = frozenset({"prediction_accuracy", "strategy", "alpha", "seed"})
"""Parameters that the figure ``rates`` tells apart: where others vary, it would average over
them."""
