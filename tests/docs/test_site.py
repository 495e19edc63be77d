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
LOOKED_UP: Final = {
    "reference/cli.md": "every option of every command, looked up by heading",
    "reference/files.md": "every file and column, looked up by heading",
    "reference/python-api.md": "every public name, looked up by heading",
    "reference/traces.md": "a table a format",
    "reference/parameters.md": "tables made from the declarations",
    "reference/report.md": "a table of all keys",
    "reference/live-slurm.md": "a table a question to Slurm",
    "reference/node-rules.md": "tables of rules and settings",
}
"""Reference pages: nobody reads them from the top."""
LONG: Final = {
    "architecture.md": 5420,
    "models/assessment.md": 3789,
    "models/books.md": 3254,
    "models/cycle-sharing.md": 2734,
    "models/generators.md": 2196,
    "models/learners.md": 3590,
    "models/lifetimes.md": 2351,
    "models/promises.md": 2135,
    "models/quotes.md": 4132,
    "models/systems.md": 2122,
    "models/vault-in-runs.md": 2441,
    "models/virtual-machines.md": 3316,
    "predictors.md": 7759,
}
"""Pages still to be split, with the words that they had: they may become shorter only."""


def words(page: str) -> int:
    return len((DOCS / page).read_text(encoding="utf-8").split())


def test_no_page_is_long_but_those_that_shrink() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    long = {page for page in pages - LOOKED_UP.keys() if words(page) > MOST_WORDS}
    assert long <= LONG.keys(), "split them"
    assert long >= LONG.keys(), "take those that were split off the list"
    # Words may be mended, pages not made longer.
    grown = {page for page, most in LONG.items() if words(page) > 1.03 * most}
    assert not grown


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
