"""The result of a run of cycle sharing: its tables, its summary, and the folder of them all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.show.report import Report
from forestall.sharing.report import report as reports
from forestall.sharing.report.result import CycleResult
from forestall.sharing.report.told import ToldRun
from sharing.simulation import cycle_by_hand as by_hand

NAMES = {
    *(
        "summary.json",
        "manifest.json",
        "jobs.csv",
        "stays.csv",
        "hosts.csv",
        "availability.csv",
        "skipped.csv",
    ),
    "report.html",
}
LOGS = {"events.csv", "decisions.csv", "candidates.csv"}


@pytest.fixture
def result() -> CycleResult:
    cleaning = Cleaning().plus("zero_run_time", "jobs that ran 0 s", "left out", [7, 9])
    return CycleResult(by_hand.scratch(), {"jobs": "by hand"}, cleaning)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_files(result: CycleResult, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    assert names(folder) == NAMES
    for name, text in by_hand.FILES.items():
        assert (folder / f"{name}.csv").read_text() == text
    assert (folder / "skipped.csv").read_text() == (
        "kind,action,name\nzero_run_time,left out,7\nzero_run_time,left out,9\n"
    )
    assert "</html>" in (folder / "report.html").read_text()


def test_summary(result: CycleResult, tmp_path: Path) -> None:
    summary = json.loads((result.save(tmp_path, report=False) / "summary.json").read_text())
    assert summary == result.summary
    assert (summary["model"], summary["scheduler"], summary["seed"]) == ("cycle", "condor", 1)
    assert summary["makespan"] == 56.0
    assert summary["parameters"] == result.outcome.parameters.model_dump()
    assert summary["host_traces"] == {"begin": -20, "end": 100, "period": 10}
    assert summary["sources"] == {"jobs": "by hand"}
    assert summary["skipped"] == {"zero_run_time": 2}
    assert {"forestall", "python", "numpy"} <= summary["versions"].keys()
    assert by_hand.MEASURES.keys() <= summary.keys()


def test_properties(result: CycleResult) -> None:
    assert result.makespan == 56.0
    assert result.failures_per_job == 0.4
    assert result.unscheduled_share == 0.2
    assert result.harvested == pytest.approx(79 / 200.8)
    assert result.lost_work == 43.8
    tables = (result.jobs, result.stays, result.hosts, result.availability)
    assert [len(table) for table in tables] == [5, 6, 3, 9]
    assert result.jobs is result.jobs


def test_a_map_outside_the_run(result: CycleResult, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"gantt: .* begins before the run ends, after"):
        result.save(tmp_path / "run", gantt=(97, 200))
    assert not (tmp_path / "run").exists()


def test_the_map_begins_with_the_first_submission(
    result: CycleResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def noted(run: ToldRun) -> Report:
        told.append(run)
        return Report("", "", ())

    monkeypatch.setattr(reports, "report", noted)
    result.save(tmp_path, gantt=(10, 50))
    assert told[-1].map_span == (13, 53)
    assert told[-1].summary == result.summary
    result.save(tmp_path)
    assert told[-1].map_span is None


def test_what_was_there_before_goes(result: CycleResult, tmp_path: Path) -> None:
    CycleResult(by_hand.played(by_hand.scratch())).save(tmp_path, report=False)
    assert names(tmp_path) == (NAMES - {"report.html"}) | LOGS
    for old in ("hazard.csv", "runs.csv", "failures.csv"):
        (tmp_path / old).write_text("old\n")
    (tmp_path / "notes.txt").write_text("mine\n")
    result.save(tmp_path, report=False)
    assert names(tmp_path) == (NAMES - {"report.html"}) | {"notes.txt"}


def test_all_files_or_none(
    result: CycleResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.save(tmp_path, report=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reports, "report", broken)
    other = CycleResult(by_hand.checkpoints())
    with pytest.raises(InputError, match="No space left on device"):
        other.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(InputError, match="No space left on device"):
        other.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_same_run_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        CycleResult(by_hand.played(by_hand.checkpoints())).save(tmp_path / name, report=False)
    one, two = tmp_path / "one", tmp_path / "two"
    assert names(one) == names(two) == (NAMES - {"report.html"}) | LOGS
    for name in names(one):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
