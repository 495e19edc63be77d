"""A report as Markdown (CommonMark with GitHub's tables), for issues, notes and documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from forestall.core.show.blocks import Cell, Figure, Listing, Prose, Steps, Table
from forestall.core.show.clean import clean
from forestall.core.show.closing import closing_of
from forestall.core.show.quantities import quiet, titled, value_of

if TYPE_CHECKING:
    from forestall.core.show.blocks import Block
    from forestall.core.show.facts import Fact
    from forestall.core.show.report import Report, Section

MOST_ROWS: Final = 30
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def markdown(report: Report, *, figures: str = "") -> str:
    """Return a report as Markdown; `figures` is the suffix of the files beside it that hold its
    figures, such as ``.svg``, without which it has none."""
    lines = [f"# {_told(report.title)}", "", _told(report.headline), ""]
    for text in report.verdict:
        lines += [f"> {_told(text)}", ">"] if text else []
    lines[-1] = ""
    lines += _facts(report.top, report)
    for part in (*report.sections, *closing_of(report)):
        if part.tells:
            lines += _section(part, report, figures=figures)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(part: Section, report: Report, *, figures: str) -> list[str]:
    lines = [f"## {_told(part.title)}", ""] if part.title else []
    if part.lead:
        lines += [_told(part.lead), ""]
    lines += _facts(part.facts, report)
    for one in part.body:
        lines += _block(one, figures=figures)
    for note in part.notes:
        lines.append(f"- {_told(note)}")
    return [*lines, ""] if part.notes else lines


def _facts(facts: Sequence[Fact], report: Report) -> list[str]:
    lines = []
    for one in facts:
        told = quiet(one, report.currency)
        rest = f" ({_told(told)})" if told else ""
        value = _told(value_of(one, report.currency))
        lines.append(f"- {_told(titled(one.label))}: **{value}**{rest}")
    return [*lines, ""] if lines else []


def _block(block: Block, *, figures: str) -> list[str]:
    """Return a block as lines; a bar of shares is told by the table that follows it."""
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Prose):
        return [_told(block.text), ""]
    if isinstance(block, Listing):
        return [*(f"- {_told(one)}" for one in block.items), ""]
    if isinstance(block, Steps):
        return _steps(block)
    if isinstance(block, Figure) and figures:
        below = [_told(block.caption), ""] if block.caption else []
        return [f"![{_told(block.alt)}]({block.name}{figures})", "", *below]
    return []


def _steps(steps: Steps) -> list[str]:
    lines: list[str] = []
    count = 0
    for group in steps.groups:
        lines += [f"**{_told(group.title)}**", ""]
        for one in group.steps:
            count += 1
            lines.append(f"{count}. {_told(' '.join((one.text, one.gain, one.because)).strip())}")
        lines.append("")
    return lines


def _table(table: Table) -> list[str]:
    if not table.rows:
        return []
    most = MOST_ROWS if table.most is None else table.most or len(table.rows)
    head = [f"**{_told(table.title)}**", ""] if table.title else []
    sides = ["---:" if k in table.right else "---" for k in range(len(table.heads))]
    lines = [_row(table.heads), "| " + " | ".join(sides) + " |"]
    lines += [_row(row) for row in table.rows[:most]]
    left = max(0, len(table.rows) - most)
    more = f"{left:,} rows more." if left else ""
    below = [text for text in (more, table.caption, table.note) if text]
    note = [" ".join(_told(text) for text in below), ""] if below else []
    return [*head, *lines, "", *note]


def _row(cells: Sequence[str | Cell]) -> str:
    told = []
    for cell in cells:
        text = _told(str(cell))
        told.append(f"**{text}**" if isinstance(cell, Cell) and cell.best else text)
    return "| " + " | ".join(told) + " |"


def _told(text: str) -> str:
    """Return text in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", clean(text, 4000))
