"""Texts from records, such as names, made safe to show."""

from __future__ import annotations

import re
import unicodedata
from contextvars import ContextVar
from typing import Final

LONGEST: Final = 160
"""A name of more characters is cut when it is shown."""
ENCODING: Final = ContextVar("the encoding of the output that tables are made for", default="utf-8")
PLAIN: Final = {
    "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "\u00d7": "x", "\u2212": "-",
    "\u2013": "-", "\u2014": "-", "…": "...", "·": ".", "•": "*", "★": "*", "→": "->", "←": "<-",
    "\u2018": "'", "\u2019": "'", "“": '"', "”": '"', "°": " deg", "µ": "u", "√": "sqrt",
    "∞": "inf", "─": "-", "━": "-", "│": "|", "┃": "|",
}  # fmt: skip
"""What stands for characters that an encoding lacks."""
_LINE: Final = re.compile(r" line \d+$")
_FOLDERS: Final = re.compile(r"^.*/(?=[^/]+ line \d+$)", re.DOTALL)
_PRINTED: Final = frozenset({"L", "M", "N", "P", "S", "Z"})
_NOT_IN_JSON: Final = re.compile(r"[^\x20-\x7e\n\t\r]")


class _Shown(dict[int, str]):
    """What stands for each character that was met; `laid_out` ones stand as they are."""

    def __init__(self, laid_out: str = "") -> None:
        super().__init__((ord(one), one) for one in laid_out)

    def __missing__(self, code: int) -> str:
        one = chr(code)
        self[code] = one if _shows(one) else one.encode("unicode_escape").decode("ascii")
        return self[code]


_IN_LINE: Final = _Shown()
_IN_LINES: Final = _Shown("\n\t")


def clean(text: str, most: int = LONGEST) -> str:
    """Return a text from records as one line that is safe to print: what no screen shows, or what
    would move its cursor, stands as an escape; long ones are cut.

    >>> clean("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\\\nc'
    """
    text = one_line(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def one_line(text: str) -> str:
    """Return a text as `clean` does, however long it is."""
    return text if text.isprintable() else text.translate(_IN_LINE)


def in_lines(text: str) -> str:
    """Return a text whose lines and tabs stay, and which is otherwise as safe as `clean` ones."""
    return text.translate(_IN_LINES)


def ascii_json(text: str) -> str:
    """Return JSON that means the same and holds nothing but plain characters, whoever wrote it.

    >>> ascii_json('["caf\\u00e9"]')
    '["caf\\\\u00e9"]'
    """
    return _NOT_IN_JSON.sub(_in_json, text)


def _in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[k]:02x}{units[k + 1]:02x}" for k in range(0, len(units), 2))


def _shows(one: str) -> bool:
    category = unicodedata.category(one)
    return category[0] in _PRINTED and category not in {"Zl", "Zp"}


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


def encodable(text: str, encoding: str) -> str:
    """Return a text that an encoding has: for what it lacks, a plain stand-in; for a letter of a
    name its escape, so that two names stay two.

    >>> encodable("± 5 %, café", "ascii")
    '+/- 5 %, caf\\\\xe9'
    """
    if text.isascii():
        return text
    try:
        text.encode(encoding)
    except UnicodeError:
        return "".join(_plain(one, encoding) for one in text)
    except LookupError:  # a terminal of an encoding that Python does not know
        return "".join(_plain(one, "ascii") for one in text)
    return text


def _plain(one: str, encoding: str) -> str:
    try:
        one.encode(encoding)
    except UnicodeError:
        return PLAIN.get(one) or _alike(one)
    return one


def _alike(one: str) -> str:
    """Return what stands for a character of a kind: lines of boxes, bars of charts, blanks, Greek
    letters; else its escape."""
    name = unicodedata.name(one, "")
    if name.startswith("GREEK"):
        letter = name.rpartition(" LETTER ")[2].split(" ")[0].lower()
        return letter.capitalize() if "CAPITAL" in name else letter
    if name.startswith(
        ("BOX DRAWINGS", "BLOCK", "FULL BLOCK", "LOWER", "UPPER", "LEFT ", "RIGHT ")
    ):
        return "+" if name.startswith("BOX") else "#"
    if unicodedata.category(one) == "Zs":
        return " "
    return one.encode("unicode_escape").decode("ascii")
