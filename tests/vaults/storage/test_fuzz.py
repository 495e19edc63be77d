"""The storage daemon, a process, asked what its schema allows and what no HTTP is: it goes on, says
nothing of its own defects, and holds neither memory nor files for those who are gone."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from forestall.vaults.hosts.served import ServedHost
from vaults.storage.daemons import MIB, Process

FINE = (503, 507)
"""Errors of a server that it may answer with."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    daemon = Process(tmp_path_factory.mktemp("fuzzed"), "--quota", "64MiB", "--clients", "2")
    yield daemon
    assert daemon.alive
    daemon.end()


def address(served: Process) -> str:
    return served.url.replace("forestall", "http")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_what_the_schema_allows_and_what_not(
    served: Process, mode: schemathesis.GenerationMode
) -> None:
    schema: Any = schemathesis.openapi.from_url(f"{address(served)}/openapi.json")
    headers = {"Authorization": f"Bearer {served.told['token']}"}
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 6
    for operation in operations:

        @given(operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=8, derandomize=True, deadline=None, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def ask(case: Any) -> None:
            told = case.call(base_url=address(served), headers=headers)
            assert told.status_code < 500 or told.status_code in FINE, told.text[:300]
            if told.status_code >= 400:
                assert set(told.json()) == {"detail"}
                assert "\n" not in told.json()["detail"]
                assert "/tmp" not in told.json()["detail"]

        try:
            ask()
        except Unsatisfiable:  # nothing that its schema forbids can be asked of it
            assert mode is schemathesis.GenerationMode.NEGATIVE


def broken(chance: random.Random, token: str) -> bytes:
    """Return bytes that are no request, or nearly one, or one of which the rest never comes."""
    method = chance.choice(["PUT", "GET", "DELETE", "POST", "HEAD", "BREW", "PUT\0"])
    path = chance.choice(
        ["/v1/objects/k", "/v1/objects/../../etc/passwd", "/v1/objects/" + "a" * 5000,
         "/v1/objects", "/v1/objects/%00", "/v1/objects/a/b/c/d/e", "/v1/state", "*", "http://x/",
         "//", "/%ff",
         "/v1/objects?prefix=%2e%2e/", "/v1/objects?after=\xff&limit=-1"]
    )  # fmt: skip
    headers = chance.choice(
        ["", "Content-Length: 10\r\n", "Content-Length: -1\r\n",
         "Content-Length: 9" + "9" * 30 + "\r\n",
         "Transfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
         "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "Expect: 100-continue\r\n",
         "Connection: upgrade\r\nUpgrade: websocket\r\n", "X: " + "y" * 70_000 + "\r\n", ": x\r\n"]
    )  # fmt: skip
    known = f"Authorization: Bearer {token}\r\n" if chance.random() < 0.8 else ""
    body = chance.choice([b"", b"abc", b"5\r\nab", b"zz\r\n", chance.randbytes(3000)])
    made = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{known}{headers}\r\n".encode("latin-1") + body
    if chance.random() < 0.3:
        made = made[: chance.randrange(len(made))]
    if chance.random() < 0.3:
        spoiled = bytearray(made)
        for _ in range(4):
            spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        made = bytes(spoiled)
    return made


def answers(told: bytes) -> list[int]:
    """Return the codes of the answers in what a server sent."""
    return [int(part[:3]) for part in told.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


def test_what_is_no_request(served: Process) -> None:
    chance = random.Random(5)
    place = ("127.0.0.1", int(served.url.rpartition(":")[2]))
    host = ServedHost(served.url, token=served.told["token"])
    host.put("kept", b"whole")
    host.close()
    sizes, handles = [], served.handles()
    for turn in range(360):
        with socket.create_connection(place, timeout=5) as one:
            one.sendall(broken(chance, served.told["token"]))
            if chance.random() < 0.5:
                one.shutdown(socket.SHUT_WR)
                one.settimeout(0.2)
                try:
                    codes = answers(one.recv(MIB))
                except OSError:
                    codes = []
                assert all(code < 500 or code in FINE for code in codes), codes
        if turn % 120 == 119:
            sizes.append(served.memory())
    end = time.monotonic() + 60
    while served.handles() > handles + 2 and time.monotonic() < end:
        time.sleep(0.05)
    assert served.handles() <= handles + 2
    assert sizes[-1] - sizes[0] < 16 * MIB, sizes
    host = ServedHost(served.url, token=served.told["token"])
    assert host.get("kept") == b"whole"
    host.close()


def test_many_clients_at_once_and_large_objects(served: Process, tmp_path: Path) -> None:
    """16 connections with 8 MiB each: memory holds parts of them, not all."""
    token, before = served.told["token"], served.memory()
    head = {"Authorization": f"Bearer {token}"}
    body = bytes(MIB)
    with httpx.Client(base_url=address(served), headers=head, trust_env=False) as client:
        for count in range(16):
            reply = client.put(f"/v1/objects/big/{count % 4}", content=iter([body] * 8))
            assert reply.status_code == 204
            assert len(client.get(f"/v1/objects/big/{count % 4}").content) == 8 * MIB
        told = json.loads(client.get("/v1/state").text)
        assert told["clients"] == 0
        assert told["bytes"] >= 32 * MIB
        assert client.put("/v1/objects/huge", content=iter([body] * 40)).status_code == 507
    assert served.memory() - before < 48 * MIB
