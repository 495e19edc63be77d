"""Plain tables of metrics, our own among them: columns, times, windows, dirt."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.metrics import Metrics
from forestall.logs.metrics.read import guess, is_metrics, read_metrics
from forestall.logs.metrics.write import is_table_name, write_metrics

OWN = "time,node,cpu,memory_free\n0,0,0.5,0.9\n0,1,0.1,0.8\n6,0,0.6,\n6,1,nan,0.7\n18,0,0.2,0.6\n"


def file(tmp_path: Path, text: str, name: str = "metrics.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_our_own(tmp_path: Path) -> None:
    read = read_metrics(file(tmp_path, OWN), strict=True)
    assert read.names == ("cpu", "memory_free")
    assert read.node.tolist() == [0, 0, 0, 1, 1]
    assert read.time.tolist() == [0, 6, 18, 0, 6]
    assert np.array_equal(read.column("cpu"), [0.5, 0.6, 0.2, 0.1, np.nan], equal_nan=True)
    assert np.isnan(read.column("memory_free")[1])
    assert (read.nodes, read.node_names, read.period, read.origin) == (2, None, 6, None)
    assert read.cleaning.remarks == ()


def test_names_and_dates(tmp_path: Path) -> None:
    text = (
        "host,Timestamp,temp,label,void\nb,2024-01-05 10:00:00.7,20,x,\na,2024-01-05T10:01,21,y,\n"
    )
    read = read_metrics(file(tmp_path, text))
    assert read.node_names == ("a", "b")
    assert read.names == ("temp", "void")  # words are no metric; what is never known is
    assert read.time.tolist() == [60, 0]
    assert read.origin == 1_704_448_800
    assert read.cleaning.counts() == {"ignored_columns": 1}


def test_numbers_that_are_names_stand_in_order_of_size(tmp_path: Path) -> None:
    text = "node,day,power\n10,2024-01-05,1\n9,2024-01-05,2\n1161,2024-01-06,3\n"
    read = read_metrics(file(tmp_path, text))
    assert read.node_names == ("9", "10", "1161")
    assert read.column("power").tolist() == [2, 1, 3]
    assert read.time.tolist() == [0, 0, 86_400]


def test_unix_seconds_and_own_ones(tmp_path: Path) -> None:
    unix = OWN.replace("\n0,", "\n1704448800,").replace("\n6,", "\n1704448806.9,")
    unix = unix.replace("\n18,", "\n1704448818,")
    read = read_metrics(file(tmp_path, unix))
    assert read.time.tolist() == [0, 6, 18, 0, 6]
    assert read.origin == 1_704_448_800
    assert read_metrics(file(tmp_path, OWN)).origin is None


def test_chosen_columns(tmp_path: Path) -> None:
    text = "when,who,a,b\n5,x,1,2\n6,x,3,4\n"
    path = file(tmp_path, text)
    read = read_metrics(path, names=["b"], node="who", time="when")
    assert (read.names, read.value.tolist()) == (("b",), [[2.0], [4.0]])
    with pytest.raises(TraceError, match=r"has no metric c; it has 'a', 'b'"):
        read_metrics(path, names=["c"], node="who", time="when", format="table")
    with pytest.raises(TraceError, match="has no column of times; it has 'when', 'who'"):
        read_metrics(path, format="table")
    with pytest.raises(TraceError, match="has no column host; it has"):
        read_metrics(path, format="table", node="host", time="when")


def test_windows(tmp_path: Path) -> None:
    path = file(tmp_path, OWN)
    assert read_metrics(path, start=6).time.tolist() == [0, 12, 0]
    assert read_metrics(path, start=6, days=10 / 86_400).time.tolist() == [0, 0]
    with pytest.raises(TraceError, match="no samples from 100 s; there are some from 0 s to 18 s"):
        read_metrics(path, start=100)
    with pytest.raises(TraceError, match="has no samples in that window"):
        read_metrics(path, start=10, days=5 / 86_400)
    for bad in (
        {"days": 0}, {"days": float("nan")}, {"start": "noon"}, {"format": "xls"}, {"names": "cpu"},
        {"names": []},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            read_metrics(path, **bad)  # type: ignore[arg-type]


def test_dirt_is_counted(tmp_path: Path) -> None:
    text = (
        "time,node,cpu\n5,0,0.5\n0,0,0.1\n0,0,0.9\nsoon,0,1\n7,,1\n8,0,high\n9,0,inf\n"
        "10,0\n11,0,1,1\n\n12,1,0.25\n13,1,0.5"
    )
    read = read_metrics(file(tmp_path, text))
    assert read.cleaning.counts() == {
        "malformed": 2,
        "bad_time": 1,
        "bad_node": 1,
        "bad_value": 1,
        "unsorted": 1,
        "duplicate": 1,
        "infinite": 1,
    }
    named = {remark.kind: remark.names for remark in read.cleaning.remarks}
    assert named["bad_time"] == ("line 5",)
    assert named["bad_value"] == ("line 7",)
    assert named["duplicate"] == ("line 4",)  # the first of a second stays
    assert read.time.tolist() == [0, 5, 8, 9, 12, 13]
    value = [0.1, 0.5, np.nan, np.nan, 0.25, 0.5]
    assert np.array_equal(read.column("cpu"), value, equal_nan=True)
    with pytest.raises(TraceError, match=r"metrics\.csv:5: time: 'soon'; expected a date"):
        read_metrics(file(tmp_path, text.replace("10,0\n11,0,1,1\n", "")), strict=True)


def test_clean_and_careful_reading_agree(tmp_path: Path) -> None:
    clean = "time,node,a,b\n" + "".join(
        f"{t},{n},{t * n},{n / 8}\n" for t in range(9) for n in (3, 1)
    )
    quoted = clean.replace("0,3,0,0.375", '"0","3",0,0.375')
    one, two = read_metrics(file(tmp_path, clean)), read_metrics(file(tmp_path, quoted, "q.csv"))
    assert one.value.tolist() == two.value.tolist()
    assert one.node.tolist() == two.node.tolist()
    assert one.nodes == two.nodes == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected metrics"),
        ("\n\n", "is empty; expected metrics"),
        ("hello\nworld\n", "not metrics: the file starts with"),
        ("time,node\n1,2\n", "has no column of numbers beside time and node"),
        ("time,node,cpu\n", "has no samples"),
        ("time,node,cpu\nx,1,1\n", "time: 'x'; expected a date"),
        ("time,node,time,cpu\n1,1,1,1\n", "has column time more than once"),
    ],
)
def test_damaged(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_metrics(file(tmp_path, text))


def test_binary_cut_off_and_missing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\0\1\2")
    with pytest.raises(TraceError, match="is a binary file"):
        read_metrics(path)
    path.write_bytes(lzma.compress(OWN.encode())[:-9])
    with pytest.raises(TraceError, match="is cut off"):
        read_metrics(path)
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(TraceError, match="is damaged or not a Parquet file"):
        read_metrics(path)
    with pytest.raises(TraceError, match="cannot be read"):
        read_metrics(tmp_path / "none")


def test_parquet_with_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"time": ["2024-01-05T00:00:00", None], "node": ["a", "b"], "x": [1, 2]})
    frame = frame.with_columns(pl.col("time").str.to_datetime())
    frame.write_parquet(path)
    read = read_metrics(path)
    assert (read.origin, read.node_names, read.value.tolist()) == (1_704_412_800, ("a",), [[1.0]])
    assert read.cleaning.counts() == {"bad_time": 1}


def test_a_folder_is_read_together(tmp_path: Path) -> None:
    folder = tmp_path / "monitor"
    file(folder, OWN, "a/one.csv")
    file(folder, "time,node,cpu\n24,0,0.4\n", "b/two.csv")
    file(folder, "nothing to see\n", "notes.txt")
    file(folder, "", "empty.csv")
    read = read_metrics(folder)
    assert read.time.tolist() == [0, 6, 18, 24, 0, 6]
    assert np.isnan(read.column("memory_free")[3])
    file(folder, '{"status": "success"}', "c.json")
    with pytest.raises(TraceError, match=r"files of several formats \(1 prometheus, 2 table\)"):
        read_metrics(folder)
    (tmp_path / "void").mkdir()
    with pytest.raises(TraceError, match="has no metrics files in a known format"):
        read_metrics(tmp_path / "void")


def test_files_of_other_metrics_fill_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "stores"
    file(folder, "time,node,a\n0,x,1\n5,x,2\n", "a.csv")
    file(folder, "time,node,b\n5,x,3\n9,y,4\n", "b.csv")
    read = read_metrics(folder)
    assert (read.names, read.node_names) == (("a", "b"), ("x", "y"))
    assert np.array_equal(
        read.value, [[1, np.nan], [2, 3], [np.nan, 4]], equal_nan=True
    )  # fmt: skip


@st.composite
def metrics(draw: st.DrawFn) -> Metrics:
    rows = sorted(draw(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 10**6)), min_size=1)))
    count = len(rows)
    cell = st.floats(-1e9, 1e9) | st.just(float("nan"))
    value = [[draw(cell) for _ in range(2)] for _ in range(count)]
    node, time = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    origin = draw(st.sampled_from([None, 1_704_412_800]))
    if origin is not None:
        time -= time.min()
    names = draw(st.booleans())
    if names:
        node = np.unique(node, return_inverse=True)[1].astype(np.int64)
    nodes = int(node.max()) + 1
    labels = tuple(f"n{k}" for k in range(nodes)) if names else None
    return Metrics(time, node, np.array(value), ("a", "b"), nodes, labels, origin=origin)


@given(metrics(), st.sampled_from(["a.csv", "a.csv.gz", "a.parquet"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, written: Metrics, name: str) -> None:
    path = tmp_path_factory.mktemp("metrics") / name
    write_metrics(written, path)
    known = guess(path)
    assert known is not None
    assert known.name == "table"
    again = read_metrics(path, strict=True)
    assert again.time.tolist() == written.time.tolist()
    assert again.node.tolist() == written.node.tolist()
    assert np.array_equal(again.value, written.value, equal_nan=True)
    for what in ("names", "nodes", "node_names", "origin"):
        assert getattr(again, what) == getattr(written, what)


def test_names_of_tables() -> None:
    good = ("a.csv", "a.csv.gz", "a.b.parquet", "d/a.csv.zst")
    assert [is_table_name(name) for name in good] == [True] * 4
    assert not any(map(is_table_name, ("a", "a.gz", "a.parquet.gz", "a.txt")))


def test_what_is_taken_for_metrics(tmp_path: Path) -> None:
    assert is_metrics(file(tmp_path, OWN))
    assert is_metrics(tmp_path)
    assert not is_metrics(file(tmp_path, "time,node\n1,2\n", "f.csv"))
    assert not is_metrics(file(tmp_path, "time,node,downtime,kind\n1,2,3,x\n", "f.csv"))
    assert not is_metrics(file(tmp_path, "job,submit,size,runtime\n1,2,3,4\n", "f.csv"))
    assert not is_metrics(file(tmp_path, "; a comment\n1 2 3 4 5 6\n", "f.swf"))
    path = tmp_path / "a.parquet"
    pl.DataFrame({"time": [1], "node": [0], "x": [1.0]}).write_parquet(path)
    assert is_metrics(path)
    for damage in (b"PAR1 no more", b"\0\1"):
        path.write_bytes(damage)
        assert not is_metrics(path)
