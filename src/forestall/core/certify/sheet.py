"""Tables as a certifier reads them: declared columns in whole numbers.

A table is a dataclass whose fields say how their column is read, such as ``submit: Int =
seconds()``; whatever cannot be what it should be is a TraceError that names the file, the line and
the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.certify.finding import Finding
from forestall.core.files.cells import read_back
from forestall.core.files.delimited import csv_frame
from forestall.core.files.findings import shown
from forestall.core.model.errors import TraceError
from forestall.core.model.units import MAX_SECONDS

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]
MAX_NODES = 2**24
MAX_COUNT = 2**40
MAX_AMOUNT = 2**62
"""Thousandths of processor-seconds stay below this."""
NONE = int(np.iinfo(np.int64).min)
"""Stands for an empty field."""


class Sheet:
    """One table, column by column, each checked as it is read.

    Parameters
    ----------
    path : of the file
    names : columns that it has to have
    given : what columns are checked against, such as the number of nodes, by name
    """

    def __init__(
        self, path: Path, names: Sequence[str], given: Mapping[str, Any] | None = None
    ) -> None:
        self.path, self.given = path, given or {}
        try:
            frame = csv_frame(self.path, infer_schema_length=0, null_values=[""], glob=False)
        except FileNotFoundError:
            raise TraceError(self.path, "is not there") from None
        except pl.exceptions.NoDataError:
            said = f"is empty; expected a header with {','.join(names)}"
            raise TraceError(self.path, said) from None
        except (OSError, pl.exceptions.PolarsError) as error:
            said = (str(error).splitlines() or ["unreadable"])[0]
            raise TraceError(self.path, f"not a comma-separated table ({said})") from None
        missing = [one for one in names if one not in frame.columns]
        if missing:
            raise TraceError(self.path, f"has no column {', '.join(missing)}")
        self.frame = read_back(frame)

    def __len__(self) -> int:
        return len(self.frame)

    def refuse(self, bad: npt.NDArray[np.bool_] | pl.Series, name: str, expected: str) -> None:
        """Raise TraceError for the first row in which `bad` holds."""
        rows = np.flatnonzero(np.asarray(bad))
        if len(rows):
            said = self.frame[name][int(rows[0])]
            what = "an empty field" if said is None else shown(said)
            raise TraceError(
                self.path, f"{what} is not {expected}", line=int(rows[0]) + 2, field=name
            )

    def empty(self, name: str) -> Bool:
        """Return which fields of a column are empty."""
        return self.frame[name].is_null().to_numpy()

    def only_where(self, there: Mapping[str, Bool]) -> None:
        """Raise TraceError where a column is empty in an event that has it, or the reverse."""
        for name, wanted in there.items():
            self.refuse(self.empty(name) == wanted, name, "allowed in such an event")

    def whole(
        self, name: str, least: int = 0, below: int = MAX_COUNT, *, empty: bool = False
    ) -> Int:
        """Return whole numbers within [least, below), NONE where a field may be empty and is."""
        # By arrays: each operation on a series of Polars takes its threads.
        numbers = self._cast(name, pl.Int64, "a whole number", empty=empty)
        full = numbers.fill_null(NONE) if numbers.null_count() else numbers
        values: Int = full.to_numpy()
        there = np.True_ if full is numbers else numbers.is_not_null().to_numpy()
        self.refuse(there & (values < least), name, f"a whole number from {least} up")
        self.refuse(there & (values >= below), name, f"below {below}")
        return values

    def _cast(self, name: str, kind: Any, what: str, *, empty: bool) -> pl.Series:
        """Return a column as numbers, null where a field may be empty and is."""
        text = self.frame[name]
        numbers = text.cast(kind, strict=False)
        if numbers.null_count() != text.null_count():
            numbers = text.str.strip_chars().cast(kind, strict=False)
        if numbers.null_count() != (text.null_count() if empty else 0):
            unread = numbers.is_null() & text.is_not_null() if empty else numbers.is_null()
            self.refuse(unread, name, what)
        return numbers

    def parts(
        self, name: str, places: int, below: int = MAX_AMOUNT, *, empty: int | None = None
    ) -> Int:
        """Return numbers of at most so many decimals, from 0 up, in whole parts (thousandths: 3);
        `empty` where a field may be empty and is; `below` is in parts."""
        numbers = self._cast(name, pl.Float64, "a number", empty=empty is not None)
        gone = numbers.is_null().to_numpy()
        with np.errstate(invalid="ignore", over="ignore"):
            values = numbers.fill_null(0.0).to_numpy() * 10.0**places
            inside = (values >= 0) & (values < below)
        up = "up" if below == MAX_AMOUNT else ""
        told = f"a number from 0 {up}" if up else f"a number from 0 to {below // 10**places}"
        self.refuse(~inside, name, told)
        near = np.rint(values)
        off = np.abs(values - near) > np.maximum(1e-3, 1e-12 * near)
        self.refuse(off, name, f"a number of at most {_COUNTED[places]} decimals")
        whole: Int = near.astype(np.int64)
        return whole if empty is None else np.where(gone, empty, whole)

    def real(self, name: str, *, above: float = 0.0) -> Reals:
        """Return finite numbers from `above` on."""
        values = self._cast(name, pl.Float64, "a number", empty=False).to_numpy()
        self.refuse(~np.isfinite(values) | (values < above), name, f"a number from {above:g} up")
        return values

    def words(self, name: str, known: Sequence[str], *, empty: bool = False) -> Int:
        """Return the position of each word among those that are known, NONE where a field may be
        empty and is."""
        codes = self.frame[name].replace_strict(
            list(known), list(range(len(known))), default=-1, return_dtype=pl.Int64
        )
        found = codes.fill_null(-1).to_numpy()
        if empty:
            found = np.where(self.empty(name), NONE, found)
        self.refuse(found == -1, name, f"one of {', '.join(known)}")
        return found

    def jobs(self, name: str, ids: Int, *, empty: bool = False) -> Int:
        """Return the position of each row's job, NONE where a field may be empty and is."""
        asked = self.whole(name, -MAX_AMOUNT, MAX_AMOUNT, empty=empty)
        order = np.argsort(ids, kind="stable")
        at = order[np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)]
        self.refuse((asked != NONE) & (ids[at] != asked), name, "a job of jobs.csv")
        return np.where(asked == NONE, NONE, at)


_COUNTED = {3: "three", 6: "six"}


# ------------------------------------------------------------------------------ declared columns


def column(
    read: Callable[[Sheet, str], Any],
    named: str = "",
    *,
    there: bool | str = True,
    show: Callable[[Any, Any], Any] = lambda value, jobs: value,
) -> Any:
    """Declare a column: how it is read, how it is named where that is not the field's name, and how
    findings show a value, given the names of jobs. Without `there` it does not stand in the file,
    and is made of what does; a word names what is given where it does."""
    return field(metadata={"read": read, "named": named, "there": there, "show": show})


def line() -> Any:
    """Declare the line of the file in which each row stands."""
    return column(lambda sheet, _: np.arange(len(sheet)) + 2, there=False)


@dataclass(frozen=True)
class Rows:
    """A table: arrays of one length, one field a column.

    What is wrong with rows is noted in words with placeholders for the columns, and for values that
    are given beside them, as arrays or for all rows; the file and the line are added.
    """

    FILE: ClassVar[str]
    BESIDES: ClassVar[tuple[str, ...]] = ()
    """Columns that have to be there, too, and are not looked at."""
    line: Int = line()

    @classmethod
    def read(cls, folder: Path, **given: Any) -> Self:
        """Return the table of a folder; `given` is what columns are checked against."""
        declared = [(one.name, one.metadata) for one in fields(cls)]
        names = {name: column["named"] or name for name, column in declared}
        needed = [
            names[name] for name, column in declared
            if (given[column["there"]] if isinstance(column["there"], str) else column["there"])
        ]  # fmt: skip
        sheet = Sheet(folder / cls.FILE, tuple(dict.fromkeys((*needed, *cls.BESIDES))), given)
        rows = cls(**{name: column["read"](sheet, names[name]) for name, column in declared})
        rows.refused(sheet)
        return rows

    def refused(self, sheet: Sheet) -> None:
        """Raise TraceError where columns cannot go together."""

    def __len__(self) -> int:
        return len(self.line)

    def take(self, rows: Int | Bool) -> Self:
        """Return some of the rows, or all in another order."""
        return type(self)(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})

    # -------------------------------------------------------------------------------- findings

    def where(self, finding: Finding, bad: Bool, text: str, **values: Any) -> None:
        """Note every row in which `bad` holds; a value given as a column's name and an array is
        shown as that column is."""
        rows = np.flatnonzero(bad)
        finding.add(rows.size, lambda: self._said(finding, int(rows[0]), text, values))

    def wrong(self, finding: Finding, row: int, text: str, **values: Any) -> None:
        """Note what is wrong with a row."""
        finding.add(1, lambda: self._said(finding, row, text, values))

    def _said(self, finding: Finding, row: int, text: str, values: Mapping[str, Any]) -> str:
        words = text.format_map(_RowWords(self, row, finding, values))
        return f"{words} ({self.FILE}, line {self.line[row]})"

    def shown(self, finding: Finding, name: str, value: Any) -> Any:
        """Return a value of a column as it stands in the file."""
        show = next(one.metadata["show"] for one in fields(self) if one.name == name)
        missing = isinstance(value, int | np.integer) and value == NONE
        return "nothing" if missing else show(value, finding.jobs)

    def compare(self, finding: Finding, who: str, mine: Mapping[str, Any], by: str) -> None:
        """Note rows in which columns are not what they are here, `by` some other file."""
        named = {one.name: one.metadata["named"] or one.name for one in fields(self)}
        for name, here in mine.items():
            rows = np.flatnonzero(getattr(self, name) != here)
            for row in rows[:1].tolist():
                text = f"{who}: {named[name]} is {{{name}}} in {self.FILE} (line {{line}}), "
                cells = _RowWords(self, row, finding, {"here": (name, here)})
                text = f"{text}{{here}} {by}".format_map(cells)
                finding.add(len(rows), lambda text=text: text)  # type: ignore[misc]

    def match(
        self, finding: Finding, what: str, mine: Mapping[str, Any], other: str, *, once: bool = True
    ) -> None:
        """Note rows that are in only one of this table and another, some columns of which are
        given, or twice in one, or, without `once`, not as often in one as in the other. The first
        column says whose the rows are."""
        columns = [getattr(self, name) for name in mine]
        both = [
            np.unique(np.stack([_exact(one) for one in some], axis=1), axis=0, return_counts=True)
            for some in (columns, list(mine.values()))
        ]
        tables = [rows if once else np.column_stack((rows, often)) for rows, often in both]
        every, count = np.unique(np.concatenate(tables), axis=0, return_counts=True)
        twice = [rows[often > 1] for rows, often in both] if once else []
        more = f" ({', '.join(list(mine)[1:])})" if len(mine) > 2 else ""
        for odd in (every[count == 1], *twice):
            for row in odd[:1].tolist():
                owner, *values = (
                    self.shown(finding, name, np.int64(value).view(column.dtype))
                    for name, value, column in zip(mine, row, columns, strict=False)
                )
                text = f"{next(iter(mine))} {owner}: {what}{more} {', '.join(map(str, values))}"
                text += f" is in only one of {self.FILE} and {other}"
                finding.add(len(odd), lambda text=text: text)  # type: ignore[misc]

    def in_order(self, finding: Finding, key: Int) -> None:
        """Note rows whose key is less than that of the row before."""
        back = np.zeros(len(key), dtype=np.bool_)
        back[1:] = key[1:] < key[:-1]
        self.where(finding, back, "out of order, after a later row")


class _RowWords(dict[str, Any]):
    """What placeholders stand for: values given, and columns of a row."""

    def __init__(self, rows: Rows, row: int, finding: Finding, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.rows, self.row, self.finding, self.given = rows, row, finding, given

    def __missing__(self, name: str) -> Any:
        value = self.given.get(name, (name, getattr(self.rows, name, None)))
        column, value = value if isinstance(value, tuple) else (None, value)
        value = value[self.row] if isinstance(value, np.ndarray | list) else value
        return value if column is None else self.rows.shown(self.finding, column, value)


def _exact(values: npt.NDArray[Any]) -> Int:
    """Return numbers as whole ones, those with fractions by their bits."""
    return values.view(np.int64) if values.dtype == np.float64 else values.astype(np.int64)


def _of(sheet: Sheet, value: int | str) -> Any:
    return sheet.given[value] if isinstance(value, str) else value


def whole(
    least: int = 0, below: int | str = MAX_COUNT, named: str = "", *, empty: bool = False
) -> Any:
    """Declare whole numbers within [least, below); a word names what is given."""
    return column(lambda sheet, n: sheet.whole(n, least, _of(sheet, below), empty=empty), named)


def number_of_job(named: str = "job") -> Any:
    """Declare the names of jobs, each of which stands once; a TraceError where there are none."""

    def read(sheet: Sheet, name: str) -> Int:
        if not len(sheet):
            raise TraceError(sheet.path, "holds no jobs")
        ids = sheet.whole(name, -MAX_AMOUNT, MAX_AMOUNT)
        sheet.refuse(~sheet.frame[name].is_first_distinct(), name, "a job of its own")
        return ids

    return column(read, named)


def job(*, empty: bool = False) -> Any:
    """Declare jobs of `jobs.csv`, as their positions there; what is given names its `ids`."""
    return column(
        lambda sheet, name: sheet.jobs(name, sheet.given["ids"], empty=empty), "job",
        show=lambda value, jobs: jobs[value],
    )  # fmt: skip


def seconds(*, empty: bool = False) -> Any:
    """Declare times, s."""
    return whole(1 - MAX_SECONDS, MAX_SECONDS, empty=empty)


def parts(places: int, below: int = MAX_AMOUNT, *, empty: int | None = None) -> Any:
    """Declare numbers of at most so many decimals, held as whole parts; see `Sheet.parts`."""
    return column(
        lambda sheet, name: sheet.parts(name, places, below, empty=empty),
        show=lambda value, _: value / 10**places,
    )


def words(known: Sequence[str], named: str = "", *, empty: bool = False) -> Any:
    """Declare words, as their positions among those that are known."""
    return column(
        lambda sheet, name: sheet.words(name, known, empty=empty), named,
        show=lambda value, _: known[value],
    )  # fmt: skip


def flag() -> Any:
    """Declare true and false."""
    return column(lambda sheet, name: sheet.words(name, ("false", "true")) == 1)


def spelled(kind: type[IntEnum], gap: str = "_") -> tuple[str, ...]:
    """Return the words of a noun's kinds as files spell them."""
    return tuple(one.name.lower().replace("_", gap) for one in kind)
