"""What `forestall calibrate` left in an agent's folder, for agent and guests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forestall.core.files.documents import json_of
from forestall.core.files.findings import shown
from forestall.core.model.errors import TraceError, brief

CALIBRATION: Final = "calibration.json"


def calibrated(folder: Path) -> dict[str, float]:
    """Return th1 and th2 of FOLDER/calibration.json, nothing where it is not there.

    Raises TraceError for a file without thresholds that can be used.
    """
    path = folder / CALIBRATION
    try:
        told = json_of(path.read_bytes())
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise TraceError(folder, "is a file; expected a folder for the agent") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"not JSON ({error})") from None
    found = {}
    for name in ("th1", "th2"):
        value = told.get(name) if isinstance(told, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise TraceError(
                path, f"{shown(value)} is not a threshold; expected 0 to 1", field=name
            )
        found[name] = float(value)
    if found["th1"] > found["th2"]:
        raise TraceError(path, f"th1 is above th2: {found['th1']:g} and {found['th2']:g}")
    return found


def calibrated_steps(folder: Path) -> list[tuple[float, int]]:
    """Return the steps between normal and lowest priority of FOLDER/calibration.json: owner's loads
    and nice values, ascending; none where they were not measured. Raises TraceError for a file
    whose steps cannot be used."""
    if not calibrated(folder):
        return []
    path = folder / CALIBRATION
    told = json_of(path.read_bytes()).get("steps", [])
    try:
        found = [(float(load), int(nice)) for load, nice in told]
    except (TypeError, ValueError, OverflowError):
        raise TraceError(path, f"{brief(told)} are not steps; expected loads and nice values",
                         field="steps") from None  # fmt: skip
    return sorted(found)
