"""Logs out: jobs and failures in the format that the name of the file asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs.jobs.swf import write_swf
from forestall.logs.jobs.table import write_job_table
from forestall.logs.metrics.write import PACKED
from forestall.logs.write import write_failures


@dataclass(frozen=True)
class WrittenLog:
    """What was written: `rows` of a `kind`; `left_out`: rows of the source that are not as they
    were."""

    file: str
    kind: str
    rows: int
    left_out: int

    @property
    def text(self) -> str:
        """The same in words."""
        lost = f"; {self.left_out:,} rows of the source were left out or changed"
        return f"{self.rows:,} {self.kind} in {self.file}{lost if self.left_out else ''}"


def write_log(log: Jobs | Failures, out: Path) -> WrittenLog:
    """Write a log in the format that the name asks for; return what was written.

    Jobs: .swf, .csv or .parquet; failures: .csv or .parquet; text with .gz, .xz or .zst packed.
    """
    suffixes = [suffix for suffix in out.suffixes if suffix not in PACKED]
    suffix = suffixes[-1] if suffixes else ""
    allowed = (".csv", ".parquet") if isinstance(log, Failures) else (".swf", ".csv", ".parquet")
    if suffix not in allowed:
        raise TraceError(out, f"does not say a format; expected a name in {', '.join(allowed)}")
    if isinstance(log, Failures):
        write_failures(log, out)
    elif suffix == ".swf":
        if log.requests is not None:
            raise TraceError(
                out, "SWF has no cores, memory and GPUs of nodes; expected .csv or .parquet"
            )
        write_swf(log, out)
    else:
        write_job_table(log, out)
    left = sum(remark.count for remark in log.cleaning.remarks if remark.action != "kept")
    kind = "failures" if isinstance(log, Failures) else "jobs"
    return WrittenLog(str(out), kind, len(log), left)
