"""Errors come whole out of worker processes."""

from __future__ import annotations

import pickle

import pytest

from forestall.core.model.errors import (
    LONGEST,
    ForestallError,
    LedgerError,
    MemoryLimitError,
    MissingExtraError,
    ParameterError,
    TraceError,
    UnwritableError,
)


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("nodes", 0, "1 or more"),
        TraceError("jobs.swf", "no number", line=3, field="size"),
        UnwritableError("out.csv", OSError(28, "No space left on device")),
        LedgerError("ledger.db", "is locked"),
        MemoryLimitError("a table takes 4 GB", 4e9, 1e9),
        MissingExtraError("a figure", "plot"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_a_process(error: ForestallError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_what_an_error_quotes_of_a_file_does_not_fill_screens() -> None:
    error = TraceError("jobs.csv", f"{'x' * 200_000!r} is not a number", line=3)
    assert len(str(error)) == LONGEST + 3
    assert str(error).startswith("jobs.csv:3: 'xxx")
    assert str(error).endswith("xxx' is not a number")
