"""Made-up jobs on a first-come first-served machine, for tests of promises."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import Accounting
from slurm.records.accounting_cases import accounts

STATES = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY")


def rows_of(
    count: int, seed: int, *, nodes: int = 20, strange: bool = True
) -> list[dict[str, Any]]:
    """Return runs of jobs, some of them cancelled, stopped, queued again or without an end."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    free = [0] * 20
    heapq.heapify(free)
    submit = 0
    for job in range(count):
        submit += int(rng.exponential(60)) if rng.random() < 0.6 else 0
        user = int(rng.integers(0, 5))
        run = int(np.exp(rng.normal(5 + user / 2, 1)))
        begin = max(submit, heapq.heappop(free))
        row = {
            "job": job, "which": job, "submit": submit, "start": begin, "end": begin + run,
            "nodes": int(rng.integers(1, 9)), "limit": int(rng.choice([-1, 600, 3600])),
            "user": f"u{user}", "name": f"job_{int(rng.integers(0, 30))}",
            "partition": str(rng.choice(["a", "b"])), "state": str(rng.choice(STATES)),
        }  # fmt: skip
        fate = rng.random() if strange else 1.0
        if fate < 0.04:
            row |= {"start": NEVER, "end": submit + run, "state": "CANCELLED by 7"}
        elif fate < 0.08:
            row["state"] = "CANCELLED"
        elif fate < 0.1:
            row["state"] = "NODE_FAIL"
        elif fate < 0.12:
            row |= {"end": NEVER, "state": "RUNNING"}
        elif fate < 0.16:
            again = {**row, "attempt": 1, "start": begin + run + 30, "end": begin + 2 * run + 30}
            row |= {"state": str(rng.choice(["NODE_FAIL", "PREEMPTED", "REQUEUED"]))}
            rows.append(again)
        rows.append(row)
        heapq.heappush(free, begin + run)
    return rows


def some_jobs(count: int, seed: int, *, strange: bool = True) -> Accounting:
    """Return such an accounting."""
    rows = rows_of(count, seed, strange=strange)
    return accounts(sorted(rows, key=in_order))


def in_order(row: dict[str, Any]) -> tuple[int, int, int]:
    """Return by what runs are sorted."""
    return row["submit"], row["which"], row.get("attempt", 0)


def until(rows: list[dict[str, Any]], time: int) -> Accounting:
    """Return the accounting as it was at `time`: what came later had not happened."""
    known = []
    for row in rows:
        if row["submit"] >= time:
            continue
        if row.get("attempt", 0) and row["start"] >= time:
            continue
        now = dict(row)
        if now["end"] >= time:
            now |= {"end": NEVER, "state": "RUNNING"}
        if now["start"] >= time:
            now |= {"start": NEVER, "state": "PENDING"}
        known.append(now)
    return accounts(sorted(known, key=in_order))
