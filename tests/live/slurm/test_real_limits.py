"""Limits of QOS and associations on a real Slurm: what gets no offer is what Slurm would not start,
and what gets one starts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.controller import Controller
from forestall.live.slurm.quoting import Quoting
from forestall.prediction.watching.foreseen import ListedForecasts
from forestall.slurm.cluster.limits import ClusterLimits
from forestall.slurm.control.by_commands import SlurmCommands, SlurmLimits
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

ENFORCED: Final = "AccountingStorageEnforce=associations,limits,qos\n"
MANAGED: Final = (
    ("add", "qos", "short", "MaxWall=10", "MaxTRESPerJob=node=2,gres/gpu=1"),
    ("add", "qos", "large", "MinTRESPerJob=node=2", "GrpTRES=node=2"),
    ("add", "qos", "closed", "MaxJobsPerUser=0"),
    ("modify", "account", "research", "set", "MaxWall=30", "GrpTRES=node=2"),
    ("modify", "user", "daemon", "games", "set", "qos+=short,large,closed"),
    ("modify", "user", "games", "where", "account=research", "set", "defaultqos=short"),
    ("modify", "user", "daemon", "games", "set", "DefaultAccount=research"),
)
CASES: Final = (
    ("daemon", 1, 1800, {}, ""),
    ("daemon", 1, 1860, {}, "AssocMaxWallDurationPerJobLimit"),
    ("daemon", 3, 600, {}, "AssocGrpNodeLimit"),
    ("daemon", 3, 1860, {"account": "science"}, ""),
    ("games", 1, 600, {}, ""),
    ("games", 1, 660, {}, "QOSMaxWallDurationPerJobLimit"),
    ("games", 1, 1800, {"qos": "normal"}, ""),
    ("games", 2, 600, {"partition": "gpu", "gres": "gpu:1"}, "QOSMaxGRESPerJob"),
    ("games", 1, 600, {"partition": "gpu", "gres": "gpu:1"}, ""),
    ("games", 1, 600, {"qos": "large"}, "QOSMinNode"),
    ("games", 2, 600, {"qos": "large"}, ""),
    ("games", 1, 600, {"qos": "closed"}, "QOSMaxJobsPerUserLimit"),
)


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=3, with_gpus=2, also=ENFORCED) as running:
        for words in MANAGED:
            running.command("sacctmgr", "-i", *words)
        yield running


@pytest.fixture
def seen(slurm: RealSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controller]:
    monkeypatch.setenv("SLURM_CONF", str(slurm.folder / "slurm.conf"))
    with LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        commands = SlurmCommands(SlurmLimits(read=10, write=10))
        forecasts, now = ListedForecasts([]), lambda: int(time.time())
        controller = Controller(commands, ledger, {}, GuardSettings(), forecasts, now)
        assert controller.cycle().said == ""
        yield controller


def quoting(controller: Controller, job: WantedJob) -> Quoting:
    with controller._to_ask(job) as asked:
        return controller._quoting(asked, job)


@pytest.mark.parametrize(("user", "nodes", "seconds", "asks", "reason"), CASES)
def test_no_offer_is_made_for_what_slurm_never_starts(
    slurm: RealSlurm,
    seen: Controller,
    user: str,
    nodes: int,
    seconds: int,
    asks: dict[str, str],
    reason: str,
) -> None:
    more = dict(asks)
    job = WantedJob(nodes, seconds, user=user, partition=more.pop("partition", "main"))
    told = quoting(seen, job).impossible(job, more)
    assert bool(told) == bool(reason), told
    if not more:
        assert bool(seen.quote(job).offers) == (not reason)
    options = [f"--{name}={value}" for name, value in asks.items()]
    options += [f"--nodes={nodes}", f"--time={seconds // 60}"]
    number = slurm.submit(*options, user=user)
    try:
        if reason:
            why = ("squeue", "--noheader", f"--jobs={number}", "--format=%r")
            slurm.until(reason, lambda: slurm.command(*why).stdout.strip() == reason)
        else:
            slurm.wait(number, "RUNNING")
    finally:
        slurm.command("scancel", str(number))
        slurm.until("all nodes are idle", lambda: slurm.idle() == set(slurm.nodes), 60)


def test_limits_that_nobody_tells_are_not_known(slurm: RealSlurm, seen: Controller) -> None:
    """And known again once they are told; nothing else fails meanwhile."""
    clock = [time.time()]
    commands = SlurmCommands(SlurmLimits(read=10, write=10), lambda: clock[0])
    assert commands.look().limits is not None
    slurm.stop_accounting()
    try:
        clock[0] += 300
        assert commands.look().limits is not None, "they were asked for lately"
        clock[0] += 301
        assert commands.look().limits is None
    finally:
        slurm.start_accounting()
    clock[0] += 600
    found = commands.look().limits
    assert found is not None
    assert found != ClusterLimits()
