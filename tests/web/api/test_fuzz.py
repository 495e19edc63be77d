"""The API asked what its own schema allows, and what it does not: never an error of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from web.serving import Served, serving

schema = schemathesis.pytest.from_fixture("schema_of")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("fuzzed")) as one:
        one.until("a look", lambda: one.client().get("/healthz").status_code == 200)
        yield one


@pytest.fixture
def schema_of(served: Served) -> Any:
    return schemathesis.openapi.from_url(f"{served.address}/openapi.json")


@schema.parametrize()
@settings(
    max_examples=25, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_no_error_of_the_server(case: Any, served: Served) -> None:
    token = served.by("fuzz", "operator").headers["Authorization"]
    told = case.call(base_url=served.address, headers={"Authorization": token})
    assert told.status_code < 500, f"{case.method} {case.formatted_path}: {told.text[:300]}"
    if told.status_code >= 400:
        assert set(told.json()) == {"detail"}
        assert "\n" not in told.json()["detail"]
