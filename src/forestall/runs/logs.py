"""Logs in and out by options: which rows of which file, and the format that a name asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet, parquet_columns
from forestall.core.files.pipes import is_there
from forestall.core.model.cleaning import Remark
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs.failures.raw import Head
from forestall.logs.info import is_failure_log
from forestall.logs.inputs import FAILURE_OPTIONS, Inputs, chosen_rows
from forestall.logs.jobs.job_records_summary import describe_records
from forestall.logs.jobs.swf_rows import is_swf
from forestall.logs.jobs.table import REQUIRED
from forestall.logs.metrics.info import describe_metrics
from forestall.logs.metrics.read import is_metrics, read_metrics
from forestall.logs.ras.info import describe_events
from forestall.logs.ras.read import ras_format, read_ras
from forestall.logs.ras.tables import own_columns
from forestall.slurm.files.folder import FAILURES, JOBS, is_site_folder, read_summary
from forestall.slurm.job_records import holds_job_records, read_job_records
from forestall.slurm.jobs import looks_like_sacct
from forestall.slurm.sources.job_log import read_job_log
from forestall.slurm.sources.windows import spoken

if TYPE_CHECKING:
    from forestall.logs.jobs.job_records_summary import RecordInfo
    from forestall.logs.metrics.info import MetricInfo
    from forestall.logs.ras.info import RasInfo

PACKED = frozenset({".gz", ".xz", ".zst"})
RUNS = "runs.parquet"
PARTS = frozenset({"events.parquet", "nodes.parquet", "estimates.parquet"})
"""Tables of an imported folder that say nothing by themselves."""


@dataclass(frozen=True)
class ImportInfo:
    """What ``import.json`` tells of an imported folder."""

    told: Mapping[str, Any]

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value) pairs for printing."""
        told = self.told
        zone = told.get("zone", "UTC")
        found = [("import of", f"{told.get('kind', 'records')}, by {told.get('forestall', '?')}")]
        if {"begin", "until"} <= set(told):
            dates = [spoken(int(told[name]), True) for name in ("begin", "until")]
            found.append(("window", f"{dates[0]} to {dates[1]} UTC"))
        found.append(("zone of times", str(zone)))
        found.append(("names", "pseudonyms" if told.get("anonymized") else "as they were"))
        counts = told.get("counts", {})
        found += [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
        found += [("read", str(source)) for source in told["sources"]]
        marks = (
            Remark(m["kind"], m["text"], m["action"], ("",) * m["count"]) for m in told["remarks"]
        )
        return found + [(f"  {one.action}", one.counted) for one in marks]


def read_log(path: Path, values: Mapping[str, Any]) -> Jobs | Failures:
    """Return the jobs or the failures of a log, whichever it is, as these options choose them.

    Raises ParameterError for an option of the other kind of log.
    """
    if not is_there(path):
        raise TraceError(path, "cannot be read: No such file or directory")
    failing = "failure_format" in values or is_failure_log(path)
    wrong = ("jobs", "processors_per_node") if failing else FAILURE_OPTIONS
    for name in wrong:
        if name in values:
            kind = "job log, and this is a failure log" if failing else "failure log"
            raise ParameterError(name, values[name], f"a {kind}: {path}")
    if failing:
        return chosen_rows(path, {**values, "failures": path}).read_failures()
    return jobs_of(chosen_rows(path, values))


def jobs_of(inputs: Inputs) -> Jobs:
    """Return the chosen jobs of a run, also of a file that Slurm wrote."""
    if not looks_like_sacct(inputs.log):
        return inputs.read_jobs()
    given, strict = inputs.processors_per_node, inputs.strict
    return read_job_log(inputs.log, processors_per_node=given, jobs=inputs.jobs, strict=strict)


@reader
def kind_of(path: Path) -> str:
    """Return what a file holds by its first lines: "log" (jobs, failures, or nothing that is
    known), "records", "metrics" or "events"; "import" for a folder of `forestall import`.

    Raises TraceError for a table of such a folder that is nothing by itself.
    """
    if not is_there(path):
        return "log"
    if is_site_folder(path):
        return "import"
    if path.name in PARTS and is_site_folder(path.parent):
        message = "is a table of an imported folder; forestall traces info takes the folder"
        raise TraceError(path, f"{message}, or {JOBS}, {FAILURES} and {RUNS} in it")
    if path.is_dir():
        failing = any(path.glob("event_trace*.tab*")) or not is_metrics(path)
        return "log" if failing else "metrics"
    if is_parquet(path):
        if is_failure_log(path):
            return "log"
        columns = parquet_columns(path)
        events = own_columns(columns) is not None
    else:
        lines = head_lines(path, binary=True)
        form = ras_format(path)
        if is_swf(lines) or (is_failure_log(path) and form != "hpc"):  # hpc tells no failures
            return "log"
        columns = Head(path, lines).columns
        events = form is not None
    if set(REQUIRED) <= set(columns):
        return "log"
    if holds_job_records(path):
        return "records"
    return "events" if events else "metrics" if is_metrics(path) else "log"


def read_beside(
    path: Path, kind: str, values: Mapping[str, Any]
) -> RasInfo | MetricInfo | RecordInfo | ImportInfo:
    """Return what is in an event log, in metrics of nodes or in records of jobs, as these options
    choose.

    Raises ParameterError for an option that has no meaning there.
    """
    if kind == "import":
        for name in values:
            raise ParameterError(name, values[name], "nothing with an imported folder")
        return ImportInfo(read_summary(path))
    known = {"strict", "from", "days"} | ({"system"} if kind == "events" else set())
    for name in values:
        if name not in known:
            raise ParameterError(name, values[name], f"nothing with {{as}} {kind}")
    inputs = chosen_rows(path, {**values, "failures": path})
    given: dict[str, Any] = {"start": inputs.start, "days": inputs.days, "strict": inputs.strict}
    if kind == "events":
        return describe_events(read_ras(path, system=inputs.system, **given))
    if kind == "records":
        return describe_records(read_job_records(path, **given))
    return describe_metrics(read_metrics(path, **given))
