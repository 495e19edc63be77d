"""Accounting records as plain tables: states, windows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER, JobRecords, base_state
from forestall.logs.jobs.job_records import looks_like, read_job_records, write_job_records

TABLE = "job,start,end,state,nodes,cores\na,100,200,COMPLETED,0-2,6\nb,50,60,FAILED,3,\n"


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    return path


STATES = """job,start,end,state,nodes
a,0,9,CANCELLED by 1001,1
b,1,,RUNNING,1
c,2,9,ODD,2
d,3,9,OUT_OF_MEMORY,2
e,4,9,COMPLETED,3
f,,9,CANCELLED+,
"""


def test_states(tmp_path: Path) -> None:
    read = read_job_records(table(tmp_path, STATES))
    assert read.state[0] == "CANCELLED by 1001"
    assert read.base() == ("CANCELLED", "RUNNING", "ODD", "OUT_OF_MEMORY", "COMPLETED", "CANCELLED")
    assert read.completed().tolist() == [False] * 4 + [True, False]
    assert read.failed().tolist() == [True, False, False, True, False, True]
    # Unknown states are in neither, and which count is the user's to set.
    assert read.completed(("completed", "CANCELLED")).tolist() == [True] + [False] * 3 + [True] * 2
    assert read.failed(("COMPLETED", "CANCELLED")).tolist() == [False] * 3 + [True] + [False] * 2
    assert read.failed(failure=("ODD",)).tolist() == [False, False, True, False, False, False]
    assert read.counts()["CANCELLED"] == 2
    assert base_state("") == ""
    assert read.ran.tolist() == [True, False, True, True, True, False]
    assert read.cleaning.counts() == {"state_unknown": 2, "never_started": 1}


def test_windows(tmp_path: Path) -> None:
    path = table(tmp_path, STATES.replace(",0,9", ",0,1").replace(",3,9", ",60,90"))
    read = read_job_records(path, start="2", days=4 / 86_400)
    assert read.job == ("b", "c", "e")  # those that ran at some time of it, in whole
    assert read.start.tolist() == [-1, 0, 2]
    assert read.end.tolist() == [NEVER, 7, 7]
    with pytest.raises(TraceError, match="no jobs from"):
        read_job_records(path, start="500")
    for bad in ({"days": 0}, {"days": float("nan")}, {"start": "noon"}):
        with pytest.raises(ParameterError):
            read_job_records(path, **bad)  # type: ignore[arg-type]


def test_tables(tmp_path: Path) -> None:
    read = read_job_records(table(tmp_path, TABLE), strict=True)
    assert (read.job, read.start.tolist(), read.origin) == (("b", "a"), [50, 100], None)
    assert (read.nodes, read.node_names) == (4, None)
    assert [read.nodes_of(k).tolist() for k in range(2)] == [[3], [0, 1, 2]]
    assert read.cores.tolist() == [-1, 6]
    dated = TABLE.replace("100,200", "2024-01-05T10:00:00,2024-01-05 10:01").replace(
        "50,60", "2024-01-05,2024-01-05T00:00:09Z"
    )
    read = read_job_records(table(tmp_path, dated))
    assert read.start.tolist() == [0, 36_000]
    assert read.end.tolist() == [9, 36_060]
    unix = TABLE.replace("100,200", "1704445200,1704445260").replace("50,60", "1704445100,")
    read = read_job_records(table(tmp_path, unix))
    assert (read.origin, read.end.tolist()) == (1_704_445_100, [NEVER, 160])


def test_names_beside_numbers_are_all_names(tmp_path: Path) -> None:
    read = read_job_records(table(tmp_path, TABLE.replace("FAILED,3", "FAILED,n3")))
    assert read.node_names == ("0-2", "n3")  # a hostlist without brackets is a name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("job,start\n1,2\n", "has no column end, state, nodes"),
        ("job,start,end,state,nodes", "the log is empty"),
        (TABLE.replace("100", "soon"), "start: 'soon'; expected a date such as"),
        (TABLE.replace("200", "20"), "end: '20'; expected a time not before the start"),
        (TABLE.replace("0-2", "n[2"), r"nodes: 'n\[2'; expected a hostlist"),
        (TABLE.replace(",6", ",-6"), "cores: '-6'; expected a whole number of at least 0"),
        (TABLE.replace("\na,", "\n,"), "job: is empty; expected a job's id"),
    ],
)
def test_damaged(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_job_records(table(tmp_path, text), strict=True)


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TraceError, match="is damaged or not a Parquet file"):
        read_job_records(path)
    pl.DataFrame({"job": [1]}).write_parquet(path)
    with pytest.raises(TraceError, match="has no column start"):
        read_job_records(path)
    assert not looks_like(path)
    with pytest.raises(TraceError, match="cannot be read"):
        read_job_records(tmp_path / "none.csv")


@st.composite
def records(draw: st.DrawFn) -> JobRecords:
    origin = draw(st.sampled_from([None, 1_704_445_200]))
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 10**6) | st.just(NEVER))
        last = st.just(NEVER) if start == NEVER else st.integers(start, 2 * 10**6)
        nodes = sorted(draw(st.sets(st.integers(0, 5), max_size=4)))
        rows.append((start, draw(last | st.just(NEVER)), nodes, draw(st.integers(-1, 99))))
    rows.sort(key=lambda row: row[0])
    rows[0] = (0, *rows[0][1:])
    sizes = [len(row[2]) for row in rows]
    used = max((max(row[2]) for row in rows if row[2]), default=-1) + 1
    return JobRecords(
        tuple(f"j{k}" for k in range(len(rows))),
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        tuple(draw(st.sampled_from(["COMPLETED", "CANCELLED by 3", ""])) for _ in rows),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.array([n for row in rows for n in row[2]], dtype=np.int64),
        np.array([row[3] for row in rows]),
        used,
        origin=origin,
    )


@given(records(), st.sampled_from(["a.csv", "a.csv.gz", "a.parquet"]))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, written: JobRecords, name: str
) -> None:
    path = tmp_path_factory.mktemp("jobs") / name
    write_job_records(written, path)
    assert looks_like(path)
    again = read_job_records(path, strict=True)
    for column in ("start", "end", "offsets", "node", "cores"):
        assert getattr(again, column).tolist() == getattr(written, column).tolist(), column
    assert (again.job, again.state) == (written.job, written.state)
    assert (again.origin, again.nodes) == (written.origin, written.nodes)


@given(records(), st.data())
def test_taking_some(whole: JobRecords, data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))))
    part = whole.take(mask)
    where = np.flatnonzero(mask).tolist()
    assert part.job == tuple(whole.job[k] for k in where)
    for place, k in enumerate(where):
        assert part.nodes_of(place).tolist() == whole.nodes_of(k).tolist()
    back = whole.moved(77).moved(-77)
    assert back.start.tolist() == whole.start.tolist()
    assert back.end.tolist() == whole.end.tolist()
    assert whole.owner().tolist() == [k for k in range(len(whole)) for _ in whole.nodes_of(k)]


def test_node_names_are_written_as_hostlists(tmp_path: Path) -> None:
    text = TABLE.replace("0-2", '"node[008-010,003],login1"').replace("FAILED,3", "FAILED,node003")
    read = read_job_records(table(tmp_path, text))
    path = tmp_path / "again.csv"
    write_job_records(read, path)
    assert '"login1,node[003,008-010]"' in path.read_text()
    again = read_job_records(path, strict=True)
    assert again.node_names == read.node_names
    assert again.node.tolist() == read.node.tolist()
    assert again.start.tolist() == read.start.tolist()
