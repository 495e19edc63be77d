"""Populations of users from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forestall.core.files.documents import read_toml
from forestall.core.files.guard import reader, within
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.users import Population


@reader
def read_users(given: str | Path | list[Any]) -> Population:
    """Return the population of a TOML file (a table ``[[users]]`` for each kind), of a text, or of
    the tables themselves.

    Raises TraceError where a file cannot be read or users cannot be what it says, ParameterError
    where that is told otherwise.
    """
    if isinstance(given, list):
        return Population.made(given)
    if not isinstance(given, str | Path):
        raise ParameterError("users", given, "tables, a text or the name of a TOML file")
    if not isinstance(given, Path) and not given.endswith(".toml"):
        return Population.of(given)
    path = Path(given)
    held = read_toml(path)
    kinds = held.get("users")
    if set(held) != {"users"} or not isinstance(kinds, list):
        raise TraceError(path, "should hold tables [[users]], one for each kind, and nothing else")
    with within(path):
        return Population.made(kinds)
