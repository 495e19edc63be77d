"""`fs.contention`: what a guest takes from the owner of a host, measured here."""

from forestall.sharing.contention.cgroup import core_group
from forestall.sharing.contention.curves import ContentionCurve, Threshold, curves, threshold
from forestall.sharing.contention.figure import contention_figure
from forestall.sharing.contention.herd import SPIN, ContentionError, Herd, Load
from forestall.sharing.contention.measure import background, idle_time, measure, refuse_if_busy
from forestall.sharing.contention.memory import measure_memory
from forestall.sharing.contention.plan import ExperimentPlan, Guest
from forestall.sharing.contention.points import Point

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
