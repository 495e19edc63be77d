"""The notebooks of the examples run, and are what their scripts make."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))


@pytest.fixture(scope="module")
def made() -> Any:
    """The script that makes them."""
    pytest.importorskip("nbformat")
    spec = importlib.util.spec_from_file_location("make_notebooks", FOLDER / "make_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_notebooks_are_as_their_scripts(made: Any, script: Path) -> None:
    told = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert told == made.written(script), "run python examples/make_notebooks.py"


def test_the_readme_names_all() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(SCRIPTS) == 5
    for script in SCRIPTS:
        assert f"]({script.stem}.ipynb)" in text


@pytest.mark.slow
def test_notebooks_run(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one kernel, one after the other: a kernel takes as long to start as a notebook."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FOLDER.parent / "src"), *_path()]))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    books = [made.notebook(script.read_text(encoding="utf-8")) for script in SCRIPTS]
    whole = books[0]
    whole.cells = [cell for book in books for cell in book.cells]
    for number, cell in enumerate(whole.cells):
        cell["id"] = f"cell-{number}"
    NotebookClient(whole, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [cell.outputs for cell in whole.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) >= len(SCRIPTS)


def _path() -> list[str]:
    return [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
