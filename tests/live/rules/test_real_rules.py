"""Rules on a real Slurm: drain, reboot and return within limits, never twice; what a person did
stays as it is."""

from __future__ import annotations

import getpass
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forestall.core.model.live.intents import Role
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import IntentRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.costs import costs
from forestall.live.rules.rules import ActingRules, rule_of
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller
from forestall.live.slurm.testing import CheckedReturns, NodeTest
from forestall.prediction.watching.foreseen import ListedForecasts
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode
from forestall.slurm.control.by_commands import SlurmCommands, SlurmLimits
from live.rules.world import SaidHealth
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

WARDEN = RoleSettings(
    "on", nodes=1, percent=50.0, partition_nodes=1, partition_percent=50.0, per_hour=20,
    cool_down=3600,
)  # fmt: skip
GUARD = GuardSettings(floor_percent=20.0, settle=30, again=5, warden=WARDEN)


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=4, also="RebootProgram=/bin/true\n") as running:
        yield running


@pytest.fixture(autouse=True)
def _here(slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLURM_CONF", str(slurm.folder / "slurm.conf"))
    monkeypatch.chdir(slurm.folder / "jobs")
    yield
    slurm.command("scancel", "--user=root", check=False)
    for name in slurm.nodes:
        slurm.command("scontrol", "update", f"nodename={name}", "state=resume", check=False)
    slurm.until("all nodes are idle", lambda: slurm.idle() == set(slurm.nodes), 60)


class Watch:
    """A controller with rules on a real cluster."""

    def __init__(
        self,
        path: Path,
        settings: RuleSettings,
        health: SaidHealth | None,
        test: NodeTest | None = None,
    ) -> None:
        self.cluster = SlurmCommands(SlurmLimits(read=10, write=10))
        self.ledger = LiveLedger(f"sqlite:///{path}")
        self.rules = ActingRules(settings, self.ledger, health=health, tested=test is not None)
        clock = lambda: int(time.time())  # noqa: E731
        returns = None if test is None else CheckedReturns(self.cluster, test, clock)
        actor = ClusterActor(self.cluster, lambda _: "root", returns=returns)
        self.controller = Controller(
            self.cluster, self.ledger, {Role.WARDEN: actor}, GUARD, ListedForecasts(),
            clock, rules=self.rules,
        )  # fmt: skip

    def node(self, name: str) -> ClusterNode:
        return self.cluster.look().nodes[name]

    def job(self, number: int) -> ClusterJob:
        return self.cluster.look().jobs[number]

    def until(self, what: str, true: Callable[[], bool], seconds: float = 60) -> None:
        """Do a cycle a second until something is true."""
        end = time.monotonic() + seconds
        while True:
            self.controller.cycle()
            if true():
                return
            assert time.monotonic() < end, f"after {seconds} s not yet: {what}: {self.states()}"
            time.sleep(1)

    def states(self) -> list[tuple[str, str, str]]:
        """Return what was done to which node, and what became of it."""
        rows = {row.id: row for row in self.ledger.read(IntentRow)}
        return [(rows[one.intent].action, rows[one.intent].target, f"{one.state}: {one.why}")
                for one in self.ledger.read(StateRow)]  # fmt: skip

    def written(self) -> Counter[tuple[str, str]]:
        """Return how often each action was sent, by action and node."""
        return Counter((action, node) for action, node, state in self.states()
                       if state.startswith("written"))  # fmt: skip


@pytest.fixture
def told() -> SaidHealth:
    return SaidHealth()


def watching(tmp_path: Path, settings: RuleSettings, health: SaidHealth | None) -> Watch:
    return Watch(tmp_path / "ledger.db", settings, health)


def test_an_ill_node_is_drained_and_comes_back_and_a_persons_stays(
    slurm: RealSlurm, tmp_path: Path, told: SaidHealth
) -> None:
    """Three nodes are ill, of which one was drained by a person; one at once may be out."""
    slurm.command("scontrol", "update", "nodename=n1", "state=drain", "reason=bad fan, RT 4711")
    told.said = {"n1": "no fan", "n2": "no fan", "n3": "a disk is full", "n4": "ok"}
    one = watching(tmp_path, RuleSettings(reboot=(), rest=0), told)
    one.until("one is drained", lambda: not one.node("n2").in_service)
    for _ in range(5):
        one.controller.cycle()
        out = [name for name, node in one.cluster.look().nodes.items() if node.ours]
        assert out == ["n2"]
        time.sleep(1)
    assert rule_of(one.node("n2").reason) == "health"
    told.said = dict.fromkeys(slurm.nodes, "ok")
    one.until("it is back", lambda: one.node("n2").in_service)
    one.until("it is booked", lambda: ("resume", "n2", "confirmed: its effect was seen")
              in one.states())  # fmt: skip
    assert one.written() == {("drain", "n2"): 1, ("resume", "n2"): 1}
    person = one.node("n1")
    assert person.reason == "bad fan, RT 4711"
    assert "DRAIN" in person.flags
    assert [(cost.action, cost.done) for cost in costs(one.ledger, int(time.time()))] == [
        ("drain", 1), ("resume", 1),
    ]  # fmt: skip
    assert check(one.ledger).wrong == ()
    one.ledger.close()


def test_nodes_return_by_way_of_a_test_job(
    slurm: RealSlurm, tmp_path: Path, told: SaidHealth
) -> None:
    """Nobody else's job starts on them before; the one whose test fails stays out."""
    script = "#!/bin/sh\nsleep 3\n[ $SLURMD_NODENAME = n2 ]\n"
    test = NodeTest(script, 60, getpass.getuser())
    told.said = {"n2": "no fan", "n4": "no fan"}
    one = Watch(tmp_path / "ledger.db", RuleSettings(reboot=(), rest=0), told, test)
    for name in ("n2", "n4"):
        one.until("it is drained", lambda name=name: not one.node(name).in_service)
        other = slurm.submit("-w", name, "-J", f"other-{name}", run="exit 0")
        told.said = {**told.said, name: "ok"}
        if name == "n2":
            one.until("it is back", lambda: ("resume", "n2", "confirmed: its effect was seen")
                      in one.states())  # fmt: skip
            jobs = one.cluster.look().jobs
            [end] = [job.end for job in jobs.values() if job.name == "forestall-test"]
            one.until("others start", lambda other=other: one.job(other).state == "COMPLETED")
            assert (one.job(other).start or 0) >= (end or 0)
        else:
            one.until("it is out again", lambda: one.node("n4").reason.startswith(
                "forestall: test: the job ended FAILED"))  # fmt: skip
            slurm.command("scancel", str(other))
    assert not one.cluster.look().reservations
    for _ in range(3):
        one.controller.cycle()
        time.sleep(1)
    assert one.written()["resume", "n4"] == one.written()["resume", "n2"] == 1
    assert check(one.ledger).wrong == ()
    one.ledger.close()


def test_a_node_that_eats_jobs_is_drained_and_rebooted_once(
    slurm: RealSlurm, tmp_path: Path
) -> None:
    """Jobs of several names fail on it at once; when it has drained, it reboots and is back."""
    settings = RuleSettings(eats=3, eats_within=600, quick=30)
    one = watching(tmp_path, settings, None)
    one.until("a look", lambda: one.controller.age is not None)
    for k in range(3):
        slurm.submit("-w", "n3", "-J", f"job{k}", run="exit 1")
    one.until("it reboots", lambda: "reboot" in one.node("n3").reason
              or any("REBOOT" in flag for flag in one.node("n3").flags))  # fmt: skip
    assert one.written() == {("drain", "n3"): 1, ("reboot", "n3"): 1}
    for _ in range(3):
        one.controller.cycle()
        time.sleep(1)
    slurm.kill_node("n3")
    slurm.revive_node("n3", wait=False, booted=True)
    one.until("it is back", lambda: slurm.idle() == set(slurm.nodes), 90)
    for _ in range(5):
        one.controller.cycle()
        time.sleep(1)
    assert one.written() == {("drain", "n3"): 1, ("reboot", "n3"): 1}
    assert not one.node("n3").reason
    assert check(one.ledger).wrong == ()
    one.ledger.close()
