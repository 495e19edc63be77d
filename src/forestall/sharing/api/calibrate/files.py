"""The files of a calibration: a folder with all of it, and the thresholds for agent and guests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.core._lazy import lazily
from forestall.core.kit.output import write_json
from forestall.core.kit.study_folder import StudyFolder
from forestall.core.model.errors import TraceError
from forestall.sharing.api.calibrate.report import FIGURES, report_of
from forestall.sharing.contention.herd import ContentionError
from forestall.sharing.contention.points import MemoryPoint, Point

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.sharing.api.calibrate.calibrate import HostCalibration

CALIBRATION: Final = "calibration.json"


def check_calibration_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    FOLDER.check(folder, force=force)
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


def write_folder(found: HostCalibration, folder: Path, *, force: bool = False) -> str:
    """Write summary.json, points.csv, memory.csv, the figures and report.html, all or none; return
    what was written in words.

    Raises InputError where the folder cannot be written to, or, unless by `force`, holds something
    else.
    """
    check_calibration_folder(folder, force=force)
    return FOLDER.write(found, folder)


def points_table(found: HostCalibration) -> pl.DataFrame:
    """Return ``repeat,group,asked,guest,began,seconds,owner,guest_cpu,cores,background,load``: a
    row for each phase that counted, as measured."""
    points = found.measured.points
    names = [*Point._fields, "load"]
    columns = {name: [getattr(one, name) for one in points] for name in names}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).round(6))


def memory_table(found: HostCalibration) -> pl.DataFrame:
    """Return ``repeat,guest,size,free,pages,seconds,faults,speed``: a row for each phase."""
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
            f" is not written: others disturbed {told.disturbed} of {len(told.points)} points; "
            "repeat this on a quiet host, or use {force}",
            before=str(folder / CALIBRATION),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(folder, f"cannot be an agent's folder: {error.strerror}") from None
    path = folder / CALIBRATION
    write_json(found.calibration, path)
    return path


FOLDER: Final = StudyFolder(
    keys=("calibration", "th1", "th2"),
    tables=("points.csv", "memory.csv"),
    figures=FIGURES,
    report=report_of,
    rows=lambda found: (points_table(found), memory_table(found) if found.memory.points else None),
)
