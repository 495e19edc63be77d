"""LDMS stores, answers of Prometheus, and host-load traces."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.logs.metrics.read import metric_format, read_metrics

HEAD = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,MemTotal,Active\n"
ROWS = (
    "1563391900.002,2000,nid1,1,0,0,1000,60\n1563391900.003,3000,nid2,2,0,0,1000,500\n"
    "1563391960.001,1000,nid1,1,7,0,1000,80\n"
)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_ldms(tmp_path: Path) -> None:
    read = read_metrics(put(tmp_path / "meminfo", HEAD + ROWS), strict=True)
    assert read.names == ("MemTotal", "Active", "memory_share")
    assert read.node_names == ("nid1", "nid2")
    assert read.time.tolist() == [0, 60, 0]
    assert read.origin == 1_563_391_900
    assert read.column("memory_share") == pytest.approx([0.06, 0.08, 0.5])
    one = read_metrics(tmp_path / "meminfo", names=["Active"], node="component_id")
    assert (one.names, one.node_names) == (("Active",), ("1", "2"))


@pytest.mark.parametrize("name", ["meminfo.HEADER.1563", "meminfo.HEADER", "meminfo.1563.HEADER"])
def test_ldms_with_its_header_beside(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, HEAD)
    data = put(tmp_path / "meminfo.1563", ROWS)
    assert metric_format(data).name == "ldms"
    assert read_metrics(data).time.tolist() == [0, 60, 0]
    put(tmp_path / name, "nonsense\n")
    with pytest.raises(TraceError, match="starts with 'nonsense'; expected #Time"):
        read_metrics(data, format="ldms")
    (tmp_path / name).unlink()
    with pytest.raises(TraceError, match="has no header"):
        read_metrics(data, format="ldms")


def test_ldms_suffixes_and_blanks(tmp_path: Path) -> None:
    text = (
        "#Time, Time_usec, ProducerName, Active.userdata, Active.value, load:u64, load.Flag, x#0\n"
        "1563391900.5, 500000, n1, 9, 60, 3, 0, 1\n"
    )
    read = read_metrics(put(tmp_path / "vm", text), strict=True)
    assert read.names == ("Active", "load", "x#0")
    assert read.value.tolist() == [[60, 3, 1]]


def test_ldms_with_a_header_within_and_dirt(tmp_path: Path) -> None:
    again = (
        "#Time,Time_usec,ProducerName,Active,New\n1563392020,0,nid1,90,5\n1563392080,0,nid1,x,6\n"
    )
    text = HEAD + ROWS + "cut,off\n" + again + "1563392140,0,nid"
    read = read_metrics(put(tmp_path / "meminfo", text))
    assert read.time.tolist() == [0, 60, 120, 180, 0]
    assert read.names == ("MemTotal", "Active", "New", "memory_share")
    assert np.array_equal(read.column("Active"), [60, 80, 90, np.nan, 500], equal_nan=True)
    assert np.array_equal(read.column("New")[2:4], [5, 6])
    assert read.cleaning.counts() == {"malformed": 2, "bad_value": 1}
    named = {remark.kind: remark.names for remark in read.cleaning.remarks}
    assert named["bad_value"] == ("line 8",)
    with pytest.raises(TraceError, match=r"meminfo:5: has 2 fields; expected the header's 8"):
        read_metrics(tmp_path / "meminfo", strict=True)


def test_ldms_stores_of_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "csv/meminfo/meminfo.1", ROWS)
    put(tmp_path / "csv/meminfo/meminfo.HEADER.1", HEAD)
    put(tmp_path / "csv/meminfo/meminfo.2", "1563392020.0,0,nid1,1,0,0,1000,70\n")
    put(tmp_path / "csv/meminfo/meminfo.HEADER.2", HEAD)
    put(tmp_path / "csv/loadavg/loadavg.1", "#Time,Time_usec,ProducerName,load1\n"
        "1563391900.4,4,nid1,2.5\n1563399999.0,0,nid3,1\n")  # fmt: skip
    put(tmp_path / "csv/empty/empty.1", "#Time,Time_usec,ProducerName,z\n")
    read = read_metrics(tmp_path / "csv")
    assert read.node_names == ("nid1", "nid2", "nid3")
    assert sorted(read.names) == ["Active", "MemTotal", "load1", "memory_share"]
    assert np.array_equal(read.column("load1"), [2.5, *[np.nan] * 3, 1], equal_nan=True)
    assert np.array_equal(read.column("Active"), [60, 80, 70, 500, np.nan], equal_nan=True)


def answer(*series: tuple[dict[str, str], list[Any]], kind: str = "matrix") -> str:
    point = "values" if kind == "matrix" else "value"
    result = [{"metric": labels, point: points} for labels, points in series]
    data = {"resultType": kind, "result": result}
    return json.dumps({"status": "success", "data": data})


def test_prometheus(tmp_path: Path) -> None:
    text = answer(
        ({"__name__": "load", "instance": "b:9100", "job": "x"}, [[60, "1"], [120.9, "NaN"]]),
        ({"__name__": "load", "instance": "a:9100", "job": "x"}, [[60, "2"], [120, "+Inf"]]),
        ({"__name__": "up", "instance": "a:9100", "job": "y"}, [[60, "0"]]),
    )
    read = read_metrics(put(tmp_path / "q.json", text), start=0)
    assert (read.names, read.node_names) == (("load", "up"), ("a", "b"))
    assert read.time.tolist() == [60, 120, 60, 120]
    expected = [[2, 0], [np.nan, np.nan], [1, np.nan], [np.nan, np.nan]]
    assert np.array_equal(read.value, expected, equal_nan=True)
    assert read.cleaning.counts() == {"infinite": 1}
    assert read.origin == 0
    only = read_metrics(tmp_path / "q.json", names=["up"])
    assert (only.names, only.value.tolist()) == (("up",), [[0.0]])
    with pytest.raises(TraceError, match="has no metric cpu; it has 'load', 'up'"):
        read_metrics(tmp_path / "q.json", names=["cpu"])


def test_prometheus_series_of_one_node_are_told_apart(tmp_path: Path) -> None:
    text = answer(
        *(
            ({"__name__": "cpu", "node": "n1", "mode": mode, "zone": "z"}, [[60, value]])
            for mode, value in (("idle", "9"), ("user", "1"))
        ),
        ({"node": "n2"}, [[60, "3"]]),
    )
    read = read_metrics(put(tmp_path / "q.json", text))
    assert read.names == ('cpu{mode="idle"}', 'cpu{mode="user"}', "value")
    assert read.value[0, :2].tolist() == [9, 1]
    assert read_metrics(tmp_path / "q.json", names=["cpu"]).names == read.names[:2]


def test_prometheus_memory_and_instant_answers(tmp_path: Path) -> None:
    text = answer(
        ({"__name__": "node_memory_Active_bytes", "rack": "r1"}, [60, "25"]),
        ({"__name__": "node_memory_MemTotal_bytes", "rack": "r1"}, [60, "100"]),
        kind="vector",
    )
    read = read_metrics(put(tmp_path / "q.json", text), node="rack")
    assert read.column("memory_share").tolist() == [0.25]
    assert read.node_names == ("r1",)


def test_prometheus_native_histograms_are_named(tmp_path: Path) -> None:
    series = [
        {"metric": {"__name__": "up", "node": "n1"}, "values": [[1767225600, "1"]]},
        {
            "metric": {"__name__": "http", "node": "n1"},
            "histograms": [[1767225600, {"count": "3"}]],
        },
    ]
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": series}}))
    read = read_metrics(path)
    assert read.names[0] == "up"
    assert read.cleaning.counts()["native_histogram"] == 1


def test_prometheus_dirt(tmp_path: Path) -> None:
    points = [[60, "1"], [61, "x"], [62], None, [1e30, "1"], [60, "7"], [63, "5"]]
    text = answer(({"__name__": "a", "host": "n"}, points), ({"__name__": "a"}, [[60, "1"]]))
    read = read_metrics(put(tmp_path / "q.json", text))
    assert read.cleaning.counts() == {"bad_point": 4, "no_node": 1, "duplicate": 1}
    assert read.value.ravel().tolist() == [1, 5]
    with pytest.raises(TraceError, match=r"point 2 of a on n is not \[time, value\]"):
        read_metrics(tmp_path / "q.json", strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"status": "error", "error": "bad query"}', "is an error of Prometheus: 'bad query'"),
        ('{"status": "success", "data": {"resultType": "scalar"}}', "resultType: 'scalar'"),
        ('{"status": "success", "data": 5}', "resultType: None"),
        (answer(), "has no series: the query found nothing"),
        (answer(({"a": "b"}, [])), "has no series with a label node/"),
        (answer(({"node": "b"}, [])), "has no samples"),
        ('{"data": {"resultType": "matrix", "result": [5]}}', "a result without its metric"),
        ("{" * 100_000, "not JSON"),
    ],
)
def test_prometheus_damaged(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_metrics(put(tmp_path / "q.json", text))


def test_planetlab_rows(tmp_path: Path) -> None:
    path = put(tmp_path / "day.csv", "vm,t000,t001,t002\nb,10,20,30\na,0,,x\n")
    read = read_metrics(path)
    assert (read.names, read.node_names, read.period) == (("cpu",), ("a", "b"), 300)
    assert read.value.ravel().tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert read.cleaning.counts() == {"bad_value": 1}
    with pytest.raises(TraceError, match=r"day\.csv:3: t002: 'x'; expected a number"):
        read_metrics(path, strict=True)
    with pytest.raises(TraceError, match="has no metric memory_free; it has 'cpu'"):
        read_metrics(path, names=["memory_free"])


def test_a_file_a_machine(tmp_path: Path) -> None:
    folder = tmp_path / "vms"
    put(folder / "vm_b", "10 40\n20 60\n")
    put(folder / "vm_a", "30 0\nx 5\n50\n40 100\n")
    read = read_metrics(folder)
    assert (read.names, read.node_names) == (("cpu", "memory_free"), ("vm_a", "vm_b"))
    assert read.time.tolist() == [0, 900, 0, 300]
    assert read.value == pytest.approx(np.array([[0.3, 1], [0.4, 0], [0.1, 0.6], [0.2, 0.4]]))
    assert read.cleaning.counts() == {"bad_row": 2}
    archive = tmp_path / "vms.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, text in (("d/vm_b", b"10\n20\n"), ("d/vm_a", b"30\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    packed = read_metrics(archive, strict=True)
    assert (packed.names, packed.node_names) == (("cpu",), ("vm_a", "vm_b"))
    assert packed.column("cpu").tolist() == [0.3, 0.1, 0.2]
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.raises(TraceError, match=r"is cut off|is damaged"):
        read_metrics(archive)


def test_days_of_planetlab_are_not_mixed(tmp_path: Path) -> None:
    for day in ("one", "two"):
        put(tmp_path / f"{day}.csv", "vm,t000,t001\na,1,2\n")
    with pytest.raises(TraceError, match=r"holds 2 days .* one day, such as one\.csv"):
        read_metrics(tmp_path)
    (tmp_path / "two.csv").unlink()
    assert len(read_metrics(tmp_path)) == 2


def test_planetlab_itself(data: Path) -> None:
    path = data / "planetlab-cpu" / "planetlab_20110303.csv.gz"
    read = read_metrics(path, strict=True)
    assert (read.nodes, len(read), read.period) == (1052, 1052 * 288, 300)
    cpu = read.column("cpu")
    assert (100 * cpu.mean(), 100 * cpu.std()) == pytest.approx((12.31, 17.09), abs=0.005)


def test_the_machines_of_googles_trace(data: Path) -> None:
    read = read_metrics(data / "google-vm-util" / "GCD_VMs.tar.gz", strict=True)
    assert (read.nodes, len(read)) == (1600, 1600 * 288)
    cpu, free = read.value.T
    assert (100 * cpu.mean(), 100 - 100 * free.mean()) == pytest.approx((21.85, 19.56), abs=0.005)
    assert 100 * cpu.max() == pytest.approx(89.4, abs=0.05)


@pytest.mark.slow
def test_marconi_has_the_nodes_of_its_failures(data: Path) -> None:
    from forestall.logs import read_failures

    path = data / "m100-node-daily" / "m100_node_daily.csv.xz"
    read = read_metrics(path, names=["total_power_mean", "ambient_mean"])
    assert (len(read), read.nodes, read.period) == (844_458, 990, 86_400)
    assert read.node_names == read_failures(path).names
    assert np.isnan(read.value).any()
    gaps = np.diff(read.time)[np.diff(read.node) == 0]
    assert int(np.sum(gaps > 86_400)) == 9690
    assert int(np.sum(gaps // 86_400 - 1)) == 78_222


@pytest.mark.slow
def test_drives(data: Path) -> None:
    from forestall.logs import read_failures

    path = data / "backblaze-2013q2" / "drive_days_2013-04-10_2013-05-19.csv.xz"
    read = read_metrics(path, names=["smart_5_raw", "failure"])
    assert (len(read), read.nodes) == (868_524, 22_892)
    assert read.column("failure").sum() == 120
    assert read.node_names == read_failures(path).names
