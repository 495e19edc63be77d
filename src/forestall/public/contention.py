"""`fs.contention`: what a guest takes from the owner of a host, measured here."""

from forestall.live.contention.curves import ContentionCurve, Threshold, curves, threshold
from forestall.live.contention.figure import contention_figure
from forestall.live.contention.herd import ContentionError
from forestall.live.contention.measure import background, measure, refuse_if_busy
from forestall.live.contention.plan import ExperimentPlan, Guest
from forestall.live.contention.points import Point

__all__ = [
    "ContentionCurve",
    "ContentionError",
    "ExperimentPlan",
    "Guest",
    "Point",
    "Threshold",
    "background",
    "contention_figure",
    "curves",
    "measure",
    "refuse_if_busy",
    "threshold",
]
