"""A report as text for a terminal: at most 100 columns, the most important first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from forestall.app.books.top import cards, leads, saving, shown, with_something
from forestall.app.books.words import clean, example, from_records, titled, value_of

if TYPE_CHECKING:
    from forestall.app.books.facts import Figure, Section, Table
    from forestall.app.books.report import Report
    from forestall.model.cleaning import Cleaning

WIDTH: Final = 100
GAP: Final = 2
NARROW: Final = 12
"""No column of words is made narrower than this."""
MOST_ROWS: Final = 8
RULES: Final = frozenset({"rules"})
"""Keys of tables that say how things are counted."""


def text_of(report: Report, *, full: bool = False, width: int = WIDTH) -> str:
    """Return a report as text, with a newline at its end; `full` with all rows and all notes on how
    things are counted."""
    lines = [*paragraph(report.headline, width), ""]
    for lead in leads(report):
        lines += paragraph(lead, width)
    top = [
        (titled(one.label), value_of(one, report.asked.currency), _quiet(one, report))
        for _, one in cards(report)
    ]
    if top:
        lines += ["", *grid(top, (), width, right=(1,))]
    for part in with_something(report):
        lines += ["", *_section(part, report, width, full=full)]
    lines += _untold(report, width)
    lines += _read(report, width)
    lines += _made(report, width)
    if not full:
        lines += ["", "How things are counted, and all rows: --full, --out report.html, --json."]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def paragraph(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return a text in lines of at most `width`."""
    return textwrap.wrap(
        clean(text, 4000),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def title(text: str) -> list[str]:
    """Return a title, underlined."""
    shown = clean(text, WIDTH)
    return [shown, "-" * len(shown)]


def grid(
    rows: Iterable[Sequence[str]],
    heads: Sequence[str],
    width: int = WIDTH,
    *,
    right: Sequence[int] = (),
) -> list[str]:
    """Return a table as lines; columns of words are wrapped where it would be too wide."""
    cells = [[clean(cell, 400) for cell in row] for row in rows]
    if not cells:
        return []
    whole = [[clean(head) for head in heads], *cells] if heads else cells
    widths = [max(len(row[k]) for row in whole) for k in range(len(cells[0]))]
    _narrow(widths, whole, width, right)
    lines: list[str] = []
    for row in whole:
        parts = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""]
            for cell, size in zip(row, widths, strict=True)
        ]
        for k in range(max(len(part) for part in parts)):
            words = [part[k] if k < len(part) else "" for part in parts]
            lines.append(_line(words, widths, right))
    return lines


def _narrow(
    widths: list[int], rows: Sequence[Sequence[str]], width: int, right: Sequence[int]
) -> None:
    """Make columns narrower, the widest first, until the table fits; numbers only when it must."""
    room = width - GAP * (len(widths) - 1)
    words = [k for k in range(len(widths)) if k not in right]
    for some, least in ((words, NARROW), (range(len(widths)), 1)):
        while sum(widths) > room:
            wide = max(some, key=lambda k: widths[k], default=-1)
            if wide < 0 or widths[wide] <= least:
                break
            second = max((widths[k] for k in some if k != wide), default=least)
            excess = sum(widths) - room
            widths[wide] = max(least, widths[wide] - excess, min(second, widths[wide] - 1))


def _line(words: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    cells = [
        word.rjust(size) if k in right else word.ljust(size)
        for k, (word, size) in enumerate(zip(words, widths, strict=True))
    ]
    return (" " * GAP).join(cells).rstrip()


def _section(part: Section, report: Report, width: int, *, full: bool) -> list[str]:
    lines = [*title(part.title), *paragraph(part.lead, width)]
    currency = report.asked.currency
    if part.figures:
        rows = [
            (titled(one.label), value_of(one, currency), _quiet(one, report))
            for one in part.figures
        ]
        lines += ["", *grid(rows, (), width, right=(1,))]
    if part.key == "advice":
        lines += _advice(report, width)
    for table in part.tables:
        if full or table.key not in RULES:
            lines += ["", *_table(table, width, full=full)]
    for note in part.notes if full else ():
        lines += paragraph(note, width, "  ")
    return lines


def _advice(report: Report, width: int) -> list[str]:
    """Return the advice as a numbered list."""
    lines: list[str] = []
    kept, rest = shown(report.advice)
    for k, one in enumerate(kept, 1):
        number = f"{k:>2}. "
        below = " " * len(number)
        text = paragraph(one.text, width, below)
        lines += [number + text[0].lstrip(), *text[1:]] if text else []
        lines += paragraph(f"{saving(one, report.asked)} {one.because}", width, below)
    return [*lines, f"    {rest}"] if rest else lines


def _quiet(one: Figure, report: Report) -> str:
    return one.why if one.value is None else from_records(one, report.asked.currency)


def _table(table: Table, width: int, *, full: bool) -> list[str]:
    if not table.rows:
        return []
    most = len(table.rows) if full else MOST_ROWS
    lines = [
        *paragraph(table.title, width),
        *grid(table.rows[:most], table.heads, width, right=table.right),
    ]
    if len(table.rows) > most:
        lines.append(f"... and {len(table.rows) - most:,} rows more")
    if table.note and full:
        lines += paragraph(table.note, width, "  ")
    return lines


def _untold(report: Report, width: int) -> list[str]:
    if not report.untold:
        return []
    lines = ["", *title("What we could not tell, and why")]
    for _, one in report.untold:
        remedy = f" It takes {one.remedy}." if one.remedy else ""
        lines += paragraph(f"{one.what}: {one.why}.{remedy}", width)
    return lines


def _read(report: Report, width: int) -> list[str]:
    lines = ["", *title("What was read, and what was odd")]
    for source in report.sources:
        lines += paragraph(source, width)
    lines += remarks(report.cleaning, width)
    return lines


def remarks(cleaning: Cleaning, width: int = WIDTH) -> list[str]:
    """Return what was left out, changed or found odd, as lines."""
    lines: list[str] = []
    for one in cleaning.remarks:
        shown = ", ".join(example(name, 40) for name in one.names[:3])
        more = ", ..." if one.count > 3 else ""
        lines += paragraph(f"{one.counted} ({one.action}): {shown}{more}", width, "  ")
    return lines


def _made(report: Report, width: int) -> list[str]:
    made = [f"{name} {value}" for name, value in report.versions.items()]
    made += [f"{name} {value}" for name, value in report.options.items()]
    return ["", *paragraph("Made with " + ", ".join(made) + ".", width)] if made else []
