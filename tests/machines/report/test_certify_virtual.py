"""The certifier of virtual machines: true runs pass, each damage is found by the check it belongs
to."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings

from forestall.core.kit.output import MANIFEST
from forestall.core.model.errors import TraceError
from forestall.machines.certify.certifier import RULES
from forestall.machines.report.result import VirtualResult
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.run import play_virtual
from forestall.runs.certify import Certificate, certify
from machines.simulation import virtual_by_hand as by_hand
from machines.simulation.virtual_cases import Case, prepared, random_case, virtual_cases

SUMMARY = {
    "model": "virtual",
    **by_hand.MEASURES,
    "job_completion_interval": [0.1876163064826506, 0.8123836935173494],  # Wilson's: 3 of 6
    "task_completion_interval": [0.20305246572163624, 0.613809583977621],  # 7 of 18
    "strategy": by_hand.stop_and_copy().parameters.strategy,
    "parameters": by_hand.stop_and_copy().parameters.model_dump(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that no simulator wrote."""
    for name, text in by_hand.FILES.items():
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    return tmp_path


def saved(outcome: VirtualOutcome, folder: Path) -> Path:
    """Save a run, without its manifest: it would find whatever is changed."""
    place = VirtualResult(outcome).save(folder, report=False)
    (place / MANIFEST).unlink()
    return place


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
    file.write_text(text.replace(old, new))


def failed(certificate: Certificate) -> dict[str, str]:
    return {check.name: check.detail for check in certificate.checks if not check.passed}


def test_a_correct_folder_passes(folder: Path) -> None:
    certificate = certify(folder)
    assert certificate.passed, str(certificate)
    assert len(certificate.checks) == 21
    assert len({check.name for check in certificate.checks}) == 21


@pytest.mark.parametrize("make", [by_hand.stop_and_copy, by_hand.checkpoints, by_hand.pre_copy])
def test_runs_by_hand_pass(make: Callable[[], VirtualOutcome], tmp_path: Path) -> None:
    certificate = certify(saved(make(), tmp_path))
    assert certificate.passed, str(certificate)


@settings(max_examples=30)
@given(case=virtual_cases())
def test_small_runs_pass(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    if case.settings.get("repeat_failures"):
        return  # repeated before they are played, which is not what is tested here
    certificate = certify(saved(play_virtual(*prepared(case)), tmp_path_factory.mktemp("run")))
    assert certificate.passed, str(certificate)


@pytest.mark.parametrize("seed", range(100, 130))
def test_larger_runs_pass(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    certificate = certify(saved(play_virtual(*prepared(case)), tmp_path))
    assert certificate.passed, str(certificate)


# ------------------------------------------------------------------------------- damage by hand

TAMPERINGS = [
    ("summary", '"tasks_saved": 1', '"tasks_saved": 2', "moves, waits and reliable nodes"),
    ("summary", '"p95": 6.8', '"p95": 6.9', "moves, waits and reliable nodes"),
    ("summary", '_interval": [0.18', '_interval": [0.19', "intervals of the rates"),
    ("failures", '14,0,6,12,"",1,11.2\n16,0,10,,"",0,0.0', '16,0,10,,"",0,0.0\n14,0,6,12,"",1,11.2',
     "order of rows"),
    # Capacity: one second more of 0.8 where 1.6 are in use, a task too many, a smaller node.
    ("runs", "20,0,1,1,1,11", "20,0,2,1,1,11", "capacity of nodes"),
    ("runs", "50,0,1,15,15,19", "50,0,2,15,15,19", "capacity of nodes"),
    ("runs", "30,1,2,2,2,7,0.8", "30,1,2,2,2,7,1.201", "capacity of nodes"),
    ("runs", "30,1,2,2,2,7", "30,1,2,12,2,7", "capacity of nodes"),
    ("summary", '"processors_per_node": 2', '"processors_per_node": 1', "capacity of nodes"),
    ("summary", '"processors_per_node"', '"node_sizes": "2x2+1x1", "processors_per_node"',
     "capacity of nodes"),
    ("summary", '"vm_memory": null', '"node_sizes": "3x2:1MiB", "vm_memory": 1.0',
     "capacity of nodes"),
    ("runs", "30,0,1,2,2,12,0.4", "30,0,1,2,2,12,0.099", "rates"),
    ("runs", "30,1,2,2,2,7,0.8", "30,1,2,2,2,7,0.801", "rates"),
    ("summary", '"least_rate": 0.1', '"least_rate": 0.5', "rates"),
    # Places.
    ("runs", "10,0,2,10,12", "10,0,2,9,11", "one place at a time"),
    ("runs", "10,0,2,10,12", "10,0,0,10,12", "one place at a time"),
    ("runs", "8.0,migrated,completed", "8.0,placed,completed", "one place at a time"),
    ("runs", "8.0,migrated,completed", "8.0,restarted,completed", "one place at a time"),
    ("runs", "8.0,placed,moved", "8.0,placed,stopped", "one place at a time"),
    ("runs", "10,0,2,10,12,22,0.8,8.0,migrated,completed,0.0,0\n", "", "one place at a time"),
    ("runs", "10,0,0,0,0,10,0.8,8.0,placed,moved,0.0,0\n", "", "one place at a time"),
    # Outages.
    ("runs", "50,0,1,15", "50,0,0,15", "nothing on a node that is down"),
    ("failures", "24,1,5", "24,2,5", "nothing on a node that is down"),
    ("failures", "24,1,5", "18,1,5", "nothing on a node that is down"),
    ("failures", "24,1,5", "15,1,5", "nothing on a node that is down"),
    ("failures", "14,0,6", "13,0,6", "nothing on a node that is down"),
    # Failures and aborts.
    ("failures", '14,0,6,12,"",1,11.2\n', "", "failures and aborted tasks"),
    ("failures", "14,0,6", "15,0,6", "failures and aborted tasks"),
    ("failures", '"",1,11.2', '"",2,11.2', "failures and aborted tasks"),
    ("failures", '"",1,11.2', '"",1,11.1', "failures and aborted tasks"),
    ("failures", '16,0,10,,"",0', '16,0,10,,"",1', "failures and aborted tasks"),
    ("failures", "16,0,10", "10,0,10", "failures and aborted tasks"),
    ("runs", "placed,stopped,0.0", "placed,stopped,1.0", "failures and aborted tasks"),
    ("runs", "11.2,placed,aborted", "11.2,placed,stopped", "failures and aborted tasks"),
    # Work and losses.
    ("runs", "15,15,19", "15,15,20", "work of each stay"),
    ("runs", "15,15,19", "15,16,19", "work of each stay"),
    ("runs", "10,12,22", "10,11,22", "work of each stay"),
    ("runs", "0.8,3.2,placed", "0.8,3.1,placed", "work of each stay"),
    ("runs", "2,2,12,0.4", "2,2,12,0.5", "work of each stay"),
    ("runs", "0.8,11.2,placed", "0.8,12.0,placed", "work of each stay"),
    ("runs", "placed,stopped,0.0,0", "placed,stopped,0.0,1", "work of each stay"),
    ("jobs", "50,8,1,4,40", "50,8,1,5,40", "work of each stay"),
    ("summary", '"task_processors": 0.8', '"task_processors": 0.9', "work of each stay"),
    ("summary", '"migration_cost": 2', '"migration_cost": 3', "work of each stay"),
    ("runs", "placed,aborted,11.2", "placed,aborted,11.1", "work lost"),
    ("runs", "placed,aborted,11.2", "placed,aborted,0.0", "work lost"),
    # Deadlines.
    ("jobs", "60,9,1,100,25", "60,9,1,100,26", "deadlines"),
    ("jobs", "20,1,3,10,30", "20,1,3,10,10", "deadlines"),
    ("jobs", "50,8,1,4,40", "50,8,1,4,15", "deadlines"),
    ("runs", "30,0,1,2,2,12,0.4,4.0,placed,completed", "30,0,1,2,2,12,0.4,4.0,placed,late",
     "deadlines"),
    ("summary", '"past_deadline": "stop"', '"past_deadline": "run"', "deadlines"),
    # tasks.csv.
    ("tasks", "50,0,1,15,19", "50,0,2,15,19", "tasks and their stays"),
    ("tasks", "50,0,1,15,19", "50,0,1,14,19", "tasks and their stays"),
    ("tasks", "50,0,1,15,19", "50,0,1,15,18", "tasks and their stays"),
    ("tasks", "50,0,1,15,19,0.8", "50,0,1,15,19,0.4", "tasks and their stays"),
    ("tasks", "16.0,16.0,completed", "17.0,16.0,completed", "tasks and their stays"),
    ("tasks", "16.0,0.0,aborted", "16.0,4.8,aborted", "tasks and their stays"),
    ("tasks", "16.0,0.0,aborted", "16.0,0.0,stopped", "tasks and their stays"),
    ("tasks", "completed,1,0,0,0.0", "completed,2,0,0,0.0", "tasks and their stays"),
    ("tasks", "completed,1,0,0,0.0", "completed,1,1,0,0.0", "tasks and their stays"),
    ("tasks", "completed,1,0,0,0.0", "completed,1,0,1,0.0", "tasks and their stays"),
    ("tasks", "aborted,0,0,0,11.2", "aborted,0,0,0,11.3", "tasks and their stays"),
    ("tasks", "40,7,,,,,8.0,0.0,dropped,0,0,0,0.0\n", "", "tasks and their stays"),
    ("tasks", "40,7,,", "40,6,,", "tasks and their stays"),
    ("tasks", "40,7,,,,,8.0,0.0,dropped", "40,7,1,3,4,0.8,8.0,0.0,stopped",
     "tasks and their stays"),
    # jobs.csv.
    ("jobs", "60,0,22,0,1", "60,1,22,0,1", "jobs and their tasks"),
    ("jobs", "60,0,22,0,1", "60,0,23,0,1", "jobs and their tasks"),
    ("jobs", "60,0,22,0,1", "60,0,22,1,1", "jobs and their tasks"),
    ("jobs", "60,0,22,0,1", "60,0,22,0,2", "jobs and their tasks"),
    ("jobs", "1,11,1,3,completed", "1,11,1,3,uncompleted", "jobs and their tasks"),
    ("jobs", "uncompleted,11.2,0,1", "uncompleted,11.3,0,1", "jobs and their tasks"),
    ("jobs", "uncompleted,11.2,0,1", "uncompleted,11.2,1,1", "jobs and their tasks"),
    ("jobs", "uncompleted,11.2,0,1", "uncompleted,11.2,0,0", "jobs and their tasks"),
    ("jobs", "30,2,2,5", "30,2,3,5", "jobs and their tasks"),
    ("runs", "20,1,1,1,1,11", "20,1,1,0,0,10", "jobs and their tasks"),
    # The queue.
    ("runs", "50,0,1,15,15,19", "50,0,1,14,14,18", "order of the queue"),
    ("jobs", "50,8,1,4", "50,16,1,4", "order of the queue"),
    ("jobs", "60,9,1,100", "60,7,1,100", "order of the queue"),
    ("jobs", "40,5,9,10,15", "40,5,9,10,16", "order of the queue"),
    # Moves.
    ("migrations", "10,10,0,0,2,12,12,arrived\n", "", "moves and the stays they link"),
    ("migrations", "10,10,0,0,2", "9,10,0,0,2", "moves and the stays they link"),
    ("migrations", "10,10,0,0,2", "10,10,1,0,2", "moves and the stays they link"),
    ("migrations", "10,10,0,0,2", "10,10,0,1,2", "moves and the stays they link"),
    ("migrations", "10,10,0,0,2", "10,10,0,0,1", "moves and the stays they link"),
    ("migrations", "2,12,12,arrived", "2,13,12,arrived", "moves and the stays they link"),
    ("migrations", "2,12,12,arrived", "2,12,13,arrived", "moves and the stays they link"),
    ("migrations", "arrived", "target failed", "moves and the stays they link"),
    ("summary", '"stop-and-copy"', '"none"', "moves and the stays they link"),
    ("summary", '"lead": null', '"lead": 1', "moves and the stays they link"),
    # Account and measures.
    *(
        ("summary", f'"{name}": {value}', f'"{name}": {value + 0.001:.3f}', "account of capacity")
        for name, value in (("useful", 51.2), ("paused", 1.6), ("idle", 54.0), ("down", 24.0),
                            ("total", 150.0), ("lost", 11.2), ("stopped", 8.0))
    ),
    ("failures", "24,1,5", "25,1,5", "account of capacity"),
    ("failures", "16,0,10", "16,0,4", "account of capacity"),
    ("summary", '_rate": 0.5', '_rate": 0.6', "job completion rate"),
    ("summary", "0.3888888888888889", "0.389", "task completion rate"),
    ("summary", '"utilization": 0.34', '"utilization": 0.35', "utilization"),
    ("summary", '"jobs_dropped": 1', '"jobs_dropped": 2', "counts"),
    ("summary", '"tasks_aborted": 1', '"tasks_aborted": 2', "counts"),
    ("summary", '"lost_work": 11.2', '"lost_work": 11.3', "counts"),
    ("summary", '"stopped_work": 8.0', '"stopped_work": 8.1', "counts"),
    ("summary", '"migrations": 1', '"migrations": 2', "counts"),
    ("summary", '"restarts": 0', '"restarts": 1', "counts"),
    ("summary", '"failures_hit": 1', '"failures_hit": 2', "counts"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "check"), TAMPERINGS)
def test_tampering_is_found(folder: Path, name: str, old: str, new: str, check: str) -> None:
    replace(folder / f"{name}.{'json' if name == 'summary' else 'csv'}", old, new)
    certificate = certify(folder)
    assert check in failed(certificate), str(certificate)


def test_every_rule_can_fail() -> None:
    of_log = {"events", "decisions"}  # which are not in this folder; see test_falsified
    assert {check for *_, check in TAMPERINGS} == {rule.name for rule in RULES} - of_log


CHECKPOINTED = [
    ("runs", "1,0,0,0,0,9,1.0,8.0,placed,moved,0.0,1", "1,0,0,0,0,9,1.0,8.0,placed,moved,0.0,2",
     "work of each stay"),
    ("runs", "9,11,15,1.0,3.0,", "9,11,15,1.0,4.0,", "work of each stay"),
    ("runs", "aborted,3.0,1", "aborted,3.0,0", "work of each stay"),
    ("runs", "aborted,3.0,1", "aborted,11.0,1", "work lost"),
    ("runs", "12.0,restarted,completed", "12.0,migrated,completed", "one place at a time"),
    ("runs", "3,0,1,18,18,21", "3,0,1,17,17,20", "nothing on a node that is down"),
    ("jobs", "3,16,1,3,20,18,21", "3,16,1,3,21,18,21", "deadlines"),
    ("summary", '"checkpoint": "periodic"', '"checkpoint": "none"', "deadlines"),
    ("summary", '"checkpoint_overhead": 1', '"checkpoint_overhead": 2', "work of each stay"),
    ("summary", '"checkpoint_interval": 4', '"checkpoint_interval": 5', "work lost"),
    ("summary", '"checkpoints": 5', '"checkpoints": 4', "counts"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "check"), CHECKPOINTED)
def test_tampering_with_checkpoints(
    tmp_path: Path, name: str, old: str, new: str, check: str
) -> None:
    saved(by_hand.checkpoints(), tmp_path)
    replace(tmp_path / f"{name}.{'json' if name == 'summary' else 'csv'}", old, new)
    assert check in failed(certify(tmp_path))


LIVE = [
    ("runs", "2,0,0,20,22,22", "2,0,0,21,22,22", "moves and the stays they link"),
    ("runs", "2,0,0,20,22,22", "2,0,0,20,23,23", "moves and the stays they link"),
    ("runs", "2,0,0,20,22,22", "2,0,0,12,22,22", "capacity of nodes"),
    ("runs", "2,0,0,20,22,22,1.0,0.0", "2,0,0,20,22,22,1.0,1.0", "one place at a time"),
    ("runs", "2,0,1,5,7,7", "2,0,0,19,21,21", "one place at a time"),
    ("runs", "1,0,1,10,14,21", "1,0,1,10,12,21", "one place at a time"),
    ("migrations", "5,2,0,2,1,7,9,target failed", "5,2,0,2,1,7,9,source failed",
     "moves and the stays they link"),
    ("migrations", "source failed", "ended first", "moves and the stays they link"),
    ("migrations", "ended first", "deadline first", "moves and the stays they link"),
    ("migrations", "24,3,0,0,1", "24,3,0,2,1", "moves and the stays they link"),
    ("migrations", "10,1,0,0,1,14,14,arrived", "10,1,0,0,1,13,14,arrived",
     "moves and the stays they link"),
    ("summary", '"migration_cost": 3', '"migration_cost": 4', "moves and the stays they link"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "check"), LIVE)
def test_tampering_with_live_migrations(
    tmp_path: Path, name: str, old: str, new: str, check: str
) -> None:
    saved(by_hand.pre_copy(), tmp_path)
    replace(tmp_path / f"{name}.{'json' if name == 'summary' else 'csv'}", old, new)
    assert check in failed(certify(tmp_path))


def test_a_job_may_not_pass_a_task_that_waits_to_restart(tmp_path: Path) -> None:
    saved(by_hand.checkpoints(), tmp_path)
    replace(tmp_path / "runs.csv", "1,0,0,15,15,29", "1,0,0,19,19,33")
    assert "a task waits until 19" in failed(certify(tmp_path))["order of the queue"]


def test_findings_name_job_task_and_line(folder: Path) -> None:
    replace(folder / "runs.csv", "50,0,1,15,15,19,0.8,3.2", "50,0,1,15,15,19,0.8,3.1")
    assert failed(certify(folder))["work of each stay"] == (
        "task 0 of job 50 did 3.100 of work in a stay that allows 3.200 (runs.csv, line 9)"
    )
    replace(folder / "runs.csv", "50,0,1,15,15,19,0.8,3.1", "50,0,2,15,15,19,0.8,3.2")
    assert (
        "when task 0 of job 50 starts there (runs.csv, line 9)"
        in (failed(certify(folder))["capacity of nodes"])
    )


def test_work_is_told_as_in_the_files(folder: Path) -> None:
    kept = "10,0,2,0,22,0.8,16.0,16.0,completed,1"
    replace(folder / "tasks.csv", kept, "10,0,2,0,22,0.8,16.0,0.001,completed,1")
    replace(folder / "jobs.csv", "uncompleted,11.2,0,1", "uncompleted,11.25,0,1")
    told = failed(certify(folder))
    assert told["tasks and their stays"] == (
        "task 0 of job 10: done is 0.001 in tasks.csv (line 2), 16.0 according to its stays"
    )
    assert told["jobs and their tasks"] == (
        "job 10: lost is 11.25 in jobs.csv (line 2), 11.2 according to its tasks"
    )
    replace(folder / "tasks.csv", "0.001,completed,1", "16.0,completed,7")
    assert failed(certify(folder))["tasks and their stays"] == (
        "task 0 of job 10: migrations is 7 in tasks.csv (line 2), 1 according to its stays"
    )


def test_the_order_of_stays_in_the_file_matters_to_one_check(folder: Path) -> None:
    head, *rows = by_hand.RUNS.splitlines()
    random.Random(3).shuffle(rows)
    (folder / "runs.csv").write_text("\n".join([head, *rows]) + "\n")
    certificate = certify(folder)
    assert set(failed(certificate)) == {"order of rows"}


# Whatever number in runs.csv is changed, some check fails, unless it changes nothing.
@pytest.mark.parametrize("column", pl.Series(by_hand.RUNS.split("\n")[0].split(",")).to_list())
@pytest.mark.parametrize("seed", [3, 8, 21])
def test_no_number_of_a_stay_can_be_changed(column: str, seed: int, tmp_path: Path) -> None:
    saved(play_virtual(*prepared(random_case(seed))), tmp_path)
    path = tmp_path / "runs.csv"
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index(column)
    ended = lines[0].split(",").index("outcome")
    rows = [k for k in range(1, len(lines)) if lines[k].split(",")[ended] != "cancelled"]
    number = random.Random(seed).choice(rows)
    cells = lines[number].split(",")
    words = {"begun": "migrated", "outcome": "stopped"}
    old = cells[place]
    cells[place] = words.get(column) or str(float(old) + 1 if "." in old else int(old) + 1)
    if old == cells[place]:
        cells[place] = "aborted" if column == "outcome" else "placed"
    lines[number] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    try:
        assert not certify(tmp_path).passed
    except TraceError:
        assert column in ("job", "task", "node")  # one that is not there


UNREADABLE = [
    ("runs", "30,1,2,2,2,7", "30,1,2,2,2,7.5", "runs.csv:2: end: '7.5' is not a whole number"),
    ("runs", "30,1,2,2,2,7", "31,1,2,2,2,7", "runs.csv:2: job: '31' is not a job of jobs.csv"),
    ("runs", "30,1,2,2,2,7", "30,2,2,2,2,7",
     "runs.csv:2: task: '2' is not a task of its job, whose size is in jobs.csv"),
    ("runs", "30,1,2,2,2,7", "30,1,3,2,2,7", "runs.csv:2: node: '3' is not below 3"),
    ("runs", "0.4,4.0", "0.4001,4.0", "runs.csv:7: rate: '0.4001' is not a number of at most three"
     " decimals"),
    ("runs", "0.4,4.0", "-0.4,4.0", "runs.csv:7: rate: '-0.4' is not a number from 0 up"),
    ("runs", "0.4,4.0", "nan,4.0", "runs.csv:7: rate: 'nan' is not a number from 0 up"),
    ("runs", "0.4,4.0", ",4.0", "runs.csv:7: rate: an empty field is not a number"),
    ("runs", "migrated", "flown", "runs.csv:10: begun: 'flown' is not one of placed, migrated, "
     "restarted"),
    ("runs", "runs_from", "from", "runs.csv: has no column runs_from"),
    ("tasks", "40,7,,", "40,7,1,", "tasks.csv:16: node: '1' is not consistent with the "
     "outcome (empty for dropped tasks only)"),
    ("tasks", "8.0,stopped", "8.0,moved", "tasks.csv:19: outcome: 'moved' is not a final outcome "
     "of a task"),
    ("jobs", "60,9,1", "50,9,1", "jobs.csv:7: job: '50' is not a job of its own"),
    ("summary", '"nodes": 3', '"nodes": "3"',
     "summary.json: parameters.nodes: '3' is not a number"),
    ("summary", '"nodes": 3', '"nodes": 2.5', "summary.json: parameters.nodes: 2.5 is not whole"),
    ("summary", '"backfill": false', '"backfill": 0',
     "summary.json: parameters.backfill: 0 is not true or false"),
    ("summary", '"utilization"', '"used"', "summary.json: utilization: is not there"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "said"), UNREADABLE)
def test_unreadable_files(folder: Path, name: str, old: str, new: str, said: str) -> None:
    replace(folder / f"{name}.{'json' if name == 'summary' else 'csv'}", old, new)
    with pytest.raises(TraceError) as caught:
        certify(folder)
    assert str(caught.value) == f"{folder}/{said}"


@pytest.mark.parametrize("name", ["jobs", "tasks", "runs", "migrations", "failures"])
def test_missing_and_empty_files(folder: Path, name: str) -> None:
    path = folder / f"{name}.csv"
    path.write_text("")
    with pytest.raises(TraceError, match="is empty; expected a header with"):
        certify(folder)
    path.unlink()
    with pytest.raises(TraceError, match=f"{name}.csv: is not there"):
        certify(folder)


def test_runs_without_moves_failures_or_stays(tmp_path: Path) -> None:
    lone = by_hand.made([(1, 5, 2, 10, 9)], [], [], [(-1, -1, 0, 0, 1)], [], [], 9, nodes=1)
    certificate = certify(saved(lone, tmp_path))
    assert certificate.passed, str(certificate)


# ------------------------------------------------------------------------------- overload

FULL = {
    "nodes": 2, "processors_per_node": 2, "strategy": "best-fit", "alpha": 1.0,
    "overload_limit": 0.7, "overload_hold": 10, "migration_cost": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"overload_limit": 0.7', '"overload_limit": 0.4', "overloads node 1"),
        ('"overload_hold": 10', '"overload_hold": 11', "within its limit in the 11 s before"),
        ('"overload_limit": 0.7', '"other": 0.7', "nodes have no load limit"),
    ],
)
def test_moves_for_overload(old: str, new: str, says: str, tmp_path: Path) -> None:
    folder = saved(play_virtual(*prepared(Case([(0, 2, 30, 90)], settings=FULL))), tmp_path)
    assert certify(folder).passed
    replace(folder / "summary.json", old, new)
    assert says in failed(certify(folder))["moves and the stays they link"]
