"""What the agent says of its host now: FOLDER/status.json."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.model.errors import TraceError
from forestall.prediction.availability.states import NAMES

STATUS: Final = "status.json"

_TIME: Final = (0.0, 2.5e11, "Unix seconds")
_SPAN: Final = (0.0, 1e12, "seconds, at least 0")
_COUNT: Final = (0.0, 1e18, "a number, at least 0")
_SHARE: Final = (0.0, 1.0, "a share from 0 to 1")
_NUMBERS: Final = {
    "started": _TIME, "time": _TIME, "since": _TIME, "forecast_made": _TIME,
    "period": (1e-3, 1e9, "seconds above 0"), "hold": _SPAN, "mttf": _SPAN,
    "cpu": _SHARE, "guest_cpu": _SHARE, "memory_free": _SHARE, "th1": _SHARE, "th2": _SHARE,
    "guest_memory": _SHARE, "pid": _COUNT, "io": _COUNT, "learnt_days": _COUNT, "samples": _COUNT,
    "samples_waiting": _COUNT, "samples_lost": _COUNT, "own_cpu": _COUNT,
    "own_cpu_seconds": _COUNT, "own_memory": _COUNT, "forecast_memory": _COUNT,
    "storage_disk": _SHARE, "storage_clients": _COUNT, "storage_bytes": _COUNT,
    "speed": (1e-6, 1e6, "a speed above 0"),
}  # fmt: skip
_MAY_BE_NULL: Final = frozenset(
    {"cpu", "guest_cpu", "memory_free", "io", "mttf", "reliability", "forecast_made", "own_cpu",
     "own_memory", "forecast_memory", "host", "storage_disk", "storage_clients", "storage_bytes",
     "expected_load"}
)  # fmt: skip
NEEDED: Final = (
    "time", "period", "state", "since", "started", "pid", "cpu", "guest_cpu", "memory_free", "th1",
    "th2", "hold", "guest_memory", "reliability", "mttf", "learnt_days", "samples",
)  # fmt: skip
"""What a status has to tell for `forestall agent status`."""


def write_status(folder: Path, status: Mapping[str, Any]) -> None:
    """Write it whole or not at all; nan becomes null. Raises OSError where it cannot be written. It
    is not waited for the disk: after a power cut the agent writes it anew."""
    told = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in status.items()
    }
    with atomic_path(folder / STATUS, sync=False) as beside:
        beside.write_text(json.dumps(told, allow_nan=False) + "\n", encoding="utf-8")


def read_status(folder: Path, needed: Collection[str] = NEEDED) -> dict[str, Any]:
    """Return what the agent of a folder said last, each value of its kind and range.

    Raises TraceError where there is nothing, where one of the `needed` keys is not there, or where
    a value cannot be one.
    """
    path = folder / STATUS
    try:
        told = json_of(path.read_bytes())
    except FileNotFoundError:
        message = "does not exist: no agent has run here; start one with forestall agent"
        raise TraceError(path, message) from None
    except NotADirectoryError:
        raise TraceError(folder, "is a file; expected the folder of an agent") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"not JSON ({error})") from None
    if not isinstance(told, dict):
        raise TraceError(path, "not an agent's status; expected an object")
    for key in needed:
        if key not in told:
            raise TraceError(path, f"not a complete agent's status: {key} is missing")
    for key, value in told.items():
        _check(path, key, value, key in needed)
    return told


def _check(path: Path, key: str, value: object, needed: bool) -> None:
    """Raise TraceError for a value that cannot be one of its key; other keys may hold anything."""
    if value is None and (key in _MAY_BE_NULL or not needed):
        return
    if key in _NUMBERS:
        low, high, allowed = _NUMBERS[key]
        good = _within(value, low, high)
    elif key == "state":
        good, allowed = value in NAMES, f"one of {', '.join(NAMES)}"
    elif key == "host":
        good, allowed = isinstance(value, str), "a name"
    elif key in ("reliability", "expected_load"):
        good = isinstance(value, dict) and all(
            _within(one, 0, 1) or (one is None and not needed) for one in value.values()
        )
        kind = "probability" if key == "reliability" else "share"
        allowed = f"a {kind} for each of 1h, 2h, 4h, 8h, 16h, 24h"
    else:
        return
    if not good:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        raise TraceError(path, f"{shown} is not allowed; expected {allowed}", field=key)


def _within(value: object, low: float, high: float) -> bool:
    """Return whether it is a number from low to high; nan is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
