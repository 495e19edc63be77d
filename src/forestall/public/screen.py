"""`fs.screen`: commands of your own that behave as forestall's do: examples in their help, what is
wrong in one line with exit code 2, paragraphs and tables of at most 100 columns, a bar."""

from forestall.cli import main
from forestall.cli.registry import command, examples
from forestall.cli.screen import ProgressBar, say, show

__all__ = ["ProgressBar", "command", "examples", "main", "say", "show"]
