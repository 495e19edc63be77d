"""The rows of an SWF file: text in, columns out, with each row that is no row named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import text_of
from forestall.core.files.tokens import filled_lines, single_spaced
from forestall.core.model.units import MAX_SECONDS

with lazily():
    import polars as pl
from forestall.core.files.delimited import csv_frame

Column = npt.NDArray[Any]
"""int64[n], or float64[n] for the columns in `FRACTIONAL`."""

COLUMNS = (
    "job",
    "submit",
    "wait",
    "run",
    "allocated",
    "cpu",
    "memory",
    "processors",
    "request",
    "request_memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding",
    "think",
)
"""Our names of the 18 fields, in their order. Times are seconds, memory is KiB a processor."""

FRACTIONAL = frozenset({"cpu", "memory"})
"""Averages, which may have decimals; all others are whole numbers."""

NARROW = frozenset(
    {"allocated", "processors", "status", "user", "group", "application", "queue", "partition"}
)
"""Numbers that hardly ever need more than 32 bits."""

_EXTRA = "more"
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MOST = 2**62


def is_swf(lines: Sequence[str]) -> bool:
    """Return whether a text that begins with these lines is SWF: a comment first, or rows of 18
    numbers only."""
    rows = [line.strip() for line in lines if line.strip()]
    if rows and rows[0].startswith(";"):
        return True
    fields = [row.encode(errors="replace").split() for row in rows if not row.startswith(";")]
    return bool(fields) and all(
        len(row) == len(COLUMNS) and all(map(_NUMBER.fullmatch, row)) for row in fields
    )


class SwfRows:
    """Collects the columns `wanted` (None: all) of the rows of one file, a piece at a time; where
    `narrow` is set, those in `NARROW` as int32 if they fit."""

    def __init__(
        self, findings: Findings, wanted: tuple[str, ...] | None, *, narrow: bool = False
    ) -> None:
        self.findings = findings
        self._narrow = NARROW if narrow else frozenset()
        self.comments: list[tuple[int, str]] = []
        self._wanted = COLUMNS if wanted is None else wanted
        self._columns = {name: _Growing(self._dtype(name)) for name in self._wanted}
        self._lines = _Growing(np.int64)
        self._read = 0

    def feed(self, text: bytes) -> None:
        """Take in whole lines that follow those taken in before."""
        first = self._read + 1
        self._read += text.count(b"\n")
        numbers: npt.NDArray[np.int64] | None = None
        if b";" in text:
            text, numbers = self._without_comments(text, first)
        spaced = single_spaced(text)
        count = spaced.count(b"\n")
        if numbers is None and count == text.count(b"\n"):
            numbers = np.arange(first, first + count, dtype=np.int64)
        elif numbers is None:
            numbers = np.asarray(filled_lines(text), dtype=np.int64) + first
        if count:
            self._take(spaced, numbers)

    def columns(self) -> dict[str, Column]:
        """Return what was collected."""
        return {name: column.whole for name, column in self._columns.items()}

    def lines(self) -> npt.NDArray[np.int64]:
        """Return the 1-based line number of each row, int64[n]."""
        return self._lines.whole

    def _dtype(self, name: str) -> type[np.generic]:
        if name in FRACTIONAL:
            return np.float64
        return np.int32 if name in self._narrow else np.int64

    def _without_comments(self, text: bytes, first: int) -> tuple[bytes, npt.NDArray[np.int64]]:
        rows, numbers = [], []
        for number, line in enumerate(text.split(b"\n"), first):
            stripped = line.strip()
            if stripped.startswith(b";"):
                self.comments.append((number, text_of(line)))
            elif stripped:
                rows.append(line)
                numbers.append(number)
        return b"\n".join([*rows, b""]), np.asarray(numbers, dtype=np.int64)

    def _take(self, spaced: bytes, numbers: npt.NDArray[np.int64]) -> None:
        frame = _frame(spaced)
        doubtful = np.flatnonzero(_doubtful(frame).to_numpy())
        columns = {name: _plain(frame, name) for name in self._wanted}
        keep = np.ones(len(numbers), dtype=np.bool_)
        for row, values in self._looked_at(spaced, numbers, doubtful):
            keep[row] = values is not None
            for name in self._wanted if values is not None else ():
                columns[name][row] = values[COLUMNS.index(name)]  # type: ignore[index]
        for name, column in columns.items():
            part = column[keep] if len(doubtful) else column
            self._columns[name].add(_fitting(part) if name in self._narrow else part)
        self._lines.add(numbers[keep])

    def _looked_at(
        self, spaced: bytes, numbers: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, list[float] | None]]:
        """Yield each of these rows with its values, or None where it is none."""
        texts = spaced.split(b"\n") if len(rows) else []
        for row in rows.tolist():
            values, finding = parse_row(texts[row], int(numbers[row]))
            if values is None:
                assert finding is not None
                self.findings.add("malformed", "malformed rows", "left out", [finding])
            elif finding is not None:
                text = "fractions rounded to whole numbers"
                self.findings.add("fraction", text, "changed", [finding])
            yield row, values


def parse_row(text: bytes, line: int) -> tuple[list[float] | None, LineFinding | None]:
    """Return the 18 values of one row, and what was wrong with it or changed in it.

    Slow and plain: only rows that the fast reader did not take come here.
    """
    words = text.split()
    if len(words) != len(COLUMNS):
        return None, LineFinding(line, f"has {len(words)} fields; expected {len(COLUMNS)} numbers")
    values: list[float] = []
    finding = None
    for place, (name, word) in enumerate(zip(COLUMNS, words, strict=True), 1):
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
        label = f"field {place} ({name})"
        if not abs(value) < _MOST:
            wrong = "too large" if abs(value) >= _MOST else "not a finite number"
            said = f"{shown(text_of(word))} is {wrong}; expected a number below {_MOST:g}"
            return None, LineFinding(line, said, label)
        if name in FRACTIONAL:
            values.append(value)
            continue
        whole = int(word) if word.lstrip(b"+-").isdigit() else math.floor(value + 0.5)
        if whole != value and finding is None:
            finding = LineFinding(line, f"{text_of(word)} is not a whole number", label)
        values.append(whole)
    for place in (1, 3, 8):
        if values[place] >= MAX_SECONDS:
            label = f"field {place + 1} ({COLUMNS[place]})"
            said = f"{int(values[place])} s are too many; expected fewer than {MAX_SECONDS:,}"
            return None, LineFinding(line, said, label)
    if values[1] < 0:
        said = f"{int(values[1])} is negative; expected seconds since the log's start"
        return None, LineFinding(line, said, "field 2 (submit)")
    return values, finding


def _frame(spaced: bytes) -> pl.DataFrame:
    schema: dict[str, Any] = {
        name: pl.Float64 if name in FRACTIONAL else pl.Int64 for name in COLUMNS
    }
    head = " ".join((*COLUMNS, _EXTRA)).encode() + b"\n"
    return csv_frame(
        head + spaced,
        separator=" ",
        schema=schema | {_EXTRA: pl.String},
        ignore_errors=True,
        quote_char=None,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )


def _doubtful(frame: pl.DataFrame) -> pl.Series:
    """Return which rows the fast reader did not take whole, bool[n]."""
    odd = [~pl.col(name).is_finite() for name in sorted(FRACTIONAL)]
    missing = [pl.col(name).is_null() for name in COLUMNS]
    bounds = [pl.col("submit") < 0, pl.col(_EXTRA).is_not_null()]
    bounds += [pl.col(name).abs() >= _MOST for name in COLUMNS]
    bounds += [pl.col(name) >= MAX_SECONDS for name in ("submit", "run", "request")]
    return frame.select(pl.any_horizontal(*odd, *missing, *bounds).fill_null(True)).to_series()


def _plain(frame: pl.DataFrame, name: str) -> Column:
    dtype = np.float64 if name in FRACTIONAL else np.int64
    return frame[name].fill_null(UNREAD).to_numpy().astype(dtype, copy=True)


class _Growing:
    """A column that grows: few large pieces of memory instead of many small ones, which would not
    be given back when they are joined."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._data: Column = np.empty(0, dtype=dtype)
        self._count = 0

    def add(self, part: Column) -> None:
        """Take in more values; the column gets wider where they need it."""
        begin, self._count = self._count, self._count + len(part)
        dtype = np.promote_types(self._data.dtype, part.dtype)
        if self._count > len(self._data) or dtype != self._data.dtype:
            larger = np.empty(max(self._count, 2 * len(self._data)), dtype=dtype)
            larger[:begin] = self._data[:begin]
            self._data = larger
        self._data[begin : self._count] = part

    @property
    def whole(self) -> Column:
        """All values so far."""
        return self._data[: self._count]


def _fitting(column: Column) -> Column:
    """Return whole numbers as int32 where they fit, else as they are."""
    small = np.iinfo(np.int32)
    fits = column.max(initial=0) <= small.max and column.min(initial=0) >= small.min
    return column.astype(np.int32) if fits else column


UNREAD = -1
"""Stands in rows that were not understood, until they are left out."""
