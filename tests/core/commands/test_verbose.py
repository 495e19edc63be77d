"""`--verbose` tells on standard error what happens; nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.commands.calls import call, job_log

Capsys = pytest.CaptureFixture[str]


def test_what_is_read_and_what_it_took(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forestall.core.files.guard.GLANCE", 0)
    log = job_log(tmp_path / "jobs.swf")
    plain = call(capsys, "traces", "info", log)
    told = call(capsys, "--verbose", "traces", "info", log)
    assert (told.code, told.out) == (plain.code, plain.out)
    assert plain.err == ""
    lines = told.err.splitlines()
    assert f"forestall: {log}: read in " in told.err
    assert all(line.startswith("forestall: ") for line in lines)
    assert "s of processor" in lines[-1]
    assert call(capsys, "traces", "info", log).err == ""


def test_an_error_tells_where_it_came_from(tmp_path: Path, capsys: Capsys) -> None:
    missing = ("traces", "info", tmp_path / "nowhere.swf")
    plain, told = call(capsys, *missing), call(capsys, "--verbose", *missing)
    assert (plain.code, told.code) == (2, 2)
    assert plain.err in told.err
    assert "Traceback" in told.err
    assert "Traceback" not in plain.err
