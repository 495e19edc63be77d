"""What a queue does not tell: failures, holds, orders, and nodes that are taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.scheduling.futures.snapshot import Drain, SchedulerRule, Snapshot
from forestall.site.futures import study
from forestall.site.futures.past import held
from forestall.site.futures.question import FuturesQuestion
from forestall.site.futures.queue import queue_at
from forestall.site.futures.taken import drains_of, merged
from forestall.site.futures.unknown import hazard_of, ordered
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.present import Reservation
from forestall.slurm.sources.given import GivenRecords
from forestall.slurm.sources.sources import gather

DAY = 86_400
EPOCH = 1_600_000_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty days of 16 nodes; users 7's jobs are held for two hours, whatever is free."""
    rng = np.random.default_rng(0)
    lines = ["; Version: 2.2", f"; UnixStartTime: {EPOCH}", "; MaxNodes: 16"]
    submit = np.sort(rng.integers(0, 30 * DAY, 1500))
    for k, when in enumerate(submit.tolist()):
        user = 7 if k % 5 == 0 else 1 + k % 3
        wait, run = 7200 if user == 7 else 0, int(rng.integers(60, 1800))
        lines.append(f"{k + 1} {when} {wait} {run} 1 -1 -1 1 3600 -1 1 {user} 1 1 1 1 -1 -1")
    path = tmp_path_factory.mktemp("log") / "jobs.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_jobs_that_could_start_and_wait_are_held() -> None:
    size, limit = np.array([4, 8, 2, 2]), np.full(4, 100)
    waits = size, limit, np.zeros(4, np.int64)
    snapshot = Snapshot.of(0, 8, (np.array([4]), np.array([50]), np.array([0])), waits)
    # Four are free. The first has its nodes; without it the last two do, which end in time or
    # take what the second, which has none, leaves: nothing.
    assert held(snapshot, SchedulerRule()).tolist() == [False, True, False, False, False]
    short = replace(snapshot, limit=np.array([50, 100, 100, 40, 40]))
    assert held(short, SchedulerRule()).tolist() == [False, True, False, True, True]


def test_held_jobs_start_when_such_jobs_did(log: Path) -> None:
    site = gather(GivenRecords(paths=(log,)))
    assert site.accounting is not None
    records = site.accounting
    row = int(np.flatnonzero((records.user.code == records.user.words.index("7"))
                             & (records.submit > EPOCH + 25 * DAY))[0])  # fmt: skip
    at = str(np.datetime64(int(records.submit[row]) + 600, "s"))
    for holds in ("none", "recorded"):
        asked = FuturesQuestion(at=at, holds=holds, arrivals="none", futures=64)  # type: ignore[arg-type]
        found = study.find(GivenRecords(paths=(log,)), asked)
        mine = next(one for one in found.jobs if one["job"] == int(records.job[row]))
        late = mine["start_50"] - int(records.submit[row])
        # Of those held about 600 s all start 7200 s after they were submitted.
        assert late == 600 if holds == "none" else abs(late - 7200) < 1800


def test_failures_are_those_of_the_log(log: Path) -> None:
    site = gather(GivenRecords(paths=(log,)))
    now = EPOCH + 20 * DAY
    none, told = hazard_of(site, now, 16, 1)
    assert none is None
    assert "no earlier failure" in told
    times = np.arange(1, 41) * DAY // 2 + EPOCH
    failures = Failures.build(times, np.arange(40) % 16, np.full(40, 1800))
    with_log = replace(site, failures=replace(failures, nodes=16, span=now))
    # Of a log of 16 nodes since second 0 of its clock: so many before now, none at or after it.
    hazard, told = hazard_of(with_log, now, 16, 1)
    assert hazard is not None
    assert hazard.per_node_second == pytest.approx(39 / (16 * now))
    assert hazard.repair == 1800
    assert "39 failures of the log" in told


def test_priorities_must_be_told(log: Path) -> None:
    site = gather(GivenRecords(paths=(log,)))
    queue = queue_at(site, EPOCH + 20 * DAY)
    with pytest.raises(ParameterError, match="which only a running Slurm has"):
        ordered(queue, FuturesQuestion(order="priority"), SchedulerRule())


def test_a_node_is_taken_once() -> None:
    none = np.full(4, -1, np.int64)
    words = ("",) * 4
    parts = (("a",), ("a",), ("a",), ("b",))
    state = ("IDLE", "MIXED+DRAIN", "IDLE+MAINTENANCE", "DOWN*")
    inventory = Inventory(tuple("wxyz"), none, none, none, parts, words, state, words, none)
    remarks: list[str] = []
    reserved = (Reservation("r", 100, 900, ("w", "y")), Reservation("s", 800, 5000, ("w",)))
    found = drains_of(inventory, reserved, ("a", "b"), 500, {"x": 2000}, remarks)
    # w: both reservations as one; x: from when its job is planned to end; y: its reservation
    # alone, for which it is in maintenance; z: a day.
    assert found == (
        Drain(500, 900, 1, 0),
        Drain(500, 5000, 1, 0),
        Drain(500, 500 + DAY, 1, 1),
        Drain(2000, 500 + DAY, 1, 0),
    )
    assert "2 nodes down or drained" in remarks[0]
    assert merged([(5, 9), (1, 5), (20, 30)]) == [(1, 9), (20, 30)]
