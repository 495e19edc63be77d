"""Day files as the agent writes them: rotated, packed, resumed, on a disk that is full."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forestall.logs.metrics.day_files import HEADER, RECORD, DaySample, SegmentHeader, segments
from forestall.logs.metrics.read import read_metrics
from forestall.sharing.agent.store import DayStore, next_serial
from sharing.agent.worlds import NOON, World

DAY = 86_400


def header(serial: int = 1) -> SegmentHeader:
    return SegmentHeader("node7", b"b" * 16, serial, 6.0, 0.2, 0.6, 60, 0.0)


def record(k: int, day: int = 0, wall: int | None = None) -> DaySample:
    at = NOON + DAY * day + 6 * k
    return DaySample(at if wall is None else wall, at - NOON + 600.0, k / 100, 0.5, 0.0, 0.0, 0)


def store(
    folder: Path, told: list[str] | None = None, *, serial: int = 1, keep: int = 400, kept: int = 50
) -> DayStore:
    said = [] if told is None else told
    return DayStore(folder, header(serial), keep=keep, clock=World(), tell=said.append, kept=kept)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "samples").iterdir())


def loads(folder: Path) -> list[int]:
    return [round(100 * x) for x in read_metrics(folder).column("cpu")]


def test_each_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    one = store(tmp_path)
    for k in range(5):
        one.add(record(k))
        size = (tmp_path / "samples" / "2023-11-15.fsd").stat().st_size
        assert size == 2 * HEADER + (k + 1) * RECORD
    one.close()
    assert loads(tmp_path) == [0, 1, 2, 3, 4]


def test_days_are_rotated_packed_and_removed(tmp_path: Path) -> None:
    one = store(tmp_path, keep=3)
    for day in range(5):
        one.add(record(day, day))
    one.close()
    assert names(tmp_path) == ["2023-11-17.fsd.gz", "2023-11-18.fsd.gz", "2023-11-19.fsd"]
    assert loads(tmp_path) == [2, 3, 4]
    packed = (tmp_path / "samples" / "2023-11-17.fsd.gz").read_bytes()
    assert gzip.decompress(packed)[:2] == b"\xfaF"


def test_a_clock_set_back_to_a_packed_day_goes_on_in_it(tmp_path: Path) -> None:
    told: list[str] = []
    one = store(tmp_path, told)
    order = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]  # yesterday again for one sample
    for at, (_, day) in enumerate(order):
        one.add(DaySample(NOON + DAY * day + 6 * at, 600.0 + 6 * at, at / 100, 0.5, 0, 0, 0))
    one.close()
    assert loads(tmp_path) == [0, 1, 2, 3, 4]
    assert names(tmp_path) == ["2023-11-15.fsd.gz", "2023-11-16.fsd"]
    assert told == []


def test_a_clock_far_ahead_for_a_while_removes_nothing(tmp_path: Path) -> None:
    one = store(tmp_path, keep=10)
    for day in (0, 1, 2):
        one.add(record(day, day))
    one.add(record(3, wall=NOON + 4000 * DAY))
    one.add(record(4, 3))
    one.close()
    assert len(names(tmp_path)) == 5


@pytest.mark.parametrize("torn", [1, RECORD - 1, RECORD + 3, 4096])
def test_half_a_record_is_cut_off_when_the_file_is_opened_again(tmp_path: Path, torn: int) -> None:
    first = store(tmp_path)
    first.add(record(0))
    first.close()
    path = tmp_path / "samples" / "2023-11-15.fsd"
    with path.open("ab") as file:
        file.write(b"\0" * torn)
    told: list[str] = []
    again = store(tmp_path, told, serial=2)
    again.add(record(1))
    again.close()
    assert path.stat().st_size == 2 * (2 * HEADER + RECORD)
    assert told == [f"{path}: removed {torn:,} incomplete bytes at its end"]
    metrics = read_metrics(tmp_path)
    assert loads(tmp_path) == [0, 1]
    assert not metrics.cleaning.remarks
    assert [one.header.serial for one in segments(path.read_bytes())] == [1, 2]
    assert next_serial(tmp_path) == 3


def test_a_file_torn_in_its_header_is_begun_anew(tmp_path: Path) -> None:
    for size in (0, 5, HEADER - 1, HEADER, HEADER + 7):
        folder = tmp_path / str(size)
        (folder / "samples").mkdir(parents=True)
        (folder / "samples" / "2023-11-15.fsd").write_bytes(header().encode()[:size])
        one = store(folder, serial=2)
        one.add(record(0))
        one.close()
        assert loads(folder) == [0]


def test_a_file_that_cannot_be_read_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    path = tmp_path / "samples" / "2023-11-15.fsd"
    path.write_bytes(b"x" * 5000)
    told: list[str] = []
    one = store(tmp_path, told)
    one.add(record(0))
    one.close()
    assert names(tmp_path) == ["2023-11-15.fsd", "2023-11-15.fsd.damaged"]
    assert len(told) == 1
    assert "moved to" in told[0]
    assert loads(tmp_path) == [0]


def test_packing_interrupted_leaves_the_plain_file(tmp_path: Path) -> None:
    first = store(tmp_path)
    first.add(record(0))
    first.close()
    samples = tmp_path / "samples"
    plain = (samples / "2023-11-15.fsd").read_bytes()
    (samples / "2023-11-15.fsd.gz").write_bytes(gzip.compress(plain)[:40])  # not finished
    assert loads(tmp_path) == [0]
    again = store(tmp_path, serial=2)
    again.add(record(1))
    again.add(record(2, 1))
    again.close()
    assert names(tmp_path) == ["2023-11-15.fsd.gz", "2023-11-16.fsd"]
    assert loads(tmp_path) == [0, 1, 2]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_removed_under_the_agent_is_begun_anew_and_counted(
    tmp_path: Path, what: str
) -> None:
    told: list[str] = []
    one = store(tmp_path, told)
    for k in range(3):
        one.add(record(k))
    path = tmp_path / "samples" / "2023-11-15.fsd"
    path.unlink()
    if what == "folder":
        path.parent.rmdir()
    for k in range(3, 6):
        one.add(record(k))
    one.close()
    assert loads(tmp_path) == [3, 4, 5]
    assert (one.lost, one.waiting) == (3, 0)
    assert told == [f"{path}: was removed while the agent ran, 3 samples lost with it"]


def test_what_is_removed_after_the_last_sample_is_counted_at_the_end(tmp_path: Path) -> None:
    told: list[str] = []
    first = store(tmp_path)
    first.add(record(0))
    first.close()
    one = store(tmp_path, told, serial=2)
    one.add(record(1))
    one.add(record(2))
    shutil.rmtree(tmp_path / "samples")
    one.close()
    path = tmp_path / "samples" / "2023-11-15.fsd"
    assert told == [f"{path}: was removed while the agent ran, 3 samples lost with it"]
    assert one.lost == 3
    assert not path.parent.exists()


def test_a_file_moved_or_cut_under_the_agent_is_begun_anew(tmp_path: Path) -> None:
    told: list[str] = []
    one = store(tmp_path, told)
    one.add(record(0))
    one.add(record(1))
    (tmp_path / "samples").rename(tmp_path / "old")
    one.add(record(2))
    assert [line.partition(": ")[2] for line in told] == [
        "was moved while the agent ran; a new one is started"
    ]
    assert (loads(tmp_path), one.lost) == ([2], 0)
    path = tmp_path / "samples" / "2023-11-15.fsd"
    one.add(record(3))
    os.truncate(path, 2 * HEADER + RECORD + 3)
    one.add(record(4))
    os.truncate(path, 0)
    one.add(record(5))
    one.close()
    assert [line.partition(": ")[2] for line in told[1:]] == [
        "was cut off while the agent ran, 1 sample lost with it",
        "removed 3 incomplete bytes at its end",
        "was cut off while the agent ran, 2 samples lost with it",
    ]
    assert (loads(tmp_path), one.lost) == ([5], 3)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """As a full disk does: writing beyond fails. SIGXFSZ is ignored, as by Python itself."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_samples_wait_in_memory_while_the_disk_is_full(tmp_path: Path) -> None:
    told: list[str] = []
    one = store(tmp_path, told)
    one.add(record(0))
    with no_file_above(2 * HEADER + RECORD + 7):  # room for a third of a record
        for k in range(1, 40):
            one.add(record(k))
    path = tmp_path / "samples" / "2023-11-15.fsd"
    assert path.stat().st_size == 2 * HEADER + RECORD  # half a record was taken back
    assert one.waiting == 39
    assert told == [f"{path.parent}: cannot be written: File too large; samples are kept in memory"]
    one.add(record(40))
    assert (one.waiting, one.lost) == (0, 0)
    assert told[1:] == [f"{path.parent}: writable again, 40 samples written late"]
    one.close()
    assert loads(tmp_path) == list(range(41))


def test_of_too_many_the_oldest_are_dropped_and_counted(tmp_path: Path) -> None:
    told: list[str] = []
    one = store(tmp_path, told, kept=50)
    with no_file_above(0):
        for k in range(80):
            one.add(record(k, day=k // 40))
        assert (one.waiting, one.lost) == (50, 30)
    one.add(record(80, day=2))
    one.close()
    assert loads(tmp_path) == list(range(31, 81))
    assert told[-1].endswith("writable again, 50 samples written late, 31 lost")


def test_what_cannot_be_written_in_the_end_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    one = store(tmp_path, told)
    with no_file_above(0):
        one.add(record(0))
        one.close()
    assert told[-1] == f"{tmp_path / 'samples'}: 1 sample could not be written"


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)]
    if os.getuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        told: list[str] = []
        one = store(place, told, kept=5000)
        one.add(record(0))
        (place / "big").write_bytes(b"x" * 40_000)
        with pytest.raises(OSError, match="No space"):
            (place / "rest").write_bytes(b"x" * 100_000)
        for k in range(1, 1000):
            one.add(record(k))
        assert one.waiting > 500  # what fitted into the last page was still written
        (place / "rest").unlink()
        one.add(record(1000))
        assert one.waiting == 0
        one.close()
        assert [line.partition(": ")[2] for line in told] == [
            "cannot be written: No space left on device; samples are kept in memory",
            told[-1].partition(": ")[2],
        ]
        assert "writable again" in told[-1]
        assert len(read_metrics(place / "samples")) == 1001
    finally:
        subprocess.run(["umount", str(place)], check=True)
