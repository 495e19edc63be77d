"""Figures as SVG: for pages in the page's colours, for files as they are. No dates, no addresses.

Inside a page a drawing has no background, its ink is ``currentColor``, and its grid, its white and
its tints are variables of the page's style (``--line``, ``--card``, ``--tint-0``), so that it suits
a dark page as well as a light one. Text stays text, in the page's font. What has very many marks is
drawn as an image inside the drawing, which keeps pages small.
"""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.files.atomic import atomic_path
from forestall.core.show.clean import clean
from forestall.core.show.lettering import plain_letters
from forestall.core.show.style import FAINT, INK, PALE, TINTS, TRACK

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure


MANY: Final = 20_000
"""Corners above which a line or an area is drawn as an image inside the SVG."""
MANY_MARKS: Final = 4500
"""Marks above which a row of them is."""
POINTS: Final = 96 / 72
"""Pixels of a page in a point."""
LEAST: Final = 0.8
"""A drawing is never shown at less than this part of its size, so that text stays readable; on a
narrow screen it scrolls."""
METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
PAGE_COLOURS: Final = {
    INK: "currentColor",
    "#000000": "currentColor",
    "#ffffff": "var(--card)",
    FAINT: "var(--line)",
    PALE: "var(--pale)",
    TRACK: "var(--track)",
    **{tint: f"var(--tint-{k})" for k, tint in enumerate(TINTS)},
}
"""What stands in a page for colours of figures. Ink that lies on a light patch and must stay dark
is `style.DARK`."""
_HEAD: Final = re.compile(r"^.*?<svg[^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_DROPPED: Final = re.compile(
    r"<metadata>.*?</metadata>|<!--.*?-->|<style type=\"text/css\">.*?</style>"
    r"|(?<=<g) id=\"[^\"]*\""
    r"| clip-path=\"none\"",
    re.DOTALL,
)
_COLOUR: Final = re.compile(r"(?P<what>fill|stroke)(?P<sign>: |=\")(?P<colour>#[0-9a-f]{6})")
_FAMILY: Final = re.compile(r"font-family: [^;\"]*;? ?")
_PATH: Final = re.compile(r"(?<= d=\")[^\"]*")
_PLACE: Final = re.compile(r"(?<= [xy]=\")[-0-9.]+(?=\")")
_LONG: Final = re.compile(r"-?\d+\.\d{3,}")
_NO_TURN: Final = re.compile(r" transform=\"rotate\(-?0 [^)]*\)\"")
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_EMPTY: Final = re.compile(r"<defs>\s*</defs>|(?<=>)\n\s*")


def svg(figure: Figure) -> bytes:
    """Return the figure as an SVG file: white behind it, letters as outlines, the same bytes for
    the same figure."""
    return _drawn(figure, "forestall", "path", clear=False).encode()


def inline_svg(figure: Figure, name: str, alt: str) -> str:
    """Return the figure as a part of a page.

    `name` is unlike that of every other figure of the page: from it come the names of what the
    drawing refers to within itself. `alt` says what it is for those who cannot see it.
    """
    _as_images(figure)
    text = _drawn(figure, f"forestall {name}", "none", clear=True)
    found = _HEAD.match(text)
    assert found is not None, text[:200]
    _, _, width, height = (float(one) for one in found[1].split())
    body = _UNSEEN.sub("", _DROPPED.sub("", text[found.end() :]))
    body = _COLOUR.sub(_page_colour, body)
    body = _NO_TURN.sub("", _FAMILY.sub("", body)).replace("xlink:href", "href")
    body = _PLACE.sub(lambda one: _short(one[0]), body)
    body = _PATH.sub(lambda one: _LONG.sub(lambda n: _short(n[0]), " ".join(one[0].split())), body)
    body = _EMPTY.sub("", body)
    wide = width * POINTS
    label = escape(clean(alt, 4000))
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width:g} {height:g}" '
        f'fill="currentColor" style="width:{wide:.0f}px;min-width:{LEAST * wide:.0f}px">{body}'
    )


def _drawn(figure: Figure, salt: str, letters: str, *, clear: bool) -> str:
    """Return what Matplotlib writes; `letters` are ``path`` or ``none``: as text."""
    from matplotlib import rc_context

    plain_letters(figure)
    target = io.BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": letters, "svg.image_inline": True}):
        figure.savefig(
            target, format="svg", dpi=figure.dpi, metadata=METADATA, transparent=clear or None
        )
    return target.getvalue().decode()


def _page_colour(found: re.Match[str]) -> str:
    colour = PAGE_COLOURS.get(found["colour"], found["colour"])
    # Variables have no meaning in an attribute, only in a style.
    if found["sign"] != ": ":
        return f'style="{found["what"]}: {colour}'
    return f"{found['what']}: {colour}"


def _short(number: str) -> str:
    return f"{float(number):.2f}".rstrip("0").rstrip(".")


def _as_images(figure: Figure) -> None:
    """Have what has very many corners or marks drawn as images."""
    for axes in figure.axes:
        for one in (*axes.lines, *axes.collections):
            if _is_heavy(one):
                one.set_rasterized(True)
        if len(axes.patches) > MANY_MARKS:
            for patch in axes.patches:
                patch.set_rasterized(True)


def _is_heavy(artist: Artist) -> bool:
    """Return whether a line or a collection has more than can stand in a page."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D

    if isinstance(artist, Line2D):
        count = np.size(artist.get_xdata())
        marked = artist.get_marker() not in ("None", "none", "", " ", None)
        return count > (MANY_MARKS if marked else MANY)
    if isinstance(artist, Collection):
        paths = artist.get_paths()
        corners = sum(np.size(path.vertices) // 2 for path in paths)
        marks = max(len(paths), np.size(artist.get_offsets()) // 2)
        return corners > MANY or marks > MANY_MARKS
    return False


def png(figure: Figure) -> bytes:
    """Return the figure as PNG bytes."""
    plain_letters(figure)
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=figure.dpi, metadata={"Software": None})
    return target.getvalue()


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure whole or not at all; the suffix names the format (.png, .svg, .pdf)."""
    target = Path(path)
    kind = target.suffix.lstrip(".") or "png"
    with atomic_path(target) as beside:
        if kind == "svg":
            beside.write_bytes(svg(figure))
        else:
            plain_letters(figure)
            metadata = {"Software": None} if kind == "png" else None
            figure.savefig(beside, format=kind, dpi=figure.dpi, metadata=metadata)
    return target
