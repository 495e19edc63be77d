"""`forestall futures --slurm` against a running Slurm: priorities, a drained node, reservations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.commands.calls import call
from forestall.slurm import commands
from slurm_cluster.cluster import Cluster, why_not

pytestmark = pytest.mark.slow
HOUR = 3600


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=4, with_gpus=1) as cluster:
        yield cluster


@pytest.fixture
def ids(slurm: Cluster) -> dict[str, int]:
    """Two jobs run, three wait: for nodes, for another job, for a user. One node is drained, two
    are maintained in two hours, one is reserved for an hour."""
    whole = ("--exclusive",)
    found = {"runs": slurm.submit("-N2", "-t", "30", *whole)}
    slurm.wait(found["runs"], "RUNNING")
    slurm.command("scontrol", "update", "nodename=n4", "state=drain", "reason=bad disk")
    found["low"] = slurm.submit("-N3", "-t", "60", "--priority=500", *whole)
    found["high"] = slurm.submit("-N2", "-t", "20", "--priority=900", *whole)
    found["short"] = slurm.submit("-N1", "-t", "10", "--priority=100", *whole)
    slurm.wait(found["short"], "RUNNING")
    found["held"] = slurm.submit("-N1", "-t", "10", "--hold")
    found["after"] = slurm.submit("-N1", "-t", "10", f"--dependency=afterok:{found['runs']}")
    reserve = ("scontrol", "create", "reservation", "users=root")
    slurm.command(
        *reserve, "reservationname=upkeep", "starttime=now+7200", "duration=120",
        "flags=maint,ignore_jobs", "nodes=n1,n2",
    )  # fmt: skip
    slurm.command(*reserve, "reservationname=course", "starttime=now", "duration=60", "nodes=n5")
    slurm.until("all are in the books", lambda: len(slurm.book("JobID")) >= 4)
    return found


def test_the_running_cluster(
    slurm: Cluster,
    ids: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    code, printed, err = call(capsys, "futures", "--slurm", "--since", "1d", "--json")
    assert (code, err) == (0, "")
    told: dict[str, Any] = json.loads(printed)
    jobs = {one["job"]: one for one in told["jobs"]}
    states = {name: jobs[job]["state"] for name, job in ids.items() if job in jobs}
    assert states == {"runs": "running", "short": "running", "low": "waiting", "high": "waiting"}
    # In order of priority, not of submission; the first has its two nodes within half an hour.
    assert [one["job"] for one in told["jobs"]][2:] == [ids["high"], ids["low"]]
    now, high, low = told["at"], jobs[ids["high"]], jobs[ids["low"]]
    assert high["start_10"] < now + 31 * 60
    # Three nodes for an hour: of four one is drained; both others are free before the upkeep.
    assert high["end_90"] <= low["start_90"] < now + HOUR
    assert told["pools"] == {"gpu": 1, "main, spare": 4}
    free = [one["free_50"] for one in told["free_nodes"]]
    assert free[0] == 0  # n1 to n3 run, n4 is drained, n5 reserved
    assert (free[3], free[5]) == (2, 4)  # n1 and n2 are maintained; then n4 alone is missing
    remarks = " ".join(told["remarks"])
    assert "in order of Slurm's priorities" in remarks
    assert "1 node down or drained" in remarks
    assert "upkeep" in remarks
    assert "course" in remarks
    assert "2 jobs that Slurm holds back (Dependency, JobHeldUser)" in remarks


def test_with_the_order_of_submission_the_older_job_is_first(
    slurm: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    asked = ("futures", "--slurm", "--since", "1d", "--json", "--order", "submitted")
    code, printed, _ = call(capsys, *asked)
    assert code == 0
    waiting = [one["job"] for one in json.loads(printed)["jobs"] if one["state"] == "waiting"]
    assert waiting == sorted(waiting)
    assert len(waiting) == 2


def test_the_commands_change_nothing() -> None:
    assert commands.queue()[0] == "squeue"
    assert commands.reservations()[-2:] == ("show", "reservation")
