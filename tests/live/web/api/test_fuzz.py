"""The API asked what its own schema allows, and what it does not: never an error of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from live.web.serving import Served, serving

OPERATIONS = 13
"""At least so many (path, method) there are."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("fuzzed")) as one:
        one.until("a look", lambda: one.client().get("/healthz").status_code == 200)
        yield one


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_error_of_the_server(served: Served, mode: schemathesis.GenerationMode) -> None:
    schema: Any = schemathesis.openapi.from_url(f"{served.address}/openapi.json")
    headers = {"Authorization": served.by("fuzz", "operator").headers["Authorization"]}
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= OPERATIONS
    for operation in operations:

        @given(operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=20, derandomize=True, deadline=None, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def ask(case: Any) -> None:
            told = case.call(base_url=served.address, headers=headers)
            said = f"{case.method} {case.formatted_path}: {told.status_code} {told.text[:300]}"
            assert told.status_code < 500, said
            assert str(told.status_code) in case.operation.definition.raw["responses"], said
            if told.status_code >= 400:
                assert set(told.json()) == {"detail"}
                assert "\n" not in told.json()["detail"]

        try:
            ask()
        except Unsatisfiable:  # nothing that its schema forbids can be asked of it
            assert mode is schemathesis.GenerationMode.NEGATIVE
