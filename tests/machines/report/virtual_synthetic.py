"""A small made-up run of virtual machines: tables and summary as a simulation hands them over.

Tasks use a whole processor, jobs wait in order, nodes with most room are taken first. Tasks leave a
node at the predicted time of its failure, by stop and copy.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import polars as pl

JOB_TYPES = {
    "job": pl.Int64, "submit": pl.Int64, "size": pl.Int64, "runtime": pl.Int64,
    "deadline": pl.Int64, "start": pl.Int64, "finish": pl.Int64, "completed": pl.Int64,
    "tasks_completed": pl.Int64, "outcome": pl.String, "lost": pl.Float64, "restarts": pl.Int64,
    "migrations": pl.Int64,
}  # fmt: skip
TASK_TYPES = {
    "job": pl.Int64, "task": pl.Int64, "node": pl.Int64, "start": pl.Int64, "end": pl.Int64,
    "rate": pl.Float64, "work": pl.Float64, "done": pl.Float64, "outcome": pl.String,
    "migrations": pl.Int64, "restarts": pl.Int64, "checkpoints": pl.Int64, "lost": pl.Float64,
}  # fmt: skip
RUN_TYPES = {
    "job": pl.Int64, "task": pl.Int64, "node": pl.Int64, "start": pl.Int64, "runs_from": pl.Int64,
    "end": pl.Int64, "rate": pl.Float64, "work": pl.Float64, "begun": pl.String,
    "outcome": pl.String, "lost": pl.Float64, "checkpoints": pl.Int64,
}  # fmt: skip
MOVE_TYPES = {
    "time": pl.Int64, "job": pl.Int64, "task": pl.Int64, "source": pl.Int64, "target": pl.Int64,
    "end": pl.Int64, "predicted": pl.Int64, "outcome": pl.String,
}  # fmt: skip
FAILURE_TYPES = {
    "time": pl.Int64, "node": pl.Int64, "downtime": pl.Int64, "predicted": pl.Int64,
    "kind": pl.String, "tasks": pl.Int64, "lost": pl.Float64,
}  # fmt: skip
TAU = 12
DOWN = 3600
END, DEADLINE, BACK, FAIL, LEAVE, SUBMIT = range(6)


class MadeVirtual:
    """The tables of a made-up run."""

    def __init__(
        self, count: int = 300, failures: int = 60, nodes: int = 32, processors: int = 4,
        seed: int = 1, busy: float = 0.7, missed: float = 0.2, largest: int = 6,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        self.nodes, self.processors, self.seed = nodes, processors, seed
        self.size = np.minimum(2 ** rng.integers(0, largest + 1, count), nodes * processors)
        self.runtime = np.clip(rng.lognormal(8.3, 1.2, count), 30, 86_400).astype(int)
        work = (self.size * self.runtime).mean() if count else 1
        gap = work / (nodes * processors) / busy
        self.submit = np.cumsum(rng.exponential(gap, count)).astype(int) + 5000
        self.deadline = self.submit + (self.runtime * rng.uniform(1.2, 4, count)).astype(int)
        span = int(self.submit[-1]) + 50_000 if count else 100_000
        self.times = np.sort(rng.integers(5000, span, failures))
        self.struck = rng.integers(0, nodes, failures)
        self._foresee(rng, missed)
        self.free = np.full(nodes, processors)
        self.back = np.zeros(nodes, dtype=int)
        self.queue: list[int] = []
        self.on: dict[tuple[int, int], dict[str, Any]] = {}
        self.told: dict[tuple[int, int], str] = {}
        self.rows: dict[str, list[Any]] = {"runs": [], "moves": []}
        self.hits = [(0, 0.0)] * failures
        self.last = 0
        self._play()
        self._tabulate()

    def _foresee(self, rng: np.random.Generator, missed: float) -> None:
        before = dict.fromkeys(range(self.nodes), 5000)
        self.predicted: list[int | None] = []
        for time, node in zip(self.times.tolist(), self.struck.tolist(), strict=True):
            eps = rng.uniform(0, 0.4)
            seen = int(before[node] + (time - before[node]) * (1 - eps))
            self.predicted.append(None if rng.random() < missed else seen)
            before[node] = time

    def _play(self) -> None:
        events: list[tuple[int, int, int, int, int]] = []
        for k, (submit, deadline) in enumerate(zip(self.submit, self.deadline, strict=True)):
            events += [(int(submit), SUBMIT, k, 0, 0), (int(deadline), DEADLINE, k, 0, 0)]
        for i, (time, node) in enumerate(zip(self.times, self.struck, strict=True)):
            events.append((int(time), FAIL, int(node), i, 0))
            seen = self.predicted[i]
            if seen is not None:
                events.append((seen, LEAVE, int(node), i, 0))
        heapq.heapify(events)
        self.events = events
        while events and (self.queue or self.on or any(e[1] == SUBMIT for e in events[:1]) or
                          len(self.told) < int(self.size.sum())):  # fmt: skip
            time, kind, key, number, version = heapq.heappop(events)
            self.now = time
            if kind == END:
                stay = self.on.get((key, number))
                if stay is not None and stay["version"] == version:
                    self._end((key, number), "completed")
            elif kind == DEADLINE:
                self._deadline(key)
            elif kind == FAIL:
                self._fail(key, number)
            elif kind == LEAVE:
                self._leave(key, number)
            elif kind == SUBMIT:
                self.queue.append(key)
            self._place()

    def _deadline(self, job: int) -> None:
        if job in self.queue:
            self.queue.remove(job)
            self.told |= {(job, t): "dropped" for t in range(self.size[job])}
        for key in [k for k in self.on if k[0] == job]:
            self._end(key, "stopped")

    def _fail(self, node: int, number: int) -> None:
        there = [k for k, stay in self.on.items() if stay["node"] == node]
        lost = sum(self._end(key, "aborted") for key in there)
        self.hits[number] = (len(there), lost)
        self.back[node] = self.now + DOWN
        heapq.heappush(self.events, (self.now + DOWN, BACK, node, 0, 0))

    def _leave(self, node: int, number: int) -> None:
        there = [k for k, s in self.on.items() if s["node"] == node and s["runs_from"] <= self.now]
        for key in there:
            room = np.where(self.back <= self.now, self.free, 0)
            room[node] = 0
            target = int(np.argmax(room))
            if room[target] < 1:
                continue
            self.rows["moves"].append([self.now, *key, node, target, self.now + TAU,
                                       self.predicted[number], "arrived"])  # fmt: skip
            before = self.on[key]
            done = before["done"] + self._close(key, "moved")
            self._open(key, target, "migrated", done)

    def _open(self, key: tuple[int, int], node: int, begun: str, done: int) -> None:
        wait = TAU if begun == "migrated" else 0
        version = len(self.rows["runs"]) + len(self.on)
        self.free[node] -= 1
        self.on[key] = {"node": node, "start": self.now, "runs_from": self.now + wait, "done": done,
                        "begun": begun, "version": version}  # fmt: skip
        end = self.now + wait + int(self.runtime[key[0]]) - done
        heapq.heappush(self.events, (end, END, *key, version))

    def _close(self, key: tuple[int, int], outcome: str) -> int:
        stay = self.on.pop(key)
        self.free[stay["node"]] += 1
        work = max(self.now - stay["runs_from"], 0)
        lost = stay["done"] + work if outcome == "aborted" else 0
        self.rows["runs"].append((key[0] + 1, key[1], stay["node"], stay["start"],
                                  stay["runs_from"], self.now, 1.0, float(work), stay["begun"],
                                  outcome, float(lost), 0))  # fmt: skip
        self.last = max(self.last, self.now)
        return work

    def _end(self, key: tuple[int, int], outcome: str) -> float:
        self._close(key, outcome)
        self.told[key] = outcome
        moving = [m for m in self.rows["moves"] if m[1:3] == list(key) and m[5] > self.now]
        for move in moving:
            move[5], move[7] = self.now, "target failed" if outcome == "aborted" else "ended first"
        return float(self.rows["runs"][-1][10])

    def _place(self) -> None:
        while self.queue:
            job = self.queue[0]
            room = np.where(self.back <= self.now, self.free, 0)
            if int(room.sum()) < self.size[job] or self.deadline[job] <= self.now:
                return
            self.queue.pop(0)
            for task in range(self.size[job]):
                node = int(np.argmax(room))
                room[node] -= 1
                self._open((job, task), node, "placed", 0)

    def _tabulate(self) -> None:
        self.runs = pl.DataFrame(self.rows["runs"], schema=RUN_TYPES, orient="row")
        moves = [(m[0], m[1] + 1, *m[2:]) for m in self.rows["moves"]]
        self.migrations = pl.DataFrame(moves, schema=MOVE_TYPES, orient="row")
        ended = self.runs.group_by("job", "task").agg(
            pl.col("start").min(), pl.col("end").max(), pl.col("node").last(),
            done=pl.col("work").sum() - pl.col("lost").sum(), lost=pl.col("lost").sum(),
            moved=(pl.col("begun") == "migrated").sum(),
        )  # fmt: skip
        of = {(r[0], r[1]): r[2:] for r in ended.iter_rows()}
        tasks, jobs = [], []
        for k, size in enumerate(self.size.tolist()):
            mine = [of.get((k + 1, t)) for t in range(size)]
            told = [self.told[k, t] for t in range(size)]
            for t, (row, outcome) in enumerate(zip(mine, told, strict=True)):
                start, end, node, done, lost, moved = row or (None, None, None, 0.0, 0.0, 0)
                rate, work = 1.0 if row else None, float(self.runtime[k])
                tasks.append(
                    (
                        k + 1,
                        t,
                        node,
                        start,
                        end,
                        rate,
                        work,
                        done - lost,
                        outcome,
                        moved,
                        0,
                        0,
                        lost,
                    )
                )
            here = [row for row in mine if row is not None]
            good = told.count("completed")
            outcome = "completed" if good == size else "uncompleted" if here else "dropped"
            jobs.append(
                (k + 1, int(self.submit[k]), size, int(self.runtime[k]), int(self.deadline[k]),
                 min((r[0] for r in here), default=None), max((r[1] for r in here), default=None),
                 int(good == size), good, outcome, sum(r[4] for r in here), 0,
                 sum(r[5] for r in here))
            )  # fmt: skip
        self.tasks = pl.DataFrame(tasks, schema=TASK_TYPES, orient="row")
        self.jobs = pl.DataFrame(jobs, schema=JOB_TYPES, orient="row")
        rows = [
            (t, n, DOWN, p, "Hardware: CPU", *hit)
            for t, n, p, hit in zip(
                self.times.tolist(), self.struck.tolist(), self.predicted, self.hits, strict=True
            )
            if t < max(self.last, 1)
        ]
        self.failures = pl.DataFrame(rows, schema=FAILURE_TYPES, orient="row")

    def tables(self) -> dict[str, pl.DataFrame]:
        return {name: getattr(self, name)
                for name in ("jobs", "tasks", "runs", "migrations", "failures")}  # fmt: skip

    def summary(self, **changed: object) -> dict[str, Any]:
        jobs, tasks, runs = self.jobs, self.tasks, self.runs
        start, end = jobs["submit"].min() or 0, max(self.last, 1)
        total = float((end - start) * self.nodes * self.processors)
        outcomes = dict(tasks["outcome"].value_counts().iter_rows())
        work = dict(tasks.group_by("outcome").agg(pl.col("done").sum()).iter_rows())
        held = float(((runs["end"] - runs["start"]) * runs["rate"]).sum())
        paused = held - float(runs["work"].sum())
        lost, useful = float(runs["lost"].sum()), work.get("completed", 0.0)
        stopped = work.get("stopped", 0.0)
        down = float(DOWN * self.processors * len(self.failures))
        wait = (jobs["start"] - jobs["submit"]).drop_nulls().cast(pl.Float64)
        made: dict[str, Any] = {
            "model": "virtual", "strategy": "best-fit", "jobs_count": len(jobs),
            "jobs_completed": int(jobs["completed"].sum()),
            "jobs_dropped": int((jobs["outcome"] == "dropped").sum()), "jobs_late": 0,
            "job_completion_rate": jobs["completed"].mean() if len(jobs) else None,
            "tasks_count": len(tasks),
            "tasks_completed": outcomes.get("completed", 0),
            "tasks_aborted": outcomes.get("aborted", 0),
            "tasks_stopped": outcomes.get("stopped", 0),
            "tasks_dropped": outcomes.get("dropped", 0),
            "task_completion_rate": outcomes.get("completed", 0) / max(len(tasks), 1),
            "utilization": useful / total, "lost_work": lost, "stopped_work": stopped,
            "migrations": len(self.migrations), "migration_time": TAU * len(self.migrations),
            "migrations_failed": int((self.migrations["outcome"] != "arrived").sum()),
            "tasks_saved": len(self.migrations) // 2, "moves_in_vain": len(self.migrations) // 3,
            "wait": {"mean": wait.mean(), "median": wait.median(), "p95": wait.quantile(0.95)},
            "restarts": 0, "checkpoints": 0, "failures_played": len(self.failures),
            "failures_hit": int((self.failures["tasks"] > 0).sum()),
            "least_reliable_share": 0.21,
            "processor_seconds": {
                "useful": useful, "lost": lost, "stopped": stopped, "paused": paused,
                "idle": max(total - held - down, 0.0), "down": down, "total": total,
            },
            "makespan": end - start, "seed": self.seed,
            "parameters": {
                "nodes": self.nodes, "processors_per_node": self.processors,
                "strategy": "best-fit", "alpha": 0.5, "predictor": "synthetic",
                "prediction_accuracy": 0.8, "migration": "stop-and-copy", "migration_cost": TAU,
                "checkpoint": "none", "past_deadline": "stop", "seed": self.seed,
            },
            "predictor": {"name": "synthetic"},
            "skipped": {"zero_run_time": 3, "larger_than_machine": 1},
            "versions": {"forestall": "0.1.0", "numpy": "2.0.0", "python": "3.11.7"},
        }  # fmt: skip
        return made | changed


def accuracies(seeds: int = 5, seed: int = 1) -> pl.DataFrame:
    """A made-up sweep over accuracy and strategy."""
    rng = np.random.default_rng(seed)
    rows = []
    for strategy, gain in (("random", 0.0), ("first-fit", 0.15), ("best-fit", 0.25),
                           ("omniscient", 0.3)):  # fmt: skip
        for accuracy in np.linspace(0, 1, 6):
            for number in range(seeds):
                told = accuracy if strategy != "omniscient" else 1.0
                rate = 0.6 + gain * told + 0.01 * rng.standard_normal()
                rows.append((float(accuracy.round(3)), strategy, number, rate, rate + 0.03))
    names = ["prediction_accuracy", "strategy", "seed", "job_completion_rate",
             "task_completion_rate"]  # fmt: skip
    return pl.DataFrame(rows, schema=names, orient="row")
