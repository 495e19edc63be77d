"""The log of a run of cycle sharing, replayed by an engine that Python drives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings

from forestall.core.kit.log import names_of
from forestall.core.model.errors import TraceError
from forestall.runs.replay import replay
from forestall.sharing.report.log import EVENTS, candidate_columns, decision_columns
from forestall.sharing.report.result import CycleResult
from forestall.sharing.rules.entries import SCHEDULERS
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation import cycle_by_hand as by_hand
from sharing.simulation.cycle_cases import Case, cycle_cases, prepared, random_case


def saved(case: Case, folder: Path) -> CycleOutcome:
    jobs, hosts, parameters = prepared(case)
    workload = prepare_guests(jobs, hosts, parameters)
    outcome = play_cycle(workload, hosts, parameters, log_events=True)
    CycleResult(outcome).save(folder, report=False)
    return outcome


@settings(max_examples=15)
@given(case=cycle_cases())
def test_small_runs(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run")
    outcome = saved(case, folder)
    found = replay(folder)
    assert found.same, found
    assert found.decisions == len(outcome.log.decisions) >= len(outcome.workload.jobs)


@pytest.mark.parametrize("seed", range(200, 212))
def test_larger_runs(seed: int, tmp_path: Path) -> None:
    saved(random_case(seed), tmp_path)
    assert replay(tmp_path).same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    CycleResult(by_hand.played(by_hand.scratch())).save(tmp_path, report=False)
    return tmp_path


def test_events(folder: Path) -> None:
    lines = (folder / "events.csv").read_text().splitlines()
    assert tuple(lines[0].split(",")) == names_of(EVENTS)
    # The hosts when the first job comes, and the first events.
    assert lines[1:9] == [
        "3,host_state,,0,S1,0,0",
        "3,host_state,,1,S1,0,0",
        "3,host_state,,2,S4,0,0",
        "3,try,10,,,1,2",
        "5,try,20,,,1,1",
        "6,try,30,,,1,0",
        "11,try,30,,,1,0",
        "20,host_state,,0,S2,0,0",
    ]
    assert lines[10:14] == [
        "50,host_state,,0,S3,1,0",
        "50,host_state,,1,S5,1,0",
        "50,try,10,,,1,1",
        "50,try,20,,,1,0",
    ]
    assert lines[-1] == "100,guest_ended,20,,,0,0"


def test_decisions(folder: Path) -> None:
    lines = (folder / "decisions.csv").read_text().splitlines()
    assert tuple(lines[0].split(",")) == names_of(decision_columns("condor"))
    assert lines[1:6] == [
        '3,start,10,0,,1,2,,,,,1.0,,best_rank,"host 0 has the best rank, 1.000"',
        '5,start,20,1,,1,1,,,,,0.5,,best_rank,"host 1 has the best rank, 0.500"',
        "6,wait,30,,11,1,0,,,,,,,no_host,no host is free and available; again at 11",
        "11,give_up,30,,,2,0,,,,,,,tried_enough,no host is free and available after 2 tries",
        "50,end,10,0,,0,0,,,,,,,contention,host 0 is in use by its owner (S3)",
    ]


def test_candidates(folder: Path) -> None:
    lines = (folder / "candidates.csv").read_text().splitlines()
    assert tuple(lines[0].split(",")) == names_of(candidate_columns("condor"))
    assert lines[1:5] == [
        *("3,10,0,,,,,1.0,", "3,10,1,,,,,0.5,", "5,20,1,,,,,0.5,", "50,10,2,,,,,2.0,"),
    ]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_is_not_looked_at_is_empty(scheduler: str, tmp_path: Path) -> None:
    case = random_case(202)
    saved(Case(**{**vars(case), "settings": case.settings | {"scheduler": scheduler}}), tmp_path)
    table = pl.read_csv(tmp_path / "candidates.csv", infer_schema_length=None)
    assert len(table) > 0
    filled = {
        name
        for name in names_of(candidate_columns(scheduler))[3:]
        if table[name].null_count() < len(table)
    }
    assert filled <= set(SCHEDULERS[scheduler].looks_at)
    assert len(filled) >= 1
    decisions = pl.read_csv(tmp_path / "decisions.csv", infer_schema_length=None)
    others = decisions.filter(pl.col("decision") != "start")
    assert all(
        others[name].null_count() == len(others)
        for name in names_of(candidate_columns(scheduler))[3:]
    )


def test_another_decision_is_found(folder: Path) -> None:
    path = folder / "decisions.csv"
    lines = path.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("start,20,1", "start,20,2")
    path.write_text("".join(lines))
    found = replay(folder)
    assert (found.same, found.line) == (False, 3)


def test_other_figures_change_a_decision(folder: Path) -> None:
    path = folder / "candidates.csv"
    path.write_text(path.read_text().replace("3,10,0,,,,,1.0,", "3,10,0,,,,,0.4,"))
    with pytest.raises(TraceError, match="estimates"):  # job 10 goes to host 1, job 20 finds host 0
        replay(folder)


DAMAGED = [
    ("events", "100,guest_ended,20", "100,guest_rested,20", "not an event of a run"),
    ("events", "100,guest_ended,20", "100,guest_ended,70", "not an event of a run"),
    (
        "events",
        "100,guest_ended,20",
        "100,guest_ended,30",
        "cannot be: event: GUEST_ENDED at 100 s is not allowed",
    ),
    ("events", "100,guest_ended,20", "1,guest_ended,20", "cannot be: time: 1 is not allowed"),
    ("events", "50,host_state,,0,S3", "50,host_state,,0,S6", "not an event of a run"),
    ("events", "50,host_state,,0,S3", "50,host_state,,,S3", "not an event of a run"),
    ("events", "time,event", "time,events", "has no column event"),
    ("events", "3,host_state,,2,S4", "3,host_state,,99999999999,S4", "host 99999999999, but not"),
    ("events", "5,try,20,,,1,1", "5,try,20,,,1,2", "has 8 candidates, but events.csv counts 9"),
    ("candidates", "5,20,1,,,,,0.5,", "5,20,x,,,,,0.5,", "'x' is not a whole number"),
    ("candidates", "5,20,1,,,,,0.5,", "5,20,1,,,,,,", "rank: is not a finite number"),
    ("candidates", "5,20,1,,,,,0.5,", "5,20,0,,,,,0.5,", "expected one of each of hosts"),
    ("candidates", "jct,mttf", "jct,mtbf", "has no column mttf"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), DAMAGED)
def test_damaged_files(folder: Path, name: str, old: str, new: str, said: str) -> None:
    path = folder / f"{name}.csv"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(TraceError, match=said):
        replay(folder)


@pytest.mark.parametrize("name", ["events", "candidates", "decisions"])
def test_no_log(folder: Path, name: str) -> None:
    (folder / f"{name}.csv").unlink()
    with pytest.raises(TraceError, match="log_events writes it"):
        replay(folder)
