"""The column `predicted` of our own failure log: windows, dates, dirt, round trips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.virtual import FAR
from forestall.logs.info import is_failure_log
from forestall.logs.metrics.read import is_metrics
from forestall.logs.read import read_failures
from forestall.logs.write import write_failures
from forestall.logs.written import write_log
from forestall.runs.logs import kind_of, read_log

LOG = "time,node,predicted\n10,0,8\n500,3,\n700,6,900\n600,1,100\n"
WHOLE = "expected a whole number, as the times are, or nothing"
DATE = "expected a date such as 2003-07-18T16:00, as the times are, or nothing"


def told(log: Failures) -> list[int]:
    assert log.predicted is not None
    return log.predicted.tolist()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "failures.csv"
    path.write_text(LOG)
    return path


def test_a_log_with_the_column_is_ours(log: Path, tmp_path: Path) -> None:
    assert is_failure_log(log)
    assert not is_metrics(log)
    assert kind_of(log) == "log"
    found = read_failures(log, strict=True)
    assert (found.time.tolist(), told(found)) == ([10, 500, 600, 700], [8, FAR, 100, 900])
    log.write_text("predicted,node,time\n8,0,10\n")
    assert told(read_failures(log)) == [8]
    path = tmp_path / "log.parquet"
    pl.DataFrame({"time": [10], "node": [0], "predicted": [8]}).write_parquet(path)
    assert kind_of(path) == "log"
    assert told(read_failures(path)) == [8]
    log.write_text("time,node\n10,0\n")
    assert read_failures(log).predicted is None


def test_windows_move_it_and_folding_keeps_it(log: Path) -> None:
    found = read_failures(log, start=400, fold_nodes=2)
    assert (found.time.tolist(), found.node.tolist()) == ([100, 200, 300], [1, 0, 3])
    assert told(found) == [FAR, -300, 500]
    assert told(read_failures(log, start=550, days=100 / 86_400)) == [-450]


def test_positions_and_tables(log: Path) -> None:
    found = read_failures(log)
    some = found.take(np.array([False, True, False, True]))
    assert told(some) == [FAR, 900]
    assert found.take(np.array([2])).table()["predicted"].to_list() == [100]
    assert found.table()["predicted"].to_list() == [8, None, 100, 900]
    assert "predicted" not in replace(found, predicted=None).table().columns


def test_dates(tmp_path: Path) -> None:
    path = tmp_path / "dates.csv"
    path.write_text(
        "time,node,predicted\n2003-07-18T16:00,1,2003-07-18T15:59:30\n"
        "2003-07-18T17:00,0,\n2003-07-18T18:00,2,2003-07-19\n"
    )
    found = read_failures(path, strict=True)
    assert (found.time.tolist(), told(found)) == ([0, 3600, 7200], [-30, FAR, 28_800])
    assert told(read_failures(path, start="2003-07-18T15:00")) == [3570, FAR, 32_400]
    path.write_text("# origin: 2003-07-18\ntime,node,predicted\n60,0,30\n90,0,\n")
    found = read_failures(path, start="2003-07-18T00:00:50")
    assert (found.time.tolist(), told(found)) == ([10, 40], [-20, FAR])
    path.write_text("time,node,predicted\n1000000060,0,1000000000\n")  # Unix seconds
    assert told(read_failures(path, start=1_000_000_000)) == [0]


@pytest.mark.parametrize(
    ("time", "predicted", "message"),
    [
        ("7", "soon", f"'soon'; {WHOLE}"),
        ("7", "1.5", f"'1.5'; {WHOLE}"),
        ("7", "2003-07-18", f"'2003-07-18'; {WHOLE}"),
        ("7", str(2**36), f"'{2**36}'; {WHOLE}"),
        ("2003-07-18", "77", f"'77'; {DATE}"),
        ("2003-07-18", "2003-07-32", f"'2003-07-32'; {DATE}"),
        ("2003-07-18", "9999-01-01", f"'9999-01-01'; {DATE}"),
    ],
)
def test_a_bad_time_is_named_and_the_failure_stays(
    tmp_path: Path, time: str, predicted: str, message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"time,node,predicted\n{time},1,{predicted}\n{time},2,\n")
    found = read_failures(path)
    assert (len(found), told(found)) == (2, [FAR, FAR])
    assert found.cleaning.counts() == {"bad_predicted": 1}
    remark = found.cleaning.remarks[0]
    assert (remark.names, remark.action) == (("line 2",), "changed")
    assert "taken as not foreseen" in remark.text
    with pytest.raises(TraceError) as caught:
        read_failures(path, strict=True)
    assert str(caught.value).endswith(f"a.csv:2: predicted: {message}")


def test_rows_that_are_left_out_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,node,predicted\nx,1,y\n5,2,3\n")
    found = read_failures(path)
    assert found.cleaning.counts() == {"bad_time": 1}
    assert told(found) == [3]


@st.composite
def logs(draw: st.DrawFn) -> Failures:
    one = st.tuples(st.integers(0, 500), st.integers(0, 3), st.integers(-600, 900) | st.just(FAR))
    some = draw(st.lists(one, min_size=1, max_size=8, unique_by=lambda row: row[:2]))
    time, node, predicted = zip(*some, strict=True)
    log = Failures.build(time, node, predicted=predicted)
    origin = draw(st.sampled_from([None, 0, 1_000_000_000]))
    return replace(log, nodes=4, origin=origin, span=log.span + 500)


@given(logs(), st.sampled_from(["a.csv", "a.csv.gz", "a.parquet"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, log: Failures, name: str) -> None:
    path = tmp_path_factory.mktemp("log") / name
    write_failures(log, path)
    again = read_failures(path, strict=True)
    assert (again.time.tolist(), again.node.tolist()) == (log.time.tolist(), log.node.tolist())
    assert told(again) == told(log)


def test_conversion_keeps_it(log: Path, tmp_path: Path) -> None:
    write_log(read_log(log, {}), tmp_path / "b.parquet")
    write_log(read_log(tmp_path / "b.parquet", {}), tmp_path / "c.csv")
    assert (
        tmp_path / "c.csv"
    ).read_text() == "time,node,predicted\n10,0,8\n500,3,\n600,1,100\n700,6,900\n"
