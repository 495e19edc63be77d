"""The result of a run of virtual machines: its tables, its summary, and the folder of them all."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import InputError, ParameterError
from forestall.machines.report import counts
from forestall.machines.report import report as reports
from forestall.machines.report.result import VirtualResult
from forestall.machines.simulation.run import play_virtual
from machines.simulation import virtual_by_hand as by_hand
from machines.simulation.virtual_cases import prepared, random_case

NAMES = {
    *(
        "summary.json",
        "manifest.json",
        "jobs.csv",
        "tasks.csv",
        "runs.csv",
        "migrations.csv",
        "failures.csv",
    ),
    *("skipped.csv", "report.html"),
}


@pytest.fixture
def result() -> VirtualResult:
    cleaning = Cleaning().plus("no_size", "jobs without size", "left out", [7, 9])
    return VirtualResult(by_hand.stop_and_copy(), {"jobs": "by hand"}, cleaning)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_files(result: VirtualResult, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    assert names(folder) == NAMES
    for name, text in by_hand.FILES.items():
        assert (folder / f"{name}.csv").read_text() == text
    assert (folder / "skipped.csv").read_text() == (
        "kind,action,name\nno_size,left out,7\nno_size,left out,9\n"
    )
    assert "</html>" in (folder / "report.html").read_text()


def test_summary(result: VirtualResult, tmp_path: Path) -> None:
    summary = json.loads((result.save(tmp_path, report=False) / "summary.json").read_text())
    assert summary == result.summary
    assert (summary["model"], summary["strategy"], summary["seed"]) == ("virtual", "best-fit", 1)
    for name, value in by_hand.MEASURES.items():
        assert summary[name] == pytest.approx(value), name
    assert summary["parameters"]["task_processors"] == 0.8
    assert summary["sources"] == {"jobs": "by hand"}
    assert summary["skipped"] == {"no_size": 2}
    assert {"forestall", "python", "numpy"} <= summary["versions"].keys()
    # Of three failures, all up to the end: that at 14 was foreseen, that at 24 for 90, too late.
    assert summary["predictor"]["name"] == "by hand"
    score = summary["predictor"]["score"]
    assert (score["failures"], score["early"], score["late"]) == (3, 1 / 3, 1 / 3)


def test_properties(result: VirtualResult) -> None:
    assert result.job_completion_rate == 0.5
    assert result.task_completion_rate == 7 / 18
    assert result.utilization == pytest.approx(51.2 / 150)
    assert result.lost_work == 11.2
    tables = (result.jobs, result.tasks, result.runs, result.migrations, result.failures)
    assert [len(table) for table in tables] == [6, 18, 10, 1, 3]


def test_figures(result: VirtualResult) -> None:
    assert result.plot_capacity().axes
    assert result.plot_migrations().axes
    first_day = result.plot_migrations(0, 20).axes[0]
    assert first_day.get_xlabel().startswith("Time since the first submission")


def test_spans_outside_the_run(result: VirtualResult, tmp_path: Path) -> None:
    end = result.outcome.end
    with pytest.raises(ParameterError, match=rf"start: {end} .* before the end: the run is from 0"):
        result.plot_migrations(end, end + 10)
    with pytest.raises(ParameterError, match=r"end: 0 .* after the beginning"):
        result.plot_migrations(None, 0)
    with pytest.raises(
        ParameterError, match=r"gantt: '2.0 d to 3.0 d' .* begins before the run ends, after"
    ):
        result.save(tmp_path / "run", gantt=(2 * 86_400, 3 * 86_400))
    assert not (tmp_path / "run").exists()


def test_intervals_of_the_summary(result: VirtualResult) -> None:
    # Three of six jobs, all of one day: Wilson's interval.
    assert result.summary["job_completion_interval"] == pytest.approx([0.1876, 0.8124], abs=1e-4)
    low, high = result.summary["task_completion_interval"]
    assert low < 7 / 18 < high
    none = VirtualResult(play_virtual(*prepared(random_case(104))))
    assert none.summary["job_completion_interval"] == list(counts.job_interval(none.jobs) or ())


def test_what_was_there_before_goes(result: VirtualResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    for old in ("events.csv", "hazard.csv"):
        (tmp_path / old).write_text("old\n")
    (tmp_path / "notes.txt").write_text("mine\n")
    result.save(tmp_path, report=False)
    assert names(tmp_path) == (NAMES - {"report.html"}) | {"notes.txt"}


def test_all_files_or_none(
    result: VirtualResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.save(tmp_path, report=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reports, "report", broken)
    other = VirtualResult(by_hand.pre_copy())
    with pytest.raises(InputError, match="No space left on device"):
        other.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(InputError, match="No space left on device"):
        other.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_place_that_is_a_file(result: VirtualResult, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be a folder for results"):
        result.save(tmp_path / "file")


def test_same_run_same_bytes(tmp_path: Path) -> None:
    setup = prepared(random_case(104))
    for name in ("one", "two"):
        VirtualResult(play_virtual(*setup, log_events=True)).save(tmp_path / name)
    one, two = tmp_path / "one", tmp_path / "two"
    assert names(one) == names(two) == NAMES | {"events.csv", "decisions.csv"}
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name


def test_tables_read_back(result: VirtualResult, tmp_path: Path) -> None:
    result.save(tmp_path, report=False)
    for name in ("jobs", "tasks", "runs", "migrations"):
        table = getattr(result, name)
        read = pl.read_csv(tmp_path / f"{name}.csv", schema_overrides=table.schema)
        assert read.equals(table), name
