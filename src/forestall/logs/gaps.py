"""Gaps between failures as a table: CSV with ``gap[,censored]``, in any unit of time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.delimited import TextColumns, read_sheet
from forestall.core.files.guard import reader
from forestall.core.model.cleaning import Cleaning

REQUIRED: Final = ("gap",)
OPTIONAL: Final = ("censored", "resolution")
KNOWN: Final = frozenset({"node", "begin", "end"})
"""Other columns that gaps.csv and system_gaps.csv of an analysis have."""
YES: Final = frozenset({"1", "true", "yes", "t", "y", "1.0"})
NO: Final = frozenset({"0", "false", "no", "f", "n", "0.0", ""})


@dataclass(frozen=True)
class GapTable:
    """Gaps in the order of the file.

    Attributes
    ----------
    gap : float64[n], >= 0, in the unit of the file
    censored : bool[n]: observation ended before the failure came
    resolution : the shortest gap that the clock could tell, where the file says so
    cleaning : what was left out
    """

    gap: npt.NDArray[np.float64]
    censored: npt.NDArray[np.bool_]
    resolution: float | None
    cleaning: Cleaning


@reader
def read_gaps(path: str | Path, *, strict: bool = False) -> GapTable:
    """Read a table of gaps; rows with a bad field are left out and named.

    Raises TraceError if the file cannot be used, and with `strict` for the first bad row.
    """
    sheet = read_sheet(path, REQUIRED, OPTIONAL, strict=strict)
    greatest = float(np.finfo(np.float64).max)
    gap = sheet.real("gap", low=0.0, high=greatest)
    sheet.refuse("gap", np.isnan(gap) & sheet.keep, f"a number from 0 to {greatest:g}")
    censored = _flags(sheet) if sheet.has("censored") else np.zeros(len(sheet), dtype=np.bool_)
    steps = np.empty(0)
    if sheet.has("resolution"):
        told = sheet.real("resolution", low=0.0, high=greatest)
        steps = told[sheet.keep & (told > 0)]
    keep = sheet.keep
    cleaning = sheet.findings.cleaning(int(keep.sum()), "gaps")
    ignored = [name for name in sheet.names if name not in {*REQUIRED, *OPTIONAL, *KNOWN}]
    cleaning = cleaning.plus("ignored_columns", "columns beside gap and censored", "kept", ignored)
    return GapTable(gap[keep], censored[keep], float(steps.max()) if len(steps) else None, cleaning)


def _flags(sheet: TextColumns) -> npt.NDArray[np.bool_]:
    said = [text.lower() for text in sheet.text("censored")]
    yes = np.fromiter((text in YES for text in said), np.bool_, len(said))
    no = np.fromiter((text in NO for text in said), np.bool_, len(said))
    sheet.refuse("censored", ~(yes | no), "0 or 1 (or false, true)")
    return yes
