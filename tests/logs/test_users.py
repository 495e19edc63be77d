"""Populations from TOML files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.users import Population
from forestall.logs.users import read_users

FILE = """
[[users]]
name = "eager"
share = 0.3
least = [0.9, 0.99]
patience = 1
[[users]]
name = "calm"
rounds = 2
"""


def test_a_file_says_the_same_as_a_text(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_text(FILE)
    text = "eager share=0.3 least=0.9:0.99 patience=1; calm rounds=2"
    assert read_users(path) == read_users(str(path)) == read_users(text) == Population.of(text)


def test_tables_say_the_same_as_their_file(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_text(FILE)
    assert read_users(tomllib.loads(FILE)["users"]) == read_users(path)
    with pytest.raises(ParameterError, match="users"):
        read_users(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[[users]", TraceError),
        ("users = 3", TraceError),
        ("", TraceError),
        (FILE + "\n[more]\na = 1", TraceError),
        ("[[users]]\nleast = [2, 3]", TraceError),
        ("[[users]]\nleast = true", TraceError),
    ],
)
def test_what_is_no_population(tmp_path: Path, text: str, error: type[InputError]) -> None:
    path = tmp_path / "users.toml"
    path.write_text(text)
    with pytest.raises(error):
        read_users(path)
    with pytest.raises(TraceError, match="cannot be read"):
        read_users(tmp_path / "none.toml")
