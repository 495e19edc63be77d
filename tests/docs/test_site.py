"""The documentation as a site: it builds strictly, loads nothing from elsewhere, and is short."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MOST_WORDS: Final = 2000
TO_SPLIT: Final = {
    "studies/assessment.md",
    "studies/availability.md",
    "studies/contention.md",
    "studies/cycle-sharing.md",
    "studies/promises.md",
    "studies/queues.md",
    "studies/vault.md",
    "studies/virtual.md",
}


def test_no_page_is_long() -> None:
    pages = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
    words = {name: len(path.read_text(encoding="utf-8").split()) for name, path in pages.items()}
    long = {name: count for name, count in words.items() if count > MOST_WORDS}
    assert long.keys() <= TO_SPLIT, long


@pytest.mark.parametrize("page", sorted((DOCS / "start").glob("*.md")), ids=lambda path: path.stem)
def test_tours_are_short_and_say_what_next(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) < 600
    assert re.search(r"^## (What n|N)ext$", text, re.MULTILINE)


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert lines[2].startswith("![")
    assert {"make demo", "make test"} <= {line.partition("    ")[0] for line in lines[:12]}


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    for name in ("material", "mkdocstrings_handlers.python", "mkdocs_awesome_nav"):
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"no site: {name} is not installed (pip install '.[docs]')")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = [
            tag
            for tag in re.findall(r"<(?:script|img|iframe|source|link)\b[^>]*>", text)
            if re.search(r'(?:src|href)="?(?:https?:)?//', tag) and "canonical" not in tag
        ]
        assert not loaded, (page, loaded)
    names = (tmp_path / "site" / "reference" / "api-names.html").read_text(encoding="utf-8")
    assert 'id="forestall.simulate"' in names
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 500_000
