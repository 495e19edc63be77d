"""Notes below the tables of `forestall assess`: at most 100 columns wide, on a terminal or not."""

from __future__ import annotations

import sys
import textwrap

from forestall.cli.screen import WIDTH, say


def tell(text: str) -> None:
    """Print a note, wrapped between words; unlike a verdict, it need not be one line of a pipe."""
    if sys.stdout.isatty():
        say(text)
        return
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    for line in lines:
        say(line)
