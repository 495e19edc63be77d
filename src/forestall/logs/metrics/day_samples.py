"""Samples from day files, put on one line of time: what the agent wrote, as metrics.

Within one start of the machine every sample lies where CLOCK_BOOTTIME puts it, by the latest known
offset of the wall clock from it: that the clock was set in between loses and doubles nothing. Where
two starts overlap, the one that was written later counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError
from forestall.logs.metrics import day_files
from forestall.logs.metrics.day_files import RECORD, Segment
from forestall.logs.metrics.raw import MetricSelection, RawSamples, no_such_metric

with lazily():
    import polars as pl

Int = npt.NDArray[np.int64]

COLUMNS: Final = (*day_files.NAMES, *day_files.STORAGE)
ROW: Final = np.dtype(
    [("wall", "<u4"), ("boot", "<u4"), ("value", "<u2", 4), ("marks", "u1"), ("crc", "u1", 3)]
)
WIDE: Final = np.dtype(
    [("wall", "<u4"), ("boot", "<u4"), ("value", "<u2", 7), ("marks", "u1"), ("crc", "u1", 3)]
)
"""Of storage hosts."""
UNKNOWN: Final = 65_535
SET: Final = 2.0
"""Seconds by which the wall clock leaves CLOCK_BOOTTIME from one sample to the next where it was
set; it runs a little faster or slower while it is kept right."""
RECENT: Final = 64
"""Samples of which the latest offset is taken: their times are whole seconds."""


@dataclass(frozen=True)
class HostDays:
    """The samples of one host, ascending in time.

    Attributes
    ----------
    host : its name
    time : int64[n], Unix s, a sample each
    raw : uint16[n, 7], see `COLUMNS`; what is not told of storage is not known
    state : int8[n], 0 (S1) to 4, as the agent told it at the time
    period : s between samples, of the last segment
    """

    host: str
    time: Int
    raw: npt.NDArray[np.uint16]
    state: npt.NDArray[np.int8]
    period: float

    def values(self) -> npt.NDArray[np.float64]:
        """Return float64[n, 7], the metrics; nan where not known."""
        value = self.raw / 60_000
        value[:, 2] = np.exp2(self.raw[:, 2] / 2048) - 1
        value[:, 5] = self.raw[:, 5]
        value[:, 6] = np.exp2(self.raw[:, 6] / day_files.STORED_STEPS) - 1
        value[self.raw == UNKNOWN] = np.nan
        return value


@dataclass(frozen=True)
class _Boot:
    """What one start of a machine wrote: rows in the order of CLOCK_BOOTTIME, `last` the number of
    the last segment."""

    host: str
    rows: npt.NDArray[Any]
    period: npt.NDArray[np.float64]
    last: int

    def times(self) -> tuple[Int, list[str]]:
        """Return Unix s of each row, and where the wall clock was set."""
        boot = self.rows["boot"] / 10
        ahead = self.rows["wall"] - boot  # up to 1 s less than it is: seconds are rounded down
        steps = np.diff(ahead)
        at = np.flatnonzero(np.abs(steps) > SET)
        recent = ahead[max(at[-1] + 1 if len(at) else 0, len(ahead) - RECENT) :]
        offset = int(np.rint(recent.max()))
        slot = np.floor(boot / self.period + 1e-6) * self.period
        time = offset + np.floor(slot + 1e-6).astype(np.int64)
        return time, [f"{self.host} at {np.datetime64(int(time[k + 1]), 's')}: "
                      f"{steps[k]:+,.0f} s" for k in at.tolist()]  # fmt: skip


def read_day(path: Path, asked: MetricSelection) -> RawSamples:
    """Read one day file."""
    return read_days([path], asked)


def read_days(paths: Sequence[Path], asked: MetricSelection) -> RawSamples:
    """Read day files of any hosts together, `time` and `node` apart; see `host_days`."""
    source = paths[0] if len(paths) == 1 else paths[0].parent
    missing = [name for name in asked.names or () if name not in COLUMNS]
    if missing:
        raise no_such_metric(source, missing, day_files.NAMES)
    hosts, cleaning = host_days(paths, source, strict=asked.strict)
    value = np.concatenate([host.values() for host in hosts])
    there = [name for k, name in enumerate(COLUMNS) if k < 4 or not np.isnan(value[:, k]).all()]
    wanted = there if asked.names is None else list(asked.names)
    columns = [COLUMNS.index(name) for name in wanted]
    names = [name for host in hosts for name in [host.host] * len(host.time)]
    return RawSamples(
        np.concatenate([host.time for host in hosts]),
        pl.Series("node", names, dtype=pl.String),
        pl.DataFrame({name: value[:, k] for name, k in zip(wanted, columns, strict=True)}),
        calendar=True,
        cleaning=cleaning,
    )


def host_days(
    paths: Iterable[Path], source: str | Path, *, strict: bool = False
) -> tuple[list[HostDays], Cleaning]:
    """Return the samples of each host, by name, and what was left out.

    A day's packed file is not read where the plain one lies beside it. Raises TraceError where
    there is no sample, or, with `strict`, where something was left out.
    """
    parts: list[tuple[Segment, npt.NDArray[Any]]] = []
    cleaning = Cleaning()
    for path in day_files.only_plain(sorted(paths)):
        found, remarks = _of_file(path)
        parts += found
        cleaning += remarks
    boots = _boots(parts)
    if not boots:
        raise TraceError(source, _nothing(cleaning))
    hosts: list[HostDays] = []
    jumps: list[str] = []
    doubled: list[str] = []
    overlapping: list[str] = []
    for host in sorted({boot.host for boot in boots}):
        mine = [boot for boot in boots if boot.host == host]
        hosts.append(_one_host(mine, jumps, doubled, overlapping))
    cleaning = _merged(cleaning)
    cleaning = cleaning.plus(
        "overlapping", "samples that overlap those of a later start of the machine", "left out",
        overlapping,
    ).plus(
        "doubled", "samples of a time of which there is a later one", "left out", doubled
    )  # fmt: skip
    first = next((r for r in cleaning.remarks if r.action == "left out"), None)
    if strict and first is not None:
        raise TraceError(source, str(first))
    text = "times at which the clock was set (no sample lost)"
    return hosts, cleaning.plus("clock_set", text, "kept", jumps)


def _of_file(path: Path) -> tuple[list[tuple[Segment, npt.NDArray[Any]]], Cleaning]:
    """Return the rows of each segment of a file, and what is damaged in it."""
    data, packing = day_files.unpacked(path)
    return _of_data(path.name, data, packing)


def _of_data(
    name: str, data: bytes, packing: str
) -> tuple[list[tuple[Segment, npt.NDArray[Any]]], Cleaning]:
    cleaning = Cleaning()
    found = []
    bad: list[str] = []
    segments = day_files.segments(data)
    heads = [f"{name} byte {s.begin}" for s in segments for _ in range(s.lost)]
    before = segments[0].begin - (2 - segments[0].lost) * day_files.HEADER if segments else 0
    if segments and segments[0].lost:
        before = max(before - day_files.HEADER, 0)
    if before > 0:
        bad += _named(name, 0, before)
    for segment in segments:
        rows, damaged = _rows(data, segment)
        found.append((segment, rows))
        for at, size in damaged:
            bad += _named(name, at, size)
    unreadable = [f"{name} {packing}"] if packing else []
    if not segments:
        unreadable = [f"{name} {packing or _no_header(data)}"]
    cleaning = cleaning.plus("damaged_file", "day files that are damaged", "left out", unreadable)
    cleaning = cleaning.plus("damaged", "records that are damaged", "left out", bad)
    return found, cleaning.plus(
        "damaged_header", "headers of which one copy is damaged", "kept", heads
    )


def _rows(data: bytes, segment: Segment) -> tuple[npt.NDArray[Any], list[tuple[int, int]]]:
    """Return the whole records of a segment, and (place, bytes) of what is none."""
    raw = np.frombuffer(data, dtype=np.uint8)
    seed, size = segment.header.seed, segment.header.record

    def good(at: int, rows: int) -> list[bool]:
        return _whole(raw[at : at + rows * size].reshape(rows, size), seed)

    places, damaged = day_files.records(data, segment, good)
    begins = np.array(places, dtype=np.int64)
    picked = raw[begins[:, None] + np.arange(size)] if len(begins) else np.empty((0, size), "u1")
    kind = WIDE if segment.header.storage else ROW
    found = np.ascontiguousarray(picked).view(kind).reshape(-1)
    return found if segment.header.storage else _widened(found), damaged


def _widened(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows as those of storage hosts, of which storage tells nothing."""
    made = np.empty(len(rows), WIDE)
    for name in ("wall", "boot", "marks", "crc"):
        made[name] = rows[name]
    made["value"][:, :4] = rows["value"]
    made["value"][:, 4:] = UNKNOWN
    return made


def _whole(raw: npt.NDArray[np.uint8], seed: int) -> list[bool]:
    """Return which rows, uint8[n, bytes of a record], have the right checksum: CRC-32, byte by byte
    for all rows at once."""
    table = _crc_table()
    crc = np.full(len(raw), seed ^ 0xFFFFFFFF, dtype=np.uint32)
    body = raw.shape[1] - 3
    for k in range(body):
        crc = table[(crc ^ raw[:, k]) & 0xFF] ^ (crc >> 8)
    crc ^= np.uint32(0xFFFFFFFF)
    told = raw[:, body].astype(np.uint32)
    told |= raw[:, body + 1].astype(np.uint32) << 8
    told |= raw[:, body + 2].astype(np.uint32) << 16
    same: list[bool] = ((crc & 0xFFFFFF) == told).tolist()
    return same


@cache
def _crc_table() -> npt.NDArray[np.uint32]:
    table: npt.NDArray[Any] = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(0xEDB88320), np.uint32(0))
    return table


def _boots(parts: Sequence[tuple[Segment, npt.NDArray[Any]]]) -> list[_Boot]:
    """Return the rows of each host and start of its machine, in the order of their last segment."""
    found: dict[tuple[str, bytes], list[tuple[Segment, npt.NDArray[Any]]]] = {}
    for segment, rows in parts:
        if len(rows):
            header = segment.header
            found.setdefault((header.host, header.boot), []).append((segment, rows))
    made = []
    for (host, _), some in found.items():
        rows = np.concatenate([part for _, part in some])
        many = [len(part) for _, part in some]
        serials = [s.header.serial for s, _ in some]
        period = np.repeat([max(s.header.period, 0.001) for s, _ in some], many)
        # of one time the later written comes last: by serial, then by the place in the files
        order = np.lexsort((np.repeat(serials, many), rows["boot"]))
        made.append(_Boot(host, rows[order], period[order], max(serials)))
    return sorted(made, key=lambda boot: boot.last)


def _one_host(
    boots: Sequence[_Boot], jumps: list[str], doubled: list[str], overlapping: list[str]
) -> HostDays:
    """Return the samples of one host; adds to what was odd."""
    timed = []
    for boot in boots:
        time, found = boot.times()
        jumps += found
        order = np.argsort(time, kind="stable")  # another period may have another grid
        time = time[order]
        again = np.append(time[1:] == time[:-1], False)
        doubled += _moments(boot.host, time[again])
        timed.append((time[~again], boot.rows[order[~again]]))
    kept: list[tuple[Int, npt.NDArray[Any]]] = []
    for time, rows in timed:
        for k, (old, others) in enumerate(kept):
            under = (old >= time[0]) & (old <= time[-1])
            if under.any():
                overlapping += _moments(boots[0].host, old[under])
                kept[k] = (old[~under], others[~under])
        kept.append((time, rows))
    time = np.concatenate([part for part, _ in kept])
    rows = np.concatenate([part for _, part in kept])
    order = np.argsort(time, kind="stable")
    time, rows = time[order], rows[order]
    state = np.minimum(rows["marks"] & 7, 4).astype(np.int8)
    return HostDays(boots[-1].host, time, rows["value"], state, float(boots[-1].period[-1]))


def _moments(host: str, time: Int) -> list[str]:
    return [f"{host} at {moment}" for moment in time.astype("datetime64[s]").tolist()]


def _named(name: str, at: int, size: int) -> list[str]:
    """Return a name for each record that damaged bytes may have held."""
    return [f"{name} byte {at + k}" for k in range(0, size, RECORD)]


def _no_header(data: bytes) -> str:
    if not data:
        return "is empty"
    if data.startswith(day_files.MAGIC) and len(data) > 8 and data[8] > max(day_files.SIZES):
        return f"is of format {data[8]}, which a later version of forestall writes"
    return "has no whole header"


def _nothing(cleaning: Cleaning) -> str:
    for remark in cleaning.remarks:
        if remark.kind == "damaged_file":
            return f"has no samples: {remark}"
    return "has no samples"


def _merged(cleaning: Cleaning) -> Cleaning:
    """Return one remark of each kind, of all files."""
    made: dict[str, Any] = {}
    for remark in cleaning.remarks:
        old = made.get(remark.kind)
        made[remark.kind] = remark if old is None else replace(old, names=old.names + remark.names)
    return Cleaning(tuple(made.values()))
