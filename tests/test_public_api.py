"""`import forestall` is quick, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import forestall


@pytest.mark.parametrize("name", forestall.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(forestall, name) is not None


def test_dir_lists_the_public_names() -> None:
    assert dir(forestall) == sorted(forestall.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        getattr(forestall, "no_such_thing")  # noqa: B009


def test_importing_loads_nothing_heavy() -> None:
    script = "import sys, forestall; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "numba", "polars", "scipy", "matplotlib", "pydantic", "typer", "rich"}
    assert not heavy & set(done.stdout.split())
