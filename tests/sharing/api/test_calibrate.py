"""Calibration: options as typed, what follows from points, files, page and words."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.sharing.api.calibrate import calibrate as app
from forestall.sharing.api.calibrate import report
from forestall.sharing.api.calibrate.calibrate import (
    ExperimentSettings,
    HostCalibration,
    calibrate,
    default_groups,
)
from forestall.sharing.api.calibrate.files import FOLDER, write_folder, write_thresholds
from forestall.sharing.api.guest.guest import settings_for
from forestall.sharing.contention.herd import ContentionError
from forestall.sharing.contention.measure import MeasuredPoints
from forestall.sharing.contention.memory import MemoryMeasured
from forestall.sharing.contention.plan import ExperimentPlan
from forestall.sharing.contention.points import Point
from forestall.sharing.guest.settings import GuestSettings
from sharing.contention.contention_cases import Loss, linear, memory_points, points

LOWEST = {"nice": True, "idle": True, "autogroup": False}
WOBBLE = (-0.002, 0.0, 0.002)


def made(
    loss: Loss = lambda load, guest: linear(load, guest) / 5, **more: object
) -> HostCalibration:
    """Return a calibration of made-up points."""
    plan = ExperimentPlan(cpus=(0,), groups=(1, 4), loads=(0.2, 0.4, 0.6, 0.8, 1.0))
    given = {
        "measured": MeasuredPoints(tuple(points(loss, groups=(1, 4), wobble=WOBBLE)), 1, 0),
        "memory": MemoryMeasured(tuple(memory_points(2.0))),
    }
    rest = (0.02, LOWEST, "host1", "6.1", "2026-11-22T03:00:00+00:00")
    return HostCalibration(ExperimentSettings(), plan, *{**given, **more}.values(), *rest)  # type: ignore[arg-type]


def test_defaults_and_quick_ones() -> None:
    there = tuple(sorted(os.sched_getaffinity(0)))
    plan = ExperimentSettings().plan()
    assert plan.cpus == there
    assert (plan.seconds, plan.repeats, plan.limit, len(plan.loads)) == (2.0, 3, 0.05, 11)
    quick = ExperimentSettings(quick=True)
    assert quick.takes(quick.plan()) < 0.25 * ExperimentSettings().takes(plan)
    assert ExperimentSettings(quick=True, memory=False).takes(plan) < quick.takes(plan)
    assert ExperimentSettings(quick=True, seconds=1.5).plan().seconds == 1.5
    assert default_groups(1, quick=False) == (1, 2, 4)
    assert default_groups(8, quick=False) == (1, 8, 16, 32)
    assert default_groups(2, quick=True) == (2, 8)


def test_options_as_typed() -> None:
    core = min(os.sched_getaffinity(0))
    plan = ExperimentSettings(
        loads="10%, 0.5,100 %", groups="1, 3", limit="2.5%", cpus=f"{core}"
    ).plan()
    assert plan.loads == (0.1, 0.5, 1.0)
    assert plan.groups == (1, 3)
    assert plan.limit == 0.025
    assert plan.cpus == (core,)
    assert ExperimentSettings(cpus=f"{core}-{core},{core}").plan().cpus == (core,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loads": "10%,x"}, r"loads: 'x' .* 5% or 0.05"),
        ({"loads": "10"}, "loads: '10' .* 10%"),
        ({"loads": "-1%"}, "loads"),
        ({"groups": "1,two"}, "groups: 'two'"),
        ({"limit": "nan"}, "limit"),
        ({"cpus": "99999"}, "cpus: '99999' .*there are"),
        ({"cpus": "0-"}, "cpus"),
        ({"cpus": ""}, "cpus"),
        ({"pattern": "always"}, "pattern: 'always'"),
        ({"seconds": float("nan")}, "seconds"),
    ],
)
def test_what_cannot_be_is_named(options: dict, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ParameterError, match=said):
        ExperimentSettings(**options).plan()


def test_thresholds_and_what_the_agent_gets() -> None:
    # A tenth of the load: 5 % at 0.5. A five-hundredth at lowest priority: never.
    found = made()
    assert found.th1.value == pytest.approx(0.5)
    assert found.thresholds == (0.5, 1.0)
    told = found.calibration
    assert (told["th1"], told["th2"], told["limit"]) == (0.5, 1.0, 0.05)
    assert told["th1_interval"][0] <= 0.5 <= told["th1_interval"][1]
    assert told["th2_interval"] == [1.0, 1.0]
    assert (told["host"], told["cpus"]) == ("host1", [0])
    json.dumps(found.summary, allow_nan=False)


def test_th1_is_not_above_th2() -> None:
    found = made(lambda load, guest: load / 10 if guest == "lowest" else 0.0)
    assert found.th1.value == 1.0
    assert found.thresholds == (0.5, 0.5)
    assert any("Th2 is taken for both" in line for line in report.remarks(found.summary))


def test_one_repeat_has_no_intervals() -> None:
    rows = [p for p in made().measured.points if p.repeat == 0]
    found = made(measured=MeasuredPoints(tuple(rows), 0, 0))
    assert found.calibration["th1_interval"] is None
    json.dumps(found.summary, allow_nan=False)
    assert report.cpu_table(found.summary).rows[0][3] == "\N{EN DASH}"


def test_the_folder_has_all_files_and_the_same_bytes_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = made()
    write_folder(found, tmp_path / "a")
    write_folder(made(), tmp_path / "b")
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == set(FOLDER.files)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert summary["calibration"] == found.calibration
    table = pl.read_csv(tmp_path / "a" / "points.csv")
    assert len(table) == 2 * 5 * 3 * 3
    alone = table.filter((pl.col("guest") == "none") & (pl.col("asked") == 0.6))
    assert alone["load"].to_list() == pytest.approx([0.6] * 6)
    memory = pl.read_csv(tmp_path / "a" / "memory.csv")
    assert set(memory["guest"]) == {"none", "normal", "lowest"}
    page = (tmp_path / "a" / "report.html").read_text()
    assert "Th1 = 50.0 %" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert page.count("<figure>") == 2


def test_a_folder_without_the_part_on_memory(tmp_path: Path) -> None:
    write_folder(made(), tmp_path)
    without = made(memory=MemoryMeasured((), "no memory control group can be made: why"))
    write_folder(without, tmp_path)
    assert not (tmp_path / "memory.csv").exists()
    assert not (tmp_path / "memory.png").exists()
    assert "Memory was left out: no memory control group" in (tmp_path / "report.html").read_text()


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        write_folder(made(), tmp_path)
    write_folder(made(), tmp_path, force=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_thresholds_for_the_agent(tmp_path: Path) -> None:
    path = write_thresholds(made(), tmp_path / "agent")
    assert path.name == "calibration.json"
    assert json.loads(path.read_text())["th1"] == 0.5
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be an agent's folder"):
        write_thresholds(made(), tmp_path / "file" / "below")


def test_thresholds_of_a_busy_host_are_not_for_the_agent(tmp_path: Path) -> None:
    found = made()
    assert len(found.measured.points) == 90
    assert made(measured=replace(found.measured, disturbed=22)).trusted
    disturbed = made(measured=replace(found.measured, disturbed=23))
    with pytest.raises(ContentionError, match=r"calibration.json is not written: .* 23 of 90"):
        write_thresholds(disturbed, tmp_path)
    assert not list(tmp_path.iterdir())
    assert write_thresholds(disturbed, tmp_path, force=True).exists()


def test_words() -> None:
    found = made().summary
    first = report.cpu_table(found).rows[0]
    assert first[:3] == ("1", "20.0 %", "2.0 %")
    assert first[4] == "0.0 %"
    assert [line[:14] for line in report.threshold_lines(found)] == [
        "Th1 = 50.0 % (",
        "Th2 = 100.0 % ",
    ]
    assert "never loses more than 5.0 %" in report.threshold_lines(found)[1]
    always = made(lambda _load, _guest: 0.3).summary
    assert "at the lowest load measured, 20.0 %" in report.threshold_lines(always)[0]
    lines = report.memory_lines(found)
    assert "with less free memory than 3.0 MB" in lines[0]
    assert lines[-1] == "The lowest priority does not help against thrashing."
    assert len(report.memory_table(found).rows) == 4
    assert "SCHED_IDLE, nice 19." in " ".join(report.remarks(found))
    assert report.share(-0.0001) == "0.0 %"
    assert report.lowest_line({}) == "Lowest priority here: none could be set."
    assert (report.duration(44.6), report.duration(601)) == ("45 s", "10 min")
    disturbed = made(measured=replace(made().measured, disturbed=7)).summary
    assert any(line.startswith("7 of 90 points") for line in report.remarks(disturbed))


def test_a_busy_host_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "background", lambda _cpus, _seconds: 0.7)
    monkeypatch.setattr(app, "measure", lambda *_: pytest.fail("it ran"))
    with pytest.raises(ContentionError, match="others use 70 % of the"):
        calibrate(ExperimentSettings(quick=True))


def test_steps_are_loads_that_a_nice_value_bears_and_the_one_before_does_not(
    tmp_path: Path,
) -> None:
    """Reductions cross 5 % at 25 % (normal), 30 % (5), 30.5 % (10), 50 % (15), 80 % (lowest)."""
    at = {"none": 0.0, "normal": 0.2, "nice5": 1 / 6, "nice10": 0.05 / 0.305, "nice15": 0.1,
          "lowest": 0.0625}  # fmt: skip
    plan = ExperimentPlan(cpus=(0,), groups=(1,), loads=(0.2, 0.4, 0.6, 0.8, 1.0),
                          nices=(5, 10, 15))  # fmt: skip
    rows = [
        Point(repeat, 1, load, guest, 0.0, 1.0, load * (1 - slope * load), 0.0, 1, 0.0)
        for repeat in range(3) for load in plan.loads for guest, slope in at.items()
    ]  # fmt: skip
    found = replace(made(), plan=plan, measured=MeasuredPoints(tuple(rows), 0, 0))
    assert found.thresholds == pytest.approx((0.25, 0.8), abs=0.01)
    assert [nice for _, nice in found.steps] == [5, 15]
    assert [load for load, _ in found.steps] == pytest.approx([0.3, 0.5], abs=0.01)
    assert list(found.summary["nice"]) == ["5", "10", "15"]
    write_thresholds(found, tmp_path, force=True)
    settings = settings_for(tmp_path, GuestSettings(), found.thresholds, "auto")
    assert [nice for _, nice in settings.levels()] == [5, 15]
    assert settings_for(tmp_path, GuestSettings(), (0.2, 0.4), "0").levels() == (
        settings.levels()[0],
    )
    (tmp_path / "calibration.json").write_text('{"th1": 0.2, "th2": 0.6, "steps": [1]}')
    with pytest.raises(TraceError, match="are not steps"):
        settings_for(tmp_path, GuestSettings(), (0.2, 0.6), "0")
    assert ExperimentSettings(nice="5,10").plan().nices == (5, 10)
    for text in ("x", "19", "10,5"):
        with pytest.raises(ParameterError, match="nice"):
            ExperimentSettings(nice=text).plan()
