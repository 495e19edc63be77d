"""Cells of comma-separated tables that a spreadsheet would take for formulas, or that a terminal
would obey.

A text that begins as a formula does is written with an apostrophe before it, and so is one that
begins with apostrophes before such a beginning; whoever reads one of our tables takes one away. A
text with control characters, or such as turn text around, stands as ``'\\`` and the text with
escapes. So every text comes back as it was, and none is run or obeyed. Numbers stay numbers, in
columns of text, too. Source: https://owasp.org/www-community/attacks/CSV_Injection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from forestall.core._lazy import lazily

with lazily():
    import polars as pl

_BEGINS: Final = r"(?:'*[=+@\uff1d\uff0b\uff0d\uff20-]|'+\\)"
_RISKY: Final = f"^{_BEGINS}"
_GUARDED: Final = f"^'({_BEGINS})"
_HARMLESS: Final = r"^(-|[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$"
_OBEYED: Final = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_ESCAPED: Final = "'\\"
"""What a text with escapes begins with."""
_ONE: Final = re.compile(rf"\\|{_OBEYED}")
_ESCAPE: Final = re.compile(r"\\(\\|x[0-9a-f]{2}|u[0-9a-f]{4})")
_RISKY_ONE, _GUARDED_ONE, _HARMLESS_ONE, _OBEYED_ONE = map(
    re.compile, (_RISKY, _GUARDED, _HARMLESS, _OBEYED)
)


def guarded(text: str) -> str:
    """Return a text as it stands in a cell.

    >>> guarded("=1+2"), guarded("-12"), unguarded("'=1+2")
    ("'=1+2", '-12', '=1+2')
    """
    if _OBEYED_ONE.search(text):
        return _ESCAPED + _ONE.sub(_numbered, text)
    risky = _RISKY_ONE.match(text) is not None and _HARMLESS_ONE.match(text) is None
    return f"'{text}" if risky else text


def _numbered(found: re.Match[str]) -> str:
    if found[0] == "\\":
        return r"\\"
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def unguarded(cell: str) -> str:
    """Return the text of a cell."""
    if cell.startswith(_ESCAPED):
        return _ESCAPE.sub(_unescaped, cell[len(_ESCAPED) :])
    return cell[1:] if _GUARDED_ONE.match(cell) else cell


def _unescaped(found: re.Match[str]) -> str:
    return found[1] if found[1] == "\\" else chr(int(found[1][1:], 16))


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table as it is written to CSV: none of its cells is a formula, or obeyed."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    risky = [name for name in texts if table[name].str.contains(f"{_RISKY}|{_OBEYED}").any()]
    told = (_each(table[name], guarded) for name in risky)
    return table.with_columns(told).rename({name: guarded(name) for name in table.columns})


def read_back(table: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a table that was read from CSV with its texts, in these columns or in all of text."""
    kinds = table.schema
    texts = [name for name in names or table.columns if kinds[name] == pl.String]
    found = [name for name in texts if table[name].str.starts_with("'").any()]
    return table.with_columns(_each(table[name], unguarded) for name in found)


def _each(column: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """Return a column of text with each of its words changed."""
    words = column.unique().drop_nulls()
    changed = pl.Series([change(one) for one in words.to_list()], dtype=pl.String)
    return column.replace_strict(words, changed, default=None) if len(words) else column
