"""Our own failure CSV, windows, folding, and bad fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.model.errors import InputError, ParameterError, TraceError
from forestall.model.failures import Failures
from forestall.traces import read_failures, write_failures_csv

HEAD = "time,node,downtime,kind,detectability\n"
NODES = "node: '{}'; expected a whole number of at least 0 and below 10,000,000"
LOG = HEAD + "10,0,60,disk,0.5\n86400,3,,,\n90000,7,5,cpu,0.25\n172800,1,6,cpu,1\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "failures.csv"
    path.write_text(LOG)
    return path


@st.composite
def failures(draw: st.DrawFn) -> Failures:
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 2**35),
                st.integers(0, 10**6),
                st.integers(-1, 10**6),
                st.none() | st.floats(0, 1),
            ),
            min_size=1,
            max_size=8,
        )
    )
    time, node, down, chance = zip(*rows, strict=True)
    chances = [np.nan if value is None else value for value in chance]
    return Failures.build(time, node, down, chances)


@given(failures(), st.sampled_from(["a.csv", "a.csv.gz", "a.csv.xz"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, written: Failures, name: str) -> None:
    path = tmp_path_factory.mktemp("failures") / name
    write_failures_csv(written, path)
    again = read_failures(path, strict=True)
    # Rows of one second and node have no order of their own.
    key = np.lexsort((written.detectability, written.downtime, written.node, written.time))
    same = np.lexsort((again.detectability, again.downtime, again.node, again.time))
    for column in ("time", "node", "downtime", "detectability"):
        a, b = getattr(written, column)[key], getattr(again, column)[same]
        assert np.array_equal(a, b, equal_nan=column == "detectability")


def test_columns(log: Path) -> None:
    read = read_failures(log, strict=True)
    assert read.time.tolist() == [10, 86_400, 90_000, 172_800]
    assert read.downtime.tolist() == [60, -1, 5, 6]
    assert read.kind == ("disk", "", "cpu", "cpu")
    assert (read.nodes, read.span) == (8, 172_791)
    assert np.isnan(read.detectability[1])


def test_windows(log: Path) -> None:
    read = read_failures(log, days=1)
    assert (read.time.tolist(), read.span) == ([10], 86_400)
    read = read_failures(log, start=86_400, days=1)
    assert (read.time.tolist(), read.node.tolist(), read.span) == ([0, 3600], [3, 7], 86_400)
    read = read_failures(log, start="86400")
    assert (len(read), read.span, read.nodes) == (3, 86_401, 8)
    with pytest.raises(TraceError, match=r"no failures from 999999 s; .* from 10 s to 172800 s"):
        read_failures(log, start=999_999)


def test_folding(log: Path) -> None:
    read = read_failures(log, fold_nodes=3)
    assert (read.node.tolist(), read.nodes) == ([0, 1, 2, 0], 3)
    with pytest.raises(ParameterError, match="fold-nodes"):
        read_failures(log, fold_nodes=0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"days": 0}, "days: 0 is not allowed"),
        ({"days": float("nan")}, "days: nan is not allowed"),
        ({"days": float("inf")}, "days: inf is not allowed"),
        ({"start": "tomorrow"}, "from: 'tomorrow' is not allowed"),
        ({"start": 10**15}, "from: 1000000000000000 is not allowed"),
        ({"system": 3}, "system: '3' is not allowed; expected none"),
        ({"format": "xls"}, "format: 'xls' is not allowed; expected one of csv, lanl"),
    ],
)
def test_bad_parameters(log: Path, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        read_failures(log, **parameters)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_dates(tmp_path: Path) -> None:
    path = tmp_path / "dates.csv"
    path.write_text("time,node\n2003-07-18T16:00,1\n2003-07-18 16:00:30,0\n2003-07-20,2\n77,1\n")
    read = read_failures(path)
    assert (read.time.tolist(), read.node.tolist()) == ([0, 30, 115_200], [1, 0, 2])
    assert read.cleaning.remarks[0].names == ("line 5",)
    assert read_failures(path, start="2003-07-18T15:59:00", days=1).time.tolist() == [60, 90]
    with pytest.raises(TraceError, match=r"dates\.csv:5: time: '77'; expected a date"):
        read_failures(path, strict=True)


def test_unsorted_rows_are_sorted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("node,time\n1,5\n2,3\n0,5\n")
    read = read_failures(path, strict=True)
    assert (read.time.tolist(), read.node.tolist()) == ([3, 5, 5], [2, 0, 1])
    assert read.cleaning.counts() == {"unsorted": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("-1,0,,,", "time: '-1'; expected a whole number of at least 0"),
        ("1.5,0,,,", "time: '1.5'; expected a whole number of at least 0"),
        ("nan,0,,,", "time: 'nan'; expected a whole number of at least 0"),
        (",0,,,", "time: is empty; expected a whole number of at least 0"),
        ("1,-2,,,", "node: '-2'; expected a whole number of at least 0"),
        ("1,10000000,,,", NODES.format(10_000_000)),
        ("1,n4,,,", "node: 'n4'; expected a whole number of at least 0"),
        ("1,0,-5,,", "downtime: '-5'; expected a whole number of at least 0"),
        ("1,0,inf,,", "downtime: 'inf'; expected a whole number of at least 0"),
        ("1,0,,,1.01", "detectability: '1.01'; expected a number from 0 to 1"),
        ("1,0,,,nan", "detectability: 'nan'; expected a number from 0 to 1"),
        ("1,0", "has 2 fields; expected the header's 5"),
    ],
)
def test_bad_rows(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{HEAD}7,1,,,\n{row}\n9,1,,,\n")
    read = read_failures(path)
    assert read.time.tolist() == [7, 9]
    assert read.cleaning.remarks[0].names == ("line 3",)
    with pytest.raises(TraceError) as caught:
        read_failures(path, strict=True)
    assert str(caught.value).endswith(f"a.csv:3: {message}")
    path.write_text(f"{HEAD}{row}\n")
    with pytest.raises(TraceError) as caught:
        read_failures(path)
    assert str(caught.value).endswith(f"a.csv:2: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a failure log"),
        (b"time,node\n", "has no failures: the log is empty"),
        (b"\n\n", "is empty; expected a failure log"),
        (b"a,b\n1,2\n", "is no failure log that is known"),
        (b"\0\0", "is a binary file"),
        (b"time,node\n1,2\n\0", "is a binary file"),
        (b'time,node\n"1\n2",3\n', "has no failures"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_failures(path)
    assert "\n" not in str(caught.value)
    if b'"' not in content:
        assert message in str(caught.value)


def test_a_table_of_something_else_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("serial,time,node\nx,1,2\n")
    with pytest.raises(TraceError, match="is no failure log that is known"):
        read_failures(path)
    assert len(read_failures(path, format="csv")) == 1
