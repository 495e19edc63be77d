"""SWF: the fast reader against a plain one, the archive's files, and everything that breaks."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.jobs import Jobs
from forestall.logs.jobs.swf import Swf, read_swf, read_swf_file, write_swf
from forestall.logs.jobs.swf_rows import COLUMNS, FRACTIONAL

ROW = "{} {} -1 {} {} -1 -1 {} {} -1 1 7 1 -1 2 -1 -1 -1\n"


def row(
    job: object = 1,
    submit: object = 0,
    run: object = 60,
    allocated: object = 4,
    asked: object = 8,
    request: object = 100,
) -> str:
    return ROW.format(job, submit, run, allocated, asked, request)


def plain(text: str) -> tuple[list[list[float]], list[int]]:
    """Read rows one by one, by the format's definition; also the lines left out."""
    rows, bad = [], []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith(";"):
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        usable = len(values) == 18 and all(np.isfinite(values)) and values[1] >= 0
        usable = usable and not any("_" in word for word in words)
        if not usable:
            bad.append(number)
            continue
        whole = [
            v if name in FRACTIONAL else float(np.floor(v + 0.5))
            for v, name in zip(values, COLUMNS, strict=True)
        ]
        rows.append(whole)
    return rows, bad


def write(folder: Path, text: str | bytes, name: str = "log.swf") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


NUMBERS = st.one_of(
    st.integers(-2, 10**9).map(str),
    st.floats(-1, 1e6, allow_nan=False).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["1e3", "+5", "-0", "007", "nan", "inf", "x", "1_0", "12a", "0x1", ".5", "5."]),
)
LINES = st.one_of(
    st.lists(NUMBERS, min_size=18, max_size=18).map(" ".join),
    st.lists(st.integers(0, 99).map(str), min_size=18, max_size=18).map("\t ".join),
    st.lists(st.integers(0, 99).map(str), min_size=0, max_size=21).map(" ".join),
    st.sampled_from(["; Note: x", "  ;MaxNodes: 5", "", "   ", "; 1 2 3 4 5 6"]),
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n", " \n", "\n  "]))
def test_reads_as_a_plain_reader_does(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str
) -> None:
    text = end.join(lines) + "\n"
    path = write(tmp_path_factory.mktemp("swf"), text)
    rows, bad = plain(text)
    if not rows:
        with pytest.raises(TraceError):
            read_swf_file(path)
        return
    log = read_swf_file(path)
    want = np.array(rows)
    for place, name in enumerate(COLUMNS):
        assert log.columns[name].tolist() == want[:, place].tolist(), name
    left_out = [r.names for r in log.cleaning.remarks if r.action == "left out"]
    assert [name for names in left_out for name in names] == [f"line {line}" for line in bad]


COUNTS = st.integers(-1, 2**35)
AVERAGES = st.one_of(st.just(-1.0), st.floats(0, 1e9, allow_nan=False))


@st.composite
def logs(draw: st.DrawFn) -> Swf:
    count = draw(st.integers(1, 8))
    columns = {}
    for name in COLUMNS:
        kind = AVERAGES if name in FRACTIONAL else COUNTS.filter(lambda x: x >= 0)
        dtype = np.float64 if name in FRACTIONAL else np.int64
        columns[name] = np.array(draw(st.lists(kind, min_size=count, max_size=count)), dtype=dtype)
    text = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
    places = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    comments = tuple((place, "; " + draw(text).strip() + ".") for place in places)
    return Swf(columns, comments)


@given(logs(), st.sampled_from(["a.swf", "a.swf.gz", "a.swf.xz", "a.swf.zst"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, log: Swf, name: str) -> None:
    if name.endswith(".zst"):
        pytest.importorskip("zstandard")
    path = tmp_path_factory.mktemp("swf") / name
    write_swf(log, path)
    again = read_swf_file(path)
    assert again.comments == log.comments
    for column in COLUMNS:
        assert again.columns[column].tolist() == log.columns[column].tolist()


def test_sizes_estimates_and_machine(tmp_path: Path) -> None:
    head = "; MaxNodes: 10 (fat ones)\n; MaxProcs: 40\n"
    path = write(
        tmp_path, head + row(1, 0, 9, 5, 8, -1) + row(2, 3, -1, -1, 9) + row(3, 3, 0, -1, -1)
    )
    jobs = read_swf(path)
    assert (jobs.nodes, jobs.size.tolist()) == (40, [5, 9, -1])
    assert jobs.estimate.tolist() == [-1, 100, 100]
    assert jobs.runtime.tolist() == [9, -1, 0]
    assert (jobs.user, jobs.queue) == (("7",) * 3, ("2",) * 3)
    jobs = read_swf(path, processors_per_node=4)
    assert (jobs.nodes, jobs.size.tolist()) == (10, [2, 3, -1])
    only = write(tmp_path, "; MaxProcs: 41\n" + row(), "b.swf")
    assert read_swf(only, processors_per_node=4).nodes == 11
    assert read_swf(write(tmp_path, row(), "c.swf")).nodes is None
    with pytest.raises(ParameterError, match="processors-per-node"):
        read_swf(path, processors_per_node=0)


def test_unsorted_rows_are_sorted_stably_and_named(tmp_path: Path) -> None:
    path = write(tmp_path, row(1, 5) + row(2, 3) + row(3, 5) + row(4, 3))
    jobs = read_swf(path, strict=True)  # the order changes no row
    assert jobs.job.tolist() == [2, 4, 1, 3]
    assert jobs.cleaning.remarks[0].names == ("line 2", "line 4")
    assert jobs.cleaning.counts() == {"unsorted": 2}


def test_only_what_is_wanted(tmp_path: Path) -> None:
    first = "1 5 10 100 4 -1 -1 8 200 -1 1 3 2 7 1 1 -1 -1"
    rows = [first, first.replace("1 5", "2 9", 1).replace(" 3 2 7 ", " 3000000000 2 7 ")]
    path = write(tmp_path, "\n".join([*rows, ""]))
    whole = read_swf_file(path)
    log = read_swf_file(path, wanted=("submit", "user", "queue"))
    assert list(log.columns) == ["job", "submit", "user", "queue"]
    for name, column in log.columns.items():
        np.testing.assert_array_equal(column, whole.columns[name])
    # Times never lose their width, and what needs it keeps it.
    assert [str(column.dtype) for column in log.columns.values()] == [
        "int64", "int64", "int64", "int32",
    ]  # fmt: skip
    assert len(log) == 2
    with pytest.raises(ParameterError, match="wanted"):
        read_swf_file(path, wanted=("sumbit",))


def test_comments_anywhere(tmp_path: Path) -> None:
    text = "; A: 1\n\n" + row(1) + "; in between\n  ; and A: 2\n" + row(2) + "; end\n"
    log = read_swf_file(write(tmp_path, text))
    assert log.comments == ((0, "; A: 1"), (1, "; in between"), (1, "  ; and A: 2"), (2, "; end"))
    assert log.header == {"A": "1"}
    assert log.line.tolist() == [3, 6]
    write_swf(log, tmp_path / "again.swf")
    assert read_swf_file(tmp_path / "again.swf").comments == log.comments


def test_jobs_with_names_can_be_written(tmp_path: Path) -> None:
    whole = np.array([1, 2, 3])
    jobs = Jobs(whole, whole, whole, whole, whole, user=("bo", "", "al"), queue=("1", "0", ""))
    write_swf(jobs, tmp_path / "a.swf")
    text = (tmp_path / "a.swf").read_text()
    assert "; user 1: al\n; user 2: bo\n" in text
    assert "; queue" not in text
    again = read_swf(tmp_path / "a.swf")
    assert (again.user, again.queue) == (("2", "", "1"), ("1", "0", ""))


BELOW = "; expected a number below 4.61169e+18"
BAD = [
    ("1 2 3\n", "log.swf:2: has 3 fields; expected 18 numbers"),
    (row().strip() + " 5\n", "log.swf:2: has 19 fields; expected 18 numbers"),
    (row(run="x1"), f"log.swf:2: field 4 (run): 'x1' is not a finite number{BELOW}"),
    (row(run="nan"), f"log.swf:2: field 4 (run): 'nan' is not a finite number{BELOW}"),
    (row(request="inf"), f"log.swf:2: field 9 (request): 'inf' is not a finite number{BELOW}"),
    (row(submit=-7), "log.swf:2: field 2 (submit): -7 is negative; expected seconds since"),
    (row(run=2**36), "log.swf:2: field 4 (run): 68719476736 s are too many; expected fewer than"),
    (row(run="1.5"), "log.swf:2: field 4 (run): 1.5 is not a whole number"),
    (row(run=10**30), f"log.swf:2: field 4 (run): '1{'0' * 30}' is too large{BELOW}"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_bad_rows(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, row() + line + row(2, 9))
    jobs = read_swf(path)
    assert jobs.cleaning.remarks[0].names == ("line 2",)
    assert len(jobs) == (3 if "1.5" in line else 2)
    with pytest.raises(TraceError) as caught:
        read_swf(path, strict=True)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no jobs: the log is empty"),
        (b"; only: comments\n", "has no jobs: the log is empty"),
        (b"\x7fELF\0\0\0", "is a binary file; expected text"),
        (gzip.compress(row().encode() * 999)[:-9], "is cut off: unpacking it failed"),
        (gzip.compress(b"x" * 99)[:4] + b"\xff" * 50, "is damaged: unpacking it failed"),
        (lzma.compress(row().encode() * 999)[:-20], "is cut off: unpacking it failed"),
        (b"job,submit\n1,2\n", "log.swf:1: has 1 fields; expected 18 numbers"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_swf(write(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_swf(tmp_path / "none.swf")
    with pytest.raises(TraceError, match="is a folder"):
        read_swf(tmp_path)


ARCHIVE = [
    ("nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz", 18_239, 128, 16.99, 764.9),
    ("sdsc-sp2-1998/SDSC-SP2-1998-4-cln.jobs-from-predictsim.swf.gz", 54_006, 128, 12.30, 7_353),
    ("swf-misc/KTH-SP2-1996-2.swf.gz", 28_489, 100, 7.67, 8_877),
    ("swf-misc/HPC2N-2002-2.2-cln.rebuilt.swf.gz", 201_981, 240, 6.37, 16_927),
    ("swf-misc/LLNL-Atlas-2006-2.1-cln.swf.gz", 43_778, 9216, 378.9, 5_025),
    ("swf-misc/UniLu-Gaia-2014-1.swf.gz", 51_987, 2004, 9.97, 14_322),
    ("swf-misc/lublin_256.swf.gz", 10_000, 256, 22.1, 4_863),
    ("lanl-trinity/LANL-Trinity-2016.rebuilt.swf.gz", 21_247, 301_056, 3_080, 6_959),
]


@pytest.mark.parametrize(("name", "count", "nodes", "size", "runtime"), ARCHIVE)
def test_the_archive(
    data: Path, name: str, count: int, nodes: int, size: float, runtime: float
) -> None:
    jobs = read_swf(data / name, strict=True)
    assert (len(jobs), jobs.nodes) == (count, nodes)
    assert jobs.size.mean() == pytest.approx(size, rel=1e-3)
    assert jobs.runtime.mean() == pytest.approx(runtime, rel=1e-3)


def test_unknown_sizes_are_taken_from_the_request(data: Path) -> None:
    log = read_swf_file(data / "swf-misc/CEA-Curie-2011-2.1-cln.swf.gz")
    assert len(log) == 312_826
    assert log.columns["allocated"].mean() == pytest.approx(688.4, rel=1e-3)
    assert int(np.count_nonzero(log.columns["allocated"] <= 0)) == 10_912
    assert int(np.count_nonzero(log.jobs().size <= 0)) == 19


def test_a_real_log_round_trips(data: Path, tmp_path: Path) -> None:
    log = read_swf_file(data / "swf-misc/KTH-SP2-1996-2.swf.gz")
    write_swf(log, tmp_path / "kth.swf.gz")
    again = read_swf_file(tmp_path / "kth.swf.gz")
    assert again.comments == log.comments
    assert all(np.array_equal(again.columns[n], log.columns[n]) for n in COLUMNS)
