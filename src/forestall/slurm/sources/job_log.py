"""What Slurm has run as a job log to plan with: each job with what it had of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.core.model.nodes import RESOURCES, Requests
from forestall.logs.given import jobs_of
from forestall.logs.read import read_jobs, slice_jobs
from forestall.slurm.jobs import looks_like_sacct, read_sacct
from forestall.slurm.records.accounting import UNLIMITED, Accounting


def read_slurm_jobs(path: str | Path, *, strict: bool = False) -> Jobs:
    """Return the jobs of a file that sacct wrote (text or JSON) as a job log.

    Raises TraceError where the file cannot be used or no job of it ran.
    """
    return jobs_of_runs(read_sacct(path, strict=strict))


def read_job_log(
    path: str | Path, *, jobs: str | None = None, strict: bool = False, **options: Any
) -> Jobs:
    """Read a job log of Slurm, or of any other format as `forestall.logs.read.read_jobs` does."""
    if not looks_like_sacct(path):
        return read_jobs(path, jobs=jobs, strict=strict, **options)
    if options.get("processors_per_node", 1) != 1:
        allowed = "1: the sizes of Slurm's jobs are nodes already"
        raise ParameterError("processors-per-node", options["processors_per_node"], allowed)
    whole = read_slurm_jobs(path, strict=strict)
    return whole if jobs is None else slice_jobs(whole, jobs)


def given_jobs(jobs: Jobs | str | Path | Any) -> Jobs:
    """Return jobs from a Jobs, a path (also of Slurm's), or a Polars or pandas table."""
    if isinstance(jobs, str | Path):
        return read_job_log(jobs)
    return jobs_of(jobs)


def jobs_of_runs(runs: Accounting) -> Jobs:
    """Return the jobs behind runs: submitted as the first of them, as long as the last that ended.

    Sizes are nodes; of each a job asks for its part of the processors, memory and GPUs that it had,
    rounded up, or for whole nodes where processors are not recorded. Jobs that never ran, or still
    run, are left out and counted. Raises TraceError where none is left.
    """
    good = runs.ran & (runs.nodes > 0) & (runs.elapsed > 0)
    last = np.full(int(runs.which.max(initial=-1)) + 1, -1, dtype=np.int64)
    last[runs.which[good]] = np.flatnonzero(good)
    first = np.full(len(last), -1, dtype=np.int64)
    first[runs.which[::-1]] = np.arange(len(runs))[::-1]
    text = "jobs that never ran, or had not ended"
    names = runs.job[first[last < 0]].astype(str).tolist()
    cleaning = runs.cleaning.plus("never_ran", text, "left out", names)
    first, last = first[last >= 0], last[last >= 0]
    if not len(last):
        raise TraceError(runs.source, "has no job that ran to an end")
    order = np.argsort(runs.submit[first], kind="stable")
    first, last = first[order], last[order]
    zero = int(runs.submit[first].min()) if runs.dated else 0
    limit = runs.limit[last]
    queues = [text.split(",")[0] for text in runs.partition.take(last).texts()]
    return Jobs(
        runs.job[last],
        runs.submit[first] - zero,
        runs.nodes[last].astype(np.int64),
        runs.elapsed[last],
        np.where((limit > 0) & (limit < UNLIMITED), limit, UNKNOWN),
        user=tuple(runs.user.take(last).texts()),
        queue=tuple(queues),
        source=runs.source,
        cleaning=cleaning,
        epoch=zero if runs.dated else None,
        requests=_requests(runs, last),
    )


def _requests(runs: Accounting, last: Ints) -> Requests:
    nodes = np.maximum(runs.nodes[last], 1).astype(np.int64)
    columns = (runs.cpus, runs.memory, runs.gpus)
    parts = [-(-np.maximum(column[last], 0).astype(np.int64) // nodes) for column in columns]
    whole = parts[0] == 0
    amounts = np.stack(parts, axis=1) * ~whole[:, None]
    nothing = ("",) * len(last)
    return Requests(
        RESOURCES, amounts, np.zeros(len(last), dtype=np.int64), whole, nothing, nothing
    )
