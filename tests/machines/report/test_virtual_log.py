"""The log of a run of virtual machines, replayed by an engine that Python drives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings

from forestall.core.kit.log import names_of
from forestall.core.model.errors import TraceError
from forestall.machines.report.log import DECISIONS, EVENTS
from forestall.machines.report.result import VirtualResult
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.run import play_virtual
from forestall.runs.replay import replay
from machines.simulation.virtual_cases import Case, prepared, random_case, virtual_cases

# Job 1 has node 1 until 5, job 2 the others. Node 0 is left at 8 for node 1, which fails at 12. Job
# 3 is too wide.
STORY = Case(
    jobs=[(0, 1, 5, 40), (0, 3, 20, 40), (5, 9, 5, 10)],
    failures=[(10, 0, 5), (12, 1, 100)],
    predictions=[(0, 0, 10)],
    settings={"nodes": 4, "migration_cost": 2, "checkpoint": "periodic", "strategy": "first-fit"},
)


def saved(case: Case, folder: Path) -> VirtualOutcome:
    outcome = play_virtual(*prepared(case), log_events=True)
    VirtualResult(outcome).save(folder, report=False)
    return outcome


@settings(max_examples=30)
@given(case=virtual_cases())
def test_small_runs(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    if case.settings.get("repeat_failures"):
        return
    folder = tmp_path_factory.mktemp("run")
    outcome = saved(case, folder)
    found = replay(folder)
    assert found.same, found
    assert found.decisions == len(outcome.log.decisions) >= len(outcome.workload.jobs)


@pytest.mark.parametrize("seed", range(200, 230))
def test_larger_runs(seed: int, tmp_path: Path) -> None:
    saved(random_case(seed), tmp_path)
    assert replay(tmp_path).same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(STORY, tmp_path)
    return tmp_path


def test_events(folder: Path) -> None:
    events = pl.read_csv(folder / "events.csv")
    assert tuple(events.columns) == names_of(EVENTS)
    lines = (folder / "events.csv").read_text().splitlines()
    assert "0,submitted,2,,,,3,20.0,40,0" in lines
    assert "0,foreseen,,,0,10,,,,0" in lines
    assert "8,leave_due,,,0,,,,,1" in lines
    assert "10,node_failed,,,0,15,,,,0" in lines
    assert "5,task_ended,1,0,,,,,,0" in lines
    assert "15,deadline,3,,,,,,,1" in lines
    assert "0,pass,,,,,,,,4" in lines


def test_decisions(folder: Path) -> None:
    decisions = pl.read_csv(folder / "decisions.csv")
    assert tuple(decisions.columns) == names_of(DECISIONS)
    lines = (folder / "decisions.csv").read_text().splitlines()
    assert (
        '0,start,1,0,,1,1.0,40,,qualified,"node 1 has the capacity, and no failure foreseen '
        'before 40"'
    ) in lines
    assert "15,drop,3,,,,,15,,deadline_came,the deadline came" in lines
    moves = decisions.filter(pl.col("decision") == "migrate")
    assert moves["why"].to_list() == ["node 0 is predicted to fail at 10"]
    assert moves.select("time", "source", "node", "at").rows() == [(8, 0, 1, 10)]
    assert decisions["decision"].to_list()[-3:] == ["abort", "drop", "restart"]


def test_another_decision_is_found(folder: Path) -> None:
    path = folder / "decisions.csv"
    lines = path.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("start", "restart")
    path.write_text("".join(lines))
    found = replay(folder)
    assert (found.same, found.line) == (False, 3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("5,task_ended,1,0", "5,task_rested,1,0", "not an event of a run"),
        ("5,task_ended,1,0", "5,task_ended,7,0", "not an event of a run"),
        ("5,task_ended,1,0", "5,task_ended,1,", "not an event of a run"),
        (
            "5,task_ended,1,0",
            "5,task_ended,3,0",
            "cannot be: event: TASK_ENDED at 5 s is not allowed",
        ),
        ("5,task_ended,1,0", "-1,task_ended,1,0", "cannot be: time: -1 is not allowed"),
        ("0,submitted,2,,,,3,20.0,40,0", "0,submitted,2,,,,,20.0,40,0", "missing numbers"),
        ("time,event", "time,events", "has no column event"),
    ],
)
def test_damaged_events(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "events.csv"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(TraceError, match=said):
        replay(folder)


def test_no_log(folder: Path) -> None:
    (folder / "events.csv").unlink()
    with pytest.raises(TraceError, match="log_events writes it"):
        replay(folder)
