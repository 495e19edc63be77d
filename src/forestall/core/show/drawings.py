"""The figures of a report drawn once: as parts of a page, and as PNG and SVG in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forestall.core.show import style
from forestall.core.show.svg import inline_svg, save

if TYPE_CHECKING:
    from forestall.core.show.report import Report, Section

Progress = Callable[[int, int], None]
Drawings = Mapping[tuple[str, str], str]
"""Figures as SVG for a page, by the key of their section and their own name."""

NO_FIGURES: Final = (
    "Figures are left out, as Matplotlib is not installed: pip install 'forestall[plot]'"
)
SUFFIXES: Final = (".png", ".svg")


def figure_files(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files of figures."""
    return tuple(f"{name}{suffix}" for name in names for suffix in SUFFIXES)


def draw(
    report: Report, progress: Progress | None = None, folder: str | Path | None = None
) -> Drawings:
    """Return the figures of a report for its page; none without Matplotlib.

    `progress` is told of each that is drawn. With a `folder` each is written there too, as
    ``NAME.png`` and ``NAME.svg``.
    """
    if not style.has_matplotlib():
        return {}
    parts: tuple[Section, ...] = (*report.sections, *(report.closing or ()))
    wanted = [(part.key, one) for part in parts for one in part.figures]
    drawn: dict[tuple[str, str], str] = {}
    for done, (key, one) in enumerate(wanted, 1):
        figure = one.draw()
        for suffix in SUFFIXES if folder is not None else ():
            save(figure, Path(folder or "") / f"{one.name}{suffix}")
        drawn[key, one.name] = inline_svg(figure, f"{key} {one.name}", one.alt)
        if progress is not None:
            progress(done, len(wanted))
    return drawn
