"""Futures of a queue with arrays and heterogeneous jobs, as sacct and squeue show them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.commands.calls import call
from forestall.scheduling.futures.snapshot import NEVER
from forestall.site.futures.question import FuturesQuestion
from forestall.site.futures.queue import by_priority, queue_at
from forestall.site.futures.study import find
from forestall.slurm.present import read_present
from forestall.slurm.sources.given import GivenRecords
from forestall.slurm.sources.sources import gather

Capsys = pytest.CaptureFixture[str]
HEAD = "JobIDRaw|JobID|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NodeList|User"
T = 1_760_000_000
NODES = 200
TASKS = 97
"""Those that wait of an array of 100 tasks, three of which run."""


def records(tmp_path: Path, limit: str, *rows: str, folded: bool = True) -> Path:
    """Return records of a past of jobs of an hour, and of an array of 100 tasks of which 3 run."""
    lines = [HEAD, f"1|1|COMPLETED|{T}|{T}|{T + 60}|60|60|{NODES}|n[1-{NODES}]|bob"]
    lines += [f"{k}|{k}|COMPLETED|{T + 60 * k}|{T + 60 * k}|{T + 60 * k + 3600}|3600|60|1|n{k}|ann"
              for k in range(2, 40)]  # fmt: skip
    now = T + 9000
    lines += [f"{50 + k}|100_{k}|RUNNING|{now - 100}|{now - 60}|Unknown|60|60|1|n{k}|ann"
              for k in (1, 2, 3)]  # fmt: skip
    waits = f"PENDING|{now - 100}|Unknown|Unknown|0|60|1|None assigned|ann"
    if folded:
        lines.append(f"100|100_[4-100{limit}]|{waits}")
    else:
        lines += [f"{200 + k}|{200 + k}|{waits}" for k in range(TASKS)]
    path = tmp_path / f"sacct{limit.strip('%')}{folded}.txt"
    path.write_text("\n".join([*lines, *rows]) + "\n")
    return path


def busiest(start: np.ndarray, end: np.ndarray) -> int:
    """Return the most tasks that run at any time."""
    return max(int(np.sum((start <= t) & (end > t))) for t in start[start < NEVER])


def question() -> FuturesQuestion:
    return FuturesQuestion(futures=10, arrivals="none", holds="none", node_failures="none")


def test_a_folded_array_is_planned_as_its_tasks_are(tmp_path: Path) -> None:
    found = [
        find(GivenRecords((records(tmp_path, "", folded=folded),)), question())
        for folded in (True, False)
    ]
    assert [one.summary["waiting_jobs"] for one in found] == [TASKS, TASKS]
    starts = [np.sort(one.futures.start[:, 3:]).tolist() for one in found]
    assert starts[0] == starts[1]


@pytest.mark.parametrize("limit", [3, 4, 20])
def test_no_more_tasks_run_at_once_than_the_limit(tmp_path: Path, limit: int) -> None:
    found = find(GivenRecords((records(tmp_path, f"%{limit}"),)), question())
    mine = found.queue.snapshot.array == 100
    assert int(mine.sum()) == 100
    for start, end in zip(found.futures.start, found.futures.end, strict=True):
        assert busiest(start[mine], end[mine]) == limit
    assert [job["job"] for job in found.jobs if job["state"] == "waiting"][:2] == ["100_4", "100_5"]
    # 97 tasks of an hour at most, `limit` at a time, though 197 nodes are free.
    ends = np.median(found.futures.end.max(axis=1)) - found.now
    assert (TASKS / limit - 2) * 3600 < ends < (TASKS / limit + 3) * 3600


def test_the_count_is_in_every_sentence_and_a_cut_list_says_at_least(
    tmp_path: Path, capsys: Capsys
) -> None:
    cut = f"101|101_[1,3,5,...%2]|PENDING|{T + 8900}|Unknown|Unknown|0|60|1|None assigned|ann"
    path = records(tmp_path, "%5", cut)
    done = call(capsys, "futures", str(path), "--futures", "10")
    assert done.code == 0
    assert "at least 100 waiting" in " ".join(done.out.split())
    assert "of at least 100 waiting jobs" in " ".join(done.out.split())
    assert "100_4" in done.out
    done = call(capsys, "futures", str(path), "--futures", "10", "--json")
    told = json.loads(done.out)
    assert (told["waiting_jobs"], told["waiting_jobs_at_least"]) == (100, True)
    assert any("Slurm cut the lists of tasks" in one for one in told["remarks"])
    assert any("of 2 arrays start as" in one for one in told["remarks"])


def test_components_of_a_heterogeneous_job_start_together(tmp_path: Path) -> None:
    when = f"PENDING|{T + 8900}|Unknown|Unknown|0"
    parts = [f"{300 + k}|300+{k}|{when}|{60 + k}|{size}|None assigned|ann"
             for k, size in enumerate((120, 70, 8))]  # fmt: skip
    queue = queue_at(gather(GivenRecords((records(tmp_path, "", *parts),))), T + 9000)
    snapshot = queue.snapshot
    jobs = gather(GivenRecords((records(tmp_path, "", *parts),))).accounting
    assert jobs is not None
    place = np.flatnonzero(jobs.job[snapshot.job] == 300).tolist()
    assert snapshot.size[place].tolist() == [198]
    assert snapshot.limit[place].tolist() == [62 * 60]
    assert int((~snapshot.running).sum()) == TASKS + 1


def test_what_slurm_says_of_an_array_is_so_of_its_tasks(tmp_path: Path) -> None:
    """Its priority, and what holds it; one that the accounting lacks counts with its tasks."""
    single = f"400|400|PENDING|{T + 8900}|Unknown|Unknown|0|60|1|None assigned|bob"
    site = gather(GivenRecords((records(tmp_path, "%5", single),)))
    assert site.accounting is not None
    told = ("100|7|(null)|100_[4-100%5]|JobArrayTaskLimit\n400|9|(null)|400|Priority\n"
            "900|5|(null)|900_[1-50]|Dependency\n")  # fmt: skip
    queue = by_priority(queue_at(site, T + 9000), site.accounting, read_present(told, "", T + 9000))
    waits = queue.snapshot.job[~queue.snapshot.running]
    assert site.accounting.job[waits[0]] == 400
    assert queue.held is not None
    assert not queue.held.any()
    assert any("Left out: 50 jobs that Slurm holds back (Dependency)" in r for r in queue.remarks)
