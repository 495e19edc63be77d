"""Sections at the end of a page: what could not be told, what was read, and what made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from forestall.core.show.blocks import Block, Listing, Prose, Table
from forestall.core.show.clean import example
from forestall.core.show.report import Report, Section
from forestall.core.show.words import count, plain_kind

if TYPE_CHECKING:
    from forestall.core.model.cleaning import Cleaning
    from forestall.core.show.facts import Untold

NAMED: Final = 5
"""Examples of each kind of oddity."""


def closing_of(report: Report) -> tuple[Section, ...]:
    """Return the sections that end a report's page, those with something to say."""
    if report.closing is not None:
        return report.closing
    made = {**report.parameters, **report.versions}
    return tuple(
        one
        for one in (
            not_told(one for _, one in report.untold()),
            what_was_read(report.sources, report.cleaning),
            made_with({name: value for name, value in made.items() if value is not None}),
        )
        if one.body
    )


def not_told(untold: Iterable[Untold]) -> Section:
    """Return what could not be told, why, and what it takes."""
    rows = [(one.what, one.why, one.remedy) for one in untold]
    heads = ("What", "Why", "What it takes")
    body = (Table.of("untold", heads, rows, right=(), most=0),) if rows else ()
    return Section("untold", "What we could not tell, and why", body=body)


def what_was_read(sources: Iterable[str], cleaning: Cleaning) -> Section:
    """Return what was read, and what was odd in it."""
    listed = tuple(sources)
    rows = []
    for one in cleaning.remarks:
        shown = ", ".join(example(name) for name in one.names[:NAMED])
        rows.append((one.counted, one.action, shown + (", ..." if one.count > NAMED else "")))
    heads = ("What was odd", "What was done", "For example")
    odd: Block = Prose("Nothing odd was found.")
    if rows:
        odd = Table.of("odd", heads, rows, right=(), most=0)
    body = (Listing(listed), odd) if listed else (odd,)
    return Section("read", "What was read, and what was odd", body=body)


def odd_lines(lines: Iterable[str]) -> Section:
    """Return what was read and what was odd in it, a line each."""
    return Section("read", "What was read, and what was odd in it", body=(Listing(tuple(lines)),))


def left_out(skipped: Mapping[str, object]) -> Section:
    """Return what was left out of the logs and why, by count of each kind."""
    if any(skipped.values()):
        rows = [(plain_kind(kind), count(number)) for kind, number in skipped.items()]
        records = [{"kind": kind, "count": number} for kind, number in skipped.items()]
        body: Block = Table.of("left_out", ("Why", "Count"), rows, records, most=0)
    else:
        body = Prose("Nothing: everything in the logs was used.")
    return Section("left_out", "What was left out", body=(body,))


def parameters(values: Mapping[str, object], title: str = "Parameters") -> Section:
    """Return what was chosen."""
    return Section("parameters", title, body=_pairs("parameters", values, "Parameter"))


def made_with(values: Mapping[str, object], heads: str = "Value") -> Section:
    """Return what made a result: options, versions, seed."""
    return Section("made", "Made with", body=_pairs("made", values, "What", heads))


def _pairs(
    key: str, values: Mapping[str, object], name: str, head: str = "Value"
) -> tuple[Block, ...]:
    rows = [(one, "" if value is None else str(value)) for one, value in values.items()]
    return (Table.of(key, (name, head), rows, right=(), most=0),) if rows else ()
