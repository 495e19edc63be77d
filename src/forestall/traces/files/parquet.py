"""Parquet files of our own: tables with what is not a column, as JSON, in the file's metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.errors import TraceError
from forestall.model.site.coded import UNTOLD, Coded
from forestall.traces.files.atomic import atomic_path

with lazily():
    import polars as pl


KEY: Final = "forestall"
"""Name of our entry in the metadata."""


def write_parquet(table: pl.DataFrame, path: str | Path, told: Mapping[str, Any]) -> None:
    """Write a table with what else is to be told; the file appears whole or not at all."""
    text = json.dumps(told, sort_keys=True, allow_nan=False)
    with atomic_path(path) as beside:
        put_parquet(table, beside, {KEY: text})


def put_parquet(table: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a table into a file by way of memory: where the disk is full Polars itself may call it
    a fault of the format. Raises OSError."""
    room = io.BytesIO()
    table.write_parquet(room, metadata=metadata)
    with room.getbuffer() as whole:
        path.write_bytes(whole)


def told_by(path: str | Path) -> dict[str, Any]:
    """Return what the metadata of a Parquet file tells, nothing where it is not ours or damaged."""
    try:
        told = json.loads(pl.read_parquet_metadata(path).get(KEY, "{}"))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def read_parquet(path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Return a table. Raises TraceError where the file is damaged or none."""
    try:
        return pl.read_parquet(path, columns=columns, glob=False)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        said = (str(error).splitlines() or ["unknown"])[0]
        raise TraceError(path, f"is damaged or no Parquet file ({said})") from None


def text_column(name: str, column: Coded) -> pl.Series:
    """Return a column of text as Polars has it, null where it says nothing.

    Words that no row has are left out: they would be in the file though nobody could see them.
    """
    count = np.bincount(column.code[column.code >= 0], minlength=len(column.words))
    used = np.flatnonzero(count)
    words = [column.words[k] for k in used.tolist()]
    place = np.full(len(column.words) + 1, UNTOLD, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    index = pl.Series(place[column.code])
    if not words:
        return pl.Series(name, [None] * len(column), dtype=pl.Categorical)
    return pl.Series(name, words, dtype=pl.Categorical).gather(index.set(index < 0, None))


def coded(column: pl.Series) -> Coded:
    """Return a column of text with its words in order of first appearance."""
    if len(column) == 0:
        return Coded.untold(0)
    if column.dtype != pl.Categorical:
        text = column.cast(pl.String)
        column = text.set(text == "", None).cast(pl.Categorical)
    number = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    first = np.full(int(number.max()) + 2, -1, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    first[-1] = -1  # where rows without a word wrote
    used = np.flatnonzero(first >= 0)
    order = used[np.argsort(first[used], kind="stable")]
    table = np.full(len(first), UNTOLD, dtype=np.int32)
    table[order] = np.arange(len(order), dtype=np.int32)
    words = column.gather(first[order]).cast(pl.String).to_list()
    return Coded(table[number], tuple(words))


def whole_column(
    name: str, column: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None
) -> pl.Series:
    """Return a column of whole numbers, null where `missing`."""
    series = pl.Series(name, column)
    return (
        series
        if missing is None or not bool(missing.any())
        else series.set(pl.Series(missing), None)
    )


def whole(
    table: pl.DataFrame, name: str, missing: int, dtype: type[np.signedinteger[Any]], path: Any
) -> npt.NDArray[Any]:
    """Return a column of whole numbers with `missing` for null; TraceError where it is none."""
    column = table[name]
    if not column.dtype.is_integer() and column.dtype != pl.Null:
        raise TraceError(path, f"holds {column.dtype}; expected whole numbers", field=name)
    return column.cast(pl.Int64).fill_null(missing).to_numpy().astype(dtype)


def is_parquet(path: Path) -> bool:
    """Return whether a file starts as Parquet does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def schema_names(path: str | Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file, whose name is no pattern. Raises what Polars does."""
    return tuple(pl.scan_parquet(path, glob=False).collect_schema().names())


def parquet_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file; none where it is damaged."""
    try:
        return schema_names(path)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return ()
