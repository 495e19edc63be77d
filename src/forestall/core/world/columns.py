"""Columns of tables, from the arrays that a run leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures


def whole(table: npt.NDArray[Any], *names: str) -> dict[str, npt.NDArray[np.int64]]:
    """Return fields of records as columns of whole numbers, under their names."""
    return {name: table[name].astype(np.int64) for name in names}


def words(names: Sequence[str], codes: npt.NDArray[Any]) -> pl.Series:
    """Return the word of each code."""
    return pl.Series(list(names), dtype=pl.String).gather(codes.astype(np.int64))


def known(values: npt.NDArray[Any], there: npt.NDArray[np.bool_]) -> pl.Series:
    """Return the values, null where they are not there."""
    return pl.select(pl.when(pl.Series(there)).then(pl.Series(values.copy()))).to_series()


def in_units(values: npt.NDArray[Any], parts: int) -> npt.NDArray[np.float64]:
    """Return values counted in parts of a unit (thousandths: 1000) as numbers that print with no
    more decimals than that.

    The nearest float of a decimal prints as that decimal: a division is rounded to the nearest.
    """
    return values / float(parts)


def kinds(failures: Failures, number: npt.NDArray[np.int64]) -> pl.Series:
    """Return the kind of each of these failures of a log, empty where it tells none."""
    said = failures.kind
    told = [""] * len(number) if said is None else [said[i] for i in number.tolist()]
    return pl.Series(told, dtype=pl.String)
