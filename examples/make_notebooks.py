"""Make the notebooks of this folder from its scripts: python examples/make_notebooks.py

A script is in the percent format: `# %% [markdown]` begins a cell of text, `# %%` one of code.
Notebooks hold no outputs; a test runs them, and another that they are what this makes.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FOLDER = Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(script: str) -> nbformat.NotebookNode:
    """Return the notebook of a script."""
    cells = []
    parts = re.split(r"^# %%(.*)\n", script, flags=re.MULTILINE)[1:]
    for number, (kind, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        if "markdown" in kind:
            cell = new_markdown_cell(re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE))
        else:
            cell = new_code_cell(text.strip())
        cell["id"] = f"cell-{number}"
        cells.append(cell)
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def written(path: Path) -> str:
    """Return the text of a script's notebook file."""
    made = notebook(path.read_text(encoding="utf-8"))
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


if __name__ == "__main__":
    for script in sorted(FOLDER.glob("[0-9]*.py")):
        script.with_suffix(".ipynb").write_text(written(script), encoding="utf-8")
