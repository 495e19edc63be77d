"""Arrays by what they hold, of any shape; rows of tables that are made of them, and how such a
table shows itself at a prompt: what it is made of, not all it holds."""

import textwrap
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

T = TypeVar("T")

WIDTH: Final = 100
MOST: Final = 60
"""Characters of a value; what is longer is cut, or told by its length."""
ABOUT: Final = "{} of {:,}"


def taken(table: T, index: Ints | Bools, *columns: str) -> T:
    """Return a table (a dataclass) with the rows of these columns that are at these positions or
    where the mask holds. Columns are arrays, tuples, or tell their rows by `take`; or None."""
    where = np.flatnonzero(index) if index.dtype == np.bool_ else index
    rows = {name: _rows(getattr(table, name), where) for name in columns}
    return replace(table, **rows)  # type: ignore[type-var]


def _rows(column: Any, where: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column[where]
    if isinstance(column, tuple):
        return tuple(map(column.__getitem__, where.tolist()))
    return None if column is None else column.take(where)


def brief_repr(self: Any) -> str:
    """Return a dataclass in a few lines: arrays by type and shape, what is long by its length.

    Stands in a class as ``__repr__ = brief_repr``.
    """
    parts = (f"{one.name}={_told(getattr(self, one.name))}" for one in fields(self) if one.repr)
    text = f"{type(self).__name__}({', '.join(parts)})"
    return textwrap.fill(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _told(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        kind = "record" if value.dtype.names else str(value.dtype)
        return f"{kind}[{', '.join(f'{size:,}' for size in value.shape)}]"
    text = kind if is_dataclass(value) else repr(value)
    if len(text) <= MOST and "\n" not in text and not is_dataclass(value):
        return text
    if isinstance(value, str):
        return f"{text[: MOST - 4]}...{text[-1]}"
    return ABOUT.format(kind, len(value)) if hasattr(value, "__len__") else kind
