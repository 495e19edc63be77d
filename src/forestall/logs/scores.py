"""Scores of a predictor and what came: CSV or Parquet with ``score,failed[,group]``.

Any predictor's, wherever it was made: a row is a case (a node at a time, a job, an idle period), a
higher score means that a failure is more likely, `failed` is 1 or 0 (true or false). Names of
columns can be chosen; others are ignored. CSV may be packed (.gz, .xz, .zst).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import check_columns, csv_frame, header_names, read_sheet
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import read_bytes, text_of
from forestall.core.files.parquet import is_parquet, parquet_columns, read_parquet
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import TraceError

with lazily():
    import polars as pl


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

YES: Final = ("1", "true", "yes", "t", "y", "1.0")
NO: Final = ("0", "false", "no", "f", "n", "0.0")
BLANK: Final = ("", "nan", "na", "n/a", "null", "none")
"""What stands for "not known"."""
GROUP: Final = "group"


@dataclass(frozen=True)
class Scores:
    """Cases in the order of the file.

    Attributes
    ----------
    scores : float64[n] of each column of scores, by its name, none nan
    failed : bool[n]
    group : int64[n], groups numbered from 0, None where there are none
    group_name : the column of the groups
    rows : of the file, with those left out
    cleaning : what was left out
    """

    scores: Mapping[str, Floats]
    failed: Flags
    group: Ints | None
    group_name: str | None
    rows: int
    cleaning: Cleaning

    def __len__(self) -> int:
        return len(self.failed)


@reader
def read_scores(
    path: str | Path,
    score: Sequence[str] = ("score",),
    failed: str = "failed",
    group: str | None = None,
    *,
    strict: bool = False,
) -> Scores:
    """Read columns of scores with their outcomes; rows without one of them are left out and named.

    Parameters
    ----------
    score : the columns of scores; a row must have all of them
    failed : the column of outcomes
    group : the column of groups; None: the column ``group``, where there is one

    Raises TraceError if the file cannot be used, a column is missing, or no row is left; with
    `strict` for the first row that would be left out.
    """
    wanted = (*dict.fromkeys(score), failed)
    chosen = () if group is None else (group,)
    place = Path(path)
    if is_parquet(place):
        frame, lines, cleaning = _parquet(place, (*wanted, *chosen))
    else:
        frame, lines, cleaning = _csv(path, (*wanted, *chosen), strict=strict)
    if group is None and GROUP in frame.columns and GROUP not in wanted:
        group = GROUP
    lost = (one.count for one in cleaning.remarks if one.action == "left out")
    rows = len(frame) + sum(lost)
    bad = _Bad(path, strict, lines=lines)
    keep = np.ones(len(frame), dtype=np.bool_)
    values = {}
    for name in dict.fromkeys(score):
        values[name], known = _scores(frame, name, bad)
        keep &= known
    truth, known = _outcomes(frame, failed, bad)
    keep &= known
    usable = int(np.count_nonzero(keep))
    if usable == 0 and bad.first() is None:
        raise TraceError(path, "has no rows with a score and an outcome")
    cleaning += bad.cleaning(usable, "cases")
    codes = None if group is None else _codes(frame[group])
    if not keep.all():
        values = {name: value[keep] for name, value in values.items()}
        truth, codes = truth[keep], None if codes is None else codes[keep]
    return Scores(values, truth, codes, group, rows, cleaning)


@dataclass
class _Bad(Findings):
    """Rows that are left out; their lines are counted where there are any."""

    lines: Callable[[], Ints] = field(kw_only=True)

    def rows(self, kind: str, text: str, where: Flags, field: str, expected: str) -> None:
        """Note rows; `field` and `expected` are what an error would say of the first."""
        if where.any():
            lines = self.lines()[where].tolist()
            self.add(kind, text, "left out", (LineFinding(k, expected, field) for k in lines))


def _scores(frame: pl.DataFrame, name: str, bad: _Bad) -> tuple[Floats, Flags]:
    """Return a column of scores, and which are known."""
    column = frame[name]
    value = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    rows = np.flatnonzero(np.isnan(value))
    odd = np.zeros(len(value), dtype=np.bool_)
    if len(rows):  # with blanks around it, not known, or no number
        text = column[rows].cast(pl.String).str.strip_chars().str.to_lowercase().fill_null("")
        value = value.copy()
        value[rows] = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        odd[rows] = np.isnan(value[rows]) & ~text.is_in(BLANK).to_numpy()
    unknown = np.isnan(value)
    if unknown.any():
        bad.rows(
            f"blank_{name}", f"rows without a {name}", unknown & ~odd, name,
            "is empty or nan; expected a number",
        )  # fmt: skip
        first = shown(str(column[int(np.flatnonzero(odd)[0])])) if odd.any() else ""
        bad.rows(
            f"bad_{name}", f"rows with an unusable {name}", odd, name, f"{first}; expected a number"
        )
    return np.ascontiguousarray(value), ~unknown


def _outcomes(frame: pl.DataFrame, name: str, bad: _Bad) -> tuple[Flags, Flags]:
    """Return the column of outcomes, and which are known."""
    column = frame[name]
    text = column.cast(pl.String).fill_null("")
    yes, no = ((text == word).to_numpy() for word in ("1", "0"))
    if not np.all(yes | no):
        text = text.str.strip_chars().str.to_lowercase()
        yes, no = (text.is_in(words).to_numpy() for words in (YES, NO))
    known = yes | no
    if not known.all():
        blank = text.is_in(BLANK).to_numpy()
        bad.rows(
            f"blank_{name}", f"rows without an outcome in {name}", ~known & blank, name,
            "is empty; expected 0 or 1 (or false, true)",
        )  # fmt: skip
        odd = ~known & ~blank
        first = shown(str(column[int(np.flatnonzero(odd)[0])])) if odd.any() else ""
        bad.rows(
            f"bad_{name}", f"rows with an unusable {name}", odd, name,
            f"{first}; expected 0 or 1 (or false, true)",
        )  # fmt: skip
    return yes, known


def _codes(column: pl.Series) -> Ints:
    """Return groups numbered from 0 in the order of their names; blank ones are one group."""
    text = column.cast(pl.String).fill_null("")
    return text.cast(pl.Enum(text.unique().sort())).to_physical().to_numpy().astype(np.int64)


Read = tuple["pl.DataFrame", Callable[[], Ints], Cleaning]


def _parquet(path: Path, required: Sequence[str]) -> Read:
    names = parquet_columns(path) or read_parquet(path).columns  # which says what is wrong with it
    check_columns(path, names, required)
    wanted = [name for name in dict.fromkeys((*required, GROUP)) if name in names]
    frame = read_parquet(path, wanted)
    return frame, lambda: np.arange(1, len(frame) + 1), Cleaning()


def _csv(path: str | Path, required: Sequence[str], *, strict: bool) -> Read:
    """Read wanted columns as text at once; where lines are blank or have too many fields, line by
    line, which takes longer and names them."""
    findings = Findings(path, strict)
    raw = read_bytes(path, findings.spoilt)
    text = raw.strip(b"\n \t\f")
    if not text:
        raise TraceError(path, f"is empty; expected a header with {','.join(required)}")
    first = raw.count(b"\n", 0, raw.find(text[:1])) + 1
    head, _, body = text.partition(b"\n")
    del raw, text
    names = header_names(text_of(head))
    check_columns(path, names, required, first)
    if not body:
        raise TraceError(path, "has a header but no rows")
    wanted = [name for name in dict.fromkeys((*required, GROUP)) if name in names]
    places = [f"c{k}" for k in range(len(names))]  # names may stand twice, or be missing
    try:
        if body[:1] == b"\n" or b"\n\n" in body:
            raise pl.exceptions.ComputeError("blank lines")
        frame = csv_frame(
            body,
            has_header=False,
            schema=dict.fromkeys(places, pl.String),
            columns=[names.index(name) for name in wanted],
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError:
        sheet = read_sheet(path, required, (GROUP,), strict=strict)
        cleaning = sheet.findings.cleaning(max(len(sheet), 1), "cases")
        return sheet.frame, lambda: sheet.lines, cleaning
    frame = frame.select(pl.col(places[names.index(name)]).alias(name) for name in wanted)
    cleaning = findings.cleaning(len(frame), "cases")
    return frame, lambda: np.arange(len(frame), dtype=np.int64) + first + 1, cleaning
