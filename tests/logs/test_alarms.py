"""Alarms as files: seconds and dates, numbers and names, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.logs.alarms import read_alarms


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "alarms.csv"
    path.write_text(text)
    return path


def test_seconds_and_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "time,node,score,until\n50,2,0.5,90\n10,*,,\n10,0,1e3,\n20,,0,20\n")
    found = read_alarms(path)
    assert found.time.tolist() == [10, 10, 20, 50]
    assert found.node.tolist() == [-1, 0, -1, 2]
    assert found.until is not None
    assert found.until.tolist() == [-1, -1, 20, 90]
    assert found.score is not None
    np.testing.assert_array_equal(found.score, [np.nan, 1000, 0, 0.5])
    assert not found.cleaning.remarks


def test_the_least_that_is_needed(tmp_path: Path) -> None:
    found = read_alarms(written(tmp_path, "node,time,why\n3,7,hot\n"))
    assert (found.time.tolist(), found.node.tolist()) == ([7], [3])
    assert (found.score, found.until) == (None, None)
    assert found.cleaning.counts() == {"ignored_columns": 1}


def test_dates_on_the_logs_clock(tmp_path: Path) -> None:
    text = "time,node,until\n1970-01-02T00:00:10,0,\n1970-01-01 23:59:50,1,1970-01-02T01:00:00\n"
    found = read_alarms(written(tmp_path, text), origin=86_400)
    assert found.time.tolist() == [-10, 10]
    assert found.until is not None
    assert found.until.tolist() == [3600, -1]
    with pytest.raises(TraceError, match=r"alarms.csv:2: time: is a date"):
        read_alarms(written(tmp_path, text))


def test_names_come_before_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "time,node\n1,n7\n2,1\n3,0\n4,all\n")
    found = read_alarms(path, names=("n7", "0", "n9"))
    assert found.node.tolist() == [0, 1, 1, -1]


def test_bad_rows_are_left_out_and_named(tmp_path: Path) -> None:
    text = "time,node,score,until\nx,0,1,\n5,-3,1,\n6,0,high,\n7,0,1,3\n8,0,1,9\n1,2\n"
    path = written(tmp_path, text)
    found = read_alarms(path)
    assert found.time.tolist() == [8]
    assert found.cleaning.counts() == {
        "malformed": 1, "bad_time": 1, "bad_node": 1, "bad_score": 1, "bad_until": 1,
    }  # fmt: skip
    with pytest.raises(TraceError, match=r"alarms.csv:2: time: 'x'"):
        read_alarms(path, strict=True)


def test_nodes_that_never_failed_have_numbers_too(tmp_path: Path) -> None:
    path = written(tmp_path, "time,node\n1,b\n2,c9\n3,a\n4,0\n5,7\n6,b\n")
    found = read_alarms(path, names=("a", "z"))
    assert found.node.tolist() == [2, 3, 0, 0, 4, 2]
    assert found.others == ("b", "c9", "7")
    assert found.cleaning.counts() == {"unknown_node": 3}


def test_no_alarm_is_an_answer_too(tmp_path: Path) -> None:
    assert len(read_alarms(written(tmp_path, "time,node\n"))) == 0


@pytest.mark.parametrize("text", ["", "time,score\n1,2\n", "1,2\n"])
def test_what_is_no_table_of_alarms(text: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="node"):
        read_alarms(written(tmp_path, text))
