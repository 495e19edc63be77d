"""The files of a calibration: a folder with all of it, and the thresholds for agent and guests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.app.hosts.calibrate.page import write_calibration_page
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.live.contention.herd import ContentionError
from forestall.model.errors import TraceError
from forestall.show.html_pieces import Html, picture
from forestall.show.style import has_matplotlib

if TYPE_CHECKING:
    import polars as pl

    from forestall.app.hosts.calibrate.calibrate import HostCalibration

CALIBRATION: Final = "calibration.json"
FILES: Final = (
    "points.csv",
    "memory.csv",
    "contention.png",
    "memory.png",
    "report.html",
    SUMMARY,
)
"""Files of a calibration, the one that says that all others are there last."""


def check_calibration_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=lambda one: holds(one, ("calibration", "th1", "th2")))
    _try_to_write(folder)


def check_agent_folder(folder: Path) -> None:
    """Raise TraceError where the thresholds could not be written into an agent's folder."""
    path = folder / CALIBRATION
    try:
        if folder.exists() and not folder.is_dir():
            raise TraceError(folder, "is a file; expected a folder for the agent")
        if path.is_dir():
            raise TraceError(path, "is a folder; expected the file of thresholds, or none")
    except OSError as error:
        raise TraceError(folder, f"cannot be an agent's folder: {error.strerror}") from None
    _try_to_write(folder)


def _try_to_write(folder: Path) -> None:
    """Raise TraceError where nothing can be written into a folder, or the nearest that is there."""
    above = folder
    try:
        above = next(one for one in (folder, *folder.absolute().parents) if one.exists())
        with tempfile.TemporaryFile(dir=above) as file:
            file.write(b"x")
    except OSError as error:
        said = error.strerror or error
        raise TraceError(folder, f"cannot be written to: {above}: {said}") from None


def write_folder(found: HostCalibration, folder: Path, *, force: bool = False) -> Path:
    """Write summary.json, points.csv, memory.csv, the figures and report.html, all or none.

    Raises InputError where the folder cannot be written to, or, unless by `force`, holds something
    else.
    """
    check_calibration_folder(folder, force=force)

    def write(fresh: Path) -> None:
        write_csv(points_table(found), fresh / "points.csv")
        if found.memory.points:
            write_csv(memory_table(found), fresh / "memory.csv")
        drawn = write_figures(found, fresh) if has_matplotlib() else {}
        write_calibration_page(fresh / "report.html", found.summary, drawn)
        write_json(found.summary, fresh / SUMMARY)

    return fill_folder(folder, write, FILES)


def write_figures(found: HostCalibration, folder: Path) -> dict[str, Html]:
    """Write the figures as PNG, and return them as parts of a page, by name."""
    from forestall.live.contention.figure import contention_figure, memory_figure
    from forestall.show.figure_files import data_uri, save

    limit = found.plan.limit
    drawn = {
        "contention": (
            contention_figure(found.normal, found.lowered, (found.th1, found.th2), limit),
            "What the owner loses of its CPU time against its load, for guests at normal and at "
            "lowest priority.",
            "Bars are 95 % intervals of the mean over the repeats; the dotted line is the limit, "
            "the vertical one the threshold, with its 95 % interval from resampled repeats. The "
            "scales of both sides differ.",
        )
    }
    if found.memory_curves:
        drawn["memory"] = (
            memory_figure(found.memory_curves, limit),
            "What the owner loses of its speed against free memory.",
            "Bars reach from the least to the largest of the repeats. Left of 0 both working sets "
            "fit; right of it they do not, and the owner's pages come from the disk.",
        )
    shown = {}
    for name, (figure, alt, caption) in drawn.items():
        save(figure, folder / f"{name}.png")
        width = float(figure.get_figwidth())
        shown[name] = picture(data_uri(figure), alt, caption, width)
    return shown


def points_table(found: HostCalibration) -> pl.DataFrame:
    """Return ``repeat,group,asked,guest,began,seconds,owner,guest_cpu,cores,background,load``: a
    row for each phase that counted, as measured."""
    import polars as pl

    from forestall.live.contention.points import Point

    points = found.measured.points
    names = [*Point._fields, "load"]
    columns = {name: [getattr(one, name) for one in points] for name in names}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).round(6))


def memory_table(found: HostCalibration) -> pl.DataFrame:
    """Return ``repeat,guest,size,free,pages,seconds,faults,speed``: a row for each phase."""
    import polars as pl

    from forestall.live.contention.points import MemoryPoint

    points = found.memory.points
    names = [*MemoryPoint._fields, "speed"]
    columns = {name: [getattr(one, name) for one in points] for name in names}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).round(6))


def write_thresholds(found: HostCalibration, folder: Path, *, force: bool = False) -> Path:
    """Write calibration.json into an agent's folder, whole or not at all.

    Raises ContentionError where others disturbed too many points, unless by `force`, and TraceError
    where nothing can be written.
    """
    if not (found.trusted or force):
        told = found.measured
        raise ContentionError(
            f"{folder / CALIBRATION} is not written: others disturbed {told.disturbed} of "
            f"{len(told.points)} points; repeat this on a quiet host, or use --force"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(folder, f"cannot be an agent's folder: {error.strerror}") from None
    path = folder / CALIBRATION
    write_json(found.calibration, path)
    return path
