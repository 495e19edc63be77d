"""Logs in and out by options: which rows of which file, and the format that a name asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.app.settings import FAILURE_OPTIONS, inputs_of
from forestall.model.errors import ParameterError, TraceError
from forestall.model.failures import Failures
from forestall.model.jobs import Jobs

if TYPE_CHECKING:
    from forestall.traces.metrics.info import MetricInfo
    from forestall.traces.ras.info import RasInfo

PACKED = frozenset({".gz", ".xz", ".zst"})


def read_log(path: Path, values: Mapping[str, Any]) -> Jobs | Failures:
    """Return the jobs or the failures of a log, whichever it is, as these options choose them.

    Raises ParameterError for an option of the other kind of log.
    """
    from forestall.traces.info import is_failure_log

    if not path.exists():
        raise TraceError(path, "cannot be read: No such file or directory")
    failing = "failure_format" in values or is_failure_log(path)
    wrong = ("jobs", "processors_per_node") if failing else FAILURE_OPTIONS
    for name in wrong:
        if name in values:
            kind = "job log, and this is a failure log" if failing else "failure log"
            raise ParameterError(name, values[name], f"a {kind}: {path}")
    if failing:
        return inputs_of(path, {**values, "failures": path}).read_failures()
    return inputs_of(path, values).read_jobs()


def read_beside(path: Path, kind: str, values: Mapping[str, Any]) -> RasInfo | MetricInfo:
    """Return what is in an event log or in metrics of nodes, as these options choose.

    Raises ParameterError for an option that has no meaning there.
    """
    known = {"strict", "from", "days"} | ({"system"} if kind == "events" else set())
    for name in values:
        if name not in known:
            raise ParameterError(name, values[name], f"nothing with --as {kind}")
    inputs = inputs_of(path, {**values, "failures": path})
    given: dict[str, Any] = {"start": inputs.start, "days": inputs.days, "strict": inputs.strict}
    if kind == "events":
        from forestall.traces.ras.info import describe_events
        from forestall.traces.ras.read import read_ras

        return describe_events(read_ras(path, system=inputs.system, **given))
    from forestall.traces.metrics.info import describe_metrics
    from forestall.traces.metrics.read import read_metrics

    return describe_metrics(read_metrics(path, **given))


def write_log(log: Jobs | Failures, out: Path) -> str:
    """Write a log in the format that the name asks for; return in words what was written.

    Jobs: .swf, .csv or .parquet; failures: .csv; with .gz, .xz or .zst packed.
    """
    suffixes = [suffix for suffix in out.suffixes if suffix not in PACKED]
    suffix = suffixes[-1] if suffixes else ""
    allowed = (".csv",) if isinstance(log, Failures) else (".swf", ".csv", ".parquet")
    if suffix not in allowed:
        raise TraceError(out, f"does not say a format; expected a name in {', '.join(allowed)}")
    if isinstance(log, Failures):
        from forestall.traces.write import write_failures_csv

        write_failures_csv(log, out)
    elif suffix == ".swf":
        from forestall.traces.swf import write_swf

        write_swf(log, out)
    else:
        from forestall.traces.table import write_job_table

        write_job_table(log, out)
    left = sum(remark.count for remark in log.cleaning.remarks if remark.action != "kept")
    lost = f"; {left:,} rows of the source were left out or changed" if left else ""
    return f"{len(log):,} {'failures' if isinstance(log, Failures) else 'jobs'} in {out}{lost}"
