"""`fs.screen`: commands of your own that behave as forestall's do: examples in their help, what is
wrong in one line with exit code 2, paragraphs and tables of at most 100 columns, a bar."""

from typing import Final

import typer

from forestall.core.commands.registry import command, examples
from forestall.core.commands.screen import ProgressBar, say, show
from forestall.logs.commands.generate import research as generate
from forestall.prediction.commands.assess import research as assess
from forestall.runs.commands.entry import main

RESEARCH: Final[dict[str, typer.Typer]] = {"assess": assess, "generate": generate}
"""Groups of commands that are for research alone, by name: ``python -m studies`` has them."""

__all__ = ["RESEARCH", "ProgressBar", "command", "examples", "main", "say", "show"]
