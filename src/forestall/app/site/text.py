"""A report as text for a terminal: at most 100 columns, the most important first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from forestall.app.site.top import cards, first_thing, grouped, more_of, saving, with_something
from forestall.app.site.words import clean, counted, example, from_records, titled, value_of
from forestall.model.cleaning import Cleaning

if TYPE_CHECKING:
    from forestall.app.site.facts import Figure, Section, Table
    from forestall.app.site.report import Report

WIDTH: Final = 100
GAP: Final = 2
NARROW: Final = 12
"""No column of words is made narrower than this."""
MOST_ROWS: Final = 12
"""A table of no more rows is never cut."""
HEAD: Final = 8
"""So many rows of a longer one are shown; of one that is not ranked its last `TAIL` rows too."""
TAIL: Final = 3
TOTALS: Final = frozenset({"all", "total"})
"""First words of rows that are shown wherever a table is cut."""
MOST_LINES: Final = 116
"""A short report is filled up to so many lines with what tells most."""
MOST_ADVICE: Final = 3
"""Things to do under each heading of a short report."""
MOST_ALIKE: Final = 2
MOST_ODD: Final = 6
RULES: Final = frozenset({"rules"})
"""Keys of tables that say how things are counted."""
FIGURES: Final = "figures"
UNTOLD: Final = "untold"
FIRST: Final = (
    ("losses", "causes"),
    ("advice", "checkpoints"),
    (UNTOLD, UNTOLD),
    ("lemons", "worst_nodes"),
    ("nodes", "by_cause"),
    ("nodes", FIGURES),
    ("waits", FIGURES),
    ("goodput", "goodput"),
    ("promises", FIGURES),
    ("ettr", FIGURES),
    ("losses", FIGURES),
)
"""Parts of sections (a table's key, or the figures) that a short report has, as far as there is
room; then the others in the order of the report."""


def text_of(report: Report, *, full: bool = False, width: int = WIDTH) -> str:
    """Return a report as text, with a newline at its end.

    `full` is with all rows, all advice and all notes on how things are counted. Otherwise it is
    kept short: what each section found, and of its figures and tables those that tell most.
    """
    head = paragraph(report.headline, width)
    first = first_thing(report)
    if first:
        head += ["", *paragraph(first, width)]
    top = [
        (titled(one.label), value_of(one, report.asked.currency), _quiet(one, report))
        for _, one in cards(report)
    ]
    if top:
        head += ["", *grid(top, (), width, right=(1,))]
    parts = {part.key: _parts(part, report, width, full=full) for part in with_something(report)}
    untold = _untold(report, width)
    foot = _read(report, width, full=full)
    if full:
        foot += _made(report, width)
    else:
        foot += ["", "Shortened. All of it: --full, --out report.html, --json."]
    shown = _room(parts, untold, len(head) + len(foot), full=full)
    lines = head
    for key, (base, more) in parts.items():
        lines += base
        for name, one in more.items():
            lines += one if (key, name) in shown else []
    lines += untold if (UNTOLD, UNTOLD) in shown else _untold_short(report, width)
    lines += foot
    return "\n".join(line.rstrip() for line in lines) + "\n"


Parts = tuple[list[str], dict[str, list[str]]]


def _room(
    parts: Mapping[str, Parts], untold: Sequence[str], taken: int, *, full: bool
) -> set[tuple[str, str]]:
    """Return which parts of sections are shown: all, or those that tell most, up to `MOST_LINES`
    lines; `taken` are at the top and the foot."""
    sizes = {
        (key, name): len(one) for key, (_, more) in parts.items() for name, one in more.items()
    }
    sizes[UNTOLD, UNTOLD] = len(untold)
    if full:
        return set(sizes)
    room = MOST_LINES - taken - sum(len(base) for base, _ in parts.values())
    shown = set()
    for one in dict.fromkeys((*(one for one in FIRST if one in sizes), *sizes)):
        if sizes[one] <= room:
            room -= sizes[one]
            shown.add(one)
    return shown


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
    gap: tuple[int, str] | None = None,
) -> list[str]:
    """Return a table as lines; columns of words are wrapped where it would be too wide. `gap`: a
    line that stands after so many rows."""
    cells = [[clean(cell, 400) for cell in row] for row in rows]
    if not cells:
        return []
    whole = [[clean(head) for head in heads], *cells] if heads else cells
    widths = [max(len(row[k]) for row in whole) for k in range(len(cells[0]))]
    _narrow(widths, whole, width, right)
    lines: list[str] = []
    after = -1 if gap is None else gap[0] + len(whole) - len(cells)
    for place, row in enumerate([*whole, ()]):
        if gap is not None and place == after:
            lines.append(gap[1])
        if not row:
            break
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


def _parts(part: Section, report: Report, width: int, *, full: bool) -> Parts:
    """Return a section's title and lead as lines (of the advice, the list too), and its figures,
    tables and notes."""
    base = ["", *title(part.title), *paragraph(part.lead, width)]
    if part.key == "advice":
        base += _advice(report, width, full=full)
    more: dict[str, list[str]] = {}
    if part.figures:
        rows = [
            (titled(one.label), value_of(one, report.asked.currency), _quiet(one, report))
            for one in part.figures
        ]
        more[FIGURES] = ["", *grid(rows, (), width, right=(1,))]
    for table in part.tables:
        if table.rows and (full or table.key not in RULES):
            more[table.key] = ["", *_table(table, width, full=full)]
    if full:
        more["notes"] = [line for note in part.notes for line in paragraph(note, width, "  ")]
    return base, more


def _advice(report: Report, width: int, *, full: bool) -> list[str]:
    """Return the advice as numbered lists under their headings; in short without the evidence."""
    lines: list[str] = []
    most, alike = (None, None) if full else (MOST_ADVICE, MOST_ALIKE)
    count = 0
    for group in grouped(report.advice, most, alike):
        lines += ["", *paragraph(f"{group.title}:", width)]
        for one in group.kept:
            count += 1
            number = f"{count:>2}. "
            below = " " * len(number)
            told = [f"{one.text} {saving(one, report.asked)}"]
            if full:
                told = [one.text, f"{saving(one, report.asked)} {one.because}"]
            text = [line for each in told for line in paragraph(each, width, below)]
            lines += [number + text[0].lstrip(), *text[1:]] if text else []
        if group.rest:
            lines.append(f"    {more_of(group)}: --full")
    return lines


def _quiet(one: Figure, report: Report) -> str:
    return one.why if one.value is None else from_records(one, report.asked.currency)


def _table(table: Table, width: int, *, full: bool) -> list[str]:
    first, last = (table.rows, ()) if full else cut_rows(table)
    left = len(table.rows) - len(first) - len(last)
    gap = (len(first), f"... {counted(left, 'rows')} more (--full)") if left else None
    lines = grid([*first, *last], table.heads, width, right=table.right, gap=gap)
    note = paragraph(table.note, width, "  ") if table.note else []
    return [*paragraph(table.title, width), *lines, *note]


Rows = tuple[tuple[str, ...], ...]


def cut_rows(table: Table) -> tuple[Rows, Rows]:
    """Return the rows of a table to show first and last; what is between them is left out.

    Short tables are whole. Of a long one totals stay, and of one that is not ranked, where the
    largest may be the last, its end.
    """
    rows = table.rows
    if len(rows) <= MOST_ROWS:
        return rows, ()
    tail = 0 if table.ranked else TAIL
    total = next((k for k in range(len(rows)) if rows[k][0].lower() in TOTALS), len(rows))
    return rows[:HEAD], rows[max(HEAD, min(total, len(rows) - tail)) :]


def _untold(report: Report, width: int) -> list[str]:
    """Return what could not be told with its reasons."""
    if not report.untold:
        return []
    lines = ["", *title("What we could not tell, and why")]
    for _, one in report.untold:
        remedy = f" It takes {one.remedy}." if one.remedy else ""
        lines += paragraph(f"{one.what}: {one.why}.{remedy}", width)
    return lines


def _untold_short(report: Report, width: int) -> list[str]:
    """Return what could not be told, without reasons."""
    if not report.untold:
        return []
    named = "; ".join(one.what for _, one in report.untold)
    return ["", *paragraph(f"Not told: {named}. Why, and what it takes: --full.", width)]


def _read(report: Report, width: int, *, full: bool) -> list[str]:
    lines = ["", *title("What was read, and what was odd")]
    for source in report.sources:
        lines += paragraph(source, width)
    odd = report.cleaning.remarks
    if full or len(odd) <= MOST_ODD:
        return lines + remarks(report.cleaning, width)
    most = Cleaning(tuple(sorted(odd, key=lambda one: -one.count)[:MOST_ODD]))
    rest = f"{counted(len(odd) - MOST_ODD, 'kinds')} more of what was odd: --full"
    return [*lines, *remarks(most, width), f"  {rest}"]


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
