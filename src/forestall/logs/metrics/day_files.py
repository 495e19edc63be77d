"""Day files: the samples of the host agent, a record of 20 bytes each, a file for each UTC day.

A file is a row of segments, one for each start of the agent on that day. A segment begins with a
header, written twice: what the samples are of (host, boot, period, thresholds). Its records follow,
each with a checksum that the header's goes into, so that no record is ever taken for one of another
host or boot. What is torn or damaged is passed over; reading goes on with the next whole record.

Numbers are little-endian. A record: Unix s (4 bytes), CLOCK_BOOTTIME in 0.1 s (4), then `cpu`,
`memory_free`, `io`, `guest_cpu` (2 each: shares in 1/60000, `io` as 2048 log2(1 + bytes/s), 65535
where not known), state in the low 3 bits and flags above (1), and 3 bytes of CRC-32. Records of a
storage host, in segments of version 2, have three numbers more before the state: `disk` (a share),
`clients`, and `stored` as 1024 log2(1 + bytes).

Encoding and `whole_until` need no NumPy: the agent has none.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.files.packed import FREE_OF_RATIO
from forestall.core.model.errors import TraceError

MAGIC: Final = b"\xfaFSDAY\r\n"
VERSION: Final = 1
NAMES: Final = ("cpu", "memory_free", "io", "guest_cpu")
STORAGE: Final = ("disk", "clients", "stored")
"""What is sampled of storage hosts besides."""
RECORD: Final = 20
SIZES: Final = {1: RECORD, 2: RECORD + 2 * len(STORAGE)}
"""Bytes of a record, by the version of its segment."""
LIMIT: Final = 2**32 - 1
"""The largest time that a record can hold, in its units."""

STARTED, SET = 1, 2
"""Flags: the first sample of a start; the clock had been set since the one before."""

_HEADER: Final = struct.Struct("<8sBBHI16sI4d64sI")
HEADER: Final = _HEADER.size
_RECORDS: Final = {1: struct.Struct("<II4HB"), 2: struct.Struct("<II7HB")}
_SCALE, _UNKNOWN, _STEPS = 60_000, 65_535, 2048
STORED_STEPS: Final = 1024
"""Of `stored`, which may have 2^63 bytes."""
_FILE = re.compile(r"\d{4,}-\d\d-\d\d\.fsd(\.gz)?")


@dataclass(frozen=True)
class SegmentHeader:
    """What the records of a segment are of.

    Attributes
    ----------
    host : its name
    boot : 16 bytes that tell one start of the machine from another
    serial : number of this start of the agent; later ones have higher numbers
    period : s between samples
    th1, th2, hold, guest_memory : what the states were told by; see `semi_markov.states`
    storage : whether the host is sampled as a storage host too
    """

    host: str
    boot: bytes
    serial: int
    period: float
    th1: float
    th2: float
    hold: float
    guest_memory: float
    storage: bool = False

    @property
    def version(self) -> int:
        """Of the segment."""
        return 2 if self.storage else VERSION

    @property
    def record(self) -> int:
        """Bytes of a record."""
        return SIZES[self.version]

    def encode(self) -> bytes:
        """Return both copies."""
        return self._copy(0) + self._copy(1)

    @property
    def seed(self) -> int:
        """What goes into the checksums of this header's records."""
        return _seed(self._copy(0))

    def _copy(self, number: int) -> bytes:
        host = self.host.encode("utf-8")[:64]
        limits = (self.th1, self.th2, self.hold, self.guest_memory)
        period, serial = round(self.period * 1000), self.serial & LIMIT
        fields = (
            MAGIC,
            self.version,
            number,
            self.record,
            period,
            self.boot,
            serial,
            *limits,
            host,
        )
        raw = _HEADER.pack(*fields, 0)[:-4]
        return raw + struct.pack("<I", zlib.crc32(raw))


class DaySample(NamedTuple):
    """One sample; nan where a value is not known. `state` from 0, S1, to 4. `disk` is the share of
    the time in which a storage host's disk was busy, `clients` how many it served, `stored` the
    bytes that lay there."""

    wall: int
    boot: float
    cpu: float
    memory_free: float
    io: float
    guest_cpu: float
    state: int
    flags: int = 0
    disk: float = math.nan
    clients: float = math.nan
    stored: float = math.nan


def encode(record: DaySample, seed: int, version: int = VERSION) -> bytes:
    """Return the bytes of a record; shares outside 0 to 1 are cut to that."""
    more: tuple[int, ...] = ()
    if version > 1:
        more = (
            _from_share(record.disk), _from_count(record.clients),
            _from_rate(record.stored, STORED_STEPS, 2.0**63),
        )  # fmt: skip
    raw = _RECORDS[version].pack(
        min(max(record.wall, 0), LIMIT),
        min(max(int(record.boot * 10 + 1e-6), 0), LIMIT),
        _from_share(record.cpu),
        _from_share(record.memory_free),
        _from_rate(record.io),
        _from_share(record.guest_cpu),
        *more,
        record.state | record.flags << 3,
    )
    return raw + (zlib.crc32(raw, seed) & 0xFFFFFF).to_bytes(3, "little")


def decode(raw: bytes, seed: int, version: int = VERSION) -> DaySample | None:
    """Return the record that so many bytes hold, None where its checksum is another."""
    if not _good(raw, 0, seed, SIZES[version]):
        return None
    wall, boot, cpu, memory, rate, guest, *more, marks = _RECORDS[version].unpack_from(raw)
    cpu, memory, guest = (_share_of(x) for x in (cpu, memory, guest))
    io = _rate_of(rate, _STEPS)
    sample = DaySample(wall, boot / 10, cpu, memory, io, guest, marks & 7, marks >> 3)
    if not more:
        return sample
    clients = math.nan if more[1] == _UNKNOWN else float(more[1])
    stored = _rate_of(more[2], STORED_STEPS)
    return sample._replace(disk=_share_of(more[0]), clients=clients, stored=stored)


class Segment(NamedTuple):
    """A header and where its records lie: bytes `begin` to `end` of the data; `lost`: how many of
    the header's two copies are damaged."""

    header: SegmentHeader
    begin: int
    end: int
    lost: int


def segments(data: bytes) -> list[Segment]:
    """Return the segments of a day file whose header, at least one copy of it, is whole."""
    heads = list(_headers(data))
    made = []
    k = 0
    while k < len(heads):
        at, number, header = heads[k]
        begin = at + HEADER
        lost = 1
        k += 1
        if number == 0 and k < len(heads) and heads[k][0] == begin and heads[k][1] == 1:
            begin += HEADER
            lost = 0
            k += 1
        following = len(data)
        if k < len(heads):
            following = max(heads[k][0] - HEADER * heads[k][1], begin)
        if number == 0 and lost:
            begin = min(begin + HEADER, following)
        made.append(Segment(header, begin, following, lost))
    return made


def whole_until(data: bytes) -> int:
    """Return where the last whole record or header of a day file ends; 0 where there is none.

    What follows was half written when the agent or the machine went down.
    """
    found = segments(data)
    if not found:
        return 0
    last = found[-1]
    seed, size = last.header.seed, last.header.record
    places, _ = records(data, last, lambda at, rows: _each_good(data, at, rows, seed, size))
    if places:
        return places[-1] + size
    return max(at for at, _, _ in _headers(data)) + HEADER


def records(
    data: bytes, segment: Segment, good: Callable[[int, int], Sequence[bool]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return where the whole records of a segment begin, and (place, bytes) of what is none.

    `good(at, rows)` says of so many records that begin at `at` which are whole.
    """
    seed, end, size = segment.header.seed, segment.end, segment.header.record
    places: list[int] = []
    damaged: list[tuple[int, int]] = []
    at = segment.begin
    while at + size <= end:
        base, mask = at, good(at, (end - at) // size)
        while at + size <= end and (at - base) % size == 0:
            k = first = (at - base) // size
            while k < len(mask) and mask[k]:
                k += 1
            places.extend(range(at, at + (k - first) * size, size))
            at = base + k * size
            if at + size <= end:  # where bytes were lost the rest lies on another grid
                bad, at = at, _next_good(data, at + 1, end, seed, size)
                damaged.append((bad, at - bad))
    if at < end:
        damaged.append((at, end - at))
    return places, damaged


def is_day_file(path: Path) -> bool:
    """Return whether a file is a day file, by its first bytes or, where those are damaged, its
    name."""
    if not path.is_file():
        return False
    return _FILE.fullmatch(path.name) is not None or unpacked(path, 64)[0].startswith(MAGIC)


def day_files_in(folder: Path) -> list[Path]:
    """Return the day files of an agent's folder, in order of the days; none where it is no such.

    Of a day of which the packed and the plain file are there, the plain one holds all.
    """
    return only_plain(p for p in sorted((folder / "samples").glob("*")) if is_day_file(p))


def only_plain(files: Iterator[Path] | Sequence[Path]) -> list[Path]:
    """Return files without the packed ones beside which the plain one lies."""
    listed = list(files)
    there = set(listed)
    return [p for p in listed if p.suffix != ".gz" or p.with_suffix("") not in there]


def unpacked(path: Path, most: int | None = None) -> tuple[bytes, str]:
    """Return the bytes of a day file, at most so many, and what is wrong with its packing, empty
    where nothing is. Raises TraceError where it cannot be read."""
    try:
        with path.open("rb") as file:
            if file.read(2) != b"\x1f\x8b":
                file.seek(0)
                return file.read(-1 if most is None else most), ""
            file.seek(0)
            unpack = zlib.decompressobj(31)
            parts: list[bytes] = []
            size = 0
            while block := file.read(1024):  # small: what a damaged one holds is lost
                parts.append(unpack.decompress(block))
                size += len(parts[-1])
                if most is not None and size >= most:
                    return b"".join(parts)[:most], ""
                if size > FREE_OF_RATIO:  # a day of samples every 0.1 s is half of that
                    return b"".join(parts), "unpacks to more than a day of samples"
    except zlib.error as error:
        return b"".join(parts), f"unpacking it failed ({error})"
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    return b"".join(parts), "" if unpack.eof else "is cut off"


def _headers(data: bytes) -> Iterator[tuple[int, int, SegmentHeader]]:
    """Yield (place, 0 or 1, header) of every whole copy of a header."""
    at = data.find(MAGIC)
    while at >= 0:
        raw = data[at : at + HEADER]
        if len(raw) == HEADER and zlib.crc32(raw[:-4]) == int.from_bytes(raw[-4:], "little"):
            _, version, number, size, period, boot, serial, *limits, host, _ = _HEADER.unpack(raw)
            if SIZES.get(version) == size and number in (0, 1):
                name = host.rstrip(b"\0").decode("utf-8", "replace")
                told = (name, boot, serial, period / 1000, *limits, version > 1)
                yield at, number, SegmentHeader(*told)
                at += HEADER - 1
        at = data.find(MAGIC, at + 1)


def _seed(copy: bytes) -> int:
    return zlib.crc32(copy[9:-4])  # without the copy's number


def _good(data: bytes, at: int, seed: int, size: int) -> bool:
    body = at + size - 3
    told = data[body : at + size]
    crc = zlib.crc32(data[at:body], seed) & 0xFFFFFF
    return len(told) == 3 and crc == int.from_bytes(told, "little")


def _each_good(data: bytes, at: int, rows: int, seed: int, size: int) -> list[bool]:
    return [_good(data, k, seed, size) for k in range(at, at + rows * size, size)]


def _next_good(data: bytes, at: int, end: int, seed: int, size: int) -> int:
    """Return where the next whole record begins; `end` where there is none."""
    while at + size <= end:
        if _good(data, at, seed, size):
            return at
        at += 1
    return end


def _share_of(number: int) -> float:
    return math.nan if number == _UNKNOWN else number / _SCALE


def _rate_of(number: int, steps: int) -> float:
    return math.nan if number == _UNKNOWN else math.exp2(number / steps) - 1


def _from_count(value: float) -> int:
    return _UNKNOWN if math.isnan(value) else min(max(int(value), 0), _UNKNOWN - 1)


def _from_share(value: float) -> int:
    return _UNKNOWN if math.isnan(value) else round(min(max(value, 0.0), 1.0) * _SCALE)


def _from_rate(value: float, steps: int = _STEPS, most: float = 1e12) -> int:
    if math.isnan(value):
        return _UNKNOWN
    return min(round(steps * math.log2(1 + min(max(value, 0.0), most))), _UNKNOWN - 1)
