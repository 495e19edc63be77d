"""Records of jobs from sacct's output and from tables, told apart by content."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.logs.jobs.job_records import write_job_records
from forestall.slurm.job_records import holds_job_records, read_job_records

RECORDED = Path(__file__).parent / "recorded"
SACCT = """\
JobID|JobName|AllocCPUS|State|Start|End|Elapsed|NodeList
101|a|64|COMPLETED|2024-01-05T10:00:00|2024-01-05T11:00:00|01:00:00|node[001-004]
101.batch|batch|16|COMPLETED|2024-01-05T10:00:00|2024-01-05T11:00:00|01:00:00|node001
101.0|step|64|COMPLETED|2024-01-05T10:00:00|2024-01-05T11:00:00|01:00:00|node[001-004]
102_7|b|16|CANCELLED by 1001|2024-01-05T09:00:00|2024-01-05T09:10:00|00:10:00|node003
103|c|0|CANCELLED by 1001|None|2024-01-05T09:10:00|00:00:00|None assigned
104|d|16|RUNNING|2024-01-05T09:30:00|Unknown|00:10:00|node[003,008-010],login1
105|p|q|16|RUNNING|2024-01-05T09:30:00|Unknown|00:10:00|node003
106|e|16|FAILED|2024-01-05T09:30:00|2024-01-05T09:10:00|00:10:00|node003
107|e|16|FAILED|2024-01-05T09:30:00|2024-01-05T10:00:00|00:30:00|node[003
108|e|16|ODD|2024-01-05T09:31:00|2024-01-05T10:00:00|00:29:00|node003
108|e|16|ODD|2024-01-05T09:31:00|2024-01-05T10:00:00|00:29:00|node003
109|f||OUT_OF_MEMORY|2024-01-05T09:31:00|2024-01-05T10:00:00|00:29:00|node002
110|g|16|PENDING|Unknown|Unknown|00:00:00|None assigned
"""


@pytest.fixture
def sacct(tmp_path: Path) -> Path:
    """Return a file of sacct."""
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return path


def test_sacct(sacct: Path) -> None:
    """On the clock of the first start; what never started comes last."""
    read = read_job_records(sacct)
    assert read.job == ("102_7", "104", "105", "107", "108", "109", "101", "103", "110")
    assert read.start.tolist() == [0, *[1800] * 3, 1860, 1860, 3600, NEVER, NEVER]
    assert read.end.tolist() == [600, NEVER, NEVER, 3600, 3600, 3600, 7200, NEVER, NEVER]
    assert read.origin == 1_704_445_200  # 2024-01-05 09:00
    assert read.node_names == (
        *("login1", "node001", "node002", "node003"),
        *("node004", "node008", "node009", "node010"),
    )
    assert read.nodes_of(1).tolist() == [0, 3, 5, 6, 7]
    assert read.size.tolist() == [1, 5, 1, 0, 1, 1, 4, 0, 0]
    assert read.cores.tolist() == [16, 16, 16, 16, 16, -1, 64, 0, 0]
    assert read.state[0] == "CANCELLED by 1001"
    assert read.cleaning.counts() == {
        "mended": 1,
        "step": 2,
        "backwards": 1,
        "zone_assumed": 1,
        "no_time": 1,
        "repeated": 1,
        "nodes_unreadable": 1,
        "state_unknown": 4,
        "never_started": 2,
        "no_nodes": 1,
    }


def test_a_zone_a_window_and_strictness(sacct: Path) -> None:
    read = read_job_records(sacct, start="2024-01-05T09:45:00", days=0.005)
    assert read.job == ("104", "105", "107", "108", "109")
    assert read.start.tolist() == [-900, -900, -900, -840, -840]
    assert read_job_records(sacct, zone="Europe/Berlin").origin == 1_704_445_200 - 3600
    with pytest.raises(TraceError, match="no jobs from 2025-01-01T00:00:00"):
        read_job_records(sacct, start="2025-01-01")
    with pytest.raises(TraceError, match=r"sacct\.txt:9: End: expected a time not before Start"):
        read_job_records(sacct, strict=True)
    with pytest.raises(ParameterError, match="zone"):
        read_job_records(sacct, zone="Nowhere")


def test_packed_with_a_separator_at_the_end(sacct: Path, tmp_path: Path) -> None:
    packed = tmp_path / "sacct.gz"
    text = "".join(f"{line}|\n" for line in SACCT.splitlines())
    packed.write_bytes(gzip.compress(text.encode()))
    one, two = read_job_records(sacct), read_job_records(packed)
    assert one.job == two.job
    assert one.node.tolist() == two.node.tolist()


def test_text_and_json_of_one_cluster() -> None:
    one = read_job_records(RECORDED / "24.11" / "sacct.jobs.epoch.txt")
    two = read_job_records(RECORDED / "24.11" / "sacct.json")
    for name in ("start", "end", "offsets", "node", "cores"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist(), name
    assert (one.job, one.base(), one.origin) == (two.job, two.base(), two.origin)


@pytest.mark.parametrize("name", ["again.csv", "again.csv.gz", "again.parquet"])
def test_tables(sacct: Path, tmp_path: Path, name: str) -> None:
    """What was read of sacct, written as a table, is the same."""
    read = read_job_records(sacct)
    path = tmp_path / name
    write_job_records(read, path)
    assert holds_job_records(path)
    again = read_job_records(path, strict=True)
    for column in ("start", "end", "offsets", "node", "cores"):
        assert getattr(again, column).tolist() == getattr(read, column).tolist(), column
    assert (again.job, again.state, again.origin) == (read.job, read.state, read.origin)


def test_what_holds_records(sacct: Path, tmp_path: Path) -> None:
    assert holds_job_records(sacct)
    other = tmp_path / "other.csv"
    other.write_text("time,node,cpu\n1,2,3\n")
    assert not holds_job_records(other)
    table = tmp_path / "other.parquet"
    pl.DataFrame({"job": [1]}).write_parquet(table)
    assert not holds_job_records(table)
    with pytest.raises(TraceError, match="has no column start"):
        read_job_records(table)
    with pytest.raises(TraceError, match="cannot be read"):
        read_job_records(tmp_path / "none.csv")


def test_records_of_several_clusters_are_imported_first(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    rows = "".join(f"1|{name}|COMPLETED|1760000000|1760000060\n" for name in ("a", "b"))
    path.write_text("JobIDRaw|Cluster|State|Start|End\n" + rows)
    with pytest.raises(TraceError, match=r"a \(1 run\), b .* import slurm --cluster NAME"):
        read_job_records(path)
