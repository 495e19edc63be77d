"""`forestall traces info`: files of any kind, told apart by what is in them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log
from forestall.logs.jobs.job_records_summary import describe_records
from forestall.slurm.job_records import read_job_records

Capsys = pytest.CaptureFixture[str]
SACCT = """JobID|State|Start|End|NodeList|AllocCPUS
101|COMPLETED|2024-01-01T00:10:00|2024-01-01T02:00:00|node[001-004]|224
101.batch|COMPLETED|2024-01-01T00:10:00|2024-01-01T02:00:00|node001|56
102|CANCELLED by 1001|2024-01-01T00:20:00|2024-01-01T00:25:00|node005|56
103|RUNNING|2024-01-01T03:00:00|Unknown|node003|56
104|PENDING|Unknown|Unknown|None assigned|56
"""
FILES = {
    "jobs.txt": (SACCT, "job records"),
    "jobs.csv": ("job,start,end,state,nodes\n1,0,50,COMPLETED,0-3\n", "job records"),
    "hosts.csv": ("host,time,cpu\na,0,0.5\na,60,0.25\n", "metrics of nodes"),
    "planetlab.csv": ("vm,t000,t001\na,1,2\n", "metrics of nodes"),
    "events.csv": ("time,place,severity,kind\n1,n1,INFO,x\n", "event log"),
    "messages": ("Nov  9 12:01:01 n1 kernel: bad\n", "event log"),
    "hpc.log": ("1 node-1 unix.hw state_change.unavailable 1077804742 1 gone\n", "event log"),
    "one.swf": ("1 0 5 1451 128 -1 -1 128 -1 -1 1 1 1 -1 -1 -1 -1 -1\n", "job log"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_holds(name: str, tmp_path: Path, capsys: Capsys) -> None:
    text, label = FILES[name]
    (tmp_path / name).write_text(text)
    code, out, err = call(capsys, "traces", "info", tmp_path / name)
    assert (code, err) == (0, "")
    assert out.startswith(label)
    if name.endswith(".csv"):
        packed = tmp_path / f"{name}.parquet"
        pl.read_csv(tmp_path / name).write_parquet(packed)
        if name != "planetlab.csv":
            assert call(capsys, "traces", "info", packed).out.startswith(label)


def test_logs_as_before(tmp_path: Path, capsys: Capsys) -> None:
    jobs, failures = job_log(tmp_path / "jobs.csv"), failure_log(tmp_path / "failures.csv")
    assert call(capsys, "traces", "info", jobs).out.startswith("job log")
    assert call(capsys, "traces", "info", failures).out.startswith("failure log")
    code, _, err = call(capsys, "traces", "info", tmp_path / "none")
    assert (code, err.count("\n")) == (2, 1)
    assert "No such file" in err
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    code, _, err = call(capsys, "traces", "info", tmp_path / "odd.csv")
    assert (code, err.count("\n")) == (2, 1)
    folder = tmp_path / "hosts"
    folder.mkdir()
    (folder / "a.csv").write_text(FILES["hosts.csv"][0])
    assert call(capsys, "traces", "info", folder).out.startswith("metrics of nodes")


def test_records(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(SACCT)
    info = describe_records(read_job_records(path))
    assert (info.jobs, info.ran, info.good, info.bad) == (4, 2, 1, 1)
    assert dict(info.states) == {"CANCELLED": 1, "COMPLETED": 1, "RUNNING": 1, "PENDING": 1}
    assert (info.nodes, info.used, info.span) == (5, 5, 6600)
    assert info.node_seconds == 4 * 6600 + 300
    said = json.loads(call(capsys, "traces", "info", path, "--as", "records", "--json").out)
    assert {"what": "first start", "value": "2024-01-01 00:10:00"} in said
    code, _, err = call(capsys, "traces", "info", path, "--as", "records", "--system", 3)
    assert (code, err.count("\n")) == (2, 1)


def test_metrics_given_as_failures(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("time,node,cpu\n" + "".join(f"{60 * k},0,0.5\n" for k in range(20)))
    code, out, err = call(capsys, "traces", "info", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--as metrics" in err
    assert call(capsys, "traces", "info", path, "--as", "metrics").code == 0
