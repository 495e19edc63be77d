"""`forestall serve` on a real Slurm: asked over the API, the owner's own job, a promise kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

SETTINGS = """
[serve]
ledger = "sqlite:///{folder}/ledger.db"
port = 0
cycle = 2

[guard]
fresh = 60

[keeper]
switch = "on"
percent = 100
partition_percent = 100

[slurm]
submit_as_owner = {owner}
timeout = 20
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=3, with_gpus=1) as running:
        yield running


class Real:
    """A server on a real cluster."""

    def __init__(self, slurm: RealSlurm, folder: Path, owner: bool) -> None:
        path = folder / "forestall.toml"
        path.write_text(SETTINGS.format(folder=folder, owner=str(owner).lower()))
        environment = {**os.environ, "SLURM_CONF": str(slurm.folder / "slurm.conf")}
        self.start = [sys.executable, "-m", "forestall", "serve"]
        self.settings = ["--settings", str(path)]
        self.process = subprocess.Popen(
            [*self.start, *self.settings, "--json"], stdout=subprocess.PIPE, text=True,
            env=environment, cwd=slurm.folder / "jobs",
        )  # fmt: skip
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline()]
        while lines[-1] != "}\n":
            assert lines[-1], "it ended"
            lines.append(self.process.stdout.readline())
        self.address = json.loads("".join(lines))["address"]

    def client(self, name: str) -> httpx.Client:
        made = subprocess.run(
            [*self.start, "token", "add", name, *self.settings], capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60, trust_env=False)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


def asked(client: httpx.Client) -> Any:
    end = time.monotonic() + 60
    while True:
        told = client.post("/api/v1/quotes", json={"nodes": 1, "time": 120, "partition": "main"})
        if told.status_code == 200 and told.json()["offers"]:
            return told.json()["offers"][0]
        assert time.monotonic() < end, told.text
        time.sleep(0.5)


def taken(client: httpx.Client, offer: str) -> httpx.Response:
    script = "#!/bin/sh\nid -un\nsleep 1\n"
    job = {"script": script, "partition": "main", "output": "/dev/null", "name": "<i>&"}
    return client.post("/api/v1/promises", json={"offer": offer, "job": job})


@pytest.mark.parametrize("name", ["root", "nobody"])
def test_a_promise_is_kept(slurm: RealSlurm, tmp_path: Path, name: str) -> None:
    real = Real(slurm, tmp_path, owner=True)
    try:
        with real.client(name) as client:
            told = taken(client, asked(client)["id"])
            assert told.status_code == 201, told.text
            made = told.json()
            said = slurm.command("scontrol", "show", "job", str(made["job"])).stdout
            assert f"UserId={name}(" in said
            end = time.monotonic() + 120
            where = f"/api/v1/promises/{made['id']}"
            while client.get(where).json()["outcome"] == "open":
                assert time.monotonic() < end, client.get(where).text
                time.sleep(0.5)
            assert client.get(where).json()["outcome"] == "kept"
    finally:
        assert real.end() == 0


def test_nobody_else_is_submitted_for(slurm: RealSlurm, tmp_path: Path) -> None:
    real = Real(slurm, tmp_path, owner=False)
    try:
        with real.client("nobody") as client:
            told = taken(client, asked(client)["id"])
            assert told.status_code == 409
            assert "submit_as_owner" in told.json()["detail"]
            assert client.get("/api/v1/promises").json() == {"promises": []}
    finally:
        real.end()
