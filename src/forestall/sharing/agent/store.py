"""The agent's samples on disk: a file a day, closed days packed, old ones removed."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from forestall.core.files.atomic import atomic_path, flush
from forestall.core.files.shared import make_own, open_own
from forestall.logs.metrics.day_files import (
    HEADER,
    LIMIT,
    DaySample,
    SegmentHeader,
    encode,
    segments,
    unpacked,
    whole_until,
)
from forestall.sharing.agent.clock import AgentClock

SAMPLES: Final = "samples"
SYNC: Final = 60.0
"""Seconds after which what was written is brought onto the disk."""
KEPT: Final = 100_000
"""Samples that are kept in memory, at most, while none can be written."""
_DAY: Final = re.compile(r"(\d{4,}-\d\d-\d\d)\.fsd(\.gz)?")


class DayStore:
    """Writes records into the file of their day, each at once.

    What cannot be written is kept in memory and written when it can be. A file is never left with
    half a record but by a power cut; that half is cut off when the file is opened again.

    Parameters
    ----------
    folder : of the agent; the files lie in FOLDER/samples
    header : what the records are of
    keep : days of which the files are kept, the newest ones
    tell : takes a line that the user should see
    kept : samples that are kept in memory at most

    Attributes
    ----------
    lost : samples that were dropped because too many could not be written, and those in a file that
        was removed while the agent ran
    """

    def __init__(
        self,
        folder: Path,
        header: SegmentHeader,
        *,
        keep: int,
        clock: AgentClock,
        tell: Callable[[str], None],
        kept: int = KEPT,
    ) -> None:
        self.folder = folder / SAMPLES
        self.lost = 0
        self._header, self._seed, self._record = header, header.seed, header.record
        self._keep, self._clock, self._tell, self._kept = keep, clock, tell, kept
        self._waiting: list[tuple[str, bytearray]] = []
        self._day = ""
        self._handle = -1
        self._size = 0
        self._held = 0  # records in the file
        self._path = self.folder
        self._synced = clock.monotonic()
        self._trouble = ""

    @property
    def waiting(self) -> int:
        """Samples that are not written yet."""
        return sum(len(raw) for _, raw in self._waiting) // self._record

    def add(self, record: DaySample) -> None:
        """Write a record, or keep it in memory where that cannot be."""
        day = datetime.fromtimestamp(min(max(record.wall, 0), LIMIT), UTC).strftime("%Y-%m-%d")
        if not self._waiting or self._waiting[-1][0] != day:
            self._waiting.append((day, bytearray()))
        self._waiting[-1][1].extend(encode(record, self._seed, self._header.version))
        while self.waiting > self._kept:
            oldest = self._waiting[0][1]
            del oldest[: self._record]
            self.lost += 1
            if not oldest:
                del self._waiting[0]
        self.flush()

    def flush(self) -> None:
        """Write what waits; says once that it cannot be, and once that it can be again."""
        late = self.waiting
        try:
            self._look()
            while self._waiting:
                day, raw = self._waiting[0]
                if day != self._day or self._handle < 0:
                    self._turn(day)
                self._write(bytes(raw))
                self._held += len(raw) // self._record
                del self._waiting[0]
            if self._clock.monotonic() - self._synced >= SYNC:
                self._sync()
        except OSError as error:
            said = error.strerror or str(error)
            if said != self._trouble:
                self._tell(f"{self.folder}: cannot be written: {said}; samples are kept in memory")
                self._trouble = said
            return
        if self._trouble:
            gone = f", {self.lost:,} lost" if self.lost else ""
            self._tell(f"{self.folder}: writable again, {late:,} samples written late{gone}")
            self._trouble = ""

    def close(self) -> None:
        """Bring everything onto the disk, and end; says how many samples could not be written."""
        self.flush()
        with suppress(OSError):
            self._leave()
        if self.waiting:
            self._tell(f"{self.folder}: {_samples(self.waiting)} could not be written")

    def pack_closed(self) -> None:
        """Pack the files of all days but the one that is open. What cannot be packed now stays as
        it is until the next time."""
        for path in sorted(self.folder.glob("*.fsd")):
            if path.name != f"{self._day}.fsd" and _DAY.fullmatch(path.name):
                with suppress(OSError, ValueError):
                    _pack(path)

    def prune(self) -> None:
        """Remove the files of all but the newest `keep` days.

        By how many there are, not by the date: a clock that is wrong for an hour removes nothing.
        """
        found = [(m[1], p) for p in self.folder.glob("*.fsd*") if (m := _DAY.fullmatch(p.name))]
        days = sorted({day for day, _ in found} | ({self._day} if self._day else set()))
        old = set(days[: max(len(days) - self._keep, 0)])
        for day, path in found:
            if day in old and day != self._day:
                with suppress(OSError):
                    path.unlink()

    def _turn(self, day: str) -> None:
        """Go on with the file of a day."""
        self._leave()
        make_own(self.folder)
        self._open(day)
        self._day = day
        self.pack_closed()
        self.prune()

    def _open(self, day: str) -> None:
        path = self.folder / f"{day}.fsd"
        _unpack(path)
        handle = open_own(path, os.O_RDWR | os.O_CREAT)
        try:
            data = path.read_bytes()
            until = whole_until(data)
            if until == 0 and len(data) > 2 * HEADER:
                aside = path.with_name(f"{path.name}.damaged")
                os.replace(path, aside)
                self._tell(f"{path}: has no complete header; moved to {aside.name}")
                os.close(handle)
                handle = open_own(path, os.O_RDWR | os.O_CREAT)
            elif until < len(data):
                os.ftruncate(handle, until)
                self._tell(f"{path}: removed {len(data) - until:,} incomplete bytes at its end")
            self._handle, self._size, self._path = handle, until, path
            whole = segments(data[:until])
            self._held = sum((one.end - one.begin) // one.header.record for one in whole)
            self._write(self._header.encode())
            flush(self.folder)
        except BaseException:
            os.close(handle)
            self._handle = -1
            raise

    def _look(self) -> None:
        """See whether the file that is written to still lies where it should, as it was left.

        Where it was removed, moved or cut, that is told, what is lost is counted, and the file is
        begun anew with the next record.
        """
        if self._handle < 0:
            return
        mine = os.fstat(self._handle)
        try:
            found = os.stat(self._path)
            here = (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
        except (FileNotFoundError, NotADirectoryError):
            here = False
        except OSError:  # closed to the agent, which has the file open
            here = True
        if here and mine.st_size >= self._size:
            return
        gone, what = 0, "was moved while the agent ran; a new one is started"
        if mine.st_nlink == 0:
            gone, what = self._held, "was removed while the agent ran"
        elif mine.st_size < self._size:
            gone = min(-(-(self._size - mine.st_size) // self._record), self._held)
            what = "was cut off while the agent ran"
        self.lost += gone
        self._tell(f"{self._path}: {what}" + (f", {_samples(gone)} lost with it" if gone else ""))
        os.close(self._handle)
        self._handle = -1

    def _write(self, raw: bytes) -> None:
        """Append bytes: all of them, or none."""
        done = 0
        try:
            while done < len(raw):
                done += os.pwrite(self._handle, raw[done:], self._size + done)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise
        self._size += done

    def _sync(self) -> None:
        """Bring what was written onto the disk."""
        self._synced = self._clock.monotonic()
        if self._handle >= 0:
            os.fsync(self._handle)

    def _leave(self) -> None:
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def next_serial(folder: Path) -> int:
    """Return a number for this start of the agent, above those of all starts before it that the
    plain files and the newest packed one tell."""
    place = folder / SAMPLES
    packed = sorted(place.glob("*.fsd.gz"))[-1:]
    highest = 0
    for path in (*place.glob("*.fsd"), *packed):
        try:
            told = [one.header.serial for one in segments(unpacked(path)[0])]
        except Exception:  # unreadable: it tells nothing
            continue
        highest = max(highest, *told, 0)
    return highest + 1


def _pack(path: Path) -> None:
    """Put a packed file instead of a plain one: at every moment one of them is whole."""
    data = path.read_bytes()
    with atomic_path(path.with_name(f"{path.name}.gz")) as beside:
        beside.write_bytes(gzip.compress(data, mtime=0))
    path.unlink()


def _unpack(path: Path) -> None:
    """Put a plain file back instead of a packed one, where there is only that."""
    packed = path.with_name(f"{path.name}.gz")
    if path.exists() or not packed.exists():
        return
    data, _ = unpacked(packed)
    with atomic_path(path) as beside:
        beside.write_bytes(data)
    packed.unlink()
