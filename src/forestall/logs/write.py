"""Writing failure logs as our own CSV, or as Parquet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import guarded, harmless
from forestall.core.files.packed import pack
from forestall.core.model.failures import Failures
from forestall.logs.failures import own_parquet

with lazily():
    import polars as pl


def write_failures(failures: Failures, path: str | Path) -> None:
    """Write a failure log, Parquet where the name ends in .parquet, else CSV (.gz, .xz, .zst
    packed).

    Parquet keeps all of it but the remarks, CSV not what `write_failures_csv` says. The file
    appears whole or not at all.
    """
    if Path(path).suffix == ".parquet":
        own_parquet.write(failures, path)
    else:
        write_failures_csv(failures, path)


def write_failures_csv(failures: Failures, path: str | Path) -> None:
    """Write ``time,node[,downtime][,kind][,detectability][,predicted]``, packed by its suffix.

    Columns of which nothing is known are left out, and single unknown fields blank; `predicted`
    stays where the log has it, blank where a failure was not foreseen. Of a log with
    dates or names, nodes are written by name, and lines above the header tell the date of time 0,
    the span and all nodes (see `failures.own`). The file appears whole or not at all.
    """
    columns = {"time": pl.Series(failures.time), "node": own_parquet.node_column(failures)}
    if bool(np.any(failures.downtime >= 0)):
        down = pl.Series(failures.downtime)
        columns["downtime"] = down.set(down < 0, None)
    columns |= own_parquet.told_columns(failures)
    with atomic_path(path) as beside:
        text = harmless(pl.DataFrame(columns)).write_csv()
        text = _notes(failures) + text
        pack(beside, text.encode(), Path(path).suffix)


def _notes(failures: Failures) -> str:
    """Return the lines above the header: none for a log without dates and names."""
    if failures.origin is None and failures.names is None:
        return ""
    lines = []
    if failures.origin is not None:
        lines.append(f"# origin: {np.datetime64(failures.origin, 's')}")
    if failures.span > 0:
        lines.append(f"# span: {failures.span}")
    if failures.names is None and failures.nodes > 0:
        lines.append(f"# nodes: {failures.nodes}")
    if failures.names is not None:
        row = io.StringIO()
        csv.writer(row, lineterminator="").writerow(map(guarded, failures.names))
        lines.append(f"# names: {row.getvalue()}")
    return "".join(f"{line}\n" for line in lines)
