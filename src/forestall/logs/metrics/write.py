"""Writing metrics as our own table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.packed import pack
from forestall.core.files.parquet import put_parquet
from forestall.core.model.metrics import Metrics

with lazily():
    import polars as pl

PACKED = frozenset({".gz", ".xz", ".zst"})


def write_metrics(metrics: Metrics, path: str | Path) -> None:
    """Write ``time,node,METRIC,...``: Parquet by the name, else CSV (.gz, .xz, .zst are packed).

    Times are Unix seconds where the metrics have an origin, else their own; nodes are names where
    there are some; missing values are blank. The file appears whole or not at all.
    """
    columns: dict[str, pl.Series] = {
        "time": pl.Series(metrics.time + (metrics.origin or 0)),
        "node": pl.Series(metrics.node),
    }
    if metrics.node_names is not None:
        names = pl.Series(list(metrics.node_names), dtype=pl.String)
        columns["node"] = names.gather(columns["node"])
    for k, name in enumerate(metrics.names):
        column = pl.Series(np.ascontiguousarray(metrics.value[:, k]))
        columns[name] = column.fill_nan(None)
    table = pl.DataFrame(columns)
    with atomic_path(path) as beside:
        if Path(path).suffix == ".parquet":
            put_parquet(table, beside)
        elif Path(path).suffix in PACKED:
            pack(beside, harmless(table).write_csv().encode(), Path(path).suffix)
        else:
            harmless(table).write_csv(beside)


def is_table_name(path: str | Path) -> bool:
    """Return whether a name says a format that `write_metrics` writes."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in PACKED]
    packed = Path(path).suffix in PACKED
    return bool(suffixes) and suffixes[-1] in ({".csv"} if packed else {".csv", ".parquet"})
