"""The front door: metrics of nodes from any store or table that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.files.delimited import header_names
from forestall.core.files.findings import shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet, parquet_columns
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.metrics import Metrics
from forestall.logs.metrics import day_files, day_samples, hostload, ldms, prometheus, table
from forestall.logs.metrics.raw import MetricSelection, RawSamples, assembled, joined


@dataclass(frozen=True)
class MetricFormat:
    """A format of metrics.

    Attributes
    ----------
    name : as `format` takes it
    text : what it is, in a few words
    read : the reader of one file
    """

    name: str
    text: str
    read: Callable[[Path, MetricSelection], RawSamples]


WHATEVER: Final = MetricSelection()

FORMATS: Final = (
    MetricFormat(
        "table", "CSV or Parquet with a time and a node, our own among them", table.read_table
    ),
    MetricFormat("ldms", "LDMS CSV store", ldms.read_ldms),
    MetricFormat("prometheus", "Prometheus, JSON of a range query", prometheus.read_prometheus),
    MetricFormat("planetlab", "host load, vm,t000,t001,...: CPU %", hostload.read_rows),
    MetricFormat(
        "machines", "host load, a file a machine: CPU % [memory %]", hostload.read_machines
    ),
    MetricFormat("days", "day files of forestall agent", day_samples.read_day),
)

_BY_NAME: Final = {known.name: known for known in FORMATS}


@reader
def read_metrics(
    path: str | Path,
    *,
    format: str | None = None,
    names: Sequence[str] | None = None,
    node: str | None = None,
    time: str | None = None,
    start: str | int | None = None,
    days: float | None = None,
    strict: bool = False,
) -> Metrics:
    """Read samples of nodes' metrics, of any format in `FORMATS`, detected from the content.

    Parameters
    ----------
    path : a file (text may be compressed: .gz, .xz, .zst), or a folder whose files are read
        together
    format : name of the format (default: detected)
    names : the metrics to read, as the source names them (default: all numbers)
    node, time : the columns (of Prometheus: the label) of node and time, where not the usual ones
    start : time 0, as a date such as ``2003-07-18T16:00`` or in the source's own seconds; without
        it the first sample of a source with dates, the own 0 of one that counts seconds
    days : length of the window [start, start + days)
    strict : whether a row that must be left out or changed is an error

    Nodes that the source names by numbers from 0 (our own files) keep them; other names are
    numbered in their order. Missing values are nan. What was left out is in `cleaning`. Raises
    TraceError where nothing can be used, ParameterError for a bad parameter.
    """
    if format is not None and format not in _BY_NAME:
        raise ParameterError("format", format, "one of " + ", ".join(_BY_NAME))
    if names is not None and (isinstance(names, str) or len(names) == 0):
        raise ParameterError("names", names, "a list of metrics")
    asked = MetricSelection(
        None if names is None else tuple(dict.fromkeys(names)), node, time, strict
    )
    place = Path(path)
    if place.is_dir():
        samples = _folder(place, format, asked)
    else:
        known = metric_format(place, asked) if format is None else _BY_NAME[format]
        samples = known.read(place, asked)
    return assembled(samples, path, start=start, days=days)


def metric_format(path: Path, asked: MetricSelection = WHATEVER) -> MetricFormat:
    """Return the format of a file of metrics; TraceError where it is none that is known."""
    known = guess(path, asked)
    if known is None:
        first = next((line for line in head_lines(path) if line.strip()), "")
        if not first:
            raise TraceError(path, "is empty; expected metrics")
        expected = f"expected one of {', '.join(_BY_NAME)}"
        raise TraceError(path, f"not metrics: the file starts with {shown(first)}; {expected}")
    return known


def guess(path: Path, asked: MetricSelection = WHATEVER) -> MetricFormat | None:
    """Return the format of a file of metrics by its first bytes, None where it is none."""
    if is_parquet(path):
        return _BY_NAME["table"]
    if day_files.is_day_file(path):
        return _BY_NAME["days"]
    if hostload.is_archive(path):
        return _BY_NAME["machines"]
    lines = head_lines(path)
    first = next((line for line in lines if line.strip()), "")
    columns = header_names(first)
    name = None
    if ldms.looks_like(first) or ldms.header_beside(path) is not None:
        name = "ldms"
    elif prometheus.looks_like(first):
        name = "prometheus"
    elif hostload.looks_like_rows(columns):
        name = "planetlab"
    elif table.looks_like(columns, asked):
        name = "table"
    elif hostload.looks_like_samples(lines[:20]):
        name = "machines"
    return None if name is None else _BY_NAME[name]


@reader
def is_metrics(path: Path) -> bool:
    """Return whether a file, or a folder with some, holds metrics.

    A table does where it has more columns than time, node and those of our own failure logs. Some
    failure logs (drive days, node days) are both.
    """
    if path.is_dir():
        if day_files.day_files_in(path):
            return True
        files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        return any(is_metrics(file) for file in files[:50] if file.stat().st_size)
    if day_files.is_day_file(path):
        return True
    parquet = is_parquet(path)
    try:
        known = guess(path)
    except TraceError:
        return False
    if known is None or known.name != "table":
        return known is not None
    first = "" if parquet else next((line for line in head_lines(path) if line.strip()), "")
    columns = parquet_columns(path) if parquet else header_names(first)
    aside = {"downtime", "kind", "detectability", "predicted"}
    return table.looks_like(columns, WHATEVER) and len(set(columns) - aside) > 2


def _folder(path: Path, format: str | None, asked: MetricSelection) -> RawSamples:
    """Return the samples of all files of a folder that are of one format."""
    if format in (None, "days"):  # folders of agents, one or several, whatever else is in there
        agents = sorted({place.parent for place in path.rglob("samples")})
        days = [day for agent in agents for day in day_files.day_files_in(agent)]
        if days:
            return day_samples.read_days(days, asked)
    files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    files = [file for file in files if not ldms.is_header_file(file) and file.stat().st_size]
    found: dict[str, list[Path]] = {}
    for file in files:
        known = guess(file, asked) if format is None else _BY_NAME[format]
        if known is not None:
            found.setdefault(known.name, []).append(file)
    if not found:
        raise TraceError(path, "has no metrics files in a known format")
    if len(found) > 1:
        kinds = ", ".join(f"{len(some)} {name}" for name, some in sorted(found.items()))
        raise TraceError(path, f"has files of several formats ({kinds}); say which (format)")
    ((name, some),) = found.items()
    if name == "days":
        return day_samples.read_days(some, asked)
    if name == "machines" and not any(map(hostload.is_archive, some)):
        return hostload.read_machines(path, asked)
    if name == "planetlab" and len(some) > 1:
        message = (
            f"holds {len(some)} days that all begin at time 0 and share names; expected the file "
            f"of one day, such as {some[0].name}"
        )
        raise TraceError(path, message)
    parts = [_BY_NAME[name].read(file, asked) for file in some]
    return joined(parts, path) if len(parts) > 1 else parts[0]
