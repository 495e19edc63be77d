"""Arrays by what they hold, of any shape, and rows of tables that are made of them."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

T = TypeVar("T")


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
