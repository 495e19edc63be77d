"""The measures of promise runs by which sweeps and comparisons tell them apart."""

from __future__ import annotations

from forestall.app.kit.measure import Measure
from forestall.show import words as say_

MEASURES = (
    Measure("Quality of service (QoS)", "qos", say_.ratio, max),
    Measure("Promises kept", "promises_kept", say_.percent, max),
    Measure("Brier score of promises", "brier", lambda value: say_.ratio(value, 4), min),
    Measure("Utilization", "utilization", say_.percent, max),
    Measure("Lost work", "lost_work", say_.node_hours, min),
    Measure("Wait, mean", "wait.mean", say_.duration, min),
    Measure("Wait, median", "wait.median", say_.duration, min),
    Measure("Wait, 95th percentile", "wait.p95", say_.duration, min),
    Measure("Response, mean", "response.mean", say_.duration, min),
    Measure("Bounded slowdown, mean", "bounded_slowdown.mean", lambda v: say_.ratio(v, 2), min),
    Measure("Restarts", "restarts", say_.count, min),
    Measure("Checkpoints performed", "checkpoints", say_.count),
    Measure("Checkpoints skipped", "skipped_checkpoints", say_.count),
    Measure("First submission to last finish", "makespan", say_.duration, min),
    Measure("Jobs", "jobs_count", say_.count),
)
