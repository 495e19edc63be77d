"""What the pages of all runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from forestall.model.settings import told
from forestall.show import drawings
from forestall.show import words as say_
from forestall.show.facts import Fact
from forestall.show.figure_files import data_uri
from forestall.show.html_pieces import (
    Html,
    pairs,
    paragraph,
    picture,
    table,
)
from forestall.show.words import Summary

NO_FIGURES: Final = drawings.NO_FIGURES


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


def parameter_table(kind: type, parameters: Mapping[str, Any]) -> Html:
    """Return the parameters of a run, of a class that declares them, with their units."""
    return pairs(told(kind, parameters), ("Parameter", "Value"))


def measured(
    key: str,
    label: str,
    value: object,
    unit: str,
    meaning: str,
    tell: Callable[[object], str],
) -> Fact:
    """Return a measure of a run, `value` in `unit`, as a fact that is written as `tell` does; one
    that the run does not have is a dash."""
    plain = value if isinstance(value, int) else say_.number(value)
    why = meaning if plain is None else ""
    return Fact(key, label, plain, unit, why=why, meaning=meaning, shown=tell(value))
