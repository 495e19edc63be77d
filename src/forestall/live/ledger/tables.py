"""The tables of the ledger, made of the classes of its rows, and rows to and from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from forestall.core.files.documents import json_of
from forestall.core.files.records import held_to, refused
from forestall.core.model.errors import ParameterError
from forestall.core.model.live.canonical import canonical
from forestall.live.ledger.rows import ROWS, VERSION, LedgerRow

R = TypeVar("R", bound=LedgerRow)

METADATA: Final = sa.MetaData()
_KINDS: Final[Mapping[str, type[sa.types.TypeEngine[Any]]]] = {
    "int": sa.BigInteger,
    "float": sa.Double,
    "str": sa.Text,
    "Json": sa.Text,
}
_TYPES: Final[Mapping[str, type]] = {"int": int, "float": float, "str": str}
_LARGEST: Final = 2**63 - 1


def _table(kind: type[LedgerRow]) -> sa.Table:
    """Return the table of a kind of rows: number of the row, version, and its fields."""
    columns = [
        sa.Column(
            one.name,
            _KINDS[str(one.type)],
            *([sa.ForeignKey(kind.refers[one.name])] if one.name in kind.refers else []),
            nullable=False,
        )
        for one in fields(kind)
    ]
    return sa.Table(
        kind.table,
        METADATA,
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        *columns,
        sa.UniqueConstraint(*kind.key, name=f"{kind.table}_key"),
    )


TABLES: Final[Mapping[type[LedgerRow], sa.Table]] = {kind: _table(kind) for kind in ROWS}
BY_TIME: Final = sa.Index("states_at", METADATA.tables["states"].c.at)
"""By which the states since a moment are found."""
ONCE: Final = sa.Index("promises_offer", METADATA.tables["promises"].c.offer, unique=True)
"""An offer is accepted once."""


def values(row: LedgerRow) -> dict[str, Any]:
    """Return what a row has in its table, but for its number.

    Raises ParameterError for a value that a database cannot hold.
    """
    told: dict[str, Any] = {"version": VERSION}
    for one in fields(row):
        told[one.name] = _cell(str(one.type), f"{row.table}.{one.name}", getattr(row, one.name))
    return told


def _cell(kind: str, name: str, value: Any) -> int | float | str:
    """Return a value as its column holds it."""
    if kind == "Json":
        try:
            return canonical(value)
        except (TypeError, ValueError) as error:
            raise ParameterError(name, str(value)[:80], f"a value of JSON ({error})") from None
    if kind == "int" and type(value) is int and abs(value) <= _LARGEST:
        return value
    if kind == "float" and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind == "str" and isinstance(value, str) and _storable(value):
        return str(value)
    expected = {"int": "a whole number of 64 bits", "float": "a finite number"}
    raise ParameterError(
        name, str(value)[:80], expected.get(kind, "text of Unicode characters other than NUL")
    )


def _storable(text: str) -> bool:
    """Whether a text is one for every database: no NUL, no half of a character."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def row_of(kind: type[R], found: Mapping[Any, Any]) -> R:
    """Return a row from what its table has, each value held to its type.

    Raises ParameterError where the database was damaged, or written to by another program.
    """
    told: dict[str, Any] = {}
    for one in fields(kind):
        hint = kind.forms.get(one.name, _TYPES.get(str(one.type), Any))
        try:
            told[one.name] = value = _of_cell(str(one.type), found[one.name])
            held_to(hint, value, name=one.name)
        except ParameterError as error:
            row = " ".join(str(found[name])[:40] for name in kind.key)
            name = f"{kind.table} is damaged: row {row}: {error.name}"
            raise ParameterError(name, error.value, error.allowed) from None
    return kind(**told)


def _of_cell(kind: str, value: Any) -> Any:
    """Return the value of a column."""
    if kind != "Json":
        return value
    try:
        return json_of(value)
    except (TypeError, ValueError):
        raise refused("its text", value, "JSON") from None
