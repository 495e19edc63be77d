"""Job tables: round trips, tables in memory, and bad fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.jobs import Jobs
from forestall.logs import jobs_from_table, read_jobs, slice_jobs, write_job_table, write_swf

COLUMNS = ("job", "submit", "size", "runtime", "estimate")
WHOLE = st.integers(-1, 2**35)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=6)


@st.composite
def jobs(draw: st.DrawFn) -> Jobs:
    count = draw(st.integers(1, 8))
    columns = [
        np.array(
            draw(st.lists(WHOLE, min_size=count, max_size=count, unique=name == "job")),
            dtype=np.int64,
        )
        for name in COLUMNS
    ]
    columns[1] = np.sort(np.abs(columns[1]))
    columns[4] = np.where(columns[4] > 0, columns[4], -1)
    names = st.none() | st.lists(NAMES, min_size=count, max_size=count).map(tuple)
    return Jobs(*columns, user=draw(names), queue=draw(names))


@given(jobs(), st.sampled_from(["a.csv", "a.csv.gz", "a.csv.xz", "a.csv.zst", "a.parquet"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, log: Jobs, name: str) -> None:
    if name.endswith(".zst"):
        pytest.importorskip("zstandard")
    path = tmp_path_factory.mktemp("table") / name
    write_job_table(log, path)
    again = read_jobs(path, strict=True)
    for column in COLUMNS:
        assert getattr(again, column).tolist() == getattr(log, column).tolist()
    assert (again.user, again.queue) == (log.user, log.queue)


def test_columns_in_any_order_and_strangers_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('runtime,"x, y",size,submit,job\n5,"a, b",2,9,1\n 6 ,,3,7,2\n')
    log = read_jobs(path)
    assert (log.job.tolist(), log.size.tolist(), log.runtime.tolist()) == ([2, 1], [3, 2], [6, 5])
    assert log.cleaning.counts() == {"unsorted": 1, "ignored_columns": 1}
    assert log.cleaning.remarks[1].names == ("x, y",)


def test_unknown_values_stay_for_the_simulator(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("job,submit,size,runtime,estimate\n1,0,,,\n2,0,0,0,0\n3,1,4,2.0,1e2\n")
    log = read_jobs(path, strict=True)
    assert log.size.tolist() == [-1, 0, 4]
    assert log.runtime.tolist() == [-1, 0, 2]
    assert log.estimate.tolist() == [-1, -1, 100]


HEAD = "job,submit,size,runtime\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,submit,size\n1,2,3\n", ":1: has no column runtime; it has 'job', 'submit', 'size'"),
        (HEAD, "has no jobs: the log is empty"),
        ("", "is empty; expected a job log"),
        (HEAD + "1,nan,1,1\n", ":2: submit: 'nan'; expected a whole number of at least 0"),
        (HEAD + "1,inf,1,1\n", ":2: submit: 'inf'; expected a whole number of at least 0"),
        (HEAD + "1,-3,1,1\n", ":2: submit: '-3'; expected a whole number of at least 0"),
        (HEAD + f"1,{2**36},1,1\n", "of at least 0 and below 68,719,476,736"),
        (HEAD + "1,0,1.5,1\n", ":2: size: '1.5'; expected a whole number"),
        (HEAD + "1,0,1,soon\n", ":2: runtime: 'soon'; expected a whole number"),
        (HEAD + ",0,1,1\n", ":2: job: is empty; expected a whole number"),
        (HEAD + "1,0,1\n", ":2: has 3 fields; expected the header's 4"),
        (HEAD + "1,0,1,1,1\n", ":2: has 5 fields; expected the header's 4"),
        (HEAD + f"1,{10**30},1,1\n", ":2: submit: "),
        ("job,job,submit,size,runtime\n1,1,1,1,1\n", ":1: has column job more than once"),
        ("1,2,3,4\n", "not a job log"),
        ("hello world\n", "not a job log"),
        ("\0\1\2", "is a binary file"),
        ("PAR1 and no more", "is damaged or not a Parquet file"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_rows_are_left_out_and_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "1,0,1,1\n\n2,-1,1,1\n3,x,1,1\n4,5,1,1\n")
    log = read_jobs(path)
    assert log.job.tolist() == [1, 4]
    assert [r.names for r in log.cleaning.remarks] == [("line 4", "line 5")]
    with pytest.raises(TraceError, match=r"log\.csv:4: submit: '-1'"):
        read_jobs(path, strict=True)


def test_tables_in_memory() -> None:
    frame = pl.DataFrame({"job": [1, 2], "submit": [0, 4], "size": [1, 2], "runtime": [5.0, 6.0]})
    assert jobs_from_table(frame).runtime.tolist() == [5, 6]
    pandas = pytest.importorskip("pandas")
    columns = {"job": [1, 2], "submit": [0, 4], "size": [1, 2], "runtime": [5, 6]}
    table = pandas.DataFrame(columns | {"estimate": [float("nan"), 9.0], "user": ["a", None]})
    log = jobs_from_table(table)
    assert (log.estimate.tolist(), log.user) == ([-1, 9], ("a", ""))
    with pytest.raises(TraceError, match="has no column size"):
        jobs_from_table(frame.drop("size"))
    with pytest.raises(TraceError, match="table:1: size: 'NaN'"):
        jobs_from_table(table.assign(size=float("nan")))
    with pytest.raises(TraceError, match="is a dict"):
        jobs_from_table({})


def test_slices(tmp_path: Path) -> None:
    count = np.arange(1, 11)
    log = Jobs(count, count, count, count, count)
    write_swf(log, tmp_path / "a.swf")
    assert read_jobs(tmp_path / "a.swf", jobs="2:4").job.tolist() == [2, 3, 4]
    assert slice_jobs(log, "9:").job.tolist() == [9, 10]
    assert slice_jobs(log, ":2").job.tolist() == [1, 2]
    assert len(slice_jobs(log, "1:10000")) == 10
    for text in ("0:4", "5", "4:2", "a:b", "-1:3", "11:", "1:2:3", "\u0663:"):
        with pytest.raises(ParameterError, match="jobs: "):
            slice_jobs(log, text)
    write_job_table(log, tmp_path / "a.csv")
    with pytest.raises(ParameterError, match="nodes already"):
        read_jobs(tmp_path / "a.csv", processors_per_node=2)
