"""`forestall serve` as a process of its own: killed, started again, ended; and its tokens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from forestall.live.ledger.check import check
from forestall.live.ledger.rows import PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.warden.client import WardenActor

SCRIPT = "#!/bin/sh\nexec ./model\n"
START = [sys.executable, "-m", "forestall", "serve"]

ILL: Final = """
[warden]
switch = "on"
nodes = 2
percent = 50
partition_nodes = 2
partition_percent = 50
cool_down = 60
approve = []
test = "{test}"
test_time = "5m"
[rules]
drain = ["health"]
reboot = []
rest = 60
[watch]
check_file = "{health}"
"""


class Process:
    """A server that was started; its first words are its address and its token."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.ledger = f"sqlite:///{folder}/ledger.db"
        words = ["--simulated", "--nodes", "8", "--speed", "600", "--port", "0"]
        self.process = subprocess.Popen(
            [*START, *words, "--ledger", self.ledger, "--json", *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(self.process.stdout.readline())
            assert lines[-1], self.process.stderr.read() if self.process.stderr else ""
        self.told = json.loads("".join(lines))

    def client(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(
            base_url=self.told["address"], headers=headers, timeout=120, trust_env=False
        )

    def end(self, how: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(how)
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error


def ask(client: httpx.Client) -> Any:
    told = client.post("/api/v1/quotes", json={"nodes": 2, "time": 1200})
    assert told.status_code == 200, told.text
    return told.json()["offers"]


def take(client: httpx.Client, offer: str) -> Any:
    told = client.post("/api/v1/promises", json={"offer": offer, "job": {"script": SCRIPT}})
    assert told.status_code == 201, told.text
    return told.json()


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", 1), ("127.0.0.1", 0)])
def test_a_server_that_others_can_listen_to_warns(tmp_path: Path, host: str, warned: int) -> None:
    server = Process(tmp_path, "--host", host)
    assert server.told["exposed"] == bool(warned)
    code, said = server.end(signal.SIGTERM)
    assert code == 0
    assert said.count("whoever is on the network can read tokens") == warned


def test_kill_nine_and_again(tmp_path: Path) -> None:
    first = Process(tmp_path)
    token = first.told["operator_token"]
    with first.client(token) as client:
        made = [take(client, ask(client)[0]["id"]) for _ in range(3)]
    assert first.end(signal.SIGKILL)[0] == -signal.SIGKILL

    again = Process(tmp_path)
    try:
        assert again.told["operator_token"] is None  # it is shown once
        with again.client(token) as client:
            for one in made:
                now = client.get(f"/api/v1/promises/{one['id']}").json()
                for name in ("deadline", "probability", "owner", "at", "nodes", "length"):
                    assert now[name] == one[name], name
            listed = client.get("/api/v1/promises").json()["promises"]
            assert sorted(one["id"] for one in listed) == sorted(one["id"] for one in made)
            end = time.monotonic() + 120
            while any(
                one["outcome"] == "open"
                for one in client.get("/api/v1/promises").json()["promises"]
            ):  # fmt: skip
                assert time.monotonic() < end
                time.sleep(0.2)
    finally:
        code, error = again.end(signal.SIGTERM)
    assert code == 0
    assert error.rstrip().endswith("ended")
    with LiveLedger(again.ledger, writes=False) as ledger:
        assert not check(ledger).wrong
        assert ledger.count(PromiseRow) == 3


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*START, *words], capture_output=True, text=True, check=False, timeout=120
    )


def test_tokens_are_added_listed_and_revoked(tmp_path: Path) -> None:
    where = ("--ledger", f"sqlite:///{tmp_path}/ledger.db")
    made = run("token", "add", "alice", *where)
    assert made.stdout.startswith("fst_")
    told = json.loads(run("token", "list", "--json", *where).stdout)["tokens"]
    assert [(one["name"], one["role"]) for one in told] == [("alice", "user")]
    assert made.stdout.strip() not in run("token", "list", *where).stdout
    assert run("token", "revoke", told[0]["id"], *where).returncode == 0
    gone = run("token", "revoke", "alice", *where)
    assert gone.returncode == 2
    assert gone.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--port", "1"), ("--simulated", "--port", "70000"), ("--simulated", "--nodes", "0"),
        ("--simulated", "--host", "no.such.host.invalid"), ("--settings", "missing.toml"),
        ("--simulated", "--ledger", "mysql://x"), ("--role", "warden"),
        ("--role", "warden", "--simulated"),
        ("--simulated", "--host", ""),
        ("token", "add", "a b", "--ledger", "sqlite:///x.db"), ("token", "list"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [*START, *words], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    lines = [one for one in done.stderr.splitlines() if not one[:4].isdigit()]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("forestall: ")


def test_the_warden_is_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "warden.sock"
    settings = tmp_path / "forestall.toml"
    settings.write_text(f'[warden]\nswitch = "approve"\nsocket = "{path}"\n')
    process = subprocess.Popen(
        [*START, "--role", "warden", "--settings", str(settings)], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert "warden (switch: approve) listens" in process.stderr.readline()
        assert WardenActor(path, user=os.geteuid()).is_here()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert not path.exists()


def test_an_ill_node_is_drained_and_comes_back_by_the_sites_check(tmp_path: Path) -> None:
    """A simulated cluster with the site's check, a test job before nodes return, and a warden that
    may act, in a process."""
    health, settings = tmp_path / "health", tmp_path / "forestall.toml"
    (tmp_path / "test.sh").write_text("#!/bin/sh\nexec ./well\n")
    settings.write_text(ILL.format(health=health, test=tmp_path / "test.sh"))
    server = Process(tmp_path, "--settings", str(settings))
    try:
        with server.client(server.told["operator_token"]) as client:

            def node() -> dict[str, Any]:
                [one] = [one for one in client.get("/api/v1/nodes").json()["nodes"]
                         if one["name"] == names[2]]  # fmt: skip
                return dict(one)

            wait(lambda: client.get("/api/v1/nodes").json()["nodes"])
            names = [one["name"] for one in client.get("/api/v1/nodes").json()["nodes"]]
            health.write_text(f"{names[2]}: no fan\n")
            wait(lambda: "no fan" in str(node()["reason"]))
            told = client.get("/api/v1/proposals").json()["proposals"]
            [drain] = [one for one in told if one["action"] == "drain"]
            assert drain["target"] == names[2]
            health.write_text(f"{names[2]}: ok\n")

            def costs(action: str) -> dict[str, Any]:
                told = client.get("/api/v1/costs").json()["costs"]
                return dict(next((one for one in told if one["action"] == action), {"done": 0}))

            wait(lambda: costs("resume")["done"] == 1)  # its test has ended well
            assert node()["reason"] == ""
            assert (costs("drain")["done"], costs("drain")["realised"]) == (1, 0.0)
    finally:
        assert server.end(signal.SIGHUP)[0] == 0
    with LiveLedger(server.ledger, writes=False) as ledger:
        assert not check(ledger).wrong


def wait(true: Callable[[], Any], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not yet after {seconds} s"
        time.sleep(0.1)
