"""TOML that nobody would write is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.files.documents import read_toml
from forestall.core.model.errors import TraceError


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 30_000, ".".join("a" * 1500) + " = 1", "x = " + "9" * 5000, "[a", "x = \xff"],
    ids=["lists", "dotted keys", "digits", "half", "Latin-1"],
)
def test_it_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TraceError, match=r"run\.toml(: is not TOML|:1: is not UTF-8)") as caught:
        read_toml(path)
    assert "\n" not in str(caught.value)
    path.write_text("[a.b]\nc = [[1], [2]]\n")
    assert read_toml(path) == {"a": {"b": {"c": [[1], [2]]}}}
