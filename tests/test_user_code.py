"""Code as users write it runs, and type checkers find nothing wrong with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import user_code

ROOT = Path(__file__).resolve().parents[1]
FILE = "tests/user_code.py"


def test_runs(tmp_path: Path) -> None:
    found = user_code.runs(tmp_path)
    assert found["passed"]
    assert found["same"]
    assert found["columns"] == ["measure", "run 1", "easy"] == ["measure", *found["runs"]]


def test_reliability() -> None:
    found = user_code.reliability()
    assert found["best"] == "exponential"
    assert round(found["interval"]) == 14201


def test_records(tmp_path: Path) -> None:
    found = user_code.records(tmp_path)
    assert found["lemons"] == 32
    assert found["judged"] == ["constant", "rate"]
    assert found["page"].is_file()


def test_mypy_checks_it_with_our_sources() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert FILE in settings["files"]
    assert settings["strict"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_pyright_finds_nothing_wrong(tmp_path: Path) -> None:
    settings = tmp_path / "pyrightconfig.json"
    given = {
        "include": [str(ROOT / FILE)],
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "src")],
    }
    settings.write_text(json.dumps(given))
    python = ("--pythonpath", sys.executable)
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "-p", str(settings), *python],
        capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
