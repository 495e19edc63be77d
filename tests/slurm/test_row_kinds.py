"""Arrays, components of heterogeneous jobs, clusters, clock changes and contradictions: each kind
of row through every reader that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.slurm.clock_hours import settle_by_ids
from forestall.slurm.cluster.nouns import ClusterJob, waiting_jobs
from forestall.slurm.control import documents, lines
from forestall.slurm.jobs import read_sacct
from forestall.slurm.present import read_present
from forestall.slurm.queue import read_starts
from forestall.slurm.records.accounting import UNKNOWN, Accounting
from forestall.slurm.records.task_lists import TaskList, task_id

T = 1_760_000_000
DAY = 86_400
HEADS = ("JobIDRaw", "JobID", "Cluster", "State", "Submit", "Start", "End", "ElapsedRaw",
         "TimelimitRaw", "AllocNodes", "AllocCPUS", "NodeList", "User")  # fmt: skip
USUAL: dict[str, Any] = {
    "JobIDRaw": 1, "JobID": "", "Cluster": "a", "State": "COMPLETED", "Submit": T, "Start": T + 10,
    "End": T + 110, "ElapsedRaw": "", "TimelimitRaw": 60, "AllocNodes": 1, "AllocCPUS": 8,
    "NodeList": "n1", "User": "ann",
}  # fmt: skip
WAITS = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "NodeList": "None assigned"}


def put(path: Path, *rows: dict[str, Any], heads: tuple[str, ...] = HEADS) -> Path:
    """Write rows that differ from the usual one as said; a JobID is the raw one by default."""
    text = ["|".join(heads)]
    for row in rows:
        whole = USUAL | row
        whole["JobID"] = whole["JobID"] or whole["JobIDRaw"]
        text.append("|".join(str(whole[name]) for name in heads))
    path.write_text("\n".join(text) + "\n")
    return path


def kinds(runs: Accounting) -> dict[str, int]:
    return runs.cleaning.counts()


# --------------------------------------------------------------------------- arrays by each reader

ARRAYS = [
    ("2-901%100", 900, 100, False),
    ("1-99:2", 50, 0, False),
    ("1,3,5-7,20-40:10%2", 8, 2, False),
    ("7", 1, 0, False),
    ("1,3,5,8,13-15,...%7", 7, 7, True),
    ("1,3,5,...", 3, 0, True),
]
"""A list as Slurm writes it, its tasks, its limit, and whether there are more."""


def bits(text: str) -> str:
    return f"0x{sum(1 << task for task in TaskList.parse(text).numbers.tolist()):X}"


def job_json(text: str, limit: int, *, new: bool) -> dict[str, Any]:
    """Return the row of sacct --json: of 22.05, or as from 23.02 on."""
    number = {"set": True, "infinite": False, "number": 0} if new else None
    return {
        "job_id": 12, "cluster": "a", "user": "ann", "name": "x", "nodes": "None assigned",
        "array": {
            "job_id": 12, "limits": {"max": {"running": {"tasks": limit}}},
            "task": bits(text), "task_id": number and number | {"set": False},
        },
        "het": {"job_id": 0, "job_offset": number and number | {"set": False}},
        "state": {"current": ["PENDING"] if new else "PENDING", "reason": "Priority"},
        "time": {"submission": T, "eligible": T, "start": 0, "end": 0, "elapsed": 0},
    }  # fmt: skip


@pytest.mark.parametrize(("text", "tasks", "at_once", "cut"), ARRAYS)
@pytest.mark.parametrize("form", ["text", "no raw id", "json 22.05", "json 24.11"])
def test_sacct_shows_each_task_that_waits(
    tmp_path: Path, form: str, text: str, tasks: int, at_once: int, cut: bool
) -> None:
    path = tmp_path / "sacct"
    if form.startswith("json"):
        if cut:
            pytest.skip("sacct --json has the tasks as bits, which are never cut")
        new = form != "json 22.05"
        path.write_text(json.dumps({"jobs": [job_json(text, at_once, new=new)]}))
    else:
        heads = HEADS if form == "text" else HEADS[1:]
        put(path, {"JobIDRaw": 12, "JobID": f"12_[{text}]", **WAITS}, heads=heads)
    runs = read_sacct(path)
    assert len(runs) == tasks
    assert runs.array.tolist() == [12] * tasks
    assert runs.job.tolist() == runs.task.tolist()
    assert len(set(runs.job.tolist())) == tasks
    assert set(runs.at_once.tolist()) == {at_once or UNKNOWN}
    assert ("array_cut" in kinds(runs)) == cut


def squeue_json(text: str, limit: int, *, new: bool) -> ClusterJob:
    def told(number: int) -> Any:
        return {"set": True, "infinite": False, "number": number} if new else number

    return documents.job_of({
        "job_id": 12, "job_state": ["PENDING"] if new else "PENDING", "user_name": "ann",
        "array_job_id": told(12), "array_max_tasks": told(limit), "array_task_string": text,
        "node_count": told(1), "het_job_id": told(0),
    })  # fmt: skip


def squeue_line(text: str) -> ClusterJob:
    told = dict.fromkeys(lines.JOB_FIELDS, "") | {
        "JobID": "12", "State": "PENDING", "ArrayJobID": "12", "ArrayTaskID": text, "NumNodes": "1",
        "HetJobID": "N/A",
    }  # fmt: skip
    row = "@@".join((*told.values(), ""))
    return lines.jobs_of_rows(row, "@@")[0]


@pytest.mark.parametrize(("text", "tasks", "at_once", "cut"), ARRAYS)
@pytest.mark.parametrize("form", ["json 22.05", "json 24.11", "limit beside it", "lines"])
def test_looks_at_the_queue_count_each_task_that_waits(
    form: str, text: str, tasks: int, at_once: int, cut: bool
) -> None:
    if form == "lines":
        if text.isdigit():
            pytest.skip("the number of a single task is its own")
        job = squeue_line(text)
    elif form == "limit beside it":  # as slurmrestd tells it
        job = squeue_json(text.partition("%")[0], at_once, new=True)
    else:
        job = squeue_json(text, at_once, new=form == "json 24.11")
    assert (job.tasks, job.at_once, job.cut, job.array) == (tasks, at_once, cut, 12)
    other = squeue_json("", 0, new=True)._replace(id=13, array=0)
    assert waiting_jobs([job, other, other._replace(state="RUNNING")]) == (tasks + 1, cut)


@pytest.mark.parametrize(("text", "tasks", "at_once", "cut"), ARRAYS)
def test_what_slurm_says_of_the_moment_counts_tasks(
    text: str, tasks: int, at_once: int, cut: bool
) -> None:
    row = f"12|100|(null)|12_[{text}]|JobArrayTaskLimit"
    assert read_present(row, "", T).tasks.tolist() == [tasks]


def test_estimates_of_an_array_are_of_its_next_task(tmp_path: Path) -> None:
    """By the array's id, whole or cut; those of single tasks by theirs."""
    path = tmp_path / "starts.txt"
    ids = ("12_[3-901%2]", "3_[1,3,5,8,13-15,2", "14_7", "15+1", "16")
    path.write_text("".join(f"{T + k}|{one}|{T + 99}|{T}\n" for k, one in enumerate(ids)))
    assert read_starts([path]).job.tolist() == [12, 3, task_id(14, 7), 16, 16]


def test_of_one_array_running_and_waiting_tasks_are_told_apart(tmp_path: Path) -> None:
    """A task keeps one identity while it waits in the array's row and when it has its own id."""
    early = put(
        tmp_path / "a", {"JobIDRaw": 12, "JobID": "12_[1-4%2]", **WAITS},
        {"JobIDRaw": 20, "JobID": "20+0", **WAITS}, {"JobIDRaw": 21, "JobID": "20+1", **WAITS},
    )  # fmt: skip
    late = put(
        tmp_path / "b", {"JobIDRaw": 13, "JobID": "12_1"}, {"JobIDRaw": 14, "JobID": "12_2"},
        {"JobIDRaw": 12, "JobID": "12_[3-4%2]", **WAITS},
    )  # fmt: skip
    runs = read_sacct([early, late])
    assert runs.job.tolist() == [20, 21, 13, 14, task_id(12, 3), task_id(12, 4)]
    assert runs.task.tolist() == [UNKNOWN] * 2 + [task_id(12, k) for k in (1, 2, 3, 4)]
    assert runs.het.tolist() == [20, 20] + [UNKNOWN] * 4
    assert kinds(runs) == {"older_reading": 2, "repeated": 2}


def test_lists_that_cannot_be_read_or_are_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forestall.slurm.task_rows.MOST_TASKS", 10)
    runs = read_sacct(put(
        tmp_path / "a", {"JobIDRaw": 1, "JobID": "1_[x]", **WAITS},
        {"JobIDRaw": 2, "JobID": "2_[1-8]", **WAITS}, {"JobIDRaw": 3, "JobID": "3_[1-8]", **WAITS},
    ))  # fmt: skip
    assert len(runs) == 10
    assert kinds(runs) == {"array_unread": 1, "array_large": 1}


# ------------------------------------------------------------------------------------- clusters


def test_jobs_of_several_clusters_are_refused_or_one_is_chosen(tmp_path: Path) -> None:
    path = put(
        tmp_path / "a", {}, {"Cluster": "b", "NodeList": "n2"}, {"Cluster": "b", "JobIDRaw": 2}
    )
    with pytest.raises(ParameterError, match=r"one of a \(1 run\), b \(2 runs\)"):
        read_sacct(path)
    assert read_sacct(path, cluster="a").nodelist.texts() == ["n1"]
    assert read_sacct(path, cluster="b").job.tolist() == [1, 2]
    with pytest.raises(ParameterError, match="one of a"):
        read_sacct(path, cluster="c")
    damaged = read_sacct(put(tmp_path / "d", {}, {"Cluster": "0:0", "JobIDRaw": 2}))
    assert (damaged.job.tolist(), kinds(damaged)) == ([1], {"bad_cluster": 1})
    plain = put(tmp_path / "b", {}, heads=tuple(name for name in HEADS if name != "Cluster"))
    with pytest.raises(ParameterError, match="name no cluster"):
        read_sacct(plain, cluster="a")
    rows = [job_json("1", 0, new=True) | {"cluster": name} for name in ("a", "b")]
    (tmp_path / "c").write_text(json.dumps({"jobs": rows}))
    with pytest.raises(ParameterError, match=r"a \(1 run\), b \(1 run\)"):
        read_sacct(tmp_path / "c")


def test_runs_of_one_submission_differ_by_their_restarts(tmp_path: Path) -> None:
    heads = (*HEADS, "Restarts")
    again = {"Start": T + 300, "End": T + 400}
    path = put(tmp_path / "a", {"Restarts": 0, "State": "NODE_FAIL"}, {"Restarts": 1, **again},
               heads=heads)  # fmt: skip
    assert read_sacct(path).start.tolist() == [T + 10, T + 300]


# ------------------------------------------------------------------------------ clocks that are set


def clock(text: str) -> str:
    return f"2026-10-25T{text}"


@pytest.mark.parametrize(
    ("submit", "start", "end", "elapsed", "wait"),
    [
        ("02:50:00", "02:00:00", "04:00:00", 7200, 600),  # submitted before, started after it
        ("02:50:00", "02:00:00", "04:00:00", "", 600),
        ("02:10:00", "02:55:00", "02:05:00", 600, 45 * 60),  # ended after it
        ("01:00:00", "01:30:00", "04:00:00", 9000, 1800),  # nothing to mend
        ("02:00:30", "02:00:00", "04:00:00", 7200, 0),  # half a minute is no clock that was set
    ],
)
def test_a_wait_over_the_hour_that_a_clock_repeats(
    tmp_path: Path, submit: str, start: str, end: str, elapsed: Any, wait: int
) -> None:
    row = {"Submit": clock(submit), "Start": clock(start), "End": clock(end), "ElapsedRaw": elapsed,
           "TimelimitRaw": 600}  # fmt: skip
    runs = read_sacct(put(tmp_path / "a", row))
    assert runs.wait.tolist() == [wait]
    assert bool((runs.submit <= runs.start + 60).all())
    if elapsed:
        assert (runs.end - runs.start).tolist() == [elapsed]
    moved = submit == "02:50:00"
    assert kinds(runs).get("hour_moved", 0) == moved
    if moved:
        with pytest.raises(TraceError, match="moved back by an hour"):
            read_sacct(tmp_path / "a", strict=True)


def test_ids_tell_which_of_two_hours_is_meant(tmp_path: Path) -> None:
    """Of jobs submitted at 02:10, 02:40, 02:05 and 02:30 the last two are of the second hour."""
    rows = [
        {"JobIDRaw": k, "Submit": clock(f"02:{minute}:00"), "Start": clock("05:00:00"),
         "End": clock("06:00:00"), "TimelimitRaw": 600}
        for k, minute in enumerate(("10", "40", "05", "30"), 1)
    ]  # fmt: skip
    runs = read_sacct(put(tmp_path / "a", *rows), zone="Europe/Berlin")
    waits = dict(zip(runs.job.tolist(), (runs.wait / 60).tolist(), strict=True))
    assert waits == {1: 230, 2: 200, 3: 175, 4: 150}
    submit = np.array([100, 50])
    settle_by_ids(np.array([1, 2]), submit, np.array([1]), np.array([10]))
    assert submit.tolist() == [100, 50]  # an hour later would still be too early: another reason


# ------------------------------------------------------------------------------- contradictions

NORMAL = [
    {"JobIDRaw": k, "Submit": T + 200 * k, "Start": T + 200 * k + 10, "End": T + 200 * k + 110,
     "NodeList": f"n{1 + k % 2}"}
    for k in range(100, 340)
]  # fmt: skip
LAST = T + 200 * 340
BAD = {
    "COMPLETED without an end": ("contradict_state", {"Start": LAST, "End": "Unknown"}),
    "COMPLETED without a start": ("contradict_state", {"Start": "Unknown", "End": LAST}),
    "PENDING, started": ("contradict_state", {**WAITS, "Start": T - 30 * DAY}),
    "started before it was submitted": ("contradict_times", {"Submit": T + 900, "Start": T + 500,
                                                             "End": T + 910, "NodeList": "n9"}),
    "elapsed longer than it ran": ("contradict_times", {"Start": T + 100, "End": T + 200,
                                                        "ElapsedRaw": 9000, "NodeList": "n9"}),
    "days past its limit": ("contradict_limit", {"Start": T - 5 * DAY, "Submit": T - 5 * DAY,
                                                 "End": T, "NodeList": "n9"}),
    "RUNNING for years": ("contradict_limit", {"State": "RUNNING", "Start": T - 900 * DAY,
                                               "Submit": T - 900 * DAY, "End": "Unknown"}),
    "RUNNING for years, no limit": ("contradict_limit", {
        "State": "RUNNING", "Start": T - 900 * DAY, "Submit": T - 900 * DAY, "End": "Unknown",
        "TimelimitRaw": "", "NodeList": "n9"}),
    "ended long after others had its node": ("contradict_nodes", {
        "Submit": T + 30_000, "Start": T + 30_010, "End": T + 60_000, "TimelimitRaw": 600}),
    "RUNNING where others ran": ("contradict_nodes", {
        "State": "RUNNING", "Submit": T + 30_000, "Start": T + 30_010, "End": "Unknown",
        "TimelimitRaw": "UNLIMITED"}),
    "ended before it started": ("backwards", {"Start": T + 900, "End": T + 500}),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_record_that_contradicts_others_is_left_out_and_named(tmp_path: Path, what: str) -> None:
    kind, row = BAD[what]
    clean = read_sacct(put(tmp_path / "clean", *NORMAL))
    assert kinds(clean) == {}
    path = put(tmp_path / "bad", *NORMAL, {"JobIDRaw": 7, **row})
    runs = read_sacct(path)
    assert {one: n for one, n in kinds(runs).items() if one != "elapsed_differs"} == {kind: 1}
    assert (runs.begin, runs.until) == (clean.begin, clean.until)
    assert runs.job.tolist() == clean.job.tolist()
    assert int(runs.node_seconds.sum()) == int(clean.node_seconds.sum())
    remark = runs.cleaning.remarks[-1]
    assert remark.action == "left out"
    assert "line 242" in remark.names[0] or "job 7 (" in remark.names[0]
    with pytest.raises(TraceError, match=r"one of the runs|End: expected a time"):
        read_sacct(path, strict=True)


KEPT = {
    "longer than its limit by minutes": {"End": T + 3 * 3600, "NodeList": "n9"},
    "REQUEUED": {"State": "REQUEUED", "NodeList": "n9"},
    "canceled before it started": {"State": "CANCELLED by 5", "Start": T + 50, "End": T + 50,
                                   "NodeList": "None assigned"},
    "waits, with a start that is expected": {**WAITS, "Start": T + 9 * DAY},
    "runs as it may": {"State": "RUNNING", "Start": LAST - 1800, "End": "Unknown",
                       "NodeList": "n9"},
    "part of a node beside others": {"Submit": T + 30_000, "Start": T + 30_010, "End": T + 31_000,
                                     "NodeList": "n9", "AllocCPUS": 2},
    "a node taken over within a minute": {"Submit": T + 30_000, "Start": T + 30_030,
                                          "End": T + 30_050, "NodeList": "n1"},
}  # fmt: skip


@pytest.mark.parametrize("what", KEPT)
def test_a_record_that_may_be_is_kept(tmp_path: Path, what: str) -> None:
    runs = read_sacct(put(tmp_path / "a", *NORMAL, {"JobIDRaw": 7, **KEPT[what]}))
    assert kinds(runs) == {}
    assert 7 in runs.job.tolist()


def test_what_a_site_does_all_the_time_is_no_contradiction(tmp_path: Path) -> None:
    """Nodes that jobs share, and limits that end no job."""
    shared = [row | {"End": row["Start"] + 900} for row in NORMAL]
    assert kinds(read_sacct(put(tmp_path / "a", *shared))) == {}
    endless = [row | {"TimelimitRaw": 1, "End": row["Start"] + 2 * DAY, "NodeList": f"n{k}"}
               for k, row in enumerate(NORMAL)]  # fmt: skip
    assert kinds(read_sacct(put(tmp_path / "b", *endless))) == {}


def test_one_row_far_from_all_others_does_not_stretch_the_period(tmp_path: Path) -> None:
    clean = read_sacct(put(tmp_path / "a", *NORMAL))
    for moved in (-2000 * DAY, 400 * DAY):
        far = {name: T + moved + after for name, after in (("Submit", 0), ("Start", 5), ("End", 9))}
        runs = read_sacct(put(tmp_path / "b", *NORMAL, {"JobIDRaw": 7, **far}))
        assert (runs.begin, runs.until) == (clean.begin, clean.until)
        assert 7 in runs.job.tolist()
    with pytest.raises(TraceError, match="no run that can be as recorded: 1 run whose records"):
        read_sacct(put(tmp_path / "c", {"End": "Unknown"}))
