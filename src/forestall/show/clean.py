"""Texts from records, such as names, made safe to show."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 160
"""A name of more characters is cut when it is shown."""
_LINE: Final = re.compile(r" line \d+$")
_FOLDERS: Final = re.compile(r"^.*/(?=[^/]+ line \d+$)", re.DOTALL)
_PRINTED: Final = frozenset({"L", "M", "N", "P", "S", "Z"})


def clean(text: str, most: int = LONGEST) -> str:
    """Return a text from records as one line that is safe to print: what no screen shows, or what
    would move its cursor, stands as an escape; long ones are cut.

    >>> clean("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\\\nc'
    """
    if not text.isprintable():
        text = "".join(one if _shows(one) else _escaped(one) for one in text)
    return text if len(text) <= most else text[: most - 3] + "..."


def _shows(one: str) -> bool:
    if one == "\u00a0":
        return True
    category = unicodedata.category(one)
    return category[0] in _PRINTED and category not in {"Zl", "Zp"}


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def example(name: str, most: int = 60) -> str:
    """Return what a remark names, as it is shown: of a line's file its name without folders; where
    that is too long, the line stays.

    >>> example("/var/spool/jobs.txt line 7"), example("jobs-of-all-clusters.txt line 7", 20)
    ('jobs.txt line 7', 'jobs-of-al... line 7')
    """
    text = clean(_FOLDERS.sub("", name), max(most, LONGEST))
    line = _LINE.search(text)
    if len(text) <= most or line is None:
        return clean(text, most)
    return f"{text[: most - 3 - len(line[0])]}...{line[0]}"
