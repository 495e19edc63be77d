"""Mutators of what is not text: packed text, ZIP archives of JSON and arrays, Parquet."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import warnings
import zipfile
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import zstandard

from forestall.logs.metrics.day_files import HEADER, decode, encode, segments
from fuzz.hostile import Draw
from fuzz.mutate import Mutator, bytes_of_any, nested

PACKERS = {
    "gz": (gzip.decompress, partial(gzip.compress, mtime=0)),
    "xz": (lzma.decompress, partial(lzma.compress, preset=0)),
    "zst": (
        lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
        lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    ),
}


def packed(kind: str, within: Mutator) -> Mutator:
    """Return what damages the bytes of a packed file or, as often, the text in it."""
    unpack, pack = PACKERS[kind]

    def mutate(draw: Draw, data: bytes) -> bytes:
        if draw.chance(0.5):
            return bytes_of_any(draw, data)
        try:
            changed = within(draw, unpack(data))
        except Exception:  # damaged already; each packer has errors of its own
            return bytes_of_any(draw, data)
        whole = pack(changed)
        return whole + pack(changed) if draw.chance(0.1) else whole

    return mutate


def archive(draw: Draw, data: bytes) -> bytes:
    """Damage a ZIP archive of JSON and arrays: its bytes, or one entry of it."""
    if draw.chance(0.35):
        return bytes_of_any(draw, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            entries = [(name, whole.read(name)) for name in whole.namelist()]
    except Exception:  # damaged already; zipfile tells of it in ten ways
        return bytes_of_any(draw, data)
    if not entries:
        return bytes_of_any(draw, data)
    at = draw.below(len(entries))
    name, content = entries[at]
    match draw.below(7):
        case 0:
            del entries[at]
        case 1:
            entries.append(entries[at])
        case 2:
            entries[at] = (
                draw.pick(("../x.npy", "/x.npy", "a\0b.npy", "x", name.upper())),
                content,
            )
        case _:
            entries[at] = (name, _entry(draw, name, content))
    room = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as made:
        warnings.simplefilter("ignore")  # two entries of one name
        for name, content in entries:
            made.writestr(zipfile.ZipInfo(name.replace("\0", "") or "x"), content)
    return room.getvalue()


def _entry(draw: Draw, name: str, content: bytes) -> bytes:
    if not name.endswith(".npy"):
        return nested(draw, content)
    if draw.chance(0.2):
        return bytes_of_any(draw, content)
    try:
        values = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError):
        return bytes_of_any(draw, content)
    room = io.BytesIO()
    np.lib.format.write_array(room, array(draw, values), allow_pickle=False)
    return room.getvalue()


def array(draw: Draw, values: Any) -> Any:
    """Return an array with some values out of any range, or of another length, shape or type."""
    if values.dtype.names and draw.chance(0.8):
        name = draw.pick(values.dtype.names)
        worse, records = array(draw, values[name]), values.copy()
        if worse.shape == values[name].shape and worse.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                records[name] = worse
        return records
    some = np.array(values, copy=True).reshape(-1)
    kind = draw.below(9)
    if kind < 4 and some.size and some.dtype.kind in "iufb":
        worst: tuple[Any, ...] = (-1, 1000, 41, 2**15, 2**31 - 1, 2**62, -(2**62), 0)
        if some.dtype.kind == "f":
            worst = (*worst, np.nan, np.inf, -np.inf, 1e308)
        with np.errstate(all="ignore"):
            new = np.array([draw.pick(worst)]).astype(some.dtype)[0]
        some[slice(None) if draw.chance(0.1) else draw.below(some.size)] = new
        return some.reshape(np.shape(values))
    match kind:
        case 4:
            return values[: draw.below(len(some) + 1)] if np.ndim(values) else some[:0]
        case 5:
            return np.concatenate([some, some])
        case 6:
            return some[::-1].reshape(np.shape(values))
        case 7:
            with np.errstate(all="ignore"):
                return some.astype(
                    draw.pick(("f8", "i8", "i1", "u8", "c16", "U5", "?", "f2", ">i4"))
                )
        case _:
            return draw.pick((some.reshape(1, -1), np.zeros((0, 3)), np.float64(1), some[:0]))


def day_file(draw: Draw, data: bytes) -> bytes:
    """Damage a day file of an agent: its bytes, or a header or records, with checksums that fit."""
    found = segments(data)
    if draw.chance(0.35) or not found:
        return bytes_of_any(draw, data)
    head, begin, end, _ = draw.pick(found)
    size, seed, version = head.record, head.seed, head.version
    read = (decode(data[k : k + size], seed, version) for k in range(begin, end - size + 1, size))
    records = [one for one in read if one is not None]
    worse: dict[str, Any] = {
        "host": draw.word().decode("utf-8", "replace"),
        "boot": draw.rng.bytes(16),
        "serial": draw.pick((0, 2**32 - 1)),
        "period": draw.pick((0.0, 0.001, 4e6, -1.0)),
        **{
            name: draw.pick((-1.0, 2.0, 1e30, float("inf"), float("nan")))
            for name in ("th1", "th2", "hold", "guest_memory")
        },
    }
    if draw.chance(0.5) or not records:
        name = draw.pick(list(worse))
        head = replace(head, **{name: worse[name]})
    for _ in range(draw.pick((1, 1, 2, 50)) if records else 0):
        at = draw.below(len(records))
        records[at] = records[at]._replace(
            **draw.pick(
                (
                    {"wall": draw.pick((0, 2**31, 2**32 - 1, records[at].wall - 86_400))},
                    {"boot": draw.pick((0.0, 4e8, records[at].boot + 1e6))},
                    {"cpu": float("nan")},
                    {"memory_free": float("nan"), "io": 1e30},
                    {"state": draw.below(8), "flags": draw.below(32)},
                )
            )
        )
    try:
        body = b"".join(encode(one, head.seed, version) for one in records)
        return data[: max(begin - 2 * HEADER, 0)] + head.encode() + body + data[end:]
    except (struct.error, ValueError, OverflowError):
        return bytes_of_any(draw, data)


_SPOILT: set[int] = set()
"""Hashes of Parquet files whose bytes are damaged: Polars, which may panic, is not to read them in
this process."""


def parquet(draw: Draw, data: bytes) -> bytes:
    """Damage a Parquet file: its bytes, or the table in it, what it tells besides unchanged or
    not."""
    if draw.chance(0.4) or hash(data) in _SPOILT:
        spoilt = bytes_of_any(draw, data)
        _SPOILT.add(hash(spoilt))
        return spoilt
    try:
        frame = pl.read_parquet(io.BytesIO(data))
        told = pl.read_parquet_metadata(io.BytesIO(data))
    except BaseException:  # a panic is one that derives from nothing else
        return bytes_of_any(draw, data)
    told = {key: value for key, value in told.items() if not key.startswith("ARROW")}
    if told and draw.chance(0.25):
        key = draw.pick(list(told))
        told[key] = nested(draw, told[key].encode()).decode("utf-8", "replace").replace("\0", "")
        if draw.chance(0.2):
            del told[key]
    else:
        frame = _frame(draw, frame)
    room = io.BytesIO()
    frame.write_parquet(room, metadata=told)
    return room.getvalue()


def _frame(draw: Draw, frame: pl.DataFrame) -> pl.DataFrame:  # noqa: PLR0911 # one for each way
    if not frame.width:
        return frame
    name = draw.pick(frame.columns)
    column = frame[name]
    match draw.below(9):
        case 0:
            return frame.drop(name)
        case 1:
            return frame.rename({name: str(draw.value())[:50]}, strict=False)
        case 2:
            return pl.concat([frame, frame])
        case 3:
            return frame.reverse()
        case 4:
            return frame.clear()
        case 5:
            return frame.with_columns(pl.lit(None).alias(name))
        case 6:
            kind = draw.pick((pl.String, pl.Float64, pl.Int64, pl.UInt64, pl.Boolean, pl.Int8,
                              pl.Date, pl.Datetime("us"), pl.Categorical))  # fmt: skip
            return frame.with_columns(_cast(column, kind))
        case _:
            return frame.with_columns(_spoilt(draw, column))


def _cast(column: pl.Series, kind: Any) -> pl.Series:
    try:
        return column.cast(kind, strict=False)
    except BaseException:
        return pl.Series(column.name, ["x"] * len(column))


def _spoilt(draw: Draw, column: pl.Series) -> pl.Series:
    """Return a column with one hostile value, or many."""
    values = column.to_list()
    if not values:
        return column
    if column.dtype.is_numeric():
        new: Any = draw.pick((-1, 0, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63), None))
        if column.dtype.is_float():
            new = draw.pick((new, float("nan"), float("inf"), 1e308))
    elif column.dtype == pl.Boolean:
        new = None
    else:
        new = draw.word()[:2000].decode("utf-8", "replace")
    places = range(len(values)) if draw.chance(0.1) else [draw.below(len(values))]
    for place in places:
        values[place] = new
    try:
        return pl.Series(column.name, values, dtype=column.dtype, strict=False)
    except BaseException:
        return column
