"""The certifier: a folder made by hand passes; every kind of tampering is caught by its check."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import InputError, TraceError
from forestall.core.model.nodes import NodeSet
from forestall.runs.certify import Certificate, certify
from forestall.scheduling.certify.certifier import RULES
from reference.classic_reference import simulate_classic
from reference.promise_reference import simulate_promise
from reference.result import FailureRow, JobRow, ReferenceRun

# 3 nodes, checkpoints of 2 s. Job 1 on 0 and 1 from 0, checkpoint 10-12; node 1 fails at 15 (up at
# 18), lost are 2 x [10, 15); its last 8 s run on 0 and 2 until 23. Job 2 on node 2, 1-6. Job 3 on
# node 1 as soon as it is back, 18-32, checkpoint 28-30. The failure at 16 changes nothing; node 0
# is down for the last 2 s.
JOBS = """\
job,submit,size,runtime,start,last_start,finish,deadline,promise,kept,restarts,checkpoints,skipped,lost,nodes
1,0,2,18,0,15,23,20,0.5,false,1,1,0,10,"0,2"
2,1,1,5,1,1,6,6,1.0,true,0,0,0,0,2
3,2,1,12,18,18,32,32,0.9,true,0,1,0,0,1
"""
RUNS = """\
job,start,end,outcome,checkpoints,lost,nodes
1,0,15,failed,1,10,0-1
2,1,6,finished,0,0,2
1,15,23,finished,0,0,"0,2"
3,18,32,finished,1,0,1
"""
FAILURES = """\
time,node,downtime,detectability,kind,job,lost
15,1,3,0.5,,1,10
16,1,2,0.7,,,0
30,0,10,0.2,hardware,,0
"""
ACCOUNT = {
    "useful": 53,
    "lost": 10,
    "checkpoint_overhead": 2,
    "idle": 26,
    "down": 5,
    "total": 96,
}


def spread(values: list[float]) -> dict[str, float]:
    told = np.array(values, dtype=np.float64)
    quantiles = {"median": 50, "p95": 95}
    return {"mean": sum(values) / len(values),
            **{name: float(np.percentile(told, q)) for name, q in quantiles.items()}}  # fmt: skip


def measures(
    times: list[tuple[int, int, int, int]], promises: list[tuple[float, bool]], risk: float = 0.5
) -> dict[str, object]:
    """Return the measures of jobs, each with submission, start, finish and run time, and of their
    promises, each with whether it was kept."""
    kept = [float(good) for _, good in promises]
    by_tenth = [[one for one in promises if min(int(one[0] * 10), 9) == k] for k in range(10)]

    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    told: dict[str, object] = {
        "jobs_count": len(times),
        "makespan": max(row[2] for row in times) - min(row[0] for row in times),
        "wait": spread([start - submit for submit, start, _, _ in times]),
        "response": spread([finish - submit for submit, _, finish, _ in times]),
        "bounded_slowdown": spread(
            [max((finish - submit) / max(length, 10), 1) for submit, _, finish, length in times]
        ),
    }
    if not promises:
        return told | {"promises_kept": None, "brier": None, "calibration": None}
    return told | {
        "promises_kept": mean(kept),
        "promised_mean": mean([chance for chance, _ in promises]),
        "promises_below_wanted": sum(chance < risk for chance, _ in promises),
        "brier": mean([(chance - good) ** 2 for chance, good in promises]),
        "calibration": [
            {"low": k / 10, "high": (k + 1) / 10, "count": len(mine),
             "promised_mean": mean([chance for chance, _ in mine]),
             "kept_share": mean([float(good) for _, good in mine])}
            for k, mine in enumerate(by_tenth)
        ],
    }  # fmt: skip


SUMMARY = {
    "parameters": {"nodes": 3, "checkpoint_overhead": 2, "checkpoint": "risk", "risk": 0.5},
    "qos": (5 * 1.0 + 12 * 0.9) / 53,
    "utilization": 53 / 96,
    "lost_work": 10,
    "node_seconds": ACCOUNT,
    **measures(
        [(0, 0, 23, 18), (1, 1, 6, 5), (2, 18, 32, 12)], [(0.5, False), (1.0, True), (0.9, True)]
    ),
    **{"restarts": 1, "checkpoints": 2, "skipped_checkpoints": 0},
    **{"failures_played": 3, "failures_hit": 1},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "failures.csv").write_text(FAILURES)
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    return tmp_path


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
    file.write_text(text.replace(old, new))


def failed(certificate: Certificate) -> set[str]:
    return {check.name for check in certificate.checks if not check.passed}


def test_a_correct_folder_passes(folder: Path) -> None:
    certificate = certify(folder)
    assert certificate.passed, str(certificate)
    assert certificate.node_seconds == ACCOUNT
    assert len(certificate.not_checked) == 1  # there is no manifest
    assert len(certificate.checks) == 18


TAMPERINGS = [
    # What a run ran on.
    ("runs.csv", "failed,1,10,0-1", "failed,1,10,0-2", "nodes of a run"),
    ("runs.csv", "failed,1,10,0-1", "failed,1,10,1", "nodes of a run"),
    ("runs.csv", "failed,1,10,0-1", 'failed,1,10,"1,1"', "nodes of a run"),
    ("runs.csv", "failed,1,10,0-1", 'failed,1,10,"1,3"', "nodes of a run"),
    ("jobs.csv", "0,0,0,0,2\n", "0,0,0,0,1\n", "order of runs"),
    ("runs.csv", "failed,1,10,0-1", "failed,1,10,1-2", "one job on a node"),
    ("runs.csv", "failed,1,10,0-1", 'failed,1,10,"0,2"', "failures and failed runs"),
    ("runs.csv", "3,18,32,finished,1,0,1", "3,18,32,finished,1,0,2", "one job on a node"),
    ("runs.csv", "3,18,32,finished", "3,17,32,finished", "no job on a node that is down"),
    ("failures.csv", "16,1,2", "16,1,3", "no job on a node that is down"),
    ("failures.csv", "30,0,10", "30,1,10", "no job survives a failure of its node"),
    ("failures.csv", "30,0,10", "30,1,0", "no job survives a failure of its node"),
    # When.
    ("runs.csv", "1,15,23,finished", "1,14,22,finished", "order of runs"),
    ("jobs.csv", "2,1,1,5,1,1,6", "2,2,1,5,1,1,6", "order of runs"),
    ("jobs.csv", "2,1,1,5,1,1,6", "2,1,1,5,1,1,5", "order of runs"),
    ("jobs.csv", "1,0,2,18,0,15,23", "1,0,2,18,0,0,23", "order of runs"),
    ("jobs.csv", "false,1,1,0,10", "false,2,1,0,10", "order of runs"),
    ("runs.csv", "2,1,6,finished,0,0,2\n", "", "order of runs"),
    ("runs.csv", "2,1,6,finished", "2,1,6,failed", "order of runs"),
    ("runs.csv", "1,15,23,finished", "1,23,15,finished", "order of runs"),
    # What failures did.
    ("failures.csv", "15,1,3,0.5,,1,10", "14,1,4,0.5,,1,10", "failures and failed runs"),
    ("failures.csv", "15,1,3,0.5,,1,10\n", "", "failures and failed runs"),
    ("failures.csv", "15,1,3,0.5,,1,10", "15,1,3,0.5,,1,8", "failures and failed runs"),
    ("failures.csv", "16,1,2,0.7,,,0", "16,1,2,0.7,,,4", "failures and failed runs"),
    ("failures.csv", "16,1,2,0.7,,,0", "16,1,2,0.7,,2,0", "failures and failed runs"),
    # Work.
    ("jobs.csv", "false,1,1,0,10", "false,1,1,0,12", "work of each job"),
    ("jobs.csv", "3,2,1,12", "3,2,1,13", "work of each job"),
    ("jobs.csv", "true,0,1,0,0,1", "true,0,0,0,0,1", "work of each job"),
    ("runs.csv", "3,18,32,finished,1", "3,18,32,finished,2", "work of each job"),
    ("runs.csv", "1,15,23,finished", "1,15,22,finished", "work of each job"),
    ("runs.csv", "failed,1,10", "failed,0,10", "work of each job"),
    ("summary.json", ': "risk"', ': "none"', "work of each job"),
    ("summary.json", '_overhead": 2, "check', '_overhead": 3, "check', "work of each job"),
    # Promises, account and measures.
    ("jobs.csv", "0.5,false", "0.5,true", "promises"),
    ("jobs.csv", "32,0.9,true", "31,0.9,true", "promises"),
    ("jobs.csv", "32,0.9,true", ",,", "promises"),
    ("jobs.csv", "32,0.9,true", "32,0.91,true", "qos"),
    ("summary.json", '"qos": 0.29', '"qos": 0.31', "qos"),
    ("summary.json", '"utilization": 0.5', '"utilization": 0.6', "utilization"),
    ("summary.json", '"lost_work": 10', '"lost_work": 11', "lost work"),
    ("summary.json", '"useful": 53', '"useful": 54', "account of node-seconds"),
    ("summary.json", '"lost": 10', '"lost": 9', "account of node-seconds"),
    ("summary.json", '"checkpoint_overhead": 2, "idle"', '"checkpoint_overhead": 4, "idle"',
     "account of node-seconds"),
    ("summary.json", '"idle": 26', '"idle": 25', "account of node-seconds"),
    ("summary.json", '"down": 5', '"down": 7', "account of node-seconds"),
    ("summary.json", '"total": 96', '"total": 97', "account of node-seconds"),
    ("failures.csv", "30,0,10", "31,0,10", "account of node-seconds"),
    ("summary.json", '"nodes": 3', '"nodes": 4', "account of node-seconds"),
    ("summary.json", '"jobs_count": 3', '"jobs_count": 999', "counts"),
    ("summary.json", '"makespan": 32', '"makespan": 1', "counts"),
    ("summary.json", '"median": 0.0', '"median": 1', "times of jobs"),
    ("summary.json", '"promises_kept": 0.66', '"promises_kept": 0.67', "what promises were worth"),
    ("summary.json", '"brier": 0.0', '"brier": 0.01', "what promises were worth"),
    ("summary.json", '"qos"', '"luck": 7, "qos"', "parameters and files"),
    ("jobs.csv", "2,1,1,5", "2,3,1,5", "order of rows"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "check"), TAMPERINGS)
def test_tampering_is_caught(folder: Path, file: str, old: str, new: str, check: str) -> None:
    replace(folder / file, old, new)
    certificate = certify(folder)
    assert check in failed(certificate), str(certificate)
    assert not certificate.passed


def test_every_rule_can_fail() -> None:
    assert {check for *_, check in TAMPERINGS} == {rule.name for rule in RULES}


def test_details_name_the_culprit(folder: Path) -> None:
    replace(folder / "runs.csv", "3,18,32,finished,1,0,1", "3,18,32,finished,1,0,2")
    details = {check.name: check.detail for check in certify(folder).checks}
    assert details["one job on a node"] == "node 2 runs job 3 at 18, before job 1 has ended"
    assert "FAIL one job on a node: node 2" in str(certify(folder))


def test_finish_at_the_second_of_a_failure_and_start_at_the_recovery(folder: Path) -> None:
    # Node 2 fails at 6, when job 2 has just finished there, and is back at 15 for job 1.
    replace(folder / "failures.csv", "15,1,3", "6,2,9,0.5,,,0\n15,1,3")
    replace(folder / "summary.json", '"failures_played": 3', '"failures_played": 4')
    replace(folder / "summary.json", '"idle": 26, "down": 5', '"idle": 17, "down": 14')
    assert certify(folder).passed, str(certify(folder))
    replace(folder / "failures.csv", "6,2,9", "6,2,10")
    assert "no job on a node that is down" in failed(certify(folder))


def test_overlapping_outages_count_once(folder: Path) -> None:
    # Node 2 down 8-12 and 10-14, and one before all jobs that reaches into their time: 0-1.
    failures = "-5,2,6,0.5,,,0\n8,2,4,0.5,,,0\n10,2,4,0.5,,,0\n11,2,1,0.5,,,0\n15,1,3"
    replace(folder / "failures.csv", "15,1,3", failures)
    replace(folder / "summary.json", '"failures_played": 3', '"failures_played": 7')
    replace(folder / "summary.json", '"idle": 26, "down": 5', '"idle": 19, "down": 12')
    assert certify(folder).passed, str(certify(folder))


# ------------------------------------------------------------------------------- without runs.csv


def test_without_runs(folder: Path) -> None:
    (folder / "runs.csv").unlink()
    certificate = certify(folder)
    assert certificate.passed, str(certificate)
    assert len(certificate.not_checked) == 5
    assert "not checked: nodes and lengths of the runs that failed" in str(certificate)
    # Job 1 restarted and had a checkpoint: where its pause went is in runs.csv only.
    assert certificate.node_seconds == {**ACCOUNT, "checkpoint_overhead": None, "idle": None}


WITHOUT_RUNS = [
    ("jobs.csv", "0,1,0,0,1\n", "0,1,0,0,2\n", "one job on a node"),
    ("jobs.csv", "0,1,0,0,1\n", "0,1,0,0,0\n", "no job on a node that is down"),
    ("jobs.csv", "1,0,10,\"0,2\"", "1,0,10,0", "nodes of a run"),
    ("jobs.csv", "3,2,1,12", "3,2,1,11", "work of each job"),
    ("jobs.csv", "2,1,1,5,1,1,6", "2,1,1,5,1,1,5", "work of each job"),
    ("jobs.csv", "2,1,1,5,1,1,6", "2,1,1,5,1,2,7", "order of runs"),
    ("jobs.csv", "false,1,1,0,10", "false,0,1,0,10", "failures and failed runs"),
    ("failures.csv", "15,1,3,0.5,,1,10", "16,1,2,0.5,,1,10", "failures and failed runs"),
    ("failures.csv", "15,1,3,0.5,,1,10", "15,1,3,0.5,,1,12", "failures and failed runs"),
    ("jobs.csv", "0.5,false", "0.5,true", "promises"),
    ("summary.json", '"idle": 26', '"idle": 25', "account of node-seconds"),
    ("summary.json", '"down": 5', '"down": 6', "account of node-seconds"),
    ("summary.json", '"utilization": 0.5', '"utilization": 0.6', "utilization"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "check"), WITHOUT_RUNS)
def test_tampering_without_runs(folder: Path, file: str, old: str, new: str, check: str) -> None:
    (folder / "runs.csv").unlink()
    replace(folder / file, old, new)
    assert check in failed(certify(folder)), str(certify(folder))


# ------------------------------------------------------------------------------- bad files

BAD_FILES = [
    ("jobs.csv", "1,0,2,18", "1,0,2,eighteen", "jobs.csv:2: runtime: 'eighteen' is not a whole"),
    ("jobs.csv", "1,0,2,18", "1,0,2,", "jobs.csv:2: runtime: an empty field is not a whole"),
    ("jobs.csv", "2,1,1,5", "2,1,0,5", "jobs.csv:3: size: '0' is not a whole number from 1 up"),
    ("jobs.csv", "2,1,1,5", "1,1,1,5", "jobs.csv:3: job: '1' is not a job of its own"),
    ("jobs.csv", "2,1,1,5", f"2,{10**18},1,5", "jobs.csv:3: submit"),
    ("jobs.csv", ",promise,", ",chance,", "jobs.csv: has no column promise"),
    ("jobs.csv", "32,0.9,true", "32,1.5,true", "jobs.csv:4: promise: '1.5' is not a probability"),
    ("jobs.csv", "32,0.9,true", "32,nan,true", "jobs.csv:4: promise"),
    ("jobs.csv", "32,0.9,true", "32,,true", "jobs.csv:4: promise"),
    ("jobs.csv", "32,0.9,true", "32,0.9,maybe", "jobs.csv:4: kept: 'maybe' is not true or false"),
    ("runs.csv", "failed,1,10,0-1", "failed,1,10,1-0", "runs.csv:2: nodes: '1-0' is not a host"),
    ("runs.csv", "failed,1,10,0-1", "failed,1,10,", "runs.csv:2: nodes"),
    (
        "runs.csv",
        "failed",
        "broken",
        "runs.csv:2: outcome: 'broken' is not one of finished, failed",
    ),
    ("runs.csv", "2,1,6", "9,1,6", "runs.csv:3: job: '9' is not a job of jobs.csv"),
    ("failures.csv", "30,0,10", "30,3,10", "failures.csv:4: node: '3' is not below 3"),
    ("failures.csv", "30,0,10", "30,0,-1", "failures.csv:4: downtime: '-1' is not"),
    ("failures.csv", "15,1,3,0.5,,1", "15,1,3,0.5,,7", "failures.csv:2: job: '7' is not a job"),
    ("summary.json", '{"parameters"', '"parameters"', "summary.json: is not JSON"),
    ("summary.json", '"nodes"', '"size"', "summary.json: parameters.nodes: is not there"),
    ("summary.json", '"nodes": 3', '"nodes": true', "summary.json: parameters.nodes: True is"),
    ("summary.json", '"idle": 26', '"idle": 26.5', "summary.json: node_seconds.idle: 26.5 is"),
    ("summary.json", '"lost_work": 10', '"lost_work": NaN', "summary.json: lost_work: nan is not"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), BAD_FILES)
def test_bad_files_are_one_clear_line(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    replace(folder / file, old, new)
    with pytest.raises(TraceError) as caught:
        certify(folder)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["jobs.csv", "failures.csv", "summary.json", "runs.csv"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe binary \x80\n\x00" * 9, b"a,b\n1,2,3\n"])
def test_garbage_is_refused(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        certify(folder)
    assert len(str(caught.value).splitlines()) == 1
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["jobs.csv", "failures.csv", "summary.json"])
def test_missing_files(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(TraceError, match=name):
        certify(folder)


def test_no_folder_and_no_jobs(folder: Path) -> None:
    with pytest.raises(TraceError, match="not a folder"):
        certify(folder / "nowhere")
    (folder / "jobs.csv").write_text(JOBS.splitlines()[0] + "\n")
    with pytest.raises(TraceError, match="holds no jobs"):
        certify(folder)


def passes(folder: Path) -> bool:
    try:
        return certify(folder).passed
    except TraceError:
        return False


@pytest.mark.parametrize("cut", range(5, 60, 5))
def test_truncated_files_do_not_pass(folder: Path, cut: int) -> None:
    for name in ("jobs.csv", "runs.csv", "failures.csv"):
        whole = (folder / name).read_text()
        (folder / name).write_text(whole[:-cut])
        assert not passes(folder)
        (folder / name).write_text(whole)


# ------------------------------------------------------------------------------- simulated folders


def write(
    folder: Path, jobs: list[JobRow], run: ReferenceRun, nodes: int, overhead: int, policy: str
) -> None:
    """Write what a reference simulator returned as the folder of a run."""
    number = [str(k + 100) for k in range(len(jobs))]
    kept = [d is not None and f <= d for f, d in zip(run.finish, run.deadline, strict=True)]
    pl.DataFrame(
        {
            "job": number,
            "submit": [row[0] for row in jobs],
            "size": [row[1] for row in jobs],
            "runtime": [row[2] for row in jobs],
            "start": run.start,
            "last_start": run.last_start,
            "finish": run.finish,
            "deadline": pl.Series(run.deadline, dtype=pl.Int64),
            "promise": pl.Series(run.promise, dtype=pl.Float64),
            "kept": [k if d is not None else None for k, d in zip(kept, run.deadline, strict=True)],
            "restarts": run.restarts,
            "checkpoints": run.checkpoints,
            "skipped": run.skipped,
            "lost": run.lost,
            "nodes": [str(NodeSet.of(mine)) for mine in run.nodes],
        }
    ).write_csv(folder / "jobs.csv")
    names = ["job", "start", "end", "nodes", "outcome", "checkpoints", "lost"]
    rows = [(number[r[0]], *r[1:3], str(NodeSet.of(r[3])), *r[4:]) for r in run.runs]
    runs = pl.DataFrame(rows, schema=names, orient="row")
    runs.sort("start", maintain_order=True).write_csv(folder / "runs.csv")
    names = ["time", "node", "downtime", "detectability", "kind", "job", "lost"]
    hits = [(*h[:4], None, None if h.job is None else number[h.job], h.lost) for h in run.failures]
    pl.DataFrame(hits, schema=names, orient="row").write_csv(folder / "failures.csv")
    account = count_seconds(jobs, run, nodes, overhead)
    parameters = {
        "nodes": nodes,
        "checkpoint_overhead": overhead,
        "checkpoint": policy,
        "risk": 0.5,
    }
    times = [
        (row[0], start, finish, row[2])
        for row, start, finish in zip(jobs, run.start, run.finish, strict=True)
    ]
    made = [
        (float(chance), bool(good))
        for chance, good, deadline in zip(run.promise, kept, run.deadline, strict=True)
        if deadline is not None and chance is not None
    ]
    summary = {
        **measures(times, made),
        **{"restarts": sum(run.restarts), "checkpoints": sum(run.checkpoints)},
        "skipped_checkpoints": sum(run.skipped),
        "failures_played": len(run.failures),
        "failures_hit": sum(hit.job is not None for hit in run.failures),
        "parameters": parameters,
        "qos": run.qos,
        "utilization": run.utilization,
        "lost_work": run.lost_work,
        "node_seconds": account,
    }
    (folder / "summary.json").write_text(json.dumps(summary))


def count_seconds(
    jobs: list[JobRow], run: ReferenceRun, nodes: int, overhead: int
) -> dict[str, int]:
    """Count what every node does in every second."""
    first, last = min(row[0] for row in jobs), max(run.finish)
    state = np.zeros((nodes, last - first), dtype=np.int8)  # 0 idle, 1 busy, 2 down
    for hit in run.failures:
        begin, end = max(hit.time, first), min(hit.time + hit.downtime, last)
        state[hit.node, max(begin - first, 0) : max(end - first, 0)] = 2
    for mine in run.runs:
        for node in mine.nodes:
            assert not state[node, mine.start - first : mine.end - first].any()
            state[node, mine.start - first : mine.end - first] = 1
    useful = sum(row[1] * row[2] for row in jobs)
    kept = sum(jobs[r.job][1] * max(0, r.checkpoints - (r.outcome == "failed")) for r in run.runs)
    return {
        "useful": useful,
        "lost": run.lost_work,
        "checkpoint_overhead": kept * overhead,
        "idle": int((state == 0).sum()),
        "down": int((state == 2).sum()),
        "total": state.size,
    }


def random_case(seed: int) -> tuple[list[JobRow], list[FailureRow], int]:
    rng = random.Random(seed)
    nodes = rng.choice([1, 3, 16])
    jobs = []
    for _ in range(rng.randrange(1, 50)):
        runtime = rng.randrange(1, 60)
        jobs.append((rng.randrange(300), rng.randrange(1, nodes + 1), runtime, runtime + 7))
    jobs.sort(key=lambda row: row[0])
    hits = sorted((rng.randrange(-20, 600), rng.randrange(nodes)) for _ in range(25))
    return jobs, [(x, node, rng.choice([0, 3, 40]), rng.random()) for x, node in hits], nodes


@pytest.mark.parametrize("seed", range(20))
def test_what_the_references_do_is_possible(tmp_path: Path, seed: int) -> None:
    jobs, failures, nodes = random_case(seed)
    for policy in ("risk", "periodic", "none"):
        run = simulate_promise(
            jobs, failures, nodes=nodes, accuracy=0.6, risk=0.5, overhead=2, interval=5,
            checkpoint=policy,
        )  # fmt: skip
        write(tmp_path, jobs, run, nodes, 2, policy)
        assert certify(tmp_path).passed, str(certify(tmp_path))
        (tmp_path / "runs.csv").unlink()
        assert certify(tmp_path).passed, str(certify(tmp_path))
    for policy in ("fcfs", "easy", "conservative"):
        run = simulate_classic(jobs, failures, nodes=nodes, policy=policy)
        write(tmp_path, jobs, run, nodes, 2, "none")
        certificate = certify(tmp_path)
        assert certificate.passed, str(certificate)
        (tmp_path / "runs.csv").unlink()
        # Without checkpoints the account is whole even so.
        assert certify(tmp_path).node_seconds == certificate.node_seconds
        assert certify(tmp_path).passed, str(certify(tmp_path))


@pytest.mark.slow
def test_a_hundred_thousand_runs_take_seconds(tmp_path: Path) -> None:
    # Waves of 8 jobs with 125 nodes each, 100 s long.
    count, nodes = 100_000, 1000
    wave, place = np.arange(count) // 8, np.arange(count) % 8
    hosts = [f"{125 * p}-{125 * p + 60},{125 * p + 61}-{125 * p + 124}" for p in range(8)]
    start = wave * 100
    table = pl.DataFrame(
        {"job": np.arange(count), "submit": start, "size": 125, "runtime": 100, "start": start,
         "last_start": start, "finish": start + 100, "deadline": None, "promise": None,
         "kept": None, "restarts": 0, "checkpoints": 0, "skipped": 0, "lost": 0,
         "nodes": [hosts[p] for p in place]}
    )  # fmt: skip
    table.write_csv(tmp_path / "jobs.csv")
    table.select(
        "job", "start", pl.col("finish").alias("end"), pl.lit("finished").alias("outcome"),
        "checkpoints", "lost", "nodes",
    ).write_csv(tmp_path / "runs.csv")  # fmt: skip
    (tmp_path / "failures.csv").write_text(FAILURES.splitlines()[0] + "\n")
    work = count * 125 * 100
    account = {**dict.fromkeys(ACCOUNT, 0), "useful": work, "total": work}
    parameters = {"nodes": nodes, "checkpoint_overhead": 720, "checkpoint": "none"}
    summary = {"parameters": parameters, "qos": None, "utilization": 1.0, "lost_work": 0,
               **measures([(s, s, s + 100, 100) for s in start.tolist()], []),
               **dict.fromkeys(("restarts", "checkpoints", "skipped_checkpoints"), 0),
               **{"failures_played": 0, "failures_hit": 0}}  # fmt: skip
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "node_seconds": account}))
    began = time.perf_counter()
    certificate = certify(tmp_path)
    assert certificate.passed, str(certificate)
    assert time.perf_counter() - began < 20


# ------------------------------------------------------------------------- nodes near each other

NEAR = [
    ("contiguous", {"could": 2, "near": 0.5, "places_mean": 1.5}),
    ("2", {"could": 2, "near": 0.5, "places_mean": 1.5}),
    ("a=0,2; all=0-2", {"could": 2, "near": 0.5, "places_mean": 1.5}),
    ("1", {"could": 0, "near": None, "places_mean": None}),
]


@pytest.mark.parametrize(("where", "measured"), NEAR)
def test_nodes_near_each_other_are_counted_again(
    folder: Path, where: str, measured: dict[str, float | None]
) -> None:
    told = {**SUMMARY, "parameters": {**SUMMARY["parameters"], "topology": where}}
    (folder / "summary.json").write_text(json.dumps({**told, "topology": measured}))
    assert certify(folder).passed, str(certify(folder))
    for name in measured:
        wrong = {**measured, name: 0.25}
        (folder / "summary.json").write_text(json.dumps({**told, "topology": wrong}))
        assert failed(certify(folder)) == {"nodes near each other"}
    (folder / "summary.json").write_text(json.dumps(told))
    assert failed(certify(folder)) == {"nodes near each other", "parameters and files"}


@pytest.mark.parametrize("where", [0, "0", "a=0-99999", "a", ["0"], {"s": 1}])
def test_a_spoilt_topology_is_refused(folder: Path, where: object) -> None:
    told = {**SUMMARY, "parameters": {**SUMMARY["parameters"], "topology": where}}
    (folder / "summary.json").write_text(json.dumps(told))
    with pytest.raises(TraceError, match=r"parameters\.topology"):
        certify(folder)


@pytest.mark.parametrize("odd", [None, 5, ["spares"], "topology"])
def test_parameters_that_are_none_are_refused(folder: Path, odd: object) -> None:
    (folder / "summary.json").write_text(json.dumps({**SUMMARY, "parameters": odd}))
    with pytest.raises(TraceError, match="parameters"):
        certify(folder)
