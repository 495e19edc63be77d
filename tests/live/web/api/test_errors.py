"""Errors of a desk as the API tells them: one line, and a status that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from forestall.core.model.errors import InputError, LedgerError, ParameterError
from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.live.desk import ClusterTold, Viewer
from forestall.core.web.access import Access
from forestall.core.web.tokens import TokenStore
from forestall.live.web.api.application import ApiSettings
from forestall.live.web.site import SiteParts, site

JOB = {"offer": "ab12", "job": {"script": "#!/bin/sh\n"}}


class Failing:
    """A desk that raises what it is told to, whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def asked(*_: Any, **__: Any) -> Any:
            raise self.error

        return asked


class Standing:
    """A desk whose last look was at 100, and whose clock is at `now`."""

    def __init__(self, now: int, looked: int | None, said: str = "") -> None:
        self.told = ClusterTold(now, looked, said, 1, 1, 0, 0, 0, 0, 0, 1, 0.1, {}, False)

    def cluster(self, viewer: Viewer) -> ClusterTold:
        assert not viewer.operates
        return self.told


def client_of(desk: Any, folder: Path, settings: ApiSettings | None = None) -> TestClient:
    tokens = TokenStore(folder / "tokens")
    token = tokens.add("alice", "user")
    app = site(desk, Access(tokens), settings, mounts=())
    headers = {"Authorization": f"Bearer {token}"}
    return TestClient(app, headers=headers, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [
        (InputError("offer ab12 no longer holds; ask again"), 409, False),
        (ParameterError("script", "x", "a script that begins with #!"), 422, False),
        (WriteError(WriteFault.REFUSED, "ab12", "QOSMax\n\x1b[2J"), 409, False),
        (WriteError(WriteFault.NOT_PERMITTED, "ab12", "Access denied"), 409, False),
        (WriteError(WriteFault.AMBIGUOUS, "ab12", "gave no answer in 60 s"), 409, True),
        (WriteError(WriteFault.UNREACHABLE, "ab12", "connection refused"), 409, True),
        (LedgerError("postgresql://h/d", "cannot be written: gone"), 503, True),
    ],
    ids=str,
)
def test_an_error_and_its_status(
    tmp_path: Path, error: Exception, status: int, again: bool
) -> None:
    told = client_of(Failing(error), tmp_path).post("/api/v1/promises", json=JOB)
    assert told.status_code == status
    assert ("retry-after" in told.headers) == again
    detail = told.json()["detail"]
    assert detail.isprintable()
    assert detail


def test_a_defect_is_one_line_that_tells_nothing(tmp_path: Path) -> None:
    told = client_of(Failing(ZeroDivisionError("secret")), tmp_path).get("/api/v1/nodes")
    assert told.status_code == 500
    assert set(told.json()) == {"detail"}
    assert "secret" not in told.text


@pytest.mark.parametrize(
    ("desk", "status", "age"),
    [
        (Standing(130, 100), 200, 30),
        (Standing(160, 100), 200, 60),
        (Standing(160, 100, "queue: late"), 200, 60),  # one look failed; the last is fresh still
        (Standing(161, 100, "queue: late"), 503, 61),
        (Standing(90, 100), 200, 0),
        (Standing(130, None, "the cluster has not been read yet"), 503, None),
        (Failing(LedgerError("x", "away")), 503, None),
    ],
    ids=range(7),
)  # fmt: skip
def test_health(tmp_path: Path, desk: Any, status: int, age: int | None) -> None:
    told = client_of(desk, tmp_path, ApiSettings()).get("/healthz")
    assert (told.status_code, told.json()["age"]) == (status, age)
    assert (told.json()["status"] == "ok") == (status == 200)


def test_too_many_requests(tmp_path: Path) -> None:
    client = client_of(Standing(130, 100), tmp_path, ApiSettings(rate=1))
    codes = [client.get("/api/v1/cluster").status_code for _ in range(8)]
    assert codes[:4] == [200] * 4
    assert codes[-1] == 429
    assert int(client.get("/api/v1/cluster").headers["retry-after"]) >= 1
    assert client.get("/healthz").status_code == 200


def test_a_mount_stands_beside_the_api(tmp_path: Path) -> None:
    def mount(app: Any, parts: SiteParts) -> None:
        @app.get("/hello")
        def hello() -> str:
            return f"rate {parts.settings.rate}"

    tokens = TokenStore(tmp_path / "tokens")
    desk: Any = Standing(1, 1)
    client = TestClient(site(desk, Access(tokens), ApiSettings(rate=7), [mount]))
    assert client.get("/hello").json() == "rate 7"
    assert client.get("/hello").headers["x-content-type-options"] == "nosniff"
