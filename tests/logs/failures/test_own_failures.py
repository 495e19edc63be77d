"""Our own failure CSV, windows, folding, and bad fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.units import EARLIEST, LATEST
from forestall.logs import read_failures, write_failures_csv

HEAD = "time,node,downtime,kind,detectability\n"
NODES = "node: '{}'; expected a whole number of at least 0 and below 1,048,576"
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
        ("1,1048576,,,", NODES.format(1_048_576)),
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
        (b"a,b\n1,2\n", "not a failure log: the file starts with"),
        (b"\0\0", "holds nothing but NUL bytes; expected text"),
        (b"\0\1\2", "is a binary file"),
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
    with pytest.raises(TraceError, match="not a failure log: the file starts with"):
        read_failures(path)
    assert len(read_failures(path, format="csv")) == 1


WORDS = st.text("abR0-1:,\"' #é", min_size=1).map(str.strip).filter(bool)


@given(
    failures(),
    st.none() | st.integers(EARLIEST, LATEST - 1),
    st.none() | st.lists(WORDS, min_size=1, max_size=6, unique=True),
    st.integers(0, 2**20),
    st.integers(0, 5),
    st.sampled_from(["a.csv", "a.csv.gz"]),
)
def test_dates_names_and_span_go_through_a_file(
    tmp_path_factory: pytest.TempPathFactory,
    log: Failures,
    origin: int | None,
    names: list[str] | None,
    more: int,
    quiet: int,
    name: str,
) -> None:
    path = tmp_path_factory.mktemp("failures") / name
    log = replace(log, span=log.span + more, nodes=log.nodes + quiet, origin=origin)
    if names is not None:  # those of nodes that never failed among them
        log = Failures.build(log.time, log.node % len(names), log.downtime, log.detectability)
        log = replace(log, nodes=len(names), origin=origin, names=tuple(names))
    write_failures_csv(log, path)
    again = read_failures(path, strict=True)
    assert again.time.tolist() == log.time.tolist()
    assert sorted(zip(again.time, again.node, strict=True)) == sorted(
        zip(log.time, log.node, strict=True)
    )
    if names is not None or origin is not None:
        assert (again.origin, again.names, again.nodes) == (origin, log.names, log.nodes)
        assert again.span == log.span
    second = path.with_name("b.csv")
    write_failures_csv(again, second)
    assert read_failures(second).origin == again.origin


def test_a_plain_log_has_no_comments(tmp_path: Path) -> None:
    write_failures_csv(Failures.build([1, 2], [0, 3]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "time,node\n1,0\n2,3\n"


def test_names_are_numbered_in_sorted_order(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,node\n5,web-b1\n7,web-a1\n9,db7\n11,12\n12,\n")
    read = read_failures(path)
    assert read.names == ("12", "db7", "web-a1", "web-b1")
    assert read.node.tolist() == [3, 2, 1, 0]
    assert read.cleaning.counts() == {"bad_node": 1}
    path.write_text("time,node\n5,1\n7,n4\n9,2\n")  # one word among numbers is a mistake
    read = read_failures(path)
    assert (read.names, read.node.tolist()) == (None, [1, 2])
    with pytest.raises(TraceError, match=r"a\.csv:3: node: 'n4'; expected a whole number"):
        read_failures(path, strict=True)


def test_comments_above_the_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "# by hand\n# origin: 2024-01-01\n# span: 864000\n# names: c, a, b\n"
        "time,node\n3600,a\n86400,c\n90000,z\n"
    )
    read = read_failures(path)
    assert (read.names, read.node.tolist(), read.nodes) == (("c", "a", "b"), [1, 0], 3)
    assert (read.origin, read.span, read.time.tolist()) == (1_704_067_200, 864_000, [3600, 86_400])
    assert read.cleaning.remarks[0].names == ("line 8",)
    later = read_failures(path, start="2024-01-02")
    assert (later.time.tolist(), later.span) == ([0], 9 * 86_400)
    assert read_failures(path, start=86_400).origin == later.origin  # in the log's own seconds
    path.write_text("# origin: 2024-01-02\n# nodes: 9\ntime,node\n2024-01-01,3\n2024-01-03,1\n")
    read = read_failures(path)
    assert (read.time.tolist(), read.nodes) == ([86_400], 9)
    path.write_text("# only a word\n\ntime,node\n200000000,1\n")
    assert read_failures(path).origin == 0


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("origin: soon", "a.csv:1: origin: 'soon'; expected a date"),
        ("span: -1", "a.csv:1: span: '-1'; expected a whole number of seconds"),
        ("nodes: many", "a.csv:1: nodes: 'many'; expected a whole number from 1"),
        ("nodes: 0", "a.csv:1: nodes: '0'; expected a whole number from 1"),
        ("names: a,b,a", "a.csv:1: names: 'a,b,a'; expected different names"),
        ("names:", "a.csv:1: names: ''; expected different names"),
    ],
)
def test_bad_comments(tmp_path: Path, comment: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"# {comment}\ntime,node\n1,a\n")
    with pytest.raises(TraceError) as caught:
        read_failures(path)
    assert message in str(caught.value)


def test_unix_seconds_have_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,node\n1704067300,1\n1704067200,0\n")
    read = read_failures(path)
    assert (read.origin, read.time.tolist()) == (0, [1_704_067_200, 1_704_067_300])
    assert read.span == 101
    path.write_text("time,node\n50,1\n1704067200,0\n")  # a long log of its own seconds
    assert read_failures(path).origin is None
    late = replace(Failures.build([2**29], [0]), names=("n1",), span=9)
    write_failures_csv(late, path)  # a syslog without a year: no dates
    assert (read_failures(path).origin, read_failures(path).span) == (None, 9)


def test_samples_of_metrics_are_no_failures(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    rows = [f"{60 * k},{n},0.5\n" for k in range(6) for n in range(2)]
    path.write_text("time,node,cpu\n" + "".join(rows))
    with pytest.raises(TraceError, match=r"samples of metrics \('cpu'; .* 60 s\), .*as metrics"):
        read_failures(path)
    path.write_text("time,node\n" + "".join(row.rpartition(",")[0] + "\n" for row in rows))
    assert len(read_failures(path)) == 12  # nothing but failures that come evenly
    path.write_text("time,node,cpu\n" + "".join(f"{k**3},{k % 2},0.5\n" for k in range(20)))
    read = read_failures(path)
    assert read.cleaning.remarks[0].counted == "1 column ignored ('cpu')"


def test_names_of_a_large_machine(tmp_path: Path) -> None:
    """The header may lie beyond what is looked at to tell the format."""
    names = tuple(f"R{k:05d}-M0-N0-C:J02-U01" for k in range(20_000))
    log = replace(Failures.build([3, 9], [19_999, 0]), nodes=20_000, names=names)
    write_failures_csv(log, tmp_path / "a.csv")
    again = read_failures(tmp_path / "a.csv", strict=True)
    assert (again.names, again.node.tolist()) == (names, [19_999, 0])
