"""Los Alamos' usage logs, by the two examples of their README and made-up rows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.jobs import UNKNOWN
from forestall.logs.jobs.lanl_usage import is_lanl_usage, read_lanl_usage
from forestall.logs.read import job_format, read_jobs

README = """\
1037251043 806 1024 1037250962 0 0 1037250991 4820.000000 2683.000000 7503 2
1129928341 17990 16 1129928156 0 0 1129928164 1198.000000 126.000000 1324 10189382  finished / 234 /
1129919847 5313 4 1129910407 0 0 1129910440 4.000000 5.000000 9 10189243  finished / 129-139 153 /
"""


def log(path: Path, text: str = README) -> Path:
    path.write_text(text)
    return path


def test_the_examples_of_the_readme(tmp_path: Path) -> None:
    path = log(tmp_path / "usage")
    assert job_format(path) == "usage"
    jobs = read_jobs(path, processors_per_node=4)
    assert jobs.job.tolist() == [2, 10189243, 10189382]
    first = 1037250962
    assert jobs.submit.tolist() == [0, 1129910407 - first, 1129928156 - first]
    assert jobs.size.tolist() == [256, 1, 4]
    assert jobs.runtime.tolist() == [52, 9407, 177]
    assert set(jobs.estimate.tolist()) == {UNKNOWN}
    assert jobs.user == ("806", "5313", "17990")
    packed = tmp_path / "usage.gz"
    packed.write_bytes(gzip.compress(README.encode()))
    assert read_jobs(packed).size.tolist() == [1024, 4, 16]
    assert read_jobs(path, jobs="2:").job.tolist() == [10189243, 10189382]


@pytest.mark.parametrize(
    ("row", "kind", "said"),
    [
        ("1129928341 1 2", "malformed", "has 3 fields"),
        ("1129928341 1 x 1129928156 0 0 1129928164 1 1 2 5", "malformed", "'x' is not a whole"),
        ("1129928341 1 0 1129928156 0 0 1129928164 1 1 2 5", "bad_size", "expected 1 or more"),
        ("1129928341 1 4 1129928156 0 0 1129928399 1 1 2 5", "bad_times", "expected this order"),
        ("1129928341 1 4 1129928156 0 0 1129928164 1 1 2 5 finished / 2", "malformed", "fields"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_used(tmp_path: Path, row: str, kind: str, said: str) -> None:
    path = log(tmp_path / "usage", README + row + "\n")
    jobs = read_lanl_usage(path)
    assert len(jobs) == 3
    assert jobs.cleaning.counts() == {kind: 1}
    with pytest.raises(TraceError, match=rf"usage:4.*{said}"):
        read_lanl_usage(path, strict=True)


def test_batch_ids_that_come_again_are_numbered_anew(tmp_path: Path) -> None:
    path = log(tmp_path / "usage", README + README.splitlines()[2] + "\n")
    jobs = read_lanl_usage(path)
    assert jobs.job.tolist() == [1, 2, 3, 4]
    assert "batch_id_again" in jobs.cleaning.counts()


def test_what_is_no_usage_log(tmp_path: Path) -> None:
    swf = " ".join(["1"] * 18)
    assert not is_lanl_usage([swf])
    assert not is_lanl_usage([])
    with pytest.raises(ParameterError):
        read_lanl_usage(log(tmp_path / "usage"), processors_per_node=0)
    with pytest.raises(TraceError, match="no jobs"):
        read_lanl_usage(log(tmp_path / "none", "\n"))
