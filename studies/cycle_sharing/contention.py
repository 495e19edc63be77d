"""The contention study: measured here and now, or read from what `forestall calibrate` wrote."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.live.contention.curves import ContentionCurve, Threshold, curves, threshold
from forestall.live.contention.herd import ContentionError
from forestall.live.contention.plan import ExperimentPlan
from forestall.live.contention.points import Point
from forestall.model.errors import TraceError
from forestall.traces.streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS: Final = "points.csv"
LIMIT: Final = 0.05
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SECONDS, REPEATS = 0.6, 3
BUSY_SECONDS: Final = 1.0
PAPER: Final = {"normal": 0.20, "lowest": 0.60}
"""Thresholds that the slides' model takes."""


@dataclass(frozen=True)
class Contention:
    """What came of it.

    Attributes
    ----------
    points : as measured; none where it was left out
    source : where they come from, in words
    why : why it was left out; empty where it was not
    """

    points: tuple[Point, ...]
    source: str = ""
    why: str = ""

    def curves(self, guest: Any) -> list[ContentionCurve]:
        """Return what each group of the owner's processes loses to a guest."""
        return curves(self.points, guest)

    def threshold(self, guest: Any) -> Threshold:
        """Return the load from which on a guest takes more than the limit."""
        chance = stream(1, "contention", "bootstrap", str(guest))
        return threshold(self.curves(guest), LIMIT, chance)

    def figure(self) -> Figure:
        """Return the curves at both priorities."""
        from forestall.live.contention.figure import contention_figure

        both = self.threshold("normal"), self.threshold("lowest")
        return contention_figure(self.curves("normal"), self.curves("lowest"), both, LIMIT)

    def text(self) -> str:
        """Return the points as CSV."""
        import polars as pl

        table = {name: [getattr(one, name) for one in self.points] for name in Point._fields}
        return pl.DataFrame(table).with_columns(pl.col(pl.Float64).round(6)).write_csv()


def left_out(why: str) -> Contention:
    """Return a study that was not made."""
    return Contention((), why=why)


def plan_here() -> ExperimentPlan:
    """Return what is measured on this host: one process, and groups of one and four a core."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    groups = tuple(sorted({1, *(len(cpus) * k for k in (1, 4))}))
    return ExperimentPlan(cpus, groups, LOADS, SECONDS, REPEATS, LIMIT)


def measured(progress: Callable[[int, int], None] | None = None) -> Contention:
    """Measure this host, some minutes; left out, and told so, where others use it."""
    from forestall.live.contention.measure import background, measure, refuse_if_busy

    try:
        plan = plan_here()
        refuse_if_busy(background(plan.cpus, BUSY_SECONDS), len(plan.cpus))
        points = measure(plan, progress).points
    except (ContentionError, AttributeError, OSError) as error:
        return left_out(str(error) or type(error).__name__)
    cores = f"{len(plan.cpus)} core{'s' if len(plan.cpus) > 1 else ''}"
    return Contention(points, f"measured on the host that ran this, {cores}")


def read(folder: Path) -> Contention:
    """Return the points of a folder that `forestall calibrate` wrote. Raises TraceError."""
    path = folder / POINTS if folder.is_dir() else folder
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TraceError(path, "is no table of forestall calibrate") from None
    points = []
    for number, row in enumerate(rows, start=2):
        try:
            points.append(_point(row))
        except (KeyError, TypeError, ValueError):
            allowed = f"expected the columns {', '.join(Point._fields)} of forestall calibrate"
            raise TraceError(path, f"line {number}: {allowed}") from None
    if not points:
        raise TraceError(path, "has no rows; expected points of forestall calibrate")
    return Contention(tuple(points), "as forestall calibrate measured them")


def _point(row: dict[str, str]) -> Point:
    guest = row["guest"]
    if guest not in ("none", "normal", "lowest"):
        raise ValueError(guest)
    return Point(
        int(row["repeat"]), int(row["group"]), float(row["asked"]), guest, float(row["began"]),  # type: ignore[arg-type]
        float(row["seconds"]), float(row["owner"]), float(row["guest_cpu"]), int(row["cores"]),
        float(row["background"]),
    )  # fmt: skip
