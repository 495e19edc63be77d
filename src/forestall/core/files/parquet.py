"""Parquet files of our own: tables with what is not a column, as JSON, in the file's metadata."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files import budget
from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.guard import first_line, quiet, reading
from forestall.core.files.pipes import readable
from forestall.core.model.coded import UNTOLD, Coded
from forestall.core.model.errors import TraceError

with lazily():
    import polars as pl


CELL: Final = 8
"""Bytes of a cell, about: a number, or where a text is."""
COPIES: Final = 1.5
"""How often a table is held while it is read: packed, by Polars, and by us."""
KEY: Final = "forestall"
"""Name of our entry in the metadata."""
SUM: Final = "forestall.sha256"
"""Name of the entry with the checksum of the whole file, itself taken as `NO_SUM`."""
NO_SUM: Final = "0" * 64
_FOOTER: Final = 8 << 20
"""Bytes at the end of a file, in which its metadata lie."""
_TOLD: Final = re.compile(re.escape(SUM.encode()) + rb".{1,4}?([0-9a-f]{64})", re.DOTALL)


def write_parquet(table: pl.DataFrame, path: str | Path, told: Mapping[str, Any]) -> None:
    """Write a table with what else is to be told; the file appears whole or not at all."""
    text = json.dumps(told, sort_keys=True, allow_nan=False)
    with atomic_path(path) as beside:
        put_parquet(table, beside, {KEY: text})


def put_parquet(table: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a table into a file by way of memory: where the disk is full Polars itself may call it
    a fault of the format. Its metadata has a checksum of the file. Raises OSError."""
    room = io.BytesIO()
    table.write_parquet(room, metadata={**(metadata or {}), SUM: NO_SUM})
    with room.getbuffer() as whole:
        at = bytes(whole[-_FOOTER:]).rfind(NO_SUM.encode()) + max(len(whole) - _FOOTER, 0)
        whole[at : at + len(NO_SUM)] = hashlib.sha256(whole).hexdigest().encode()
        path.write_bytes(whole)


def check_sum(path: str | Path) -> None:
    """Raise TraceError where a file has a checksum of ours in its metadata, and another content;
    Polars reads damaged pages as if nothing were wrong with them."""
    try:
        place = readable(path)
        told = place.stat()
        whole = _is_whole(str(place), told.st_ino, told.st_size, told.st_mtime_ns)
    except (OSError, ValueError):  # no file, or none that can be mapped: who reads it says so
        return
    if not whole:
        raise TraceError(path, "is damaged: its checksum is not that of its content")


@lru_cache(maxsize=64)
def _is_whole(path: str, *_: int) -> bool:
    """Whether a file is as it was written; True where it does not say."""
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        begin = max(len(data) - _FOOTER, 0)
        found = _TOLD.search(data, begin)
        if found is None:
            return True
        digest = hashlib.sha256()
        with memoryview(data) as view:
            for part in (view[: found.start(1)], NO_SUM.encode(), view[found.end(1) :]):
                digest.update(part)
                if isinstance(part, memoryview):
                    part.release()
        return digest.hexdigest().encode() == found[1]


def told_by(path: str | Path) -> dict[str, Any]:
    """Return what the metadata of a Parquet file tells, nothing where it is not ours. Raises
    TraceError where the checksum of ours is another one."""
    check_sum(path)
    try:
        with reading(path), quiet():
            told = json_of(pl.read_parquet_metadata(readable(path)).get(KEY, "{}"))
    except TraceError:
        return {}
    return told if isinstance(told, dict) else {}


def read_parquet(path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Return a table. Raises TraceError where the file is damaged or none."""
    check_sum(path)
    with reading(path), quiet():  # a panic of Polars, too
        try:
            _fits(path, columns)
            return pl.read_parquet(readable(path), columns=columns, glob=False)
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            said = first_line(error)
            raise TraceError(path, f"is damaged or not a Parquet file ({said})") from None


def _fits(path: str | Path, columns: list[str] | None) -> None:
    """Raise MemoryLimitError where a table would not fit: a few bytes may stand for many rows."""
    place = readable(path)
    schema = schema_names(place)
    rows = int(pl.scan_parquet(place, glob=False).select(pl.len()).collect().item())
    wanted = schema if columns is None else [name for name in columns if name in schema]
    budget.require(
        COPIES * CELL * rows * len(wanted), f"{rows:,} rows", count=rows, of="rows", source=path
    )


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


def is_parquet(path: str | Path) -> bool:
    """Return whether a file is there and starts as Parquet does."""
    try:
        with readable(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except (OSError, TraceError):
        return False


def schema_names(path: str | Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file, whose name is no pattern. Raises what Polars does."""
    return tuple(pl.scan_parquet(readable(path), glob=False).collect_schema().names())


def parquet_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file; none where it is damaged."""
    try:
        with reading(path):
            return schema_names(path)
    except TraceError:
        return ()
