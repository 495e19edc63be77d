"""The books of a site from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forestall as fs
from core.commands.calls import call

RECORDED = Path(__file__).parents[1] / "slurm" / "recorded" / "22.05"
FILES = [RECORDED / name for name in ("sacct.jobs.epoch.txt", "sacctmgr.event.epoch.txt")]


def test_the_report_is_that_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = fs.site_report(*FILES, checkpoint_interval="30m", node_hour_cost=2.0)
    told = ("--checkpoint-interval", "30m", "--cost", "2")
    printed = json.loads(call(capsys, "report", *map(str, FILES), *told, "--json").out)
    assert made.json["sections"] == printed["sections"]
    assert made.json["advice"] == printed["advice"]
    assert made.text().startswith("55 runs of ")
    assert made.openmetrics.endswith("# EOF\n")
    page = made.save(tmp_path / "report.html")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_records_are_read_alone() -> None:
    site = fs.read_site(*FILES)
    assert isinstance(site.accounting, fs.Accounting)
    assert isinstance(site.events, fs.NodeEvents)
    assert len(site.accounting) > 40


def test_nothing_to_read_is_an_error() -> None:
    with pytest.raises(fs.errors.ParameterError, match="files to read"):
        fs.read_site()
    with pytest.raises(fs.errors.TraceError):
        fs.read_site(Path("nowhere.txt"))
