"""What happened: readers, writers and generators of job and failure logs.

Names are loaded when they are first used, so that a command that reads no log stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forestall.logs.info import LogInfo, describe
    from forestall.logs.jobs.swf import Swf, read_swf, read_swf_file, write_swf
    from forestall.logs.jobs.table import jobs_from_table, read_job_table, write_job_table
    from forestall.logs.read import read_failures, read_jobs, slice_jobs
    from forestall.logs.write import write_failures_csv

_PLACES = {
    "LogInfo": "info",
    "Swf": "jobs.swf",
    "describe": "info",
    "jobs_from_table": "jobs.table",
    "read_failures": "read",
    "read_job_table": "jobs.table",
    "read_jobs": "read",
    "read_swf": "jobs.swf",
    "read_swf_file": "jobs.swf",
    "slice_jobs": "read",
    "write_failures_csv": "write",
    "write_job_table": "jobs.table",
    "write_swf": "jobs.swf",
}

__all__ = [
    "LogInfo",
    "Swf",
    "describe",
    "jobs_from_table",
    "read_failures",
    "read_job_table",
    "read_jobs",
    "read_swf",
    "read_swf_file",
    "slice_jobs",
    "write_failures_csv",
    "write_job_table",
    "write_swf",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
