"""Populations of users from files."""

from __future__ import annotations

import tomllib
from pathlib import Path

from forestall.model.errors import TraceError
from forestall.model.users import Population


def read_users(given: str | Path) -> Population:
    """Return the population of a TOML file (a table ``[[users]]`` for each kind) or of a text.

    Raises TraceError where a file cannot be read, and ParameterError for what users cannot be.
    """
    if not isinstance(given, Path) and not given.endswith(".toml"):
        return Population.of(given)
    path = Path(given)
    try:
        held = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TraceError(path, f"is not TOML ({error})") from None
    kinds = held.get("users")
    if set(held) != {"users"} or not isinstance(kinds, list):
        raise TraceError(path, "should hold tables [[users]], one for each kind, and nothing else")
    return Population.made(kinds)
