"""What `describe` says of logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.logs import describe, write_failures_csv, write_job_table
from forestall.logs.info import FailureInfo, JobInfo, Spread


def some_jobs() -> Jobs:
    return Jobs(
        job=np.array([1, 2, 3, 4, 5]),
        submit=np.array([0, 0, 10, 20, 99]),
        size=np.array([1, 2, 4, -1, 9]),
        runtime=np.array([100, 0, 50, 10, -1]),
        estimate=np.array([50, 60, -1, 10, 10]),
        user=("a", "b", "a", "", "b"),
        nodes=8,
    )


def test_jobs() -> None:
    info = describe(some_jobs())
    assert isinstance(info, JobInfo)
    assert (info.count, info.usable, info.span, info.nodes) == (5, 2, 100, 8)
    assert (info.work, info.load) == (300, 300 / 800)
    assert (info.users, info.queues) == (2, None)
    assert info.gap == Spread.of(np.array([0, 10, 10, 79]))
    assert info.oddities.counts() == {
        "no_size": 1,
        "no_run_time": 1,
        "zero_run_time": 1,
        "no_requested_time": 1,
        "beyond_request": 1,
        "submit_tie": 1,
        "too_large": 1,
    }
    assert dict(info.rows())["offered load"] == "0.375"
    assert describe(some_jobs(), nodes=100).oddities.counts().get("too_large") is None


def test_failures() -> None:
    log = Failures.build([0, 0, 0, 50, 99], [1, 1, 2, 0, 3], [5, 5, -1, 5, 5])
    info = describe(log)
    assert isinstance(info, FailureInfo)
    assert (info.count, info.span, info.nodes, info.failed_nodes) == (5, 100, 4, 4)
    assert (info.mtbf, info.node_mtbf, info.downtime.count) == (20, 80, 4)
    assert info.oddities.counts() == {"tie": 2, "same_node_tie": 1}
    assert all(isinstance(text, str) and text for row in info.rows() for text in row)


def test_nothing_at_all() -> None:
    assert describe(Failures.none()).count == 0
    empty = np.empty(0, dtype=np.int64)
    info = describe(Jobs(empty, empty, empty, empty, empty))
    assert (info.count, info.span) == (0, 0)
    assert ("size", "not known") in info.rows()


def test_files_are_told_apart(tmp_path: Path) -> None:
    write_job_table(some_jobs(), tmp_path / "jobs.csv")
    write_job_table(some_jobs(), tmp_path / "jobs.parquet")
    write_failures_csv(Failures.build([1], [2]), tmp_path / "failures.csv")
    assert isinstance(describe(tmp_path / "jobs.csv"), JobInfo)
    assert isinstance(describe(tmp_path / "jobs.parquet", nodes=3), JobInfo)
    assert isinstance(describe(str(tmp_path / "failures.csv")), FailureInfo)
    with pytest.raises(TraceError, match="No such file"):
        describe(tmp_path / "none")


def test_a_real_log(data: Path) -> None:
    info = describe(data / "swf-misc/KTH-SP2-1996-2.swf.gz")
    assert isinstance(info, JobInfo)
    assert (info.count, info.nodes) == (28_489, 100)
    assert info.span / 86_400 == pytest.approx(339.9, abs=0.1)
    assert info.size.mean == pytest.approx(7.67, abs=0.01)
    assert info.load == pytest.approx(0.7, abs=0.1)


def test_times_between_failures_of_no_failure_are_not_known() -> None:
    info = describe(Failures.none())
    rows = dict(info.rows())
    assert rows["mean time between failures"] == rows["the same of one node"] == "not known"
