"""`fs.contention`: what a guest takes from the owner of a host, measured here."""

from forestall.live.contention.cgroup import core_group
from forestall.live.contention.curves import ContentionCurve, Threshold, curves, threshold
from forestall.live.contention.figure import contention_figure
from forestall.live.contention.herd import SPIN, ContentionError, Herd, Load
from forestall.live.contention.measure import background, idle_time, measure, refuse_if_busy
from forestall.live.contention.memory import measure_memory
from forestall.live.contention.plan import ExperimentPlan, Guest
from forestall.live.contention.points import Point

__all__ = [
    "SPIN",
    "ContentionCurve",
    "ContentionError",
    "ExperimentPlan",
    "Guest",
    "Herd",
    "Load",
    "Point",
    "Threshold",
    "background",
    "contention_figure",
    "core_group",
    "curves",
    "idle_time",
    "measure",
    "measure_memory",
    "refuse_if_busy",
    "threshold",
]
