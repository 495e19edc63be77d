"""Writing event logs as our own table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import harmless
from forestall.core.files.packed import pack
from forestall.core.files.parquet import put_parquet
from forestall.core.model.ras import RasLog, Severity

with lazily():
    import polars as pl

ROWS = 1_000_000


def write_ras(log: RasLog, path: str | Path) -> None:
    """Write ``time,place,severity,kind[,alert]`` as CSV, or as Parquet where the name ends so.

    Times are seconds from the log's time 0. CSV of names in .gz, .xz or .zst is packed. The file
    appears whole or not at all.
    """
    suffix = Path(path).suffix
    places = pl.Series(list(log.places), dtype=pl.String)
    kinds = pl.Series(list(log.kinds), dtype=pl.String)
    words = pl.Series([one.name for one in Severity], dtype=pl.String)

    def part(first: int) -> pl.DataFrame:
        some = slice(first, first + ROWS)
        columns = {
            "time": pl.Series(log.time[some]),
            "place": places.gather(log.place[some]),
            "severity": words.gather(log.severity[some].astype(np.int64)),
            "kind": kinds.gather(log.kind[some]),
        }
        if log.alert is not None:
            columns["alert"] = pl.Series(log.alert[some]).cast(pl.Int8)
        table = pl.DataFrame(columns)
        return table if suffix == ".parquet" else harmless(table)

    parts = range(0, max(len(log), 1), ROWS)
    with atomic_path(path) as beside:
        if suffix == ".parquet":
            put_parquet(pl.concat([part(first) for first in parts]), beside)
        elif suffix in {".gz", ".xz", ".zst"}:
            texts = [part(first).write_csv(include_header=first == 0) for first in parts]
            pack(beside, "".join(texts).encode(), suffix)
        else:
            with beside.open("wb") as file:
                for first in parts:
                    part(first).write_csv(file, include_header=first == 0)
