"""The contention study: measured here and now, or read from what `forestall calibrate` wrote."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

import forestall as fs
from forestall import contention

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

    points: tuple[contention.Point, ...]
    source: str = ""
    why: str = ""

    def curves(self, guest: Any) -> list[contention.ContentionCurve]:
        """Return what each group of the owner's processes loses to a guest."""
        return contention.curves(self.points, guest)

    def threshold(self, guest: Any) -> contention.Threshold:
        """Return the load from which on a guest takes more than the limit."""
        chance = fs.stream(1, "contention", "bootstrap", str(guest))
        return contention.threshold(self.curves(guest), LIMIT, chance)

    def figure(self) -> Figure:
        """Return the curves at both priorities."""
        both = self.threshold("normal"), self.threshold("lowest")
        return contention.contention_figure(
            self.curves("normal"), self.curves("lowest"), both, LIMIT
        )

    def table(self) -> pl.DataFrame:
        """Return the points, a row each."""
        table = {
            name: [getattr(one, name) for one in self.points] for name in contention.Point._fields
        }
        return pl.DataFrame(table).with_columns(pl.col(pl.Float64).round(6))


def left_out(why: str) -> Contention:
    """Return a study that was not made."""
    return Contention((), why=why)


def plan_here() -> contention.ExperimentPlan:
    """Return what is measured on this host: one process, and groups of one and four a core."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    groups = tuple(sorted({1, *(len(cpus) * k for k in (1, 4))}))
    return contention.ExperimentPlan(cpus, groups, LOADS, SECONDS, REPEATS, LIMIT)


def measured(progress: Callable[[int, int], None] | None = None) -> Contention:
    """Measure this host, some minutes; left out, and told so, where others use it."""
    try:
        plan = plan_here()
        contention.refuse_if_busy(contention.background(plan.cpus, BUSY_SECONDS), len(plan.cpus))
        points = contention.measure(plan, progress).points
    except (contention.ContentionError, AttributeError, OSError) as error:
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
        raise fs.errors.TraceError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise fs.errors.TraceError(path, "is no table of forestall calibrate") from None
    points = []
    for number, row in enumerate(rows, start=2):
        try:
            points.append(_point(row))
        except (KeyError, TypeError, ValueError):
            allowed = (
                f"expected the columns {', '.join(contention.Point._fields)} of forestall calibrate"
            )
            raise fs.errors.TraceError(path, f"line {number}: {allowed}") from None
    if not points:
        raise fs.errors.TraceError(path, "has no rows; expected points of forestall calibrate")
    return Contention(tuple(points), "as forestall calibrate measured them")


def _point(row: dict[str, str]) -> contention.Point:
    guest = row["guest"]
    if guest not in ("none", "normal", "lowest") and not guest.removeprefix("nice").isdigit():
        raise ValueError(guest)
    return contention.Point(
        int(row["repeat"]), int(row["group"]), float(row["asked"]), guest, float(row["began"]),
        float(row["seconds"]), float(row["owner"]), float(row["guest_cpu"]), int(row["cores"]),
        float(row["background"]),
    )  # fmt: skip
