"""What reports on predictors have in common: figures into a folder and a page, tables, verdict."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forestall.app.kit.report import NO_FIGURES
from forestall.show import style
from forestall.show.html_pieces import EMPTY, Html, html, paragraph, picture

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Picture:
    """A figure to draw, what it is (for those who cannot see it), and what it shows."""

    name: str
    draw: Callable[[], Figure]
    alt: str
    caption: str


def write_pictures(
    pictures: Sequence[Picture], folder: Path, progress: Progress
) -> dict[str, Html]:
    """Write the figures as PNG, and return them as parts of a page by name; none without
    Matplotlib."""
    shown: dict[str, Html] = {}
    if not style.has_matplotlib():
        return shown
    from forestall.show.figure_files import png

    for done, one in enumerate(pictures, 1):
        figure = one.draw()
        image = png(figure)
        (folder / f"{one.name}.png").write_bytes(image)
        address = f"data:image/png;base64,{b64encode(image).decode('ascii')}"
        shown[one.name] = picture(address, one.alt, one.caption, float(figure.get_figwidth()))
        progress(done, len(pictures))
    return shown


def written(folder: Path) -> str:
    """Return what was written where, in words."""
    missing = "" if style.has_matplotlib() else NEEDED
    return f"Files are in {folder}; open {folder / 'report.html'}{missing}"


NEEDED = "; figures need an extra: pip install 'forestall[plot]'"


def missing_figures(drawn: Mapping[str, Html]) -> Html:
    """Return a remark where figures could not be drawn."""
    return EMPTY if drawn else paragraph(NO_FIGURES, "soft")


def shown(drawn: Mapping[str, Html], *names: str) -> Html:
    """Return these figures, as far as they were drawn."""
    return Html("\n".join(drawn[name].text for name in names if name in drawn))


def verdict(*texts: str) -> Html:
    """Return the verdict of a page."""
    inner = "".join(f"<p>{html(text)}</p>" for text in texts if text)
    return Html(f'<div class="verdict">{inner}</div>')


def made_with(summary: Mapping[str, Any]) -> dict[str, object]:
    """Return the files, the options and the versions behind a page."""
    sources = {k.replace("_", " "): v for k, v in summary.items() if k.endswith("source")}
    given = {k.replace("_", " "): v for k, v in summary["parameters"].items()}
    return {**sources, **given, **summary["versions"]}


def table_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table, with every column that any of them has."""
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)


def end(ci: Sequence[float] | None, which: int) -> float | None:
    """Return one end of an interval."""
    return None if ci is None else ci[which]
