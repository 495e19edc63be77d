"""Plain tables of metrics: CSV or Parquet with a column of nodes and one of times.

Our own files are among them: ``time,node,cpu,memory_free[,...]``, a row a sample, times Unix
seconds (or dates, or seconds from a trace's own 0), nodes names or numbers. `cpu` is the owner's
load as a share of the machine, `memory_free` the free memory as a share of all of it. A blank
field is a metric that was not read; a sample that is missing says that the machine was away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.cells import read_back
from forestall.core.files.delimited import check_columns, csv_frame, header_names, read_sheet
from forestall.core.files.findings import Findings, listed, shown
from forestall.core.files.packed import read_bytes, text_of
from forestall.core.files.parquet import is_parquet, read_parquet
from forestall.core.files.times import EXPECTED, times_of
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError
from forestall.logs.metrics.raw import MAX_NODES, MetricSelection, RawSamples, no_such_metric

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]

TIMES = ("time", "timestamp", "datetime", "date_time", "date", "day", "ts", "unix_time", "epoch")
NODES = (
    *("node", "node_name", "nodename", "host", "hostname", "host_name", "instance", "machine"),
    *("producername", "serial_number", "component_id", "vm", "server", "name"),
)
MISSING = ["NA", "N/A", "null", "None", "none", "nan", "NaN", "NAN"]
"""Fields that stand for no value, beside empty ones."""


def looks_like(columns: Sequence[str], asked: MetricSelection) -> bool:
    """Return whether a header names a time and a node: those asked for, or usual ones."""
    time = asked.time in columns if asked.time else _find(columns, TIMES) is not None
    node = asked.node in columns if asked.node else _find(columns, NODES) is not None
    return time and node


def read_table(path: Path, asked: MetricSelection) -> RawSamples:
    """Read a table; rows without a readable time or node are left out and named.

    Metrics are those asked for, else every column of numbers beside time and node. Raises
    TraceError where a column is missing.
    """
    findings = Findings(path, asked.strict)
    if is_parquet(path):
        frame, lines = read_parquet(path), None
    else:
        frame, lines, findings = _csv(path, asked, findings)
    time, node = _keys(path, frame.columns, asked)
    return samples_of(frame, lines, (time, node), asked, findings)


def samples_of(
    frame: pl.DataFrame,
    lines: Int | None,
    keys: tuple[str, str],
    asked: MetricSelection,
    findings: Findings,
    numbered: bool | None = None,
) -> RawSamples:
    """Return the samples of a table whose columns of time and node are `keys`."""
    time, node = keys
    line = np.arange(1, len(frame) + 1) if lines is None else lines
    times = times_of(frame[time])
    findings.fields(frame[time], line, ~times.good, EXPECTED, what="time")
    whole = frame[node].dtype.is_integer()
    named = frame[node] if whole else frame[node].cast(pl.String).str.strip_chars()
    nameless = (named.is_null() if whole else named.fill_null("") == "").to_numpy()
    findings.fields(frame[node], line, nameless, "a node", what="node")
    keep = times.good & ~nameless
    if numbered is None:  # our own files count nodes from 0 where they name them by numbers
        numbered = _counts(time, node)
    number = named.filter(pl.Series(keep)).cast(pl.Int64, strict=False) if numbered else None
    if number is not None and (number.has_nulls() or not _fair(number)):
        number = None
    values, ignored = metrics_of(frame, (time, node), asked, line, findings)
    cleaning = findings.cleaning(int(keep.sum()), "samples") if len(frame) else Cleaning()
    mask = pl.Series(keep)
    if not bool(keep.all()):
        named, values = named.filter(mask), values.filter(mask)
    return RawSamples(
        times.second[keep],
        named.cast(pl.String) if number is None else number,
        values,
        times.calendar,
        number is not None,
        line[keep],
        cleaning.plus("ignored_columns", "columns that hold no numbers", "kept", ignored),
    )


def metrics_of(
    frame: pl.DataFrame,
    keys: Iterable[str],
    asked: MetricSelection,
    line: Int,
    findings: Findings,
) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns of numbers as float64, and the names of those that are none.

    Without names asked for, text of which most is no number is none. Fields that cannot be read
    are missing values, and named.
    """
    beside = [name for name in frame.columns if name not in set(keys)]
    wanted = beside if asked.names is None else list(asked.names)
    missing = [name for name in wanted if name not in beside]
    if missing:
        raise no_such_metric(findings.source, missing, beside)
    columns, ignored = [], []
    for name in wanted:
        column = frame[name]
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            columns.append(column.cast(pl.Float64))
            continue
        text = column.cast(pl.String, strict=False).str.strip_chars()
        empty = text.fill_null("").is_in(["", *MISSING])
        value = text.cast(pl.Float64, strict=False)
        bad = (value.is_null() & ~empty).to_numpy()
        if asked.names is None and bad.sum() * 2 > (~empty).sum():
            ignored.append(name)
            continue
        columns.append(value.set(empty, None).alias(name))
        no_numbers(findings, text, line, bad)
    if not columns:
        raise TraceError(findings.source, "has no column of numbers beside time and node")
    return pl.DataFrame(columns), ignored


def no_numbers(
    findings: Findings, column: pl.Series, line: Int, bad: npt.NDArray[np.bool_]
) -> None:
    """Note the fields of a metric that are no numbers."""
    text = "fields that are not numbers (missing)"
    findings.fields(column, line, bad, "a number", what="value", text=text, action="changed")


def _counts(time: str, node: str) -> bool:
    """Return whether numbers of nodes are counted from 0, as in our own files, or names."""
    return (time.lower(), node.lower()) == ("time", "node")


def _fair(number: pl.Series) -> bool:
    if len(number) == 0:
        return False
    least, most = int(number.min()), int(number.max())  # type: ignore[arg-type]
    return least >= 0 and most < MAX_NODES


def _keys(path: Path, columns: Sequence[str], asked: MetricSelection) -> tuple[str, str]:
    """Return the columns of time and node."""
    chosen = []
    for what, given, usual in (("time", asked.time, TIMES), ("node", asked.node, NODES)):
        found = _find(columns, usual) if given is None else given
        if found is None or found not in columns:
            has = listed([shown(name) for name in columns], 12)
            lacks = f"column {given}" if given is not None else f"column of {what}s"
            hint = "" if given is not None else f" (say which it is: {what}=...)"
            raise TraceError(path, f"has no {lacks}; it has {has}{hint}")
        chosen.append(found)
    return chosen[0], chosen[1]


def _find(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    lower = {name.lower(): name for name in reversed(columns)}
    return next((lower[name] for name in usual if name in lower), None)


def _csv(
    path: Path, asked: MetricSelection, findings: Findings
) -> tuple[pl.DataFrame, Int, Findings]:
    """Return the columns of a CSV with their lines: at once where it is clean, else with care."""
    text = read_bytes(path, findings.spoilt)
    head, _, rest = text.partition(b"\n")
    names = header_names(text_of(head))
    if not any(names):
        raise TraceError(path, "is empty; expected a header with a time and a node")
    time, node = _keys(path, names, asked)
    check_columns(path, names, (time, node), 1)
    missing = [name for name in asked.names or () if name not in names]
    if missing:
        raise no_such_metric(path, missing, [n for n in names if n not in (time, node)])
    wanted = [time, node, *(names if asked.names is None else asked.names)]
    wanted = [name for name in dict.fromkeys(wanted) if name and names.count(name) == 1]
    frame = quick_csv(rest, names, wanted, text=None if _counts(time, node) else node)
    if frame is not None:
        return frame, np.arange(2, len(frame) + 2), findings
    sheet = read_sheet(path, (time, node), wanted, strict=asked.strict)
    return sheet.frame, sheet.lines, sheet.findings


def quick_csv(
    rest: bytes, names: Sequence[str], wanted: Sequence[str], *, text: str | None
) -> pl.DataFrame | None:
    """Return the columns of rows that are all as they should be, with numbers as numbers; else
    None. The column `text` stays text."""
    count = rest.count(b"\n") + (not rest.endswith(b"\n") and bool(rest))
    plain = b'"' not in rest and b"\n\n" not in rest and not rest.startswith(b"\n")
    if not plain or count == 0 or rest.count(b",") != count * (len(names) - 1):
        return None
    places = [f"c{k}" for k in range(len(names))]  # names may stand twice, or be missing
    known = {f"c{names.index(name)}": name for name in wanted}
    try:
        frame = csv_frame(
            b"\n".join((",".join(places).encode(), rest)),
            columns=list(known),
            schema_overrides={} if text is None else {f"c{names.index(text)}": pl.String},
            infer_schema_length=2000,
            null_values=MISSING,
            encoding="utf8-lossy",
        )
    except (pl.exceptions.PolarsError, ValueError):
        return None
    if len(frame) != count:
        return None
    return read_back(frame.rename(known).select(wanted))
