"""Our own failure log as Parquet: the columns of `own`, with what its comments tell as metadata.

Without metadata the columns are read as those of a CSV without comments. The metadata also keeps
what the CSV cannot: whether downtimes are repair times, and when each node was in service.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.delimited import TextColumns, check_columns
from forestall.core.files.findings import Findings
from forestall.core.files.parquet import parquet_columns, read_parquet, told_by, write_parquet
from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.logs.failures.predicted import blanked
from forestall.logs.failures.raw import Service

with lazily():
    import polars as pl


REQUIRED: Final = ("time", "node")
OPTIONAL: Final = ("downtime", "kind", "detectability", "predicted")
KIND: Final = "failures"


@dataclass(frozen=True)
class ParquetNotes:
    """What stands beside the rows; None where it does not.

    Attributes
    ----------
    lines : filled lines above the header of a CSV
    origin : Unix seconds of time 0; `span` in seconds; `nodes` and `names` of the machine
    repairs : whether downtimes are repair times
    service : when each node was in service, in the log's own count
    """

    lines: int = 0
    origin: int | None = None
    span: int | None = None
    nodes: int | None = None
    names: tuple[str, ...] | None = None
    repairs: bool = False
    service: Service | None = None

    @property
    def silent(self) -> bool:
        """Whether they tell nothing at all of times and nodes."""
        told = (self.origin, self.span, self.nodes, self.names)
        return all(one is None for one in told)


def looks_like(path: Path) -> bool:
    """Return whether a Parquet file is one of ours, or has time and node among our columns only."""
    names = set(parquet_columns(path))
    return set(REQUIRED) <= names and (
        names <= {*REQUIRED, *OPTIONAL} or told_by(path).get("kind") == KIND
    )


def read(path: Path, strict: bool) -> tuple[TextColumns, ParquetNotes]:
    """Return the rows as columns of text, and what the metadata tells."""
    table = read_parquet(path)
    check_columns(path, table.columns, REQUIRED)
    texts = []
    for name in (*REQUIRED, *OPTIONAL):
        if name not in table.columns:
            continue
        column = table[name]
        if column.dtype in (pl.Date, pl.Datetime):
            column = column.dt.strftime("%Y-%m-%dT%H:%M:%S")
        texts.append(column.cast(pl.String).str.strip_chars().replace("NaN", "").alias(name))
    lines = np.arange(1, len(table) + 1, dtype=np.int64)
    sheet = TextColumns(pl.DataFrame(texts), lines, tuple(table.columns), Findings(path, strict))
    return sheet, _notes(path)


def _notes(path: Path) -> ParquetNotes:
    told = told_by(path)
    if told.get("kind") != KIND:
        return ParquetNotes()
    try:
        names = told.get("names")
        notes = ParquetNotes(
            origin=_number(told.get("origin")),
            span=_number(told.get("span")) or None,
            nodes=_number(told.get("nodes")) or None,
            names=None if names is None else tuple(map(str, names)),
            repairs=bool(told.get("repairs", False)),
        )
        service = _service(told, notes.origin or 0, len(names or ()) or (notes.nodes or 0))
    except (TypeError, ValueError, KeyError):
        raise TraceError(path, "has metadata that forestall did not write") from None
    return ParquetNotes(
        0, notes.origin, notes.span, notes.nodes, notes.names, notes.repairs, service
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _service(told: dict[str, Any], zero: int, nodes: int) -> Service | None:
    if told.get("service_start") is None:
        return None
    start, end = (
        np.array(told[name], dtype=np.int64) + zero for name in ("service_start", "service_end")
    )
    new = np.array(told["service_new"], dtype=np.bool_)
    if not len(start) == len(end) == len(new) == nodes:
        raise ValueError
    return Service(start, end, new)


def write(failures: Failures, path: str | Path) -> None:
    """Write a log; all of `Failures` but its remarks comes back. The file appears whole or not."""
    columns: dict[str, pl.Series] = {
        "time": pl.Series(failures.time),
        "node": node_column(failures),
        "downtime": pl.Series(failures.downtime),
    }
    columns["downtime"] = columns["downtime"].set(columns["downtime"] < 0, None)
    columns |= told_columns(failures)
    told: dict[str, Any] = {
        "kind": KIND,
        "origin": failures.origin,
        "span": failures.span,
        "nodes": failures.nodes,
        "names": None if failures.names is None else list(failures.names),
        "repairs": failures.repairs,
    }
    if failures.service_start is not None:
        assert failures.service_end is not None
        assert failures.service_new is not None
        told["service_start"] = failures.service_start.tolist()
        told["service_end"] = failures.service_end.tolist()
        told["service_new"] = failures.service_new.tolist()
    write_parquet(pl.DataFrame(columns), path, told)


def told_columns(failures: Failures) -> dict[str, pl.Series]:
    """Return what the log tells of its failures besides when, where and for how long."""
    columns: dict[str, pl.Series] = {}
    if failures.kind is not None:
        columns["kind"] = pl.Series(list(failures.kind), dtype=pl.String)
    if not bool(np.all(np.isnan(failures.detectability))):
        columns["detectability"] = pl.Series(failures.detectability).fill_nan(None)
    if failures.predicted is not None:
        columns["predicted"] = blanked(failures.predicted)
    return columns


def node_column(failures: Failures) -> pl.Series:
    """Return the nodes, by name where they have names."""
    if failures.names is None:
        return pl.Series(failures.node)
    return pl.Series(list(failures.names), dtype=pl.String).gather(failures.node)
