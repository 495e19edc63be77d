"""A run as a table in the terminal: every number with its unit and what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from forestall._lazy import lazily
from forestall.app.promise import digest
from forestall.cli.choice import spelled
from forestall.cli.screen import say, show
from forestall.model.cleaning import Cleaning
from forestall.model.spelling import named
from forestall.show.text import fact_rows

with lazily():
    from forestall.app.cycle import words as cycle_words
    from forestall.app.virtual import words as virtual_words

NAMED = 5


def headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run, in one line."""
    return ", ".join(digest.headline(summary, failures))


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (measure, value with unit, what it means) for each measure of a run."""
    return fact_rows(digest.measures(summary))


def virtual_headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run of virtual machines, in one line."""
    return ", ".join(virtual_words.headline(summary, failures))


def virtual_rows(summary: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    """Return (measure, value with unit, what it means) for a run of virtual machines."""
    return virtual_words.rows(summary)


def cycle_headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run of guests on shared hosts, in one line."""
    return ", ".join(cycle_words.headline(summary))


def cycle_rows(summary: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    """Return (measure, value with unit, what it means) for a run of guests on shared hosts."""
    return cycle_words.rows(summary)


class RunWords(NamedTuple):
    """How the runs of a model are told."""

    headline: Callable[[Mapping[str, Any], int | None], str]
    rows: Callable[[Mapping[str, Any]], Sequence[tuple[str, ...]]]


TABLES: Final = {
    "promise": RunWords(headline, rows),
    "virtual": RunWords(virtual_headline, virtual_rows),
    "cycle": RunWords(cycle_headline, cycle_rows),
}
"""By model."""


def print_run(
    summary: Mapping[str, Any], cleaning: Cleaning, hints: Iterable[str], failures: int | None
) -> None:
    """Print a run: measures, what was left out or changed, hints."""
    told = TABLES[summary.get("model", "promise")]
    say(told.headline(summary, failures))
    say()
    show(told.rows(summary))
    print_notes(cleaning, hints)


def print_notes(cleaning: Cleaning, hints: Iterable[str] = ()) -> None:
    """Print what was left out or changed, with a few examples, and hints."""
    lines = [
        f"{remark.action}: {remark.counted} ({_some(remark.names)})" for remark in cleaning.remarks
    ]
    hinted = [f"hint: {named(hint, spelled)}" for hint in hints]
    if lines or hinted:
        say()
    for line in (*lines, *hinted):
        say(line)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
