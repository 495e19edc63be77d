"""A report as one HTML page that needs no other file and no network.

Light and dark by the reader's setting, and printable. Every text is escaped: by the templates, and
before that of what no screen shows. The page's own policy forbids whatever is not in it; its one
script, which sorts tables and searches them, is named there by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from forestall.__about__ import __version__
from forestall.core.files.atomic import atomic_path
from forestall.core.show import style
from forestall.core.show.blocks import Bar, Cell, Prose, Steps, Table, more_of
from forestall.core.show.blocks import Figure as Drawable
from forestall.core.show.clean import LONGEST, clean, in_lines
from forestall.core.show.closing import closing_of
from forestall.core.show.drawings import NO_FIGURES, Drawings, Progress, draw
from forestall.core.show.quantities import quiet, titled, value_of
from forestall.core.show.svg import PAGE_COLOURS

if TYPE_CHECKING:
    from forestall.core.show.blocks import Block
    from forestall.core.show.report import Report, Section

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
)
MOST_ROWS: Final = 200
"""Rows of a table that a page holds, unless the table says otherwise; long ones scroll."""
MANY_COLUMNS: Final = 8
"""A table of more columns has smaller letters."""
MOST_IN_CELL: Final = 300
SHORT_CELL: Final = 24
"""A cell of no more characters stays on one line."""
LONG_WORD: Final = 30
"""A longer word is broken anywhere rather than making its column wide."""
KEPT: Final = 6
"""Things to do under each heading before the rest is folded up."""
OF_A_KIND: Final = 3
MOST: Final = 4000
SHORT_TITLES: Final = {"untold": "Not known", "read": "What was read"}
"""Of closing sections, for the list of contents."""
_PERCENT: Final = re.compile(r"(?<=\d) %")


def page(report: Report, progress: Progress | None = None, drawn: Drawings | None = None) -> str:
    """Return the whole page; `progress` is told of each figure that is drawn, unless they are
    `drawn` already."""
    return _rendered("page.html.j2", report, progress, drawn)


def fragment(
    report: Report, progress: Progress | None = None, drawn: Drawings | None = None
) -> str:
    """Return what a page shows as one element with its own style, for a notebook."""
    return _rendered("fragment.html.j2", report, progress, drawn)


def write_page(path: str | Path, text: str) -> Path:
    """Write the page whole or not at all, and return where."""
    target = Path(path)
    with atomic_path(target) as beside:
        beside.write_text(text, encoding="utf-8")
    return target


def _rendered(name: str, report: Report, progress: Progress | None, drawn: Drawings | None) -> str:
    drawings = draw(report, progress) if drawn is None else drawn
    sections = [part for part in report.sections if part.tells and _shows(part, drawings)]
    closing = [part for part in closing_of(report) if _shows(part, drawings)]
    figures = any(part.figures for part in report.sections)
    return in_lines(
        _environment()
        .get_template(name)
        .render(
            report=report,
            sections=sections,
            closing=closing,
            drawn=drawings,
            missing="" if style.has_matplotlib() or not figures else NO_FIGURES,
            style=_asset("style.css"),
            script=_asset("page.js"),
            policy=_policy(),
            version=__version__,
        )
    )


def _shows(part: Section, drawn: Drawings) -> bool:
    """Return whether anything of a section would stand below its title."""
    return bool(part.lead or part.facts or part.notes) or any(
        _visible(one, part.key, drawn) for one in part.body
    )


def _visible(block: Block, key: str, drawn: Drawings) -> bool:
    if isinstance(block, Table):
        return bool(block.rows)
    if isinstance(block, Drawable):
        return (key, block.name) in drawn
    return isinstance(block, Prose | Steps | Bar) or bool(block.items)


@cache
def _asset(name: str) -> str:
    return (files("forestall.core.show") / "templates" / name).read_text(encoding="utf-8")


@cache
def _policy() -> str:
    digest = hashlib.sha256(_asset("page.js").encode()).digest()
    return POLICY.format(digest=base64.b64encode(digest).decode())


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("forestall.core.show", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"told": _told, "name": _name, "titled": titled, "cell_text": _cell_text}
    made.filters["coloured"] = lambda colour: PAGE_COLOURS.get(colour, colour)
    made.globals |= {
        "KEPT": KEPT,
        "MANY_COLUMNS": MANY_COLUMNS,
        "MOST_ROWS": MOST_ROWS,
        "OF_A_KIND": OF_A_KIND,
        "SHORT_TITLES": SHORT_TITLES,
        "counts": _counts,
        "kind_of": lambda block: type(block).__name__,
        "more_of": more_of,
        "parted": _parted,
        "quiet": quiet,
        "side": _side,
        "value_of": value_of,
    }
    return made


def _counts(part: Section) -> bool:
    """Return whether a section says how things are counted."""
    return bool(part.notes) or any(one.folded for one in part.tables)


def _parted(value: str) -> tuple[str, str]:
    """Return the number of a value and its unit; all of it where it is not just one number."""
    number, _, unit = value.partition(" ")
    counted = re.sub(r"^per [\d,]+ ", "", unit)
    first, more = (any(one.isdigit() for one in part) for part in (number, counted))
    return (number, unit) if first and not more else (value, "")


def _told(text: str, most: int = MOST) -> str:
    """Return text from records without what no screen shows; a number stays on one line with its
    %."""
    return _PERCENT.sub("\u00a0%", clean(text, most))


def _name(text: str) -> str:
    return _told(text, LONGEST)


def _cell_text(cell: Any) -> str:
    return _told(cell.text if isinstance(cell, Cell) else cell, MOST_IN_CELL)


def _side(table: Table, column: int, cell: str | Cell = "") -> Markup:
    """Return the classes of a cell: figures, aligned right, have none."""
    text = str(cell)
    kinds = [] if column in table.right else ["left"]
    if isinstance(cell, Cell) and cell.best:
        kinds.append("best")
    if any(len(word) > LONG_WORD for word in text.split()):
        kinds.append("long")
    elif kinds[:1] == ["left"] and 0 < len(text) <= SHORT_CELL:
        kinds.append("short")
    return Markup(f' class="{" ".join(kinds)}"') if kinds else Markup("")
