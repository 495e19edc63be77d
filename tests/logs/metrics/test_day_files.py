"""Day files: written and read back, damaged at every byte, and put on one line of time."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.metrics import Metrics
from forestall.logs.metrics import day_files, day_samples
from forestall.logs.metrics.day_files import (
    HEADER,
    RECORD,
    DaySample,
    SegmentHeader,
    decode,
    encode,
)
from forestall.logs.metrics.info import describe_metrics
from forestall.logs.metrics.read import guess, is_metrics, read_metrics

HEAD = SegmentHeader("node7", bytes(range(16)), 3, 6.0, 0.2, 0.6, 60, 0.1)
NOON = 1_700_000_004
SHARE = st.one_of(st.floats(0, 1), st.just(math.nan))


def record(k: int, *, wall: int | None = None, boot: float | None = None) -> DaySample:
    at = NOON + 6 * k if wall is None else wall
    cpu = (k % 7) / 10
    return DaySample(at, 6.0 * k + 600 if boot is None else boot, cpu, 0.5, 2.0**k - 1, 0.25, k % 5)


def written(records: Sequence[DaySample], head: SegmentHeader = HEAD) -> bytes:
    return head.encode() + b"".join(encode(one, head.seed) for one in records)


def read(folder: Path, **files: bytes) -> Metrics:
    for name, data in files.items():
        (folder / f"{name.replace('_', '-')}.fsd").write_bytes(data)
    return read_metrics(folder)


def unlike(metrics: Metrics) -> dict[str, int]:
    return metrics.cleaning.counts()


@given(
    wall=st.integers(0, 2**32 - 1),
    boot=st.integers(0, 10**8),
    shares=st.tuples(SHARE, SHARE, SHARE),
    io=st.one_of(st.floats(0, 4e9), st.just(math.nan)),
    state=st.integers(0, 4),
    flags=st.integers(0, 31),
)
def test_a_record_comes_back(
    wall: int, boot: int, shares: tuple[float, ...], io: float, state: int, flags: int
) -> None:
    one = DaySample(wall, boot / 10, shares[0], shares[1], io, shares[2], state, flags)
    raw = encode(one, HEAD.seed)
    back = decode(raw, HEAD.seed)
    assert len(raw) == RECORD
    assert back is not None
    for mine, theirs in zip(one, back, strict=True):
        if math.isnan(mine):
            assert math.isnan(theirs)
        else:
            assert theirs == pytest.approx(mine, abs=4e-4, rel=2e-4)
    assert back.cpu == pytest.approx(one.cpu, abs=1e-5, nan_ok=True)
    assert (back.wall, back.boot, back.state, back.flags) == (wall, boot / 10, state, flags)
    assert decode(raw, HEAD.seed + 1) is None


def test_what_decimals_say_comes_back_exactly() -> None:
    for value in (0.0, 0.2, 0.6, 0.1234, 1.0):
        back = decode(encode(DaySample(1, 1, value, value, 0, value, 0), 7), 7)
        assert back is not None
        assert (back.cpu, back.memory_free, back.guest_cpu, back.io) == (value, value, value, 0)


def test_values_out_of_range_are_cut() -> None:
    back = decode(encode(DaySample(-5, -1, 1.5, -0.5, 1e30, math.nan, 0), 7), 7)
    assert back is not None
    assert back[:4] == (0, 0, 1, 0)
    assert back.io > 1e9
    assert math.isnan(back.guest_cpu)


def test_samples_come_back_as_metrics(tmp_path: Path) -> None:
    path = tmp_path / "2023-11-14.fsd"
    path.write_bytes(written([record(k) for k in range(5)]))
    metrics = read_metrics(path)
    assert metrics.names == ("cpu", "memory_free", "io", "guest_cpu")
    assert (metrics.node_names, metrics.origin, metrics.period) == (("node7",), NOON, 6)
    assert metrics.time.tolist() == [0, 6, 12, 18, 24]
    assert metrics.column("cpu").tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert metrics.column("io") == pytest.approx([2.0**k - 1 for k in range(5)], rel=1e-3)
    assert not metrics.cleaning.remarks
    assert read_metrics(path, names=["io"]).names == ("io",)
    assert read_metrics(path, start=NOON + 18).time.tolist() == [0, 6]
    with pytest.raises(TraceError, match="has no metric load; it has 'cpu'"):
        read_metrics(path, names=["load"])
    assert "node7" not in "".join(v for _, v in describe_metrics(metrics).rows())


def test_a_folder_of_days_packed_or_not_and_an_agents_folder(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    first, second = written([record(0), record(1)]), written([record(2), record(3)])
    (samples / "2023-11-13.fsd.gz").write_bytes(gzip.compress(first))
    (samples / "2023-11-14.fsd").write_bytes(second)
    (samples / "2023-11-14.fsd.gz").write_bytes(gzip.compress(written([record(2)])))
    (samples / ".2023-11-13.fsd-ab.gz").write_bytes(b"left behind")
    (tmp_path / "status.json").write_text('{"state": "S1"}')
    (tmp_path / "guests").mkdir()
    (tmp_path / "guests" / "a.json").write_text('{"pid": 3}')
    for place in (samples, tmp_path):
        metrics = read_metrics(place)
        assert metrics.time.tolist() == [0, 6, 12, 18]
        assert is_metrics(place)
        assert not metrics.cleaning.remarks
    assert day_files.day_files_in(tmp_path) == [
        samples / "2023-11-13.fsd.gz", samples / "2023-11-14.fsd",
    ]  # fmt: skip
    assert day_files.day_files_in(samples) == []
    known = guess(samples / "2023-11-13.fsd.gz")
    assert known is not None
    assert known.name == "days"


def test_hosts_beside_each_other(tmp_path: Path) -> None:
    other = replace(HEAD, host="abel", boot=b"x" * 16)
    metrics = read(tmp_path, a=written([record(0)]), b=written([record(1)], other))
    assert metrics.node_names == ("abel", "node7")
    assert metrics.time.tolist() == [6, 0]


# ------------------------------------------------------------------------------------- damage


def test_folders_of_several_agents_beside_each_other(tmp_path: Path) -> None:
    """As the owner of a pool copies them: each with its status, which looks like Prometheus's."""
    for name in ("lab1", "lab2"):
        (tmp_path / name / "samples").mkdir(parents=True)
        head = replace(HEAD, host=name)
        (tmp_path / name / "samples" / "2023-11-14.fsd").write_bytes(written([record(1)], head))
        (tmp_path / name / "status.json").write_text('{"status": "success", "data": {}}')
    assert read_metrics(tmp_path).node_names == ("lab1", "lab2")


def found(data: bytes) -> tuple[list[int], int]:
    """Return the number k of each record that is found, and how many are named as damaged."""
    parts, cleaning = day_samples._of_data("x.fsd", data, "")
    walls = [int(wall) for _, rows in parts for wall in rows["wall"]]
    return [(wall - NOON) // 6 for wall in walls], cleaning.counts().get("damaged", 0)


def test_a_byte_changed_anywhere_loses_one_record_at_most() -> None:
    data = written([record(k) for k in range(4)])
    for at in range(len(data)):
        for bit in (1, 0x80, 0xFF):
            raw = bytearray(data)
            raw[at] ^= bit
            kept, lost = found(bytes(raw))
            hit = (at - 2 * HEADER) // RECORD if at >= 2 * HEADER else None
            assert kept == [k for k in range(4) if k != hit]
            assert lost == (hit is not None)


def test_a_file_cut_off_anywhere_has_the_records_before() -> None:
    data = written([record(k) for k in range(4)])
    for size in range(len(data)):
        kept, lost = found(data[:size])
        whole = max(0, (size - 2 * HEADER) // RECORD)
        assert kept == list(range(whole))
        assert lost == (size > 2 * HEADER and (size - 2 * HEADER) % RECORD > 0)
        until = day_files.whole_until(data[:size])
        starts = 0 if size < HEADER else HEADER if size < 2 * HEADER else 2 * HEADER
        assert until == (starts if whole == 0 else 2 * HEADER + whole * RECORD)


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 10**4), st.integers(0, 60), st.binary(max_size=45)), max_size=4
    ),
    starts=st.integers(1, 3),
)
@settings(max_examples=150)
def test_any_damage_leaves_records_that_were_written_and_never_fails(
    edits: list[tuple[int, int, bytes]], starts: int
) -> None:
    heads = [replace(HEAD, serial=k) for k in range(starts)]
    blocks = [written([record(10 * k + j) for j in range(6)], h) for k, h in enumerate(heads)]
    all_of_them = {10 * k + j for k in range(starts) for j in range(6)}
    data = b"".join(blocks)
    for at, lost, new in edits:
        place = at % (len(data) + 1)
        data = data[:place] + new + data[place + lost :]
    kept, _ = found(data)
    assert set(kept) <= all_of_them
    # what is taken from the file's end on resuming is never a whole record
    until = day_files.whole_until(data)
    assert found(data[:until])[0] == kept or until == 0
    more = data[:until] + written([record(90)], replace(HEAD, serial=9))
    assert found(more)[0] == (kept if until else []) + [90]


def test_checksums_of_all_at_once_are_those_of_one_by_one() -> None:
    raw = np.random.default_rng(5).integers(0, 256, (50, RECORD)).astype(np.uint8)
    for row in raw[::2]:
        crc = zlib.crc32(row[:-3].tobytes(), HEAD.seed) & 0xFFFFFF
        row[-3:] = np.frombuffer(crc.to_bytes(3, "little"), dtype=np.uint8)
    whole = day_samples._whole(raw, HEAD.seed)
    assert whole == [decode(row.tobytes(), HEAD.seed) is not None for row in raw]
    assert whole[::2] == [True] * 25


def test_a_run_of_zeros_as_after_a_power_cut(tmp_path: Path) -> None:
    data = written([record(0), record(1)]) + bytes(4096)
    assert found(data) == ([0, 1], 205)
    assert day_files.whole_until(data) == 2 * HEADER + 2 * RECORD
    metrics = read(tmp_path, a=data)
    assert unlike(metrics) == {"damaged": 205}
    with pytest.raises(TraceError, match="205 records that are damaged"):
        read_metrics(tmp_path, strict=True)


def test_packed_files_cut_off_or_damaged_give_what_they_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    many = [record(k % 30, wall=NOON + 6 * k, boot=6.0 * k) for k in range(14_400)]
    many = [one._replace(cpu=float(x)) for one, x in zip(many, rng.random(14_400), strict=True)]
    packed = gzip.compress(written(many))
    path = tmp_path / "2023-11-14.fsd.gz"
    path.write_bytes(packed[: len(packed) // 2])
    metrics = read_metrics(path)
    assert 5000 < len(metrics) < 9500
    assert unlike(metrics)["damaged_file"] == 1
    path.write_bytes(packed[:50_000] + b"?????" + packed[50_005:])
    assert 2000 < len(read_metrics(path)) < 14_400
    path.write_bytes(packed[:20])
    with pytest.raises(TraceError, match="has no samples: 1 day file"):
        read_metrics(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"not a day file at all", "no whole header"),
        (day_files.MAGIC + b"\x03" + bytes(300), "a later version of forestall"),
        (HEAD.encode(), "has no samples"),
    ],
)
def test_a_file_without_samples(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "2023-11-14.fsd"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=said) as error:
        read_metrics(path)
    assert "\n" not in str(error.value)
    (tmp_path / "2023-11-15.fsd").write_bytes(written([record(0)]))
    if data:  # beside another it is left out and named
        left = unlike(read_metrics(tmp_path))
        assert left == ({} if data == HEAD.encode() else {"damaged_file": 1})


def test_a_packed_file_of_more_than_a_day_is_not_unpacked_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "2023-11-14.fsd.gz"
    path.write_bytes(gzip.compress(bytes(200 << 20), 1))
    data, wrong = day_files.unpacked(path)
    assert len(data) < 70 << 20
    assert wrong == "unpacks to more than a day of samples"
    with pytest.raises(TraceError, match=wrong):
        read_metrics(path)


@given(data=st.binary(max_size=400))
def test_anything_at_all_is_refused_in_a_line(data: bytes, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("any")  # type: ignore[attr-defined]
    path = folder / "2023-11-14.fsd.gz"
    path.write_bytes(data)
    with pytest.raises(ForestallError) as error:
        read_metrics(path)
    assert "\n" not in str(error.value)


def test_one_format_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "2023-11-14.fsd").write_bytes(written([record(0)]))
    (tmp_path / "a.csv").write_text("time,node,cpu\n0,0,0.5\n")
    with pytest.raises(TraceError, match="several formats"):
        read_metrics(tmp_path)
    assert len(read_metrics(tmp_path, format="days")) == 1
    with pytest.raises(ParameterError):
        read_metrics(tmp_path, format="fsd")


# --------------------------------------------------------------------------------------- time


def test_a_clock_set_forward_and_back_loses_and_doubles_nothing(tmp_path: Path) -> None:
    # 10 samples; the wall clock is an hour ahead from the 4th to the 6th
    ahead = [3600 if 4 <= k <= 6 else 0 for k in range(10)]
    many = [record(k, wall=NOON + 6 * k + ahead[k]) for k in range(10)]
    metrics = read(tmp_path, a=written(many))
    assert metrics.time.tolist() == list(range(0, 60, 6))
    assert metrics.origin == NOON
    assert unlike(metrics) == {"clock_set": 2}
    (remark,) = metrics.cleaning.remarks
    assert remark.names == (
        "node7 at 2023-11-14T22:13:48: +3,600 s", "node7 at 2023-11-14T22:14:06: -3,600 s",
    )  # fmt: skip


def test_a_clock_that_was_wrong_from_the_start_is_put_right_by_the_latest(tmp_path: Path) -> None:
    many = [record(k, wall=6 * k if k < 5 else None) for k in range(8)]  # 1970, until it was set
    metrics = read(tmp_path, **{"1970_01_01": written(many[:5]), "2023_11_14": written(many[5:])})
    assert metrics.origin == NOON
    assert metrics.time.tolist() == list(range(0, 48, 6))


def test_suspended_time_is_a_gap(tmp_path: Path) -> None:
    many = [record(k) for k in (0, 1, 2, 600, 601)]
    assert read(tmp_path, a=written(many)).time.tolist() == [0, 6, 12, 3600, 3606]


def test_late_wakes_stay_in_their_period(tmp_path: Path) -> None:
    late = [0.0, 1.9, 0.1, 5.8, 0.0]
    many = [record(k, boot=600 + 6 * k + x, wall=int(NOON + 6 * k + x)) for k, x in enumerate(late)]
    assert read(tmp_path, a=written(many)).time.tolist() == [0, 6, 12, 18, 24]


def test_the_same_samples_twice_count_once_the_later_written(tmp_path: Path) -> None:
    again = [record(k)._replace(cpu=0.9) for k in (1, 2)]
    data = written([record(k) for k in range(4)]) + written(again, replace(HEAD, serial=4))
    metrics = read(tmp_path, a=data)
    assert metrics.column("cpu").tolist() == [0.0, 0.9, 0.9, 0.3]
    assert unlike(metrics) == {"doubled": 2}


def test_of_two_starts_that_overlap_the_later_written_counts(tmp_path: Path) -> None:
    # the first boot's clock was 30 s ahead when the machine went down
    first = [record(k, wall=NOON + 6 * k + 30) for k in range(10)]
    second = [record(k, wall=NOON + 60 + 6 * k, boot=6.0 * k)._replace(cpu=0.9) for k in range(3)]
    boot = replace(HEAD, boot=b"b" * 16, serial=4)
    metrics = read(tmp_path, a=written(first), b=written(second, boot))
    assert unlike(metrics) == {"overlapping": 3}
    assert metrics.column("cpu").tolist().count(0.9) == 3
    assert len(metrics) == 10
    assert np.diff(metrics.time).tolist() == [6] * 9
    # a boot whose clock was never set does not hide what lies elsewhere
    lost = [record(k, wall=6 * k, boot=6.0 * k) for k in range(3)]
    more = read(tmp_path, c=written(lost, replace(HEAD, boot=b"c" * 16, serial=5)))
    assert len(more) == 13


def test_a_period_that_was_changed(tmp_path: Path) -> None:
    slow = replace(HEAD, serial=4, period=10.0)
    data = written([record(k) for k in range(4)]) + written(
        [record(0, wall=NOON + 18 + 10 * k, boot=618.0 + 10 * k) for k in range(1, 3)], slow
    )
    metrics = read(tmp_path, a=data)
    assert len(metrics) == 6
    assert (np.diff(metrics.time) > 0).all()


def test_a_value_that_is_not_known_is_missing(tmp_path: Path) -> None:
    metrics = read(tmp_path, a=written([record(0)._replace(cpu=math.nan), record(1)]))
    assert np.isnan(metrics.column("cpu")).tolist() == [True, False]


WIDE = replace(HEAD, storage=True)


@given(
    st.floats(0, 1) | st.just(math.nan), st.integers(0, 60_000) | st.just(math.nan),
    st.floats(0, 2.0**62) | st.just(math.nan),
)  # fmt: skip
def test_records_of_storage_hosts_come_back(disk: float, clients: float, stored: float) -> None:
    one = DaySample(1000, 60.0, 0.5, 0.25, 1e6, 0.1, 3, 1, disk, clients, stored)
    raw = encode(one, 7, 2)
    assert len(raw) == day_files.SIZES[2]
    back = decode(raw, 7, 2)
    assert back is not None
    assert back.disk == pytest.approx(disk, abs=1e-5, nan_ok=True)
    assert back.clients == pytest.approx(clients, nan_ok=True)
    assert back.stored == pytest.approx(stored, rel=4e-4, abs=0.01, nan_ok=True)
    assert decode(raw[:-1] + bytes([raw[-1] ^ 1]), 7, 2) is None
    assert (back.state, back.flags) == (3, 1)


def test_old_and_new_segments_in_one_file(tmp_path: Path) -> None:
    """An agent that begins to sample storage goes on with the day's file; what damages one record
    of it loses that one."""
    old = b"".join(encode(DaySample(1000 + 6 * k, 6.0 * k, 0.1, 0.5, 0, 0, 0), HEAD.seed)
                   for k in range(5))  # fmt: skip
    head = replace(WIDE, serial=WIDE.serial + 1)
    new = [
        encode(DaySample(1000 + 6 * k, 6.0 * k, 0.2, 0.5, 0, 0, 0, 0, k / 100, k, 4096.0 * k),
               head.seed, 2)
        for k in range(5, 12)
    ]  # fmt: skip
    new[3] = b"?" + new[3][1:]
    path = tmp_path / "1970-01-01.fsd"
    path.write_bytes(HEAD.encode() + old + head.encode() + b"".join(new))
    assert day_files.whole_until(path.read_bytes()) == path.stat().st_size
    metrics = read_metrics(path)
    assert list(metrics.names) == [*day_files.NAMES, *day_files.STORAGE]
    assert len(metrics) == 5 + 6
    assert np.isnan(metrics.column("clients")[:5]).all()
    assert metrics.column("clients")[5:].tolist() == [5, 6, 7, 9, 10, 11]
    assert metrics.column("stored")[5:] == pytest.approx(
        4096.0 * metrics.column("clients")[5:], rel=4e-4
    )
    path.write_bytes(HEAD.encode() + old)
    assert list(read_metrics(path).names) == list(day_files.NAMES)
