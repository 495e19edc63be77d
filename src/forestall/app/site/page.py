"""A report as one HTML page that needs no other file, no network and no script.

Light and dark by the reader's setting, and printable. Every text of the records is escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from forestall.__about__ import __version__
from forestall.app.kit.report import NO_FIGURES
from forestall.app.site.text import RULES
from forestall.app.site.top import cards, grouped, leads, more_of, saving, with_something
from forestall.app.site.words import LONGEST, clean, example, from_records, titled, value_of
from forestall.show.html_pieces import POLICY, STYLE
from forestall.show.style import has_matplotlib

if TYPE_CHECKING:
    from forestall.app.site.facts import Advice, Figure, Picture, Section, Table
    from forestall.app.site.report import Report

    Progress = Callable[[int, int], None]

TITLE: Final = "What this machine's records tell"
MOST_ROWS: Final = 30
MOST_IN_CELL: Final = 300
SHORT_CELL: Final = 24
"""A cell of no more characters stays on one line."""
LONG_WORD: Final = 30
"""A longer word is broken anywhere rather than making its column wide."""
PERCENT: Final = re.compile(r"(?<=\d) %")
KEPT: Final = 6
"""Things to do under each heading before the rest is folded up."""
OF_A_KIND: Final = 3
MORE_STYLE: Final = """
nav{margin:1.2rem 0;font-size:.95rem}nav a{margin-right:1.1rem;white-space:nowrap}
a{color:var(--accent)}
h2{scroll-margin-top:1rem;border-top:1px solid var(--line);padding-top:1.4rem}
h3{font-size:1rem;margin:1.2rem 0 .2rem}
.lead{font-size:1.05rem;max-width:50rem}
.cards{margin:.8rem 0}.cards>div{display:grid;grid-template-rows:subgrid;grid-row:span 4;row-gap:0;
align-content:start}.cards .why{color:var(--soft);font-size:.83rem;line-height:1.35}
.cards dd.big{font-size:1.3rem}
.big small{white-space:nowrap;font-size:.62em;font-weight:500;color:var(--soft)}
.cards details{font-size:.8rem;color:var(--soft)}
.cards summary{cursor:pointer}
.long{overflow-wrap:anywhere}table.words td,table.words th{text-align:left}
table.words td{min-width:9rem}
thead th{white-space:normal;vertical-align:bottom}td.short{white-space:nowrap}
td.left,th.left{text-align:left!important}td.right,th.right{text-align:right!important;
white-space:nowrap}
.notes{color:var(--soft);font-size:.87rem;max-width:46rem;margin:.7rem 0}
.notes ul,.plain{margin:.3rem 0;padding-left:1.2rem}
.plain li{margin:.25rem 0;overflow-wrap:anywhere}
summary{color:var(--soft)}
.todo{padding-left:1.6rem}.todo li{margin:.55rem 0;max-width:52rem;overflow-wrap:anywhere}
@media print{nav{display:none}h2{border-top:0;padding-top:0}
details::details-content{content-visibility:visible;block-size:auto}
body{font-size:.85rem}.scroll{overflow:visible}
th,td{padding:.2rem .45rem}td.right,td.short{white-space:normal}
section{break-inside:auto}tr{break-inside:avoid}table{break-inside:auto}}
"""


def page(report: Report, progress: Progress | None = None, title: str = TITLE) -> str:
    """Return the whole page; `progress` is told of each picture that is drawn."""
    drawn = _drawn(report, progress)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{_text(report.headline)}</p>',
        _verdict(report),
        _top(report),
        _contents(report),
        *(_section(part, report, drawn) for part in with_something(report)),
        _untold(report),
        _read(report),
        _made(report),
    ]
    if not has_matplotlib() and any(part.pictures for part in report.sections):
        body.insert(4, f'<p class="soft">{escape(NO_FIGURES)}</p>')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{MORE_STYLE}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(part for part in body if part) + "\n"
        f"<footer>Written by forestall {escape(__version__)}. This page needs no other file and "
        "no network.</footer>\n</main>\n</body>\n</html>\n"
    )


def _text(text: str, most: int = 4000) -> str:
    """Return text from records, safe on a page; a number stays on one line with its %."""
    return escape(PERCENT.sub("\u00a0%", clean(text, most)))


def _drawn(report: Report, progress: Progress | None) -> dict[tuple[str, str], str]:
    """Return the pictures as parts of the page, by section and name; none without Matplotlib."""
    if not has_matplotlib():
        return {}
    from forestall.show.figure_files import png

    wanted = [(part.key, one) for part in report.sections for one in part.pictures]
    drawn: dict[tuple[str, str], str] = {}
    for done, (key, one) in enumerate(wanted, 1):
        figure = one.draw()
        address = f"data:image/png;base64,{b64encode(png(figure)).decode('ascii')}"
        drawn[key, one.name] = _picture(one, address, float(figure.get_figwidth()) * 96)
        if progress is not None:
            progress(done, len(wanted))
    return drawn


def _picture(one: Picture, address: str, width: float) -> str:
    return (
        f'<figure><img src="{address}" alt="{_text(one.alt)}" width="{width:.0f}">'
        f"<figcaption>{_text(one.caption)}</figcaption></figure>"
    )


def _verdict(report: Report) -> str:
    inner = "".join(f"<p>{_text(text)}</p>" for text in leads(report))
    return f'<div class="verdict">{inner}</div>' if inner else ""


def _top(report: Report) -> str:
    return _cards([(one, f"#{part.key}") for part, one in cards(report)], report)


def _cards(figures: Iterable[tuple[Figure, str]], report: Report) -> str:
    """Return figures as cards; quietly below each: its interval, its records, what it assumes."""
    currency = report.asked.currency
    made = []
    for one, link in figures:
        label = _text(titled(one.label), LONGEST)
        name = f'<a href="{escape(link)}">{label}</a>' if link else label
        quiet = one.why if one.value is None else from_records(one, currency)
        rest = ""
        if one.assumes and not link:
            rest = f"<dd><details><summary>assumes</summary>{_text(one.assumes)}</details></dd>"
        made.append(
            f'<div><dt>{name}</dt><dd class="big">{_value(one, currency)}</dd>'
            f'<dd class="why">{_text(quiet)}</dd>{rest}</div>'
        )
    return '<dl class="cards">\n' + "\n".join(made) + "\n</dl>" if made else ""


def _value(one: Figure, currency: str) -> str:
    """Return a figure's value, its unit in small letters."""
    number, _, unit = value_of(one, currency).partition(" ")
    return f"{_text(number)} <small>{_text(unit)}</small>" if unit else _text(number)


def _contents(report: Report) -> str:
    entries = [(part.key, part.title) for part in with_something(report)]
    entries += [("untold", "Not told")] if report.untold else []
    entries += [("read", "What was read"), ("made", "Made with")]
    links = "".join(f'<a href="#{escape(key)}">{_text(title)}</a> ' for key, title in entries)
    return f'<nav aria-label="Contents">{links}</nav>'


def _section(part: Section, report: Report, drawn: dict[tuple[str, str], str]) -> str:
    inner = [
        f'<p class="lead">{_text(part.lead)}</p>' if part.lead else "",
        _advice(report) if part.key == "advice" else "",
        _cards([(one, "") for one in part.figures], report),
        *(_table(one) for one in part.tables if one.key not in RULES),
        *(drawn.get((part.key, one.name), "") for one in part.pictures),
        _notes(part),
    ]
    return _titled(part.key, part.title, *inner)


def _advice(report: Report) -> str:
    """Return the advice under its headings; what is more of the same is folded up."""
    made = []
    count = 0
    for group in grouped(report.advice, KEPT, OF_A_KIND):
        made.append(f"<h3>{_text(group.title)}</h3>\n{_items(group.kept, count, report)}")
        count += len(group.kept)
        if group.rest:
            rest = _items(group.rest, count, report)
            made.append(f"<details><summary>{_text(more_of(group))}</summary>{rest}</details>")
            count += len(group.rest)
    return "\n".join(made)


def _items(advice: Sequence[Advice], before: int, report: Report) -> str:
    """Return advice as a list that counts on from `before`."""
    items = [
        f"<li><b>{_text(one.text)}</b> <span>{_text(saving(one, report.asked))}</span>"
        f'<br><span class="soft">{_text(one.because)}</span></li>'
        for one in advice
    ]
    return f'<ol class="todo" start="{before + 1}">\n' + "\n".join(items) + "\n</ol>"


def _titled(key: str, title: str, *inner: str) -> str:
    body = "\n".join(one for one in inner if one)
    return f'<section>\n<h2 id="{escape(key)}">{_text(title)}</h2>\n{body}\n</section>'


def _notes(part: Section) -> str:
    """Return how things are counted, folded up on the screen; all of it is printed."""
    items = "".join(f"<li>{_text(note)}</li>" for note in part.notes)
    listed = f"<ul>{items}</ul>" if items else ""
    rules = "".join(_table(one) for one in part.tables if one.key in RULES)
    if not listed and not rules:
        return ""
    summary = "<summary>How this is counted</summary>"
    return f'<details class="notes">{summary}{listed}{rules}</details>'


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    note = table.note
    if len(table.rows) > MOST_ROWS:
        note = f"{len(table.rows) - MOST_ROWS:,} rows more are in the JSON. {note}".strip()
    told = f'<p class="soft">{_text(note)}</p>' if note else ""
    made = rows_of(table.heads, table.rows[:MOST_ROWS], table.right)
    return f"<h3>{_text(table.title)}</h3>\n{made}{told}"


def rows_of(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table; columns in `right` are aligned to the right, all others to the left."""

    def kind(k: int, cell: str = "") -> str:
        side = "right" if k in right else "left"
        if any(len(word) > LONG_WORD for word in cell.split()):
            return f"{side} long"
        return f"{side} short" if 0 < len(cell) <= SHORT_CELL else side

    head = "".join(
        f'<th scope="col" class="{kind(k)}">{_text(text)}</th>' for k, text in enumerate(heads)
    )
    body = []
    for row in rows:
        cells = "".join(
            f'<td class="{kind(k, cell)}">{_text(cell, MOST_IN_CELL)}</td>'
            for k, cell in enumerate(row)
            if k
        )
        first = f'<th scope="row" class="{kind(0, row[0])}">{_text(row[0], MOST_IN_CELL)}</th>'
        body.append(f"<tr>{first}{cells}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(body)
        + "\n</tbody></table></div>"
    )


def _untold(report: Report) -> str:
    if not report.untold:
        return ""
    titles = {part.key: part.title for part in report.sections}
    rows = [(one.what, one.why, one.remedy) for _, one in report.untold]
    assert all(key in titles for key, _ in report.untold)
    made = rows_of(("What", "Why", "What it takes"), rows)
    return _titled("untold", "What we could not tell, and why", made)


def _read(report: Report) -> str:
    listed = "".join(f"<li>{_text(one)}</li>" for one in report.sources)
    rows = []
    for one in report.cleaning.remarks:
        shown = ", ".join(example(name) for name in one.names[:5])
        rows.append((one.counted, one.action, shown + (", ..." if one.count > 5 else "")))
    odd = rows_of(("What was odd", "What was done", "For example"), rows) if rows else ""
    fine = "" if rows else "<p>Nothing odd was found.</p>"
    made = f'<ul class="plain">{listed}</ul>' if listed else ""
    return _titled("read", "What was read, and what was odd", made, odd, fine)


def _made(report: Report) -> str:
    rows = [(name, str(value)) for name, value in report.options.items() if value is not None]
    rows += list(report.versions.items())
    return _titled("made", "Made with", rows_of(("What", "Value"), rows)) if rows else ""
