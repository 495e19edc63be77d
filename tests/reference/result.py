"""What a reference simulator hands back: every job, every run, every failure, and the measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

JobRow = tuple[int, int, int, int]
"""Submit time, size, run time, estimate."""
FailureRow = tuple[int, int, int, float]
"""Time, node, downtime, detectability."""


class Run(NamedTuple):
    """One run of a job on its nodes, [start, end); `checkpoints` counts the completed ones."""

    job: int
    start: int
    end: int
    nodes: tuple[int, ...]
    outcome: str
    checkpoints: int
    lost: int


class Hit(NamedTuple):
    """One failure that was played, the job that it ended (None: no job) and the work lost."""

    time: int
    node: int
    downtime: int
    detectability: float
    job: int | None
    lost: int


@dataclass
class ReferenceRun:
    """Lists by position of the job in the list that was given; times in s, work in node-seconds.

    `start` is the first start, `checkpoints` counts performed requests (completed or not), `nodes`
    are those of the last run. `deadline` and `promise` hold None, and `qos` is None, where the
    policy promises nothing. `runs` are ordered by (job, start), `failures` as they were played.
    """

    start: list[int]
    last_start: list[int]
    finish: list[int]
    deadline: list[int | None]
    promise: list[float | None]
    restarts: list[int]
    checkpoints: list[int]
    skipped: list[int]
    lost: list[int]
    nodes: list[list[int]]
    runs: list[Run]
    failures: list[Hit]
    qos: float | None = field(default=None)
    utilization: float = field(default=0.0)
    lost_work: int = field(default=0)


def finished_run(
    jobs: list[JobRow],
    runs: list[Run],
    hits: list[Hit],
    size_of_machine: int,
    promises: list[tuple[int, float]] | None = None,
    decided: list[tuple[int, int]] | None = None,
) -> ReferenceRun:
    """Return the result; what the runs do not tell is in `promises` and `decided`.

    Of each job: `promises` holds (deadline, probability), `decided` (performed, skipped).
    """
    runs = sorted(runs, key=lambda run: (run.job, run.start))
    of_job: list[list[Run]] = [[] for _ in jobs]
    for run in runs:
        of_job[run.job].append(run)
    result = ReferenceRun(
        start=[mine[0].start for mine in of_job],
        last_start=[mine[-1].start for mine in of_job],
        finish=[mine[-1].end for mine in of_job],
        deadline=[None] * len(jobs) if promises is None else [d for d, _ in promises],
        promise=[None] * len(jobs) if promises is None else [p for _, p in promises],
        restarts=[len(mine) - 1 for mine in of_job],
        checkpoints=[0] * len(jobs) if decided is None else [p for p, _ in decided],
        skipped=[0] * len(jobs) if decided is None else [s for _, s in decided],
        lost=[sum(run.lost for run in mine) for mine in of_job],
        nodes=[list(mine[-1].nodes) for mine in of_job],
        runs=runs,
        failures=hits,
    )
    _measure(result, jobs, size_of_machine)
    return result


def _measure(result: ReferenceRun, jobs: list[JobRow], size_of_machine: int) -> None:
    work = sum(runtime * size for _, size, runtime, _ in jobs)
    result.lost_work = sum(hit.lost for hit in result.failures)
    if not jobs:
        return
    span = max(result.finish) - min(submit for submit, *_ in jobs)
    result.utilization = work / (span * size_of_machine)
    kept = 0.0
    for (_, size, runtime, _), finish, deadline, promise in zip(
        jobs, result.finish, result.deadline, result.promise, strict=True
    ):
        if deadline is None or promise is None:
            return
        if finish <= deadline:
            kept += runtime * size * promise
    result.qos = kept / work
