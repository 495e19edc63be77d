"""`fs.style`: the look of all figures (extra `plot`), and their files."""

from forestall.core.show.style import (
    BLACK,
    BLUE,
    DASHES,
    FAINT,
    GREEN,
    GREY,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    dress,
    legend,
    new_figure,
)
from forestall.core.show.svg import save

__all__ = [
    "BLACK",
    "BLUE",
    "DASHES",
    "FAINT",
    "GREEN",
    "GREY",
    "INK",
    "LINES",
    "MARKERS",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILLION",
    "YELLOW",
    "dress",
    "legend",
    "new_figure",
    "save",
]
