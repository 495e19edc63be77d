"""Small shared hosts and guests for tests of cycle sharing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core.model.hosts import HostTraces
from forestall.logs.generate.guests import generate_guests
from forestall.logs.generate.hosts import generate_hosts
from forestall.logs.jobs.table import write_job_table
from forestall.logs.metrics.write import write_metrics

QUICK = ("--warm-up", "7d", "--predict-every", "6h", "--horizon", "6h", "--predict-step", "5m")
"""Options with which forecasts take little time."""


def hosts_file(path: Path, count: int = 4, days: int = 14, seed: int = 1) -> Path:
    """Write generated hosts, a sample every five minutes."""
    write_metrics(generate_hosts(count, days, seed, 300), path)
    return path


def guests_file(path: Path, count: int = 30, days: int = 5, seed: int = 1) -> Path:
    """Write generated guests of 0.5 to 2 h."""
    write_job_table(generate_guests(count, seed, days=days, lengths=(1800, 3600, 7200)), path)
    return path


def idle_hosts(count: int = 1, days: float = 1, **more: object) -> HostTraces:
    """Return hosts that nobody uses, a sample a minute."""
    names = tuple(f"h{k}" for k in range(count))
    load = np.zeros((count, int(days * 1440)))
    return HostTraces(load, None, 60, np.ones(count), names, **more)  # type: ignore[arg-type]
