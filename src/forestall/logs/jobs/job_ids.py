"""Ids of jobs: what a run makes of a log tells jobs apart by them, so each must be of one job."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.errors import TraceError
from forestall.core.model.jobs import Jobs

with lazily():
    import polars as pl

AGAIN: Final = "repeated job ids (all jobs are numbered anew, in order of submission)"


def with_own_ids(jobs: Jobs) -> Jobs:
    """Return jobs of which each has an id of its own: where one comes again, all are numbered from
    1. Raises TraceError where the log was read strictly."""
    if bool(np.all(np.diff(jobs.job) > 0)):  # as nearly every log has them
        return jobs
    ids = pl.Series(jobs.job)
    again = ids.filter(ids.is_duplicated()).unique().sort().to_list()
    if not again:
        return jobs
    if jobs.cleaning.strict:
        raise TraceError(jobs.source, f"{again[0]} is the id of more than one job", field="job")
    cleaning = jobs.cleaning.plus("job_id_again", AGAIN, "changed", again)
    return replace(jobs, job=np.arange(1, len(jobs) + 1, dtype=np.int64), cleaning=cleaning)
