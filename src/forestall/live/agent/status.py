"""What the agent says of its host now: FOLDER/status.json."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from forestall.model.errors import TraceError

STATUS: Final = "status.json"


def write_status(folder: Path, status: Mapping[str, Any]) -> None:
    """Write it whole or not at all; nan becomes null. Raises OSError where it cannot be written."""
    told = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in status.items()
    }
    beside = folder / f".{STATUS}.new"  # one name: there is one agent, and nothing to clean up
    beside.write_text(json.dumps(told, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(beside, folder / STATUS)


def read_status(folder: Path) -> dict[str, Any]:
    """Return what the agent of a folder said last. Raises TraceError where there is nothing."""
    path = folder / STATUS
    try:
        told = json.loads(path.read_bytes())
    except FileNotFoundError:
        message = "is not there: no agent has been at work here; start one with forestall agent"
        raise TraceError(path, message) from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise TraceError(path, f"is no JSON ({error})") from None
    if not isinstance(told, dict) or not {"state", "time", "period"} <= set(told):
        raise TraceError(path, "is no status of an agent")
    return told
