"""A small made-up run: tables and summary as a simulation hands them to figures and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from forestall.core.model.nodes import NodeSet

JOB_TYPES = {
    "job": pl.Int64, "submit": pl.Int64, "size": pl.Int64, "runtime": pl.Int64, "start": pl.Int64,
    "last_start": pl.Int64, "finish": pl.Int64, "deadline": pl.Int64, "promise": pl.Float64,
    "kept": pl.Boolean, "restarts": pl.Int64, "checkpoints": pl.Int64, "skipped": pl.Int64,
    "lost": pl.Int64, "nodes": pl.String,
}  # fmt: skip
RUN_TYPES = {
    "job": pl.Int64, "start": pl.Int64, "end": pl.Int64, "outcome": pl.String,
    "checkpoints": pl.Int64, "lost": pl.Int64, "nodes": pl.String,
}  # fmt: skip
FAILURE_TYPES = {
    "time": pl.Int64, "node": pl.Int64, "downtime": pl.Int64, "detectability": pl.Float64,
    "kind": pl.String, "job": pl.Int64, "lost": pl.Int64,
}  # fmt: skip


class Made:
    """The tables of a made-up run: jobs in submit order take the nodes that are free first."""

    def __init__(
        self, count: int = 300, failures: int = 60, nodes: int = 128, seed: int = 1,
        promises: bool = True, busy: float = 0.8,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        size = np.minimum(2 ** rng.integers(0, 7, count), nodes)
        runtime = np.clip(rng.lognormal(8.3, 1.4, count), 30, 86_400).astype(int)
        gap = (size * runtime).mean() / nodes / busy if count else 1
        submit = np.cumsum(rng.exponential(gap, count)).astype(int) + 5000
        span = int(submit[-1] + 100_000) if count else 100_000
        self.nodes, self.seed = nodes, seed
        self.times = np.sort(rng.integers(5000, span, failures))
        self.struck = rng.integers(0, nodes, failures)
        self.hit: dict[int, tuple[int, int]] = {}
        self.detectability = rng.random(failures)
        self.run_rows: list[tuple[Any, ...]] = []
        self.job_rows: list[tuple[Any, ...]] = []
        free = np.zeros(nodes, dtype=np.int64)
        for k in range(count):
            promise = float(np.clip(1 - rng.exponential(0.12), 0.02, 1)) if promises else None
            self._play(k, int(submit[k]), int(size[k]), int(runtime[k]), promise, free)
        self.jobs = pl.DataFrame(self.job_rows, schema=JOB_TYPES, orient="row")
        self.runs = pl.DataFrame(self.run_rows, schema=RUN_TYPES, orient="row")
        self.failures = self._failures()

    def _play(
        self, k: int, submit: int, size: int, runtime: int, promise: float | None, free: np.ndarray
    ) -> None:
        left, now, starts, lost, nodes = runtime, submit, [], 0, ""
        while True:
            chosen = np.argsort(free, kind="stable")[:size]
            start = max(now, int(free[chosen].max()))
            nodes = str(NodeSet.of(chosen.tolist()))
            starts.append(start)
            inside = np.flatnonzero(
                (self.times >= start) & (self.times < start + left) & np.isin(self.struck, chosen)
            )
            inside = [i for i in inside if i not in self.hit]
            if not inside:
                end = start + left
                self.run_rows.append((k + 1, start, end, "finished", left // 3600, 0, nodes))
                free[chosen] = end
                break
            i = int(inside[0])
            end = int(self.times[i])
            gone = (end - start) * size
            self.hit[i] = (k + 1, gone)
            lost += gone
            self.run_rows.append((k + 1, start, end, "failed", 0, gone, nodes))
            free[chosen] = end
            free[self.struck[i]] = end + 120
            now = end
        deadline = None if promise is None else starts[0] + int(runtime * 1.05)
        kept = None if deadline is None else end <= deadline
        self.job_rows.append(
            (k + 1, submit, size, runtime, starts[0], starts[-1], end, deadline, promise, kept,
             len(starts) - 1, runtime // 3600, 1, lost, nodes)
        )  # fmt: skip

    def _failures(self) -> pl.DataFrame:
        rows = [
            (int(t), int(n), 120, float(d), "hardware", *self.hit.get(i, (None, 0)))
            for i, (t, n, d) in enumerate(
                zip(self.times, self.struck, self.detectability, strict=True)
            )
        ]
        return pl.DataFrame(rows, schema=FAILURE_TYPES, orient="row")

    def summary(self, **changed: object) -> dict[str, Any]:
        jobs, promised = self.jobs, self.jobs.filter(pl.col("promise").is_not_null())
        start, end = (jobs["submit"].min() or 0), (jobs["finish"].max() or 1)
        useful = int((jobs["size"] * jobs["runtime"]).sum())
        lost, total = int(jobs["lost"].sum()), self.nodes * (end - start)
        down = 120 * len(self.failures)
        wait = (jobs["start"] - jobs["submit"]).cast(pl.Float64)
        response = (jobs["finish"] - jobs["submit"]).cast(pl.Float64)
        slow = (response / jobs["runtime"].clip(10)).clip(1)
        any_promise = len(promised) > 0
        kept = promised["kept"].cast(pl.Float64)
        weight = promised["size"] * promised["runtime"]
        made: dict[str, Any] = {
            "policy": "promise" if any_promise else "easy",
            "qos": float((weight * promised["promise"] * kept).sum() / weight.sum())
            if any_promise else None,
            "utilization": useful / total,
            "lost_work": lost,
            "wait": three(wait), "response": three(response), "bounded_slowdown": three(slow),
            "promises_kept": kept.mean() if any_promise else None,
            "brier": float(((promised["promise"] - kept) ** 2).mean()) if any_promise else None,
            "calibration": self._calibration(promised),
            "checkpoints": int(jobs["checkpoints"].sum()),
            "skipped_checkpoints": int(jobs["skipped"].sum()),
            "restarts": int(jobs["restarts"].sum()),
            "node_seconds": {
                "useful": useful, "lost": lost, "checkpoint_overhead": 0,
                "idle": total - useful - lost - down, "down": down, "total": total,
            },
            "parameters": {
                "nodes": self.nodes, "accuracy": 0.7, "risk": 0.9, "policy": "promise",
                "checkpoint": "risk", "placement": "fault-aware", "downtime": 120,
            },
            "skipped": {"no_run_time": 3, "larger_than_machine": 1},
            "versions": {"forestall": "0.1.0", "numpy": "2.0.0", "python": "3.11.7"},
            "seed": self.seed, "makespan": end - start, "jobs_count": len(jobs),
        }  # fmt: skip
        return made | changed

    @staticmethod
    def _calibration(promised: pl.DataFrame) -> list[dict[str, object]]:
        rows = promised.with_columns(d=(pl.col("promise") * 10).floor().clip(0, 9))
        grouped = rows.group_by("d").agg(pl.len(), pl.col("promise").mean(), pl.col("kept").mean())
        return [
            {"low": d / 10, "high": (d + 1) / 10, "count": n, "promised_mean": p, "kept_share": k}
            for d, n, p, k in grouped.sort("d").iter_rows()
        ]


def three(values: pl.Series) -> dict[str, float | None]:
    return {"mean": values.mean(), "median": values.median(), "p95": values.quantile(0.95)}


def grid(steps: int = 11, seeds: int = 1) -> pl.DataFrame:
    """A made-up sweep over accuracy and risk."""
    rows = []
    for seed in range(seeds):
        for a in np.linspace(0, 1, steps):
            for u in np.linspace(0, 1, steps):
                qos = 0.85 + 0.14 * a * (0.5 + 0.5 * u) - 0.003 * seed
                lost = 4e7 * (1 - a * (0.6 + 0.4 * u))
                rows.append((float(a.round(3)), float(u.round(3)), seed, qos, 0.7 + 0.05 * a, lost))
    names = ["accuracy", "risk", "seed", "qos", "utilization", "lost_work"]
    return pl.DataFrame(rows, schema=names, orient="row")
