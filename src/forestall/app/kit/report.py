"""What the pages of all runs have in common."""

from __future__ import annotations

from typing import Any

from forestall.show import words as say_
from forestall.show.figure_files import data_uri
from forestall.show.html_pieces import (
    Html,
    paragraph,
    picture,
    table,
)
from forestall.show.words import Summary

NO_FIGURES = "Figures are left out, as Matplotlib is not installed: pip install 'forestall[plot]'"


def left_out(summary: Summary) -> Html:
    """Return what was left out of the logs and why, by count."""
    skipped = summary.get("skipped") or {}
    if not any(skipped.values()):
        return paragraph("Nothing: all that the logs tell was used.")
    rows = [(say_.plain_kind(kind), say_.count(number)) for kind, number in skipped.items()]
    return table(("Why", "Count"), rows)


def versions(summary: Summary) -> dict[str, object]:
    """Return what made the run, the seed included."""
    return {**(summary.get("versions") or {}), "seed": summary.get("seed")}


def show(figure: Any, alt: str, caption: str = "") -> Html:
    """Return a figure as a part of a page."""
    return picture(data_uri(figure), alt, caption, figure.get_figwidth())
