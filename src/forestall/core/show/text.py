"""A report as text for a terminal: at most 100 columns, the most important first."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from forestall.core.model.cleaning import Cleaning
from forestall.core.show.blocks import Listing, Prose, Steps, Table, more_of
from forestall.core.show.clean import ENCODING, LONGEST, clean, encodable, example
from forestall.core.show.quantities import counted, quiet, titled, value_of

if TYPE_CHECKING:
    from forestall.core.show.blocks import Block
    from forestall.core.show.facts import Fact
    from forestall.core.show.report import Report, Section

WIDTH: Final = 100
MOST: Final = 4000
"""Characters of a paragraph."""
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
MOST_LISTED: Final = 30
"""Rows of a table of a report that is shown section by section."""
MOST_LINES: Final = 116
"""A short report is filled up to so many lines with what tells most."""
MOST_STEPS: Final = 3
"""Things to do under each heading of a short report."""
MOST_ALIKE: Final = 2
MOST_ODD: Final = 6
FACTS: Final = "facts"
UNTOLD: Final = "untold"


@dataclass(frozen=True)
class Short:
    """How a report is kept short.

    Attributes
    ----------
    first : parts of sections that are shown before others, as far as there is room: the section's
        key and a table's key, or `FACTS`; `UNTOLD` twice is what could not be told. All others
        follow in the order of the report
    more : where the rest of a list is to be had, such as an option
    whole : the last line: where all of it is to be had
    """

    first: tuple[tuple[str, str], ...] = ()
    more: str = ""
    whole: str = "Shortened."

    def left(self, text: str, form: str = "{}: {}") -> str:
        """Return a remark on what is left out, with where it is."""
        return form.format(text, self.more) if self.more else text


def text_of(
    report: Report, *, full: bool = False, width: int = WIDTH, short: Short | None = None
) -> str:
    """Return a report as text, with a newline at its end.

    `full` is with all rows, all there is to do and all notes on how things are counted. Otherwise
    it is kept `short`: what each section found, and of its facts and tables those that tell most.
    """
    told = Short() if short is None else short
    lines = paragraph(report.headline, width)
    leads = {part.lead for part in report.sections}
    for text in report.verdict:
        lines += ["", *paragraph(text, width)] if text not in leads else []
    if report.top:
        lines += ["", *_assumed(report, width), *_facts(report.top, report, width)]
    ends = report.closing or ()
    shown = [part for part in (*report.sections, *(ends if full else ())) if part.tells]
    parts = {part.key: _parts(part, report, width, None if full else told) for part in shown}
    untold = _untold(report, width)
    foot = _read(report, width, None if full else told)
    if full:
        foot += _made(report, width)
    else:
        foot += ["", *paragraph(told.whole, width)]
    chosen = _room(parts, untold, len(lines) + len(foot), None if full else told)
    for key, (base, more) in parts.items():
        lines += base
        for name, one in more.items():
            lines += one if (key, name) in chosen else []
    lines += untold if (UNTOLD, UNTOLD) in chosen else _untold_short(report, width, told)
    lines += foot
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _assumed(report: Report, width: int) -> list[str]:
    """Return what the headline figures rest on, where they could rest on something else."""
    if not report.scenes:
        return []
    return paragraph(f"If {report.scenes[0].assumes}:", width)


def brief_of(report: Report, *, width: int = WIDTH, wrap: bool = False) -> str:
    """Return a report in brief as text, with a newline at its end: what was found, what was looked
    at, the facts that matter most, and the tables and sentences of each section under its title.
    No cards of sections, no notes on how things are counted, no closing sections.

    The verdict's first paragraph is one line, as pipes take it, unless it is to `wrap`.
    """
    lines: list[str] = []
    for text in filter(None, report.verdict):
        lines += _hanging(text, width) if wrap or lines else [clean(text, MOST)]
    if report.headline:
        lines += ["", *_hanging(report.headline, width)]
    if report.top:
        lines += ["", *_facts(report.top, report, width)]
    for part in report.sections:
        told = _brief_section(part, width)
        if told:
            lines += ["", *_hanging(part.title, width), *told]
    lines += _untold_short(report, width, Short())
    return "\n".join(lines).strip("\n") + "\n"


def sections_of(report: Report, *, width: int = WIDTH, short: Short | None = None) -> str:
    """Return a report of a section or two as text, with a newline at its end: what was looked at,
    the tables of each section under its title and lead, and every note, what could not be told with
    its reasons, what was odd. No cards; `short` says where the rest of a long table is."""
    lines = paragraph(report.headline, width)
    for part in report.sections:
        lines += [*(title(part.title) if part.title else ()), *paragraph(part.lead, width)]
        for table in part.tables:
            left = max(0, len(table.rows) - MOST_LISTED)
            rest = (short or Short()).left(f"... and {left:,} rows more", "{} ({})")
            lines += ["", *_table(_first(table, MOST_LISTED), width, None, rest if left else "")]
        if part.notes:
            lines.append("")
        notes = (*part.notes, *(f"Not known: {one}" for one in part.untold))
        lines += [line for note in notes for line in paragraph(note, width)]
    lines += remarks(report.cleaning, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _first(table: Table, most: int) -> Table:
    return replace(table, rows=table.rows[:most], records=table.records[:most], colours=())


def _brief_section(part: Section, width: int) -> list[str]:
    """Return a section's lead, tables and sentences as lines; tables stand apart."""
    lines = _hanging(part.lead, width)
    for one in part.body:
        if isinstance(one, Table) and one.rows and not one.folded:
            lines += [*([""] if lines else []), *_table(one, width, None)]
        elif isinstance(one, Prose | Listing):
            texts = (one.text,) if isinstance(one, Prose) else one.items
            lines += [line for text in texts for line in _hanging(text, width)]
    return lines


def _hanging(text: str, width: int) -> list[str]:
    """Return a text in lines, those after the first indented: each text stands for itself."""
    return textwrap.wrap(
        clean(text, MOST), width, subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


Parts = tuple[list[str], dict[str, list[str]]]


def _room(
    parts: Mapping[str, Parts], untold: Sequence[str], taken: int, short: Short | None
) -> set[tuple[str, str]]:
    """Return which parts of sections are shown: all, or those that tell most, up to `MOST_LINES`
    lines; `taken` are at the top and the foot."""
    sizes = {
        (key, name): len(one) for key, (_, more) in parts.items() for name, one in more.items()
    }
    sizes[UNTOLD, UNTOLD] = len(untold)
    if short is None:
        return set(sizes)
    room = MOST_LINES - taken - sum(len(base) for base, _ in parts.values())
    shown = set()
    for one in dict.fromkeys((*(one for one in short.first if one in sizes), *sizes)):
        if sizes[one] <= room:
            room -= sizes[one]
            shown.add(one)
    return shown


def paragraph(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return a text in lines of at most `width`."""
    return textwrap.wrap(
        clean(text, MOST),
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
    wrap: Sequence[int] | None = None,
    most: int = 400,
) -> list[str]:
    """Return a table as lines.

    Parameters
    ----------
    rows, heads : cells as text; no heads: a table without any; a head may have several lines
    right : columns that are aligned right
    gap : a line that stands after so many rows
    wrap : columns that are wrapped where the table would be too wide, before any other; None: all
        that are not aligned right
    most : longer cells are cut
    """
    cells = [[_cell(cell, most) for cell in row] for row in rows]
    if not cells:
        return []
    whole = [*_stacked(heads), *cells] if heads else cells
    widths = [max(breadth(row[k]) for row in whole) for k in range(len(cells[0]))]
    soft = [k for k in range(len(widths)) if (k not in right if wrap is None else k in wrap)]
    _narrow(widths, width, soft)
    lines: list[str] = []
    after = -1 if gap is None else gap[0] + len(whole) - len(cells)
    for place, row in enumerate([*whole, ()]):
        if gap is not None and place == after:
            lines.append(gap[1])
        if not row:
            break
        parts = [_wrapped(cell, max(size, 1)) for cell, size in zip(row, widths, strict=True)]
        for k in range(max(len(part) for part in parts)):
            words = [part[k] if k < len(part) else "" for part in parts]
            lines.append(_line(words, widths, right))
    return lines


def _cell(text: str, most: int = LONGEST) -> str:
    """Return a cell as the output shows it, with stand-ins for what its encoding lacks."""
    return encodable(clean(text, most), ENCODING.get())


def _wrapped(cell: str, size: int) -> list[str]:
    """Return the lines of a cell in a column of so many characters; a wide one counts as two."""
    if breadth(cell) <= size:
        return [cell.rstrip()]
    if cell.isascii():
        return textwrap.wrap(cell, size, break_on_hyphens=False) or [""]
    lines = [""]
    for word in cell.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if breadth(joined) <= size:
            lines[-1] = joined
            continue
        lines += [""] * bool(lines[-1])
        for one in word:
            lines += [""] * (bool(lines[-1]) and breadth(lines[-1] + one) > size)
            lines[-1] += one
    return lines


def _stacked(heads: Sequence[str]) -> list[list[str]]:
    """Return heads of one or more lines as rows; the last lines stand beside each other."""
    parts = [[_cell(line) for line in head.split("\n")] for head in heads]
    tall = max(map(len, parts))
    filled = [[""] * (tall - len(part)) + part for part in parts]
    return [list(row) for row in zip(*filled, strict=True)]


def _narrow(widths: list[int], width: int, words: Sequence[int]) -> None:
    """Make columns narrower, the widest first, until the table fits: those of words, and others
    only when it must."""
    room = width - GAP * (len(widths) - 1)
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
        _padding(word, size) + word if k in right else word + _padding(word, size)
        for k, (word, size) in enumerate(zip(words, widths, strict=True))
    ]
    return (" " * GAP).join(cells).rstrip()


def breadth(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )


def _padding(word: str, size: int) -> str:
    return " " * max(0, size - breadth(word))


def _parts(part: Section, report: Report, width: int, short: Short | None) -> Parts:
    """Return a section's title, lead and things to do as lines, and its facts, the rest of its body
    and its notes."""
    base = paragraph(part.lead, width)
    more: dict[str, list[str]] = {}
    if part.facts:
        more[FACTS] = ["", *_facts(part.facts, report, width)]
    for k, one in enumerate(part.body):
        if isinstance(one, Steps):
            base += _steps(one, width, short)
        elif isinstance(one, Table):
            if one.rows and (short is None or not one.folded):
                more[one.key] = ["", *_table(one, width, short)]
        else:
            lines = _words(one, width, short)
            if lines:
                more[f"block {k}"] = lines
    if short is None:
        more["notes"] = [line for note in part.notes for line in paragraph(note, width, "  ")]
    some = base or any(more.values())
    return ["", *title(part.title), *base] if some else [], more


def fact_rows(facts: Sequence[Fact], currency: str = "") -> list[tuple[str, str, str]]:
    """Return facts as rows: what it is, its value with its unit, what it is from."""
    return [(titled(one.label), value_of(one, currency), quiet(one, currency)) for one in facts]


def _facts(facts: Sequence[Fact], report: Report, width: int) -> list[str]:
    return grid(fact_rows(facts, report.currency), (), width, right=(1,))


def _words(block: Block, width: int, short: Short | None) -> list[str]:
    """Return a paragraph or a list as lines; nothing of what only pages show."""
    if isinstance(block, Prose) and (short is None or not block.soft):
        return ["", *paragraph(block.text, width)]
    if isinstance(block, Listing):
        return ["", *(line for one in block.items for line in paragraph(one, width, "  "))]
    return []


def _steps(steps: Steps, width: int, short: Short | None) -> list[str]:
    """Return things to do as numbered lists under their headings; in short without the evidence."""
    lines: list[str] = []
    most, alike = (None, None) if short is None else (MOST_STEPS, MOST_ALIKE)
    count = 0
    for group in steps.groups:
        kept, rest = group.shortened(most, alike)
        lines += ["", *paragraph(f"{group.title}:", width)]
        for one in kept:
            count += 1
            number = f"{count:>2}. "
            below = " " * len(number)
            told = [f"{one.text} {one.gain}"]
            if short is None:
                told = [one.text, f"{one.gain} {one.because}"]
            text = [line for each in told for line in paragraph(each, width, below)]
            lines += [number + text[0].lstrip(), *text[1:]] if text else []
        if rest and short is not None:
            lines.append(f"    {short.left(more_of(rest))}")
    return lines


def _table(table: Table, width: int, short: Short | None, rest: str = "") -> list[str]:
    first, last = (table.texts, ()) if short is None else cut_rows(table)
    left = len(table.rows) - len(first) - len(last)
    gap = None
    if left and short is not None:
        gap = len(first), "... " + short.left(f"{counted(left, 'rows')} more", "{} ({})")
    heads = table.heads if any(table.heads) else ()
    lines = grid([*first, *last], heads, width, right=table.right, gap=gap)
    head = [line for text in (table.title, table.caption) for line in paragraph(text, width)]
    note = paragraph(table.note, width, "  ") if table.note else []
    return [*head, *lines, *([rest] if rest else []), *note]


Rows = tuple[tuple[str, ...], ...]


def cut_rows(table: Table) -> tuple[Rows, Rows]:
    """Return the rows of a table to show first and last; what is between them is left out.

    Short tables are whole. Of a long one totals stay, and of one that is not ranked, where the
    largest may be the last, its end.
    """
    rows = table.texts
    if len(rows) <= MOST_ROWS:
        return rows, ()
    tail = 0 if table.ranked else TAIL
    total = next((k for k in range(len(rows)) if rows[k][0].lower() in TOTALS), len(rows))
    return rows[:HEAD], rows[max(HEAD, min(total, len(rows) - tail)) :]


def _untold(report: Report, width: int) -> list[str]:
    """Return what could not be told with its reasons."""
    untold = report.untold()
    if not untold:
        return []
    lines = ["", *title("What we could not tell, and why")]
    for _, one in untold:
        lines += paragraph(str(one), width)
    return lines


def _untold_short(report: Report, width: int, short: Short) -> list[str]:
    """Return what could not be told, without reasons."""
    named = "; ".join(one.what for _, one in report.untold())
    if not named:
        return []
    why = f" Why, and what it takes: {short.more}." if short.more else ""
    return ["", *paragraph(f"Not known: {named}.{why}", width)]


def _read(report: Report, width: int, short: Short | None) -> list[str]:
    """Return what was read, and what was odd in it; nothing where a report closes otherwise."""
    odd = report.cleaning.remarks
    if report.closing is not None and not report.sources and not odd:
        return []
    lines = ["", *title("What was read, and what was odd")]
    for source in report.sources:
        lines += paragraph(source, width)
    if short is None or len(odd) <= MOST_ODD:
        return lines + remarks(report.cleaning, width)
    most = Cleaning(tuple(sorted(odd, key=lambda one: -one.count)[:MOST_ODD]))
    rest = short.left(f"{counted(len(odd) - MOST_ODD, 'kinds')} more of what was odd")
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
    if report.closing is not None:
        return []
    values = {**report.versions, **report.parameters}
    made = ", ".join(f"{name} {value}" for name, value in values.items())
    return ["", *paragraph(f"Made with {made}.", width)] if made else []
