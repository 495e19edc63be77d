"""What the benchmarks share: where the logs are, timing in turns, and how a ratio is printed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))


def data(name: str) -> Path:
    """Return the path of a real log; leave with a clear line where it is missing."""
    folder = Path(os.environ.get("FORESTALL_DATA", ROOT.parent / "shared" / "data"))
    path = folder / name
    if not path.exists():
        sys.exit(f"skipped: {name} is not in the folder of real logs (set FORESTALL_DATA)")
    return path


def seconds(*calls: Callable[[], Any], rounds: int = 7) -> list[float]:
    """Return the median wall time of each call, run in turns after one warm-up of each."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[k].append(time.perf_counter() - start)
    return [median(t) for t in times]


def line(what: str, ours: float, yardstick: str, theirs: float) -> None:
    """Print one comparison; the ratio is the yardstick's time over ours."""
    ratio = theirs / ours
    print(
        f"{what:<42}{ours * 1e3:>11.2f} ms  {yardstick:<18}{theirs * 1e3:>11.2f} ms  x{ratio:,.2f}"
    )
