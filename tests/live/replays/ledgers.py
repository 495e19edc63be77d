"""Ledgers of scenarios, to be replayed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from forestall.live.ledger.store import LiveLedger
from live.slurm.scenarios import play


def written(path: Path, seed: int = 1, steps: int = 80) -> str:
    """Write the ledger of a scenario, and return its URL."""
    url = f"sqlite:///{path}"
    with LiveLedger(url) as ledger:
        play(seed, steps=steps, ledger=ledger)
    return url


def spoilt(path: Path, copy: Path, *statements: str) -> Path:
    """Return a copy of a ledger to which somebody did what its triggers forbid."""
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as base:
        source.backup(base)
        triggers = base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            base.execute(f"DROP TRIGGER {name}")
        for one in statements:
            base.execute(one)
    return copy
