"""Small accounts for tests: rows as keywords, what is not given as a plain default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forestall.core.model.coded import Coded
from forestall.slurm.records.accounting import COLUMNS, Accounting

DEFAULTS: dict[str, Any] = {
    "job": 1,
    "which": None,
    "attempt": 0,
    "submit": 0,
    "eligible": None,
    "start": 0,
    "end": 100,
    "suspended": 0,
    "limit": -1,
    "nodes": 1,
    "asked": None,
    "cpus": -1,
    "gpus": -1,
    "exit_code": -1,
    "signal": -1,
    "state": "COMPLETED",
}
"""`which` is the row's own number, `eligible` its submission, `asked` its nodes."""
SHORT = {"attempt", "nodes", "asked", "cpus", "gpus", "exit_code", "signal"}


def accounts(rows: Sequence[Mapping[str, Any]], **more: Any) -> Accounting:
    """Return the account of these rows, sorted by submission; `more` are fields that are no
    columns. It covers all of its times where `begin` and `until` are not given."""
    whole = [{**DEFAULTS, **row} for row in rows]
    whole.sort(key=lambda row: row["submit"])
    for number, row in enumerate(whole):
        row["which"] = number if row["which"] is None else row["which"]
        row["eligible"] = row["submit"] if row["eligible"] is None else row["eligible"]
        row["asked"] = row["nodes"] if row["asked"] is None else row["asked"]
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = [row.get(name, "") for row in whole]
        if name in DEFAULTS and name != "state":
            columns[name] = np.asarray(values, dtype=np.int32 if name in SHORT else np.int64)
        else:
            columns[name] = Coded.of(values)
    times = [t for row in whole for t in (row["submit"], row["start"], row["end"]) if t < 2**62]
    more.setdefault("begin", min(times, default=0))
    more.setdefault("until", max(times, default=0) + 1)
    return Accounting(**columns, **more)
