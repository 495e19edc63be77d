"""What watching a host costs it: an agent, run for a while."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

EVERY: Final = 1.0
"""Seconds between two looks at the agent's status."""


def watched(seconds: float) -> tuple[float, float] | None:
    """Run an agent as users do, for so long, and return the shares that it takes of one processor,
    once it has started, and at most of the host's memory; None where it told nothing."""
    with tempfile.TemporaryDirectory() as name:
        words = (sys.executable, "-m", "forestall", "agent", "--folder", name, "--no-listen")
        agent = subprocess.Popen([*words, "--beside", "--quiet", "--for", f"{seconds:g}s"])
        told: list[dict[str, Any]] = []
        while agent.poll() is None:
            time.sleep(EVERY)
            now = _status(Path(name))
            if now and (not told or now["time"] != told[-1]["time"]):
                told.append(now)
    if len(told) < 3:  # the first is that of the start
        return None
    first, last = told[1], told[-1]
    cpu = (last["own_cpu_seconds"] - first["own_cpu_seconds"]) / (last["time"] - first["time"])
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return cpu, max(one["own_memory"] for one in told) / whole


def _status(folder: Path) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told
