"""Host traces: grids by hand, against a slow reference, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.files import budget
from forestall.core.model.errors import MemoryLimitError, ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.logs import host_traces
from forestall.logs.generate.hosts import ORIGIN, generate_hosts, host_load
from forestall.logs.host_speeds import Speeds, read_speeds, speed_array, write_speeds
from forestall.logs.host_traces import (
    host_traces_of_failures,
    host_traces_of_metrics,
    read_host_traces,
)
from forestall.logs.metrics.day_files import DaySample, SegmentHeader, encode
from forestall.logs.metrics.write import write_metrics

NAN = float("nan")


def metrics_of(
    rows: list[tuple[int, int, float, float]], names: tuple[str, ...] = ("cpu", "memory_free")
) -> Metrics:
    table = np.array(sorted(rows, key=lambda row: (row[1], row[0])), dtype=np.float64)
    nodes = int(table[:, 1].max()) + 1
    return Metrics(
        table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2 : 2 + len(names)],
        names, nodes, period=60, source="made",
    )  # fmt: skip


def test_a_grid_by_hand() -> None:
    rows = [
        (0, 0, 0.1, 0.9), (60, 0, 0.2, NAN), (199, 0, 0.3, 0.7),  # no sample in [120, 180)
        (61, 2, 0.5, 0.4), (119, 2, 0.6, NAN), (120, 2, NAN, 0.2),  # the last of two; no load
    ]  # fmt: skip
    hosts = host_traces_of_metrics(metrics_of(rows))
    assert (hosts.names, hosts.period, hosts.samples, hosts.end) == (("0", "2"), 60, 4, 240)
    np.testing.assert_array_equal(hosts.load, [[0.1, 0.2, NAN, 0.3], [NAN, 0.6, NAN, NAN]])
    assert hosts.free_memory is not None
    np.testing.assert_array_equal(hosts.free_memory, [[0.9, NAN, NAN, 0.7], [NAN, 0.4, NAN, NAN]])
    assert hosts.speed.tolist() == [1, 1]
    assert hosts.cleaning.counts() == {"silent": 1}
    assert hosts.cleaning.remarks[0].names == ("host 1",)


def test_a_longer_period_takes_the_last_sample() -> None:
    rows = [(60 * k, 0, k / 10, 0.5) for k in range(10)]
    hosts = host_traces_of_metrics(metrics_of(rows), period=240)
    np.testing.assert_array_equal(hosts.load, [[0.3, 0.7, 0.9]])


samples = st.lists(
    st.tuples(
        st.integers(0, 500),
        st.integers(0, 3),
        st.one_of(st.floats(0, 1), st.just(NAN)),
        st.one_of(st.floats(0, 1), st.just(NAN)),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


@given(samples, st.integers(1, 130))
def test_any_grid_is_that_of_a_slow_reference(
    rows: list[tuple[int, int, float, float]], period: int
) -> None:
    metrics = replace(metrics_of(rows), period=0)  # not known: any period goes
    known = [row for row in rows if row[2] == row[2]]
    if not known:
        with pytest.raises(TraceError, match="no sample"):
            host_traces_of_metrics(metrics, period=period)
        return
    hosts = host_traces_of_metrics(metrics, period=period)
    there = sorted({node for _, node, _, _ in known})
    assert hosts.names == tuple(str(node) for node in there)
    assert hosts.samples == max(time for time, *_ in known) // period + 1
    for column, grid in ((2, hosts.load), (3, hosts.free_memory)):
        assert grid is not None
        for row, node in enumerate(there):
            slots = {}
            for one in sorted(known):
                if one[1] == node and one[column] == one[column]:
                    slots[one[0] // period] = one[column]
            wanted = [slots.get(k, NAN) for k in range(hosts.samples)]
            np.testing.assert_array_equal(grid[row], wanted)


@pytest.mark.parametrize(
    ("name", "value", "load"),
    [("cpu", 0.25, 0.25), ("CPU Load", 0.25, 0.25), ("cpu_percent", 25, 0.25), ("cpu %", 25, 0.25),
     ("Utilization(pct)", 25, 0.25), ("load", 1.05, 1.0)],
)  # fmt: skip
def test_names_tell_shares_from_per_cent(name: str, value: float, load: float) -> None:
    rows = [(0, 0, value, 0.0), (60, 0, value, 0.0)]
    hosts = host_traces_of_metrics(metrics_of(rows, (name,)))
    assert hosts.load.tolist() == [[load, load]]
    assert hosts.free_memory is None
    assert hosts.cleaning.counts() == ({"load_above_1": 2} if value == 1.05 else {})


@pytest.mark.parametrize(
    ("name", "value", "free"),
    [("memory_free", 0.3, 0.3), ("mem_available_pct", 30, 0.3), ("memory_used", 0.7, 0.3),
     ("memory_usage_percent", 70, 0.3), ("memory_free", -0.2, 0.0)],
)  # fmt: skip
def test_memory_is_free_or_used(name: str, value: float, free: float) -> None:
    hosts = host_traces_of_metrics(metrics_of([(0, 0, 0.5, value), (60, 0, 0.5, value)],
                                              ("cpu", name)))  # fmt: skip
    assert hosts.free_memory is not None
    np.testing.assert_allclose(hosts.free_memory, [[free, free]])
    assert hosts.cleaning.counts() == ({"memory_below_0": 2} if value < 0 else {})


@pytest.mark.parametrize(
    ("names", "row", "words"),
    [
        (("cpu", "memory_free"), (0, 0, 42.0, 0.5), "cpu: 42 of host 0 at 0 s; expected shares"),
        (("cpu", "memory_free"), (0, 0, 0.5, 8e9), "memory_free: 8e+09 of host 0"),
        (("temperature", "fan"), (0, 0, 1.0, 1.0), "no load of hosts; it has 'temperature', 'fan'"),
        (("cpu", "memory_free"), (0, 0, NAN, 0.5), "no sample with a cpu"),
    ],
)
def test_what_is_no_load_is_refused(
    names: tuple[str, ...], row: tuple[int, int, float, float], words: str
) -> None:
    with pytest.raises(TraceError) as found:
        host_traces_of_metrics(metrics_of([row], names))
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_loads_below_0_are_missing() -> None:
    hosts = host_traces_of_metrics(metrics_of([(0, 0, -0.1, 0.5), (60, 0, 0.4, 0.5)]))
    np.testing.assert_array_equal(hosts.load, [[NAN, 0.4]])
    assert hosts.cleaning.remarks[0].names == ("host 0 at 0 s",)


def test_one_sample_tells_no_period() -> None:
    one = replace(metrics_of([(0, 0, 0.5, 0.5)]), period=0)
    with pytest.raises(TraceError, match="one sample of each host"):
        host_traces_of_metrics(one)
    assert host_traces_of_metrics(one, period=60).samples == 1


@pytest.mark.parametrize("period", [0, -5, True, 2**40])
def test_a_period_is_checked(period: int) -> None:
    with pytest.raises(ParameterError, match="period"):
        host_traces_of_metrics(metrics_of([(0, 0, 0.5, 0.5)]), period=period)
    with pytest.raises(ParameterError, match="period"):
        host_traces_of_failures(Failures.build([5], [0], [6]), period=period)


@pytest.mark.parametrize("period", [7, 59, 541])
def test_a_period_that_the_samples_do_not_fill_is_refused(period: int) -> None:
    """Shorter ones would leave gaps between samples: hosts that seem away; longer ones, time that
    was not seen."""
    rows = [(60 * k, 0, 0.1, 0.5) for k in range(10)]
    with pytest.raises(ParameterError, match=r"from 60 s, .* to 540 s"):
        host_traces_of_metrics(metrics_of(rows), period=period)


def test_one_wrong_time_makes_no_grid_that_nothing_stands_in() -> None:
    rows = [(60 * k, 0, 0.5, 0.5) for k in range(200)]
    wrong = "200,000 places empty.*the last two times are 11940 and 2412000000 s"
    with pytest.raises(TraceError, match=wrong):
        host_traces_of_metrics(metrics_of([*rows, (2_412_000_000, 0, 0.5, 0.5)]))
    later = [*rows, (60 * 200_000, 0, 0.5, 0.5)]  # as sparse, but small
    assert host_traces_of_metrics(metrics_of(later)).samples == 200_001


def test_a_grid_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "left", lambda: 16_000 * host_traces.COPIES)
    rows = [(0, 0, 0.5, 0.5), (60 * 1500, 0, 0.5, 0.5)]
    with pytest.raises(MemoryLimitError, match=r"\(days\).*\(period 91s\)"):  # 24,016 bytes
        host_traces_of_metrics(metrics_of(rows))
    assert host_traces_of_metrics(metrics_of(rows), period=91).samples == 990
    log = Failures.build([0, 60 * 3000], [0, 1], [60, 60])
    with pytest.raises(MemoryLimitError, match=r"2 hosts with 3,000 samples of 60 s"):
        host_traces_of_failures(log)


# ------------------------------------------------------------------------------------ failures


def test_up_and_down_by_hand() -> None:
    log = Failures.build([100, 130, 300, 480], [0, 0, 1, 0], [100, 10, 60, -1])
    hosts = host_traces_of_failures(log, period=60)
    # node 0 is down in [100, 200), [130, 140) and [480, 600): the log ends with 481
    np.testing.assert_array_equal(
        np.isnan(hosts.load),
        [[False, True, True, True, False, False, False, False],
         [False, False, False, False, False, True, False, False]],
    )  # fmt: skip
    assert np.nanmax(hosts.load) == 0
    assert (hosts.free_memory, hosts.origin, hosts.period) == (None, None, 60)
    assert hosts.cleaning.counts() == {"no_down_time": 1}
    assert np.isnan(host_traces_of_failures(replace(log, span=900)).load[0, 8:10]).all()


def test_out_of_service_is_away() -> None:
    log = Failures(
        *(np.array([200]), np.array([0]), np.array([20]), np.array([NAN])),
        span=600, nodes=3, names=("a", "b", "c"), origin=1_000_000,
        service_start=np.array([-60, 90, 5]), service_end=np.array([540, 300, 5]),
        service_new=np.zeros(3, dtype=np.bool_),
    )  # fmt: skip
    hosts = host_traces_of_failures(log, speed=Speeds({"b": 2.0, "c": 3.0}))
    assert (hosts.names, hosts.origin, hosts.samples) == (("a", "b"), 1_000_000 - 60, 10)
    assert hosts.speed.tolist() == [1, 2]
    up = ~np.isnan(hosts.load)
    assert np.flatnonzero(~up[0]).tolist() == [4]  # [180, 240) on the log's clock
    assert np.flatnonzero(up[1]).tolist() == [3, 4, 5]  # wholly within [90, 300)


def test_a_log_without_nodes_in_service() -> None:
    log = Failures.build([0], [0], [60])
    gone = replace(
        log, service_start=np.zeros(1, int), service_end=np.zeros(1, int),
        service_new=np.zeros(1, bool),
    )  # fmt: skip
    with pytest.raises(TraceError, match="no node"):
        host_traces_of_failures(gone)


@given(
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 2), st.integers(-1, 200)), min_size=1),
    st.integers(1, 90),
)
def test_any_failures_are_those_of_a_slow_reference(
    rows: list[tuple[int, int, int]], period: int
) -> None:
    log = Failures.build(*np.array(rows).T)
    log = replace(log, span=700)
    hosts = host_traces_of_failures(log, period=period)
    assert len(hosts) == log.nodes
    for node in range(log.nodes):
        down = set()
        for time, mine, lasts in rows:
            if mine == node:
                end = time + max(1, 120 if lasts < 0 else lasts)
                down |= {second // period for second in range(time, end)}
        found = np.flatnonzero(np.isnan(hosts.load[node])).tolist()
        assert found == sorted(k for k in down if k < hosts.samples)


# --------------------------------------------------------------------------------------- files


def test_generated_hosts_come_back(tmp_path: Path) -> None:
    made = generate_hosts(3, 2, 5, 60)
    for name in ("hosts.csv.gz", "hosts.parquet"):
        write_metrics(made, tmp_path / name)
        hosts = read_host_traces(tmp_path / name)
        assert (hosts.names, hosts.period, hosts.origin) == (("0", "1", "2"), 60, ORIGIN)
        assert hosts.samples == 2 * 1440
        for k in range(3):
            one = host_load(k, 2, 5, 60)
            wanted = np.full(2 * 1440, NAN)
            wanted[one.time // 60] = one.cpu
            np.testing.assert_allclose(hosts.load[k], wanted, rtol=1e-12)


def test_a_part_of_the_traces(tmp_path: Path) -> None:
    write_metrics(generate_hosts(2, 3, 1, 300), tmp_path / "hosts.csv")
    whole = read_host_traces(tmp_path / "hosts.csv")
    part = read_host_traces(tmp_path / "hosts.csv", start="2024-01-02", days=1, period=600)
    assert (part.origin, part.samples, part.period) == (ORIGIN + 86_400, 144, 600)
    np.testing.assert_array_equal(part.load, whole.load[:, 288:576][:, 1::2])


def test_kinds_of_files(tmp_path: Path) -> None:
    rows = {"vm": ["x", "y"], "t000": ["10", "50"], "t001": ["20", "99"]}
    pl.DataFrame(rows).write_csv(tmp_path / "planetlab.csv")
    hosts = read_host_traces(tmp_path / "planetlab.csv")
    assert (hosts.load.tolist(), hosts.period) == ([[0.1, 0.2], [0.5, 0.99]], 300)
    (tmp_path / "failures.csv").write_text("time,node,downtime\n60,0,60\n300,1,60\n")
    hosts = read_host_traces(tmp_path / "failures.csv", fold_nodes=2)
    assert np.flatnonzero(np.isnan(hosts.load[0])).tolist() == [1]
    folder = tmp_path / "set"
    folder.mkdir()
    for host in "ab":
        text = f"time,host,cpu\n0,{host},0.1\n60,{host},0.2\n"
        (folder / f"{host}.csv").write_text(text)
    assert read_host_traces(folder).names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("job,submit,size,runtime\n1,0,1,5\n", "is a job log; expected samples"),
        ("; UnixStartTime: 0\n", "is a job log"),
        ("host,speed\n1,1\n", "holds no traces of hosts"),
        ("time,node,cpu\n", "time,node"),
        ("time,node,cpu\nx,a,0.5\n", "line|x.*expected a date"),
    ],
)
def test_other_files_are_refused(text: str, words: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text(text)
    if words == "time,node":  # a header alone
        with pytest.raises(TraceError):
            read_host_traces(place)
        return
    with pytest.raises(TraceError, match=words) as found:
        read_host_traces(place)
    assert str(place) in str(found.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_host_traces(tmp_path / "none")
    with pytest.raises(TraceError, match="cannot be read"):
        read_speeds(tmp_path / "none")


def test_strict_refuses_what_would_be_changed(tmp_path: Path) -> None:
    place = tmp_path / "hosts.csv"
    place.write_text("time,node,cpu\n0,a,0.5\n60,a,-0.5\n")
    assert read_host_traces(place).cleaning.counts() == {"load_below_0": 1}
    with pytest.raises(TraceError, match=r"1 load below 0 \(missing\): host a at 60 s"):
        read_host_traces(place, strict=True)
    for name, value in (("system", "20"), ("fold_nodes", 2)):
        with pytest.raises(ParameterError, match="these are metrics"):
            read_host_traces(place, **{name: value})  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------- speeds


def test_speeds_come_back(tmp_path: Path) -> None:
    write_speeds(["a", "b"], np.array([1.0, 0.5]), tmp_path / "speeds.csv")
    speeds = read_speeds(tmp_path / "speeds.csv")
    assert speeds.by_name == {"a": 1.0, "b": 0.5}
    assert speed_array(speeds, ["b", "x", "a"]).tolist() == [0.5, 1.0, 1.0]
    place = tmp_path / "hosts.csv"
    place.write_text("time,node,cpu\n0,a,0.5\n60,a,0.5\n60,b,0.5\n")
    hosts = read_host_traces(place, speeds=tmp_path / "speeds.csv")
    assert hosts.speed.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,0\n", r"speeds.csv:2: speed: '0'; expected a number from 0.001 to 1000"),
        ("a,1\nb,\n", r"speeds.csv:3: speed: is empty"),
        ("a,fast\n", r"speed: 'fast'"),
        ("a,nan\n", r"speed: 'nan'"),
        (",1\n", r"host: is empty"),
        ("a,1\na,2\n", r"speeds.csv:3: host: 'a' has a speed already"),
        ("z,1\n", r"gives a speed for 'z'; the hosts are 'a', 'b'"),
        ("", "no speeds"),
        ("a,1,1\n", "has 3 fields"),
    ],
)
def test_wrong_speeds_are_one_line(rows: str, words: str, tmp_path: Path) -> None:
    place = tmp_path / "speeds.csv"
    place.write_text("host,speed\n" + rows)
    with pytest.raises(TraceError, match=words):
        speed_array(read_speeds(place), ["a", "b"])


# ------------------------------------------------------------------------------------ real logs


def test_real_traces(data: Path) -> None:
    planetlab = data / "planetlab-cpu" / "planetlab_20110303.csv.gz"
    hosts = read_host_traces(planetlab)
    assert (len(hosts), hosts.samples, hosts.period) == (1052, 288, 300)
    assert 0 <= np.nanmin(hosts.load) <= np.nanmax(hosts.load) <= 1
    cloud = read_host_traces(data / "google-vm-util" / "GCD_VMs.tar.gz")
    assert (len(cloud), cloud.samples) == (1600, 288)
    assert cloud.free_memory is not None
    assert np.nanmin(cloud.free_memory) == 0  # memory in use goes up to 215 %
    assert cloud.cleaning.counts() == {"memory_below_0": 613}


def test_folders_of_agents(tmp_path: Path) -> None:
    noon = 1_700_000_004
    for name in ("lab1", "lab2"):
        head = SegmentHeader(name, name.encode().ljust(16), 1, 6.0, 0.2, 0.6, 60, 0.1)
        rows = [
            DaySample(noon + 6 * k, 600 + 6.0 * k, k / 20, 0.5, 0.0, 0.0, 0)
            for k in range(10)
            if k != 4 or name == "lab1"
        ]
        samples = tmp_path / name / "samples"
        samples.mkdir(parents=True)
        data = head.encode() + b"".join(encode(row, head.seed) for row in rows)
        (samples / "2023-11-14.fsd").write_bytes(data)
    (tmp_path / "lab1" / "status.json").write_text('{"version": 1}')
    one = read_host_traces(tmp_path / "lab1")
    (tmp_path / "lab1" / "status.json").unlink()
    assert (one.names, one.period, one.origin) == (("lab1",), 6, noon)
    np.testing.assert_allclose(one.load, [[k / 20 for k in range(10)]], atol=1e-4)
    pool = read_host_traces(tmp_path)
    assert pool.names == ("lab1", "lab2")
    assert np.argwhere(np.isnan(pool.load)).tolist() == [[1, 4]]
    assert pool.free_memory is not None
    np.testing.assert_allclose(pool.free_memory[0], 0.5, atol=1e-4)
