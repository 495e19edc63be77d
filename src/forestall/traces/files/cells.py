"""Cells of comma-separated tables that a spreadsheet would take for formulas.

A text that begins as a formula does is written with an apostrophe before it, and so is one that
begins with apostrophes before such a beginning; whoever reads one of our tables takes one away. So
every text comes back as it was, and none of them is run. Numbers stay numbers, in columns of text,
too. Source: https://owasp.org/www-community/attacks/CSV_Injection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from forestall._lazy import lazily

with lazily():
    import polars as pl

_BEGINS: Final = "[=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20-]"
_RISKY: Final = f"^'*{_BEGINS}"
_GUARDED: Final = f"^'('*{_BEGINS})"
_HARMLESS: Final = r"^(-|[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$"
_RISKY_ONE, _GUARDED_ONE, _HARMLESS_ONE = map(re.compile, (_RISKY, _GUARDED, _HARMLESS))


def guarded(text: str) -> str:
    """Return a text as it stands in a cell.

    >>> guarded("=1+2"), guarded("-12"), unguarded("'=1+2")
    ("'=1+2", '-12', '=1+2')
    """
    risky = _RISKY_ONE.match(text) is not None and _HARMLESS_ONE.match(text) is None
    return f"'{text}" if risky else text


def unguarded(cell: str) -> str:
    """Return the text of a cell."""
    return cell[1:] if _GUARDED_ONE.match(cell) else cell


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table as it is written to CSV: none of its cells is a formula."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    risky = [name for name in texts if table[name].str.contains(_RISKY).any()]
    for name in risky:
        column = pl.col(name)
        formula = column.str.contains(_RISKY) & ~column.str.contains(_HARMLESS)
        text = pl.when(formula).then(pl.lit("'") + column).otherwise(column)
        table = table.with_columns(text.alias(name))
    return table.rename({name: guarded(name) for name in table.columns})


def read_back(table: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a table that was read from CSV with its texts, in these columns or in all of text."""
    kinds = table.schema
    texts = [name for name in names or table.columns if kinds[name] == pl.String]
    found = [name for name in texts if table[name].str.starts_with("'").any()]
    if not found:
        return table
    return table.with_columns(pl.col(found).str.replace(_GUARDED, "${1}"))
