"""Comma-separated tables as text columns with their line numbers, checked field by field."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.cells import read_back, unguarded
from forestall.core.files.findings import Findings, LineFinding, listed, shown
from forestall.core.files.guard import PANIC, first_line, quiet
from forestall.core.files.packed import LINE, read_bytes, text_of
from forestall.core.files.tokens import filled_lines
from forestall.core.model.errors import TraceError

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
_LIMIT = 2**62


@dataclass
class TextColumns:
    """Columns of text, and which rows are still good.

    Attributes
    ----------
    frame : the wanted columns that are there, as text without blanks around it
    lines : int64[n], 1-based line of each row (its number where there is no file)
    names : every column of the header
    findings : where bad fields are noted
    keep : bool[n], rows without a bad field so far
    """

    frame: pl.DataFrame
    lines: Int
    names: tuple[str, ...]
    findings: Findings
    keep: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.keep = np.ones(len(self.lines), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.lines)

    def has(self, name: str) -> bool:
        """Return whether the table has this column."""
        return name in self.frame.columns

    def where(self, mask: npt.NDArray[np.bool_]) -> TextColumns:
        """Return the rows where the mask holds, with what was found so far."""
        part = TextColumns(
            self.frame.filter(pl.Series(mask)), self.lines[mask], self.names, self.findings
        )
        part.keep = self.keep[mask]
        return part

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Return which rows are the same in all columns as one above them, bool[n]."""
        first = self.frame.select(pl.struct(pl.all()).is_first_distinct()).to_series()
        return ~first.to_numpy()

    def text(self, name: str) -> list[str]:
        """Return a column as text, "" where blank."""
        return self.frame[name].fill_null("").to_list()

    def whole(
        self,
        name: str,
        *,
        low: int | None = None,
        below: int = _LIMIT,
        blank: int | None = None,
    ) -> Int:
        """Return a column of whole numbers, int64[n].

        `low` is the least one allowed, all are below `below`; `blank` stands for empty fields
        (None: they are bad).
        Rows with a bad field are noted and no longer kept; their value is 0.
        """
        column = self.frame[name]
        exact = column.cast(pl.Int64, strict=False)
        real = column.cast(pl.Float64, strict=False)
        is_whole = real.is_finite() & (real == real.floor()) & (real.abs() < _LIMIT)
        value = exact.fill_null(real.set(~is_whole.fill_null(False), None).cast(pl.Int64))
        good = ~value.is_null().to_numpy()
        numbers = value.fill_null(0).to_numpy().astype(np.int64)
        if low is not None:
            good &= numbers >= low
        good &= (numbers > -_LIMIT) & (numbers < below)
        if blank is not None:
            empty = (column.fill_null("") == "").to_numpy()
            numbers = np.where(empty, blank, numbers)
            good |= empty
        least = "" if low is None else f" of at least {low}"
        most = "" if below == _LIMIT else f"{' and' if least else ''} below {below:,}"
        short = bool(np.all(good | (numbers < below)))  # say no more than is needed
        self.refuse(name, ~good, f"a whole number{least}{'' if short else most}")
        return np.where(good, numbers, 0)

    def real(self, name: str, *, low: float, high: float) -> npt.NDArray[np.float64]:
        """Return a column of numbers in [low, high], float64[n], nan where blank; see `whole`."""
        column = self.frame[name]
        numbers = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        empty = (column.fill_null("") == "").to_numpy()
        good = empty | ((numbers >= low) & (numbers <= high))
        self.refuse(name, ~good, f"a number from {low:g} to {high:g}")
        return np.where(good & ~empty, numbers, np.nan)

    def refuse(self, name: str, bad: npt.NDArray[np.bool_], expected: str) -> None:
        """Note rows whose field `name` is bad, and keep them no longer."""
        self.findings.fields(self.frame[name], self.lines, bad, expected)
        self.keep &= ~bad


def read_sheet(
    path: str | Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    strict: bool = False,
    titles: int = 0,
) -> TextColumns:
    """Read the named columns of a comma-separated file with a header, packed or not.

    `titles` filled lines stand above the header. Rows with more or fewer fields than the header
    are left out, and noted. Raises TraceError where the file cannot be read or lacks a required
    column.
    """
    findings = Findings(path, strict)
    text = read_bytes(path, findings.spoilt, line=LINE)
    text = text.replace(b"\r", b" ")
    rows = filled_lines(text)
    if len(rows) <= titles:
        raise TraceError(path, f"is empty; expected a header with {','.join(required)}")
    lines = text.split(b"\n")
    names = header_names(text_of(lines[rows[titles]]))
    check_columns(path, names, required, rows[titles] + 1)
    filled = [lines[row] for row in rows[titles + 1 :]]
    del lines, text
    numbers = np.asarray(rows[titles + 1 :], dtype=np.int64) + 1
    counts = np.fromiter(map(_fields, filled), np.int64, len(filled))
    wrong = np.flatnonzero(counts != len(names))
    if len(wrong):
        messages = (
            f"has {counts[row]} fields; expected the header's {len(names)}" for row in wrong
        )
        found = map(LineFinding, numbers[wrong].tolist(), messages)
        findings.add("malformed", "rows with a wrong number of fields", "left out", found)
        filled = [line for line, count in zip(filled, counts, strict=True) if count == len(names)]
        numbers = np.delete(numbers, wrong)
    wanted = [name for name in dict.fromkeys((*required, *optional)) if name in names]
    return TextColumns(_read(path, filled, names, wanted), numbers, names, findings)


def _fields(line: bytes) -> int:
    if b'"' not in line:
        return line.count(b",") + 1
    try:
        return len(next(csv.reader([text_of(line)])))
    except csv.Error:  # a field of unbelievable length
        return 0


def header_names(line: str) -> tuple[str, ...]:
    """Return the column names of a header line."""
    text = line.replace("\r", " ").replace("\n", " ")
    try:
        return tuple(unguarded(name.strip()) for name in next(csv.reader([text])))
    except csv.Error:
        return ()


def check_columns(
    source: str | Path, names: Iterable[str], required: Sequence[str], line: int | None = None
) -> None:
    """Raise TraceError naming the required columns that are missing, and what is there."""
    present = tuple(names)
    missing = [name for name in required if name not in present]
    if missing:
        has = listed([shown(name) for name in present], 12)
        raise TraceError(source, f"has no column {', '.join(missing)}; it has {has}", line=line)
    twice = sorted({name for name in required if present.count(name) > 1})
    if twice:
        raise TraceError(source, f"has column {', '.join(twice)} more than once", line=line)


def csv_frame(source: str | Path | bytes, **options: Any) -> pl.DataFrame:
    """Return what Polars reads of CSV with these options of its `read_csv`.

    Where it panics that is an error of Polars as any other, and is not printed.
    """
    with quiet():
        try:
            return pl.read_csv(source, **options)
        except BaseException as error:
            if type(error).__name__ != PANIC:
                raise
            raise pl.exceptions.ComputeError(first_line(error)) from None


def _read(
    path: str | Path, rows: list[bytes], names: tuple[str, ...], wanted: list[str]
) -> pl.DataFrame:
    """Return the wanted columns of rows that each have as many fields as there are names."""
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
    places = [f"c{k}" for k in range(len(names))]  # names may stand twice, or be missing
    try:
        frame = csv_frame(
            b"\n".join((",".join(places).encode(), *rows, b"")),
            schema=dict.fromkeys(places, pl.String),
            columns=[names.index(name) for name in wanted],
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or ["unknown"])[0]
        raise TraceError(path, f"not a comma-separated table ({said})") from None
    if len(frame) != len(rows):
        raise TraceError(path, "has quoted fields that go over several lines")
    texts = (pl.col(places[names.index(n)]).str.strip_chars().alias(n) for n in wanted)
    return read_back(frame.select(texts))
