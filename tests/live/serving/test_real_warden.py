"""`forestall serve` and its warden on a real Slurm, each a process with rights of its own: what the
server's user may not do, the warden does, and what a person did stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.prediction.given.predictor_files import save_predictor
from forestall.prediction.models.registry import new_learner
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

DAY = 86_400
SETTINGS = """
[serve]
ledger = "sqlite:///{folder}/ledger.db"
port = 0
cycle = 2

[guard]
fresh = 60
floor_nodes = 0
floor_percent = 0

[warden]
switch = "on"
nodes = 4
percent = 100
partition_nodes = 4
partition_percent = 100
per_hour = 20
cool_down = 5
approve = []
socket = "{folder}/warden.sock"
user = "root"
users = ["root"]
test = "{folder}/test.sh"
test_time = "1m"

[rules]
drain = ["risk", "health"]
reboot = []
steer = []
least = 0.5
worth = 0
rest = 0

[watch]
predictor = "{folder}/rate.predictor"
check_file = "{folder}/health"

[slurm]
user = "{user}"
timeout = 20
"""
HELD = "bad fan, keep it out. Ann"


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=4, with_gpus=1) as running:
        yield running


class Site:
    """A server whose user may change nothing, and a warden with Slurm's Admin rights."""

    def __init__(self, slurm: RealSlurm, folder: Path) -> None:
        self.slurm, self.folder = slurm, folder
        self.environment = {**os.environ, "SLURM_CONF": str(slurm.folder / "slurm.conf")}
        (folder / "test.sh").write_text(f"#!/bin/sh\nhostname\ntouch {folder}/tested\n")
        self.says(n1="no fan", n2="ok", n3="ok", n4="ok", n5="ok")
        _risky(folder / "rate.predictor", "n2", "n3")
        self.processes: list[subprocess.Popen[str]] = []
        self.warden = self.begin("root", "--role", "warden")
        slurm.until("the warden listens", (folder / "warden.sock").exists, 60)
        server = self.begin("nobody", "--json")
        assert server.stdout is not None
        lines = [server.stdout.readline()]
        while lines[-1] != "}\n":
            assert lines[-1], "it ended"
            lines.append(server.stdout.readline())
        told = json.loads("".join(lines))
        headers = {"Authorization": f"Bearer {told['operator_token']}"}
        self.client = httpx.Client(
            base_url=told["address"], headers=headers, timeout=60, trust_env=False
        )

    def begin(self, user: str, *words: str) -> subprocess.Popen[str]:
        """Start a process that asks Slurm as a user."""
        path = self.folder / f"{user}.toml"
        path.write_text(SETTINGS.format(folder=self.folder, user=user))
        call = [sys.executable, "-m", "forestall", "serve", "--settings", str(path), *words]
        self.processes.append(
            subprocess.Popen(
                call,
                stdout=subprocess.PIPE,
                text=True,
                env=self.environment,
                cwd=self.slurm.folder / "jobs",
            )
        )
        return self.processes[-1]

    def says(self, **lines: str) -> None:
        """Let the site's check say something of each node."""
        text = "".join(f"{name}: {said}\n" for name, said in lines.items())
        (self.folder / "new").write_text(text)
        (self.folder / "new").rename(self.folder / "health")

    def reason(self, node: str) -> str:
        said = self.slurm.command("sinfo", "-h", "-N", "-n", node, "-o", "%50u %E").stdout
        user, _, reason = said.splitlines()[0].partition(" ")
        return f"{user}: {reason.strip()}"

    def reservations(self) -> str:
        return self.slurm.command("scontrol", "show", "reservation").stdout

    def proposals(self) -> Any:
        told = self.client.get("/api/v1/proposals")
        assert told.status_code == 200, told.text
        return told.json()["proposals"]

    def until(self, what: str, true: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not true():
            assert time.monotonic() < end, (what, self.slurm.node_states(), self.proposals())
            time.sleep(0.5)

    def end(self) -> list[int]:
        self.client.close()
        for one in self.processes:
            one.send_signal(signal.SIGTERM)
        return [one.communicate(timeout=60) and one.returncode for one in self.processes]


def _risky(path: Path, *names: str) -> None:
    """Train a predictor by which these nodes fail ten times a day, and others never did."""
    rng = np.random.default_rng(1)
    known = tuple(f"n{k}" for k in range(1, 6))
    time = np.sort(rng.integers(0, 60 * DAY, 1200))
    node = rng.choice([known.index(one) for one in names], 1200)
    learner = new_learner("rate")
    learner.fit(replace(Failures.build(time, node), nodes=5, span=60 * DAY, names=known))
    save_predictor(learner, path)


@pytest.fixture
def site(slurm: RealSlurm, tmp_path: Path) -> Iterator[Site]:
    slurm.command("scontrol", "update", "NodeName=n3", "State=DRAIN", f"Reason={HELD}")
    slurm.wait(slurm.submit("-w", "n4", "-t", "30"), "RUNNING")  # else no drain would save work
    one = Site(slurm, tmp_path)
    try:
        yield one
    finally:
        assert one.end() == [0, 0]


def test_the_warden_s_process_drains_tests_and_returns_and_a_person_s_drain_stays(
    site: Site, slurm: RealSlurm
) -> None:
    def is_out(node: str) -> bool:
        return site.reason(node).startswith("root: forestall: ")

    site.until("the risky node and the ill one are drained", lambda: is_out("n1") and is_out("n2"))
    assert "forestall: risk: " in site.reason("n2")
    assert "forestall: health: the site s check: no fan" in site.reason("n1")
    assert slurm.command(
        "scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=x", user="nobody", check=False
    ).returncode
    site.says(n1="ok", n2="ok", n3="ok", n4="ok", n5="ok")
    site.until("n1 was tested", (site.folder / "tested").exists)
    site.until("nobody keeps it", lambda: "forestall_" not in site.reservations())
    site.until("n1 is back", lambda: "n1" in slurm.idle())
    assert "n2" not in slurm.idle()
    assert site.reason("n3") == f"root: {HELD}"
    assert {one["target"] for one in site.proposals()} == {"n1", "n2"}
