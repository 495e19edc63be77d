"""Slurm's commands and slurmrestd on a real Slurm: each question and each action, twice, with the
controller stopped in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_contract.contract import SCRIPT, ClusterContract, Site, fault_of, fresh, submitted
from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.marks import reservation_name
from forestall.slurm.cluster.actions import (
    Action,
    DrainNode,
    Exclude,
    Hold,
    Requeue,
    Reserve,
    SignalJob,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.control.by_commands import CommandsUser, SlurmCommands, SlurmLimits
from forestall.slurm.control.by_rest import SlurmRest
from forestall.slurm.control.http import Server
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

LIMITS = SlurmLimits(read=20, write=20)
REST_FOLDER = os.environ.get("FORESTALL_SLURMRESTD", "")
"""A folder into which Debian's slurmrestd and its library were unpacked, if not installed."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=3, with_gpus=1, also="RebootProgram=/bin/true\n") as running:
        yield running


@pytest.fixture(autouse=True)
def _here(slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLURM_CONF", str(slurm.folder / "slurm.conf"))
    monkeypatch.chdir(slurm.folder / "jobs")
    yield
    if "is UP" in slurm.command("scontrol", "ping", check=False).stdout:
        slurm.command("scancel", "--user=root", check=False)
        for line in slurm.command("scontrol", "-o", "show", "reservation").stdout.splitlines():
            if line.startswith("ReservationName="):
                slurm.command("scontrol", "delete", line.split()[0], check=False)
        for node, state in slurm.node_states().items():
            if "drain" in state:
                slurm.command("scontrol", "update", f"NodeName={node}", "State=RESUME")


class RealSite:
    """A real cluster, and a person with a terminal."""

    def __init__(self, slurm: RealSlurm, cluster: LiveCluster) -> None:
        self.slurm = slurm
        self.cluster = cluster

    def now(self) -> int:
        return int(time.time())

    def until(self, what: str, true: Callable[[], bool]) -> None:
        self.slurm.until(what, true, 60)

    def drain(self, node: str, reason: str) -> None:
        words = (f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
        self.slurm.command("scontrol", "update", *words)

    def resume(self, node: str) -> None:
        self.slurm.command("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def hold(self, job: int) -> None:
        self.slurm.command("scontrol", "hold", str(job))

    def cancel(self, job: int) -> None:
        self.slurm.command("scancel", str(job))

    def stop(self) -> None:
        self.slurm.stop_controller()

    def start(self) -> None:
        self.slurm.start_controller()
        self.slurm.until("nodes answer", lambda: self.slurm.idle() != set(), 30)


def test_the_keeper_has_rights_of_its_own(slurm: RealSlurm) -> None:
    """Root runs the commands as another user: refused until that one is an operator, who holds
    promises and still drains no node."""
    keeper = SlurmCommands(LIMITS, user=CommandsUser("nobody"))
    root = RealSite(slurm, SlurmCommands(LIMITS))
    number = root.cluster.act(Submit(fresh(), SCRIPT, 1, 300, partition="main")).job
    slurm.wait(number, "RUNNING")
    reserve = Reserve(fresh(), int(time.time()) + 900, 600, 1, users=("root",), partition="main")
    acts: list[Action] = [
        reserve,
        Unreserve(fresh(), reserve.id),
        SignalJob(fresh(), number, "CONT"),  # a note of its own, where Slurm lets operators write
        Requeue(fresh(), number, 0),
        Exclude(fresh(), number, ("n3",)),
    ]
    with pytest.raises(WriteError) as told:
        keeper.act(reserve)
    assert told.value.fault is WriteFault.NOT_PERMITTED
    slurm.command("sacctmgr", "-i", "add", "account", "site", check=False)
    slurm.command("sacctmgr", "-i", "add", "user", "nobody", "account=site",
                  "adminlevel=Operator")  # fmt: skip
    try:
        assert len(keeper.look().nodes) == len(slurm.nodes)
        slurm.until("it is an operator", lambda: _may(keeper, acts[0]), 30)
        for one in acts[1:]:
            if isinstance(one, Exclude):
                slurm.wait(number, "PENDING")  # what was put back is at its end for a moment
            keeper.act(one)
            assert root.cluster.find(one) is Standing.DONE
        with pytest.raises(WriteError) as told:
            keeper.act(DrainNode(fresh(), "n3", "risk"))
        assert told.value.fault is WriteFault.NOT_PERMITTED
        with pytest.raises(WriteError, match="as this process's user"):
            keeper.act(Submit(fresh(), SCRIPT, 1, 300, user="root"))
    finally:
        slurm.command("sacctmgr", "-i", "delete", "user", "nobody")


def _may(cluster: LiveCluster, action: Action) -> bool:
    try:
        cluster.act(action)
    except WriteError:
        return False
    return True


class TestCommands(ClusterContract):
    @pytest.fixture
    def site(self, slurm: RealSlurm) -> RealSite:
        return RealSite(slurm, SlurmCommands(LIMITS))

    def test_a_job_that_is_not_ours_is_not_touched(self, site: Site, slurm: RealSlurm) -> None:
        number = slurm.submit("--hold", "--comment=forestallp1")
        assert fault_of(site, Hold(fresh(), number)) is WriteFault.NOT_OURS

    def test_arrays_are_not_acted_on(self, site: Site, slurm: RealSlurm) -> None:
        number = slurm.submit("--begin=now+1hour", "-a", "1-3", "--comment=forestall:p1")
        assert fault_of(site, Hold(fresh(), number)) is WriteFault.REFUSED

    @pytest.mark.parametrize(
        ("action", "what"),
        [
            (DrainNode("d1", "n1", "risk"), "node"),
            (Reserve("r1", 4_000_000_000, 600, 1, users=("root",)), "reservation"),
        ],
    )
    def test_a_user_may_not(self, slurm: RealSlurm, action: Action, what: str) -> None:
        """Without rights nothing happens, and is not taken for anything else."""
        script = (
            "import sys, pickle\n"
            "from forestall.slurm.control.by_commands import SlurmCommands\n"
            "from forestall.core.model.faults import WriteError\n"
            "try: SlurmCommands().act(pickle.loads(bytes.fromhex(sys.argv[1])))\n"
            "except WriteError as error: print(error.fault.name)\n"
        )
        import pickle
        import sys

        asked = pickle.dumps(action).hex()
        told = slurm.command(sys.executable, "-c", script, asked, user="daemon", check=False,
                             env={"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
        if "Permission denied" in told.stderr or "ModuleNotFound" in told.stderr:
            pytest.skip("another user cannot run this Python")
        assert told.stdout.strip() == "NOT_PERMITTED", told.stderr

    def test_the_environment_of_the_job_is_the_users(
        self, site: Site, slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither our zone and format reach the job, nor options in variables reach sbatch."""
        monkeypatch.setenv("TZ", "America/Lima")
        monkeypatch.setenv("SBATCH_HOLD", "1")
        monkeypatch.setenv("SBATCH_ARRAY_INX", "1-9")
        out = slurm.folder / "jobs" / "told.txt"
        script = "#!/bin/sh\nenv\n"
        begin = int(time.time()) + 1
        action = Submit(fresh(), script, 1, 60, begin=begin, output=str(out))
        number = site.cluster.act(action).job
        slurm.wait(number, "COMPLETED")
        told = out.read_text().splitlines()
        assert "TZ=America/Lima" in told
        assert not any(line.startswith("SLURM_TIME_FORMAT") for line in told)
        assert not any(line.startswith("SLURM_ARRAY_JOB_ID") for line in told)

    def test_expedited_requeue_needs_a_newer_slurm(self, site: Site) -> None:
        action = Submit(fresh(), SCRIPT, 1, 60, requeue="expedite")
        with pytest.raises(WriteError, match=r"25\.11; this is") as raised:
            site.cluster.act(action)
        assert raised.value.fault is WriteFault.UNSUPPORTED

    def test_a_job_that_asks_for_its_reservation_starts_in_it(self, site: Site) -> None:
        """FLEX lets it start before the reservation begins."""
        held = Reserve(fresh(), int(time.time()) + 600, 1200, 1, users=("root",), partition="main")
        site.cluster.act(held)
        number = submitted(site, reservation=f"forestall_{held.id}")
        site.until("it runs", lambda: site.cluster.look().jobs[number].state == "RUNNING")
        assert site.cluster.look().jobs[number].reservation == f"forestall_{held.id}"
        site.slurm.command("scancel", str(number))  # type: ignore[attr-defined]

    def test_a_reservation_has_nodes_with_its_features(self, site: Site, slurm: RealSlurm) -> None:
        features = ("AvailableFeatures=fast", "ActiveFeatures=fast")
        slurm.command("scontrol", "update", "NodeName=n2", *features)
        held = Reserve(
            fresh(), int(time.time()) + 600, 1200, 1, users=("root",), partition="main",
            features="fast",
        )  # fmt: skip
        site.cluster.act(held)
        seen = site.cluster.look()
        assert seen.default == "main"
        assert seen.reservations[reservation_name(held.id)].nodes == ("n2",)
        with pytest.raises(WriteError) as raised:
            site.cluster.act(replace(held, id=fresh(), nodes=2))
        assert raised.value.fault is WriteFault.REFUSED

    def test_accounting_away_does_not_blind(self, site: Site, slurm: RealSlurm) -> None:
        before = site.cluster.look()
        slurm.stop_accounting()
        try:
            after = SlurmCommands(SlurmLimits(read=5)).look(before)
            assert after.accounting is not None
            assert after.mark == before.mark
            assert set(after.nodes) == set(before.nodes)
        finally:
            slurm.start_accounting()
        assert site.cluster.look(before).accounting is None


def _rest() -> tuple[str, dict[str, str]]:
    """Return slurmrestd and what it needs in its environment; skips where there is none."""
    if REST_FOLDER:
        folder = Path(REST_FOLDER)
        library = next(folder.glob("usr/lib/*/libhttp_parser*")).parent
        return str(folder / "usr/sbin/slurmrestd"), {"LD_LIBRARY_PATH": str(library)}
    program = shutil.which("slurmrestd", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("no slurmrestd here; Debian has it: apt-get install slurmrestd")
    return program, {}


@pytest.fixture(scope="module")
def rest(slurm: RealSlurm) -> Iterator[Path]:
    program, more = _rest()
    path = slurm.folder / "slurmrestd.socket"
    process = subprocess.Popen(
        (program, "-a", "rest_auth/local", f"unix:{path}"),
        env=slurm.environment | more | {"SLURMRESTD_SECURITY": "disable_user_check"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        slurm.until("slurmrestd listens", path.exists)
        yield path
    finally:
        process.kill()
        process.wait()


class TestRest(ClusterContract):
    """What this version of slurmrestd cannot do is refused as that, and skipped."""

    no_reboot = True

    @pytest.fixture
    def site(self, slurm: RealSlurm, rest: Path) -> RealSite:
        return RealSite(slurm, SlurmRest(Server(f"unix:{rest}"), LIMITS))
