"""The log of a run: what an engine was told and what it answered, as tables of declared columns.

A model says its columns (`Column`) and how its engine is made; writing, reading back and driving an
engine from what was read are here.
"""

from __future__ import annotations

import csv
import io
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.files.atomic import atomic_path
from forestall.core.files.cells import read_back
from forestall.core.files.delimited import csv_frame
from forestall.core.files.findings import shown
from forestall.core.files.guard import first_line, making
from forestall.core.model.errors import ParameterError, TraceError

E = TypeVar("E")
D = TypeVar("D")
Int = npt.NDArray[np.int64]
Words = Mapping[str, Any]
"""The kinds (an IntEnum each) of what stands in a log as a number, by the field."""
EVENT_LOG, DECISION_LOG = "events.csv", "decisions.csv"


# ---------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Column:
    """A column of a log.

    Attributes
    ----------
    name : as the file has it
    source : the field of a record, or what makes a value of one; empty: the field of that name
    written : what makes a cell of the value; None: the value as it is
    of_jobs : whether the value is the position of a job, which is written by its name
    """

    name: str
    source: str | Callable[[Any], Any] = ""
    written: Callable[[Any], Any] | None = None
    of_jobs: bool = False

    def cell(self, ids: Sequence[int]) -> Callable[[Any], Any]:
        """Return what makes the cell of a record; `ids` are the names of jobs."""
        take = self.source if callable(self.source) else attrgetter(self.source or self.name)
        written = ids.__getitem__ if self.of_jobs else self.written
        return take if written is None else lambda record: written(take(record))


def word(kind: IntEnum) -> str:
    """Return a kind or a reason as files spell it."""
    return kind.name.lower()


def blank(value: int) -> int | str:
    """Return a number, an empty field where it is negative: there is none."""
    return "" if value < 0 else value


def names_of(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the header of a table."""
    return tuple(column.name for column in columns)


# ---------------------------------------------------------------------------------------- writing


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write a file line by line, whole or not at all."""
    with atomic_path(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def log_lines(
    columns: Sequence[Column], rows: Iterable[Any], ids: Sequence[int] = ()
) -> Iterator[str]:
    """Yield a log line by line, its header first; `ids` are the names of jobs by position."""
    cells = [column.cell(ids) for column in columns]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    table = ([cell(record) for cell in cells] for record in rows)
    for row in chain((names_of(columns),), table):
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def records(**columns: Iterable[Any]) -> Iterator[Any]:
    """Return the rows of a table, given by its columns, with their cells by name."""
    return map(namedtuple("Record", columns), *columns.values())


def records_of(array: npt.NDArray[Any], words: Words, **more: Iterable[Any]) -> Iterator[Any]:
    """Return the rows of a structured array; `words` are kinds of fields that are numbers in it,
    `more` are further columns."""
    columns: dict[str, Iterable[Any]] = {n: array[n].tolist() for n in array.dtype.names or ()}
    return records(**columns | {n: map(kind, columns[n]) for n, kind in words.items()} | more)


def answers_of(
    made: type[D], events: npt.NDArray[Any], answers: npt.NDArray[Any], words: Words, **more: Any
) -> Iterator[D]:
    """Return the decisions of a run as nouns, in the order in which they were taken.

    Parameters
    ----------
    made : the noun, a dataclass with a field ``time``
    events, answers : structured arrays; each event has its number of `decisions`
    words : kinds of fields that are numbers in `answers`
    **more : fields that do not stand in `answers`
    """
    times = np.repeat(events["time"], events["decisions"]).tolist()

    def column(name: str) -> Iterable[Any]:
        if name in more:
            return more[name]  # type: ignore[no-any-return]
        values = answers[name].tolist()
        return map(words[name], values) if name in words else values

    names = [field.name for field in fields(made)]  # type: ignore[arg-type]
    return map(made, *(times if name == "time" else column(name) for name in names))


# ---------------------------------------------------------------------------------------- reading


def read_log(path: Path, names: Sequence[str] = ()) -> pl.DataFrame:
    """Return a log of a run; TraceError where there is none, or one of the columns is not there."""
    if not path.exists():
        raise TraceError(path, "is missing; simulate with {log_events} writes it")
    with making(path, "log of a run"):
        try:
            table = csv_frame(path, infer_schema_length=None, glob=False)
        except pl.exceptions.PolarsError as error:
            raise TraceError(path, f"cannot be read as CSV: {first_line(error)}") from None
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TraceError(path, f"has no column {', '.join(missing)}")
    return read_back(table)


_ANY = (-(2**62), 2**62)


def whole(
    table: pl.DataFrame,
    name: str,
    path: Path,
    empty: int = -1,
    bounds: tuple[int, int] = _ANY,
    needed: npt.NDArray[np.bool_] | None = None,
) -> Int:
    """Return a column of whole numbers within [least, below) of `bounds`, `empty` where a field is;
    TraceError where one is none, or is not there in a row in which it is `needed`."""
    cells = table[name]
    numbers = cells if cells.dtype == pl.Int64 else cells.cast(pl.Int64, strict=False)
    full = numbers.fill_null(empty) if numbers.null_count() else numbers
    values: Int = full.to_numpy()
    gone = numbers.is_null().to_numpy() if numbers.null_count() else np.zeros(len(values), np.bool_)
    bad = ~gone & ((values < bounds[0]) | (values >= bounds[1]))
    if cells.dtype != pl.Int64:
        exact = cells.cast(pl.Float64, strict=False).to_numpy()
        bad |= ~gone & (exact != values)
        bad |= gone & cells.is_not_null().to_numpy()
    if needed is not None:
        bad |= gone & needed
    rows = np.flatnonzero(bad)
    if len(rows):
        cell = cells[int(rows[0])]
        what = "an empty field" if cell is None else shown(cell)
        within = "" if bounds == _ANY else f" from {bounds[0]} to {bounds[1] - 1}"
        said = f"{what} is not a whole number{within}"
        raise TraceError(path, said, line=int(rows[0]) + 2, field=name)
    return numbers.fill_null(empty).to_numpy()


def told(
    table: pl.DataFrame, path: Path, names: Sequence[str], made: Callable[..., E]
) -> Iterator[E]:
    """Yield what `made` makes of the cells of each row; TraceError with the line where it cannot be
    an event."""
    for line, cells in enumerate(table.select(names).iter_rows(), 2):
        try:
            event = made(*cells)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TraceError(path, "not an event of a run", line=line) from None
        yield event


def share(table: pl.DataFrame, name: str, path: Path) -> npt.NDArray[np.float64]:
    """Return a column of numbers from 0 to 1; TraceError where one is none."""
    numbers = table[name].cast(pl.Float64, strict=False)
    bad = (~numbers.is_between(0.0, 1.0)).fill_null(value=True).arg_true()
    if len(bad):
        said = f"{shown(table[name][int(bad[0])])} is not a number from 0 to 1"
        raise TraceError(path, said, line=int(bad[0]) + 2, field=name)
    return numbers.to_numpy()


def positive(table: pl.DataFrame, name: str, path: Path) -> npt.NDArray[np.float64]:
    """Return a column of finite numbers above 0; TraceError where one is none."""
    numbers = table[name].cast(pl.Float64, strict=False)
    good = (numbers.is_finite() & (numbers > 0)).fill_null(value=False)
    if not good.all():
        row = int((~good).arg_true()[0])
        said = f"{shown(table[name][row])} is not a finite number above 0"
        raise TraceError(path, said, line=row + 2, field=name)
    return numbers.to_numpy()


def driven(path: Path, events: Iterable[E], handle: Callable[[E], Iterable[D]]) -> Iterator[D]:
    """Yield what an engine decides on these events, one after the other; TraceError with the line
    of one that it cannot have been told."""
    for line, event in enumerate(events, 2):
        try:
            yield from handle(event)
        except ParameterError as error:
            raise TraceError(path, f"cannot be: {error}", line=line) from None
