"""Jobs, failures and parameters as users give them: as nouns, paths or tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import EmptyTraceError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs.jobs.table import jobs_from_table
from forestall.logs.predictions import predicted_column
from forestall.logs.read import read_failures, read_jobs


def jobs_of(jobs: Jobs | str | Path | Any) -> Jobs:
    """Return jobs from a Jobs, a path, or a Polars or pandas table."""
    if isinstance(jobs, Jobs):
        return jobs
    if isinstance(jobs, str | Path):
        return read_jobs(jobs)
    return jobs_from_table(jobs)


def read_failures_or_none(path: str | Path, **options: Any) -> Failures:
    """Return the failures of a log as `read_failures` does, none of one that is empty: a machine
    may have been lucky, and a run without failures is a run. That is remarked upon."""
    try:
        return read_failures(path, **options)
    except EmptyTraceError:
        text = "logs without any failure"
        cleaning = Cleaning().plus("empty_failure_log", text, "kept", [path])
        return replace(Failures.none(), source=str(path), cleaning=cleaning)


def failures_of(failures: Failures | str | Path | Any | None) -> Failures:
    """Return failures from a Failures, a path, a table with time and node, or None for no
    failures."""
    if failures is None:
        return Failures.none()
    if isinstance(failures, Failures):
        return failures
    if isinstance(failures, str | Path):
        return read_failures_or_none(failures)
    columns = list(failures.columns)
    for name in ("time", "node"):
        if name not in columns:
            raise ParameterError("failures", columns, f"a table with a column {name!r}")
    more = {n: np.asarray(failures[n]) for n in ("downtime", "detectability") if n in columns}
    if "predicted" in columns:
        more["predicted"] = predicted_column(failures["predicted"])
    return Failures.build(np.asarray(failures["time"]), np.asarray(failures["node"]), **more)
