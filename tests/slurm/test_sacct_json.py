"""The JSON of sacct gives the same columns as its text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.model.coded import Coded
from forestall.core.model.errors import TraceError
from forestall.slurm import sacct_json
from forestall.slurm.jobs import read_sacct
from forestall.slurm.notes import OddNotes

RECORDED = Path(__file__).parent / "recorded"


def job(number: Any = 7, **given: Any) -> dict[str, Any]:
    """Return a job as Slurm 24.11 writes it."""
    return {
        "job_id": number,
        "name": "a",
        "user": "u",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "time": {"submission": 10**9, "eligible": 10**9, "start": 10**9 + 5, "end": 10**9 + 9},
    } | given


def fields(**given: Any) -> dict[str, str]:
    """Return the columns of such a job."""
    row = sacct_json.row_of(job(**given))
    assert row is not None
    return dict(zip(sacct_json.COLUMNS, row, strict=True))


def number(value: int) -> dict[str, Any]:
    """Return a number in the newer form."""
    return {"set": True, "infinite": False, "number": value}


UNSET = {"set": False, "infinite": False, "number": 0}
INFINITE = {"set": True, "infinite": True, "number": 0}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (60, "60"), (number(60), "60"), (UNSET, ""), (INFINITE, "UNLIMITED"), (None, ""),
        (4_294_967_295, "UNLIMITED"), (4_294_967_294, "Partition_Limit"),
    ],
)  # fmt: skip
def test_limits(value: Any, text: str) -> None:
    assert fields(time={"limit": value})["TimelimitRaw"] == text


@pytest.mark.parametrize(
    ("current", "by", "text"),
    [
        ("FAILED", None, "FAILED"),
        (["FAILED"], "", "FAILED"),
        ("CANCELLED", "root", "CANCELLED by root"),
        (["CANCELLED"], "", "CANCELLED"),
        (["PENDING", "REQUEUED"], "", "REQUEUED"),
        (["RUNNING", "COMPLETING", "POWER_UP_NODE"], "", "COMPLETING"),
        (["RUNNING", "POWER_UP_NODE"], "", "RUNNING"),
        ([], "", ""),
        (None, None, ""),
    ],
)
def test_states(current: Any, by: str | None, text: str) -> None:
    """Flags that text names instead of a state are named here too."""
    found = fields(state={"current": current, "reason": "None"}, kill_request_user=by)
    assert found["State"] == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ({"status": ["ERROR"], "return_code": number(3), "signal": {"id": UNSET}}, "3:0"),
        ({"status": ["SIGNALED"], "return_code": UNSET, "signal": {"id": number(9)}}, "0:9"),
        ({"status": "SIGNALED", "return_code": None, "signal": {"signal_id": 9}}, "0:9"),
        ({"status": "SUCCESS", "return_code": 0}, "0:0"),
        ({"status": "ERROR", "return_code": 1}, "1:0"),
        (None, ""),
    ],
)
def test_exit_codes(code: Any, text: str) -> None:
    assert fields(exit_code=code)["ExitCode"] == text


def test_the_code_that_slurm_22_lost() -> None:
    """There every job that failed by a code has 0: not told."""
    lost = {"status": "SUCCESS", "return_code": 0}
    assert fields(exit_code=lost, state={"current": "FAILED"})["ExitCode"] == ""


def test_resources() -> None:
    tres = {
        "allocated": [
            {"type": "cpu", "name": None, "id": 1, "count": 8},
            {"type": "energy", "name": None, "id": 3, "count": None},
            {"type": "gres", "name": "gpu", "id": 1001, "count": 2},
            {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2},
            "odd",
        ],
        "requested": [{"type": "node", "name": "", "id": 4, "count": 1}],
    }
    found = fields(tres=tres)
    assert found["AllocTRES"] == "cpu=8,gres/gpu=2,gres/gpu:a100=2"
    assert found["ReqTRES"] == "node=1"


def written(path: Path, text: str | bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_jobs_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the text is cut, each job is read once."""
    jobs = [job(k, name="größe\n" + "x" * (k % 13)) for k in range(40)]
    path = written(tmp_path / "j", json.dumps({"meta": {"a": "b"}, "jobs": jobs, "errors": []}))
    for size in (37, 1000, 1 << 20):
        monkeypatch.setattr(
            sacct_json,
            "chunks_of_lines",
            lambda path, noted, size=size: (
                path.read_bytes()[k : k + size] for k in range(0, path.stat().st_size, size)
            ),
        )
        found = list(sacct_json.pieces(path, OddNotes(), rows=7))
        assert [len(piece.frame) for piece in found] == [7, 7, 7, 7, 7, 5]
        whole = pl.concat([piece.frame for piece in found])
        assert whole["JobIDRaw"].to_list() == [str(k) for k in range(40)]
        assert whole["JobName"][12] == "größe " + "x" * 12
        assert [n for piece in found for n in piece.lines.tolist()] == list(range(1, 41))


def test_cut_off(tmp_path: Path) -> None:
    """What stands before the end is read; the place is named."""
    text = json.dumps({"jobs": [job(1), job(2)]}, indent=1)
    path = written(tmp_path / "j", text[: text.rindex('"time"')])
    notes = OddNotes()
    (piece,) = sacct_json.pieces(path, notes)
    assert piece.frame["JobIDRaw"].to_list() == ["1"]
    assert notes.cleaning().counts() == {"cut_off": 1}
    with pytest.raises(TraceError, match="is cut off or not JSON"):
        list(sacct_json.pieces(path, OddNotes(strict=True)))


@pytest.mark.parametrize("text", ["{}", '{"jobs": 3}', "[1, 2]", '{"nodes": []}'])
def test_what_has_no_jobs(tmp_path: Path, text: str) -> None:
    with pytest.raises(TraceError, match='has no list "jobs"'):
        list(sacct_json.pieces(written(tmp_path / "j", text), OddNotes()))


def test_entries_that_are_no_jobs(tmp_path: Path) -> None:
    entries = [1, None, "x", [], {}, {"job_id": "7"}, {"job_id": {"set": False}}, job(8)]
    path = written(tmp_path / "j.gz", gzip.compress(json.dumps({"jobs": entries}).encode()))
    read = read_sacct(path)
    assert read.job.tolist() == [8]
    assert read.cleaning.counts()["no_job"] == 7


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_recorded_json_says_what_recorded_text_says(version: str) -> None:
    """All columns, but those that one of them does not have."""
    text = read_sacct(RECORDED / version / "sacct.jobs.epoch.txt")
    json_ = read_sacct(RECORDED / version / "sacct.json")
    for name in ("job", "which", "attempt", "submit", "eligible", "start", "end", "suspended",
                 "limit", "nodes", "asked", "cpus", "gpus"):  # fmt: skip
        assert np.array_equal(getattr(text, name), getattr(json_, name)), name
    for name in ("reason", "user", "account", "partition", "qos", "name", "nodelist"):
        assert getattr(text, name).texts() == getattr(json_, name).texts(), name
    assert text.base().texts() == json_.base().texts()
    if version != "22.05":  # its JSON has no exit codes and no command lines
        assert np.array_equal(text.exit_code, json_.exit_code)
        assert np.array_equal(text.signal, json_.signal)
        for name in ("excluded", "failed_node"):
            column: Coded = getattr(text, name)
            assert column.told.any()
            assert column.texts() == getattr(json_, name).texts()
