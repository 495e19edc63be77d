"""`import forestall` is quick, and every public name is there."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forestall

ROOT = Path(__file__).resolve().parents[1]


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


SUBJECTS = (
    "contention", "futures", "hosts", "judge", "reports", "screen", "style", "systems", "vault",
)  # fmt: skip


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_has_what_it_says_and_is_documented(subject: str) -> None:
    module = importlib.import_module(f"forestall.public.{subject}")
    found = getattr(forestall, subject)
    assert all(getattr(found, name) is getattr(module, name) for name in module.__all__)
    assert list(module.__all__) == sorted(set(module.__all__), key=module.__all__.index)
    assert all(getattr(module, name) is not None for name in module.__all__)
    page = ROOT / "docs" / "reference" / "python-api" / "subjects.md"
    text = page.read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| `fs\.{subject}` \|.*$", text, re.M)
    told = set(re.findall(r"`(\w+)`", line))
    assert told >= set(module.__all__)


def test_no_room_hides_a_public_name() -> None:
    """An import of the room would put a package where users expect a function or a subject."""
    rooms = {path.name for path in (ROOT / "src" / "forestall").iterdir() if path.is_dir()}
    assert not rooms & set(forestall.__all__)
    assert inspect.isfunction(forestall.simulate)
    assert "failures" in inspect.signature(forestall.simulate).parameters


def test_subjects_are_the_modules_of_their_folder() -> None:
    folder = ROOT / "src" / "forestall" / "public"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(SUBJECTS)
