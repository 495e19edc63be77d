"""Pieces of a self-contained HTML page. Every function that takes text escapes it.

Nothing is loaded from anywhere: styles are in the page, figures are inside their addresses, there
are no scripts, and the page's own policy forbids what is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from forestall.__about__ import __version__
from forestall.traces.files.atomic import atomic_path

STYLE = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1b1f24;--soft:#57606a;
--line:#d8dee4;--accent:#0072b2;--good:#00664a;--track:#e6eaee}
@media (prefers-color-scheme:dark){:root{--page:#14171a;--card:#1e2226;--ink:#e8eaed;--soft:#a9b1ba;
--line:#3a4148;--accent:#7cc4f0;--good:#5fd0a8;--track:#2c3238}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);line-height:1.5;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.7rem;margin:0 0 .2rem;line-height:1.2}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem}
p{margin:.5rem 0}.soft,caption,figcaption,footer{color:var(--soft);font-size:.9rem}
.verdict{background:var(--card);border:1px solid var(--line);border-left:.35rem solid var(--accent);
border-radius:.4rem;padding:.7rem 1rem;margin:1.2rem 0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(11.5rem,1fr));gap:.75rem;margin:0}
.cards div{background:var(--card);border:1px solid var(--line);border-radius:.4rem;
padding:.7rem .9rem}
.cards dt{font-size:.85rem;color:var(--soft)}
.cards dd{margin:0}.cards dd.big{font-size:1.45rem;font-weight:650;line-height:1.3}
.cards dd+dd{font-size:.83rem;color:var(--soft);line-height:1.35}
.scroll{overflow-x:auto}
table{border-collapse:collapse;background:var(--card);border:1px solid var(--line);font-size:.92rem;
font-variant-numeric:tabular-nums;margin:.5rem 0}
caption{text-align:left;padding:.2rem 0}
th,td{padding:.32rem .75rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
thead th{font-weight:600;vertical-align:bottom}
tbody th,thead th:first-child{text-align:left}tbody th{font-weight:500}
table.names th,table.names td{text-align:left}td.best{font-weight:700;color:var(--good)}
table.many{font-size:.8rem}table.many th,table.many td{padding:.3rem .45rem}
figure{margin:.6rem 0 0;background:#fff;border:1px solid var(--line);border-radius:.4rem;
padding:.6rem}
figure img{display:block;max-width:100%;height:auto;margin:0 auto}
figcaption{color:#444;padding:.4rem .3rem 0}
.bar{display:flex;height:1.6rem;border-radius:.3rem;overflow:hidden;background:var(--track)}
.bar span{display:block;height:100%;min-width:1px}
.key{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.45em;
border:1px solid var(--line)}
footer{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.6rem}
@media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--accent:#0072b2;
--good:#00664a;color-scheme:light}main{max-width:none;padding:0}
figure,table,.cards div,.verdict{break-inside:avoid}h2{break-after:avoid}
.bar span,.key{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Html:
    """Text that is HTML already; plain text is escaped when it becomes a part of one."""

    text: str

    def __add__(self, other: Html) -> Html:
        return Html(self.text + other.text)


EMPTY = Html("")
Text = str | Html


def html(text: Text) -> str:
    """Return HTML: as it is where it is that already, escaped otherwise."""
    return text.text if isinstance(text, Html) else escape(text)


def join(parts: Iterable[Html]) -> Html:
    """Return the parts, one after the other."""
    return Html("\n".join(part.text for part in parts))


def paragraph(text: Text, kind: str = "") -> Html:
    """Return a paragraph."""
    return Html(f'<p class="{kind}">{html(text)}</p>' if kind else f"<p>{html(text)}</p>")


def section(title: str, *parts: Html) -> Html:
    """Return a titled section; nothing where it would be empty."""
    inner = join(part for part in parts if part.text)
    if not inner.text:
        return EMPTY
    return Html(f"<section>\n<h2>{escape(title)}</h2>\n{inner.text}\n</section>")


def cards(entries: Iterable[tuple[str, str, str]]) -> Html:
    """Return headline measures: (name, value, what it means)."""
    made = [
        f'<div><dt>{escape(name)}</dt><dd class="big">{escape(value)}</dd>'
        f"<dd>{escape(meaning)}</dd></div>"
        for name, value, meaning in entries
    ]
    return Html('<dl class="cards">\n' + "\n".join(made) + "\n</dl>")


@dataclass(frozen=True)
class HtmlCell:
    """A cell of a table: its text, and its class (`best`: marked)."""

    text: Text
    kind: str = ""


def table(
    heads: Sequence[Text],
    rows: Iterable[Sequence[Text | HtmlCell]],
    caption: str = "",
    kind: str = "figures",
) -> Html:
    """Return a table; the first cell of each row is its header. Nothing where there are no rows.

    Its class `kind` may be `names`: all columns are aligned as text; or `many`: of more columns
    than fit otherwise.
    """
    body = []
    for first, *rest in rows:
        name = first.text if isinstance(first, HtmlCell) else first
        cells = "".join(cell(entry) for entry in rest)
        body.append(f'<tr><th scope="row">{html(name)}</th>{cells}</tr>')
    if not body:
        return EMPTY
    head = "".join(f'<th scope="col">{html(text)}</th>' for text in heads)
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="scroll"><table class="{kind}">{said}<thead><tr>{head}</tr></thead>'
        "\n<tbody>\n" + "\n".join(body) + "\n</tbody></table></div>"
    )


def cell(entry: Text | HtmlCell) -> str:
    """Return one cell that is not a header."""
    if not isinstance(entry, HtmlCell):
        return f"<td>{html(entry)}</td>"
    kind = f' class="{entry.kind}"' if entry.kind else ""
    return f"<td{kind}>{html(entry.text)}</td>"


def pairs(values: Mapping[str, object], heads: tuple[str, str]) -> Html:
    """Return a table of names and values, such as parameters."""
    rows = [(name, "" if value is None else str(value)) for name, value in values.items()]
    return table(heads, rows, kind="names")


def picture(address: str, alt: str, caption: str = "", width: float = 0) -> Html:
    """Return a figure; `width` in inches as it was drawn, at 96 to the inch."""
    size = f' width="{width * 96:.0f}"' if width else ""
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    image = f'<img src="{escape(address)}" alt="{escape(alt)}"{size}>'
    return Html(f"<figure>{image}{said}</figure>")


def key(colour: str) -> Html:
    """Return a small square in a colour, that ties a row to a part of a bar."""
    return Html(f'<span class="key" style="background:{escape(colour)}"></span>')


def stacked_bar(shares: Iterable[tuple[str, float, str]], alt: str) -> Html:
    """Return a bar of (name, share of the whole, colour)."""
    parts = "".join(
        f'<span title="{escape(name)}" style="width:{100 * share:.4f}%;background:{colour}"></span>'
        for name, share, colour in shares
        if share > 0
    )
    return Html(f'<div class="bar" role="img" aria-label="{escape(alt)}">{parts}</div>')


def page(title: str, lead: Text, *parts: Html) -> str:
    """Return the whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="soft">{html(lead)}</p>\n'
        + join(part for part in parts if part.text).text
        + f"\n<footer>Written by forestall {escape(__version__)}. This page needs no other file "
        "and no network.</footer>\n</main>\n</body>\n</html>\n"
    )


def write_page(path: str | Path, text: str) -> Path:
    """Write the page whole or not at all, and return where."""
    target = Path(path)
    with atomic_path(target) as beside:
        beside.write_text(text, encoding="utf-8")
    return target
