"""Writing failure logs as our own CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.model.failures import Failures
from forestall.traces.atomic import atomic_path
from forestall.traces.packed import pack


def write_failures_csv(failures: Failures, path: str | Path) -> None:
    """Write ``time,node[,downtime][,kind][,detectability]``; .gz, .xz and .zst are packed.

    Columns of which nothing is known are left out, and single unknown fields blank. The file
    appears whole or not at all.
    """
    import polars as pl

    columns = {"time": pl.Series(failures.time), "node": pl.Series(failures.node)}
    if bool(np.any(failures.downtime >= 0)):
        down = pl.Series(failures.downtime)
        columns["downtime"] = down.set(down < 0, None)
    if failures.kind is not None:
        columns["kind"] = pl.Series(list(failures.kind), dtype=pl.String)
    if not bool(np.all(np.isnan(failures.detectability))):
        columns["detectability"] = pl.Series(failures.detectability).fill_nan(None)
    with atomic_path(path) as beside:
        text = pl.DataFrame(columns).write_csv(quote_style="necessary")
        pack(beside, text.encode(), Path(path).suffix)
