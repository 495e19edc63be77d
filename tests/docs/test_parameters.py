"""The reference pages tell parameters as they are declared."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from forestall.runs.models import MODELS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def script() -> Any:
    """The script that writes the tables."""
    spec = importlib.util.spec_from_file_location("make_parameters", DOCS / "make_parameters.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = script()


@pytest.mark.parametrize("page", MADE.PAGES, ids=lambda page: page.stem)
def test_tables_are_as_declared(page: Path) -> None:
    told = page.read_text(encoding="utf-8")
    assert told == MADE.written(page), "run python docs/make_parameters.py"
    assert told.count("<!-- parameters: ") == told.count("<!-- end -->") > 0


def test_every_model_has_its_table() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in MADE.PAGES)
    for name in MODELS:
        assert text.count(f"<!-- parameters: {name} -->") == 1
