"""The files of a run's folder as a certifier reads them: tables of declared columns in whole
numbers, and `summary.json`.

A table is a dataclass whose fields say how their column is read, such as ``submit: Int =
seconds()``; whatever cannot be what it should be is a TraceError that names the file, the line and
the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.model.errors import ParameterError, TraceError
from forestall.model.own import is_own
from forestall.model.units import MAX_SECONDS
from forestall.model.vault.stores import Stores
from forestall.traces.files.cells import read_back
from forestall.traces.files.delimited import csv_frame
from forestall.traces.files.documents import json_of
from forestall.traces.files.findings import shown

T = TypeVar("T")
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


@dataclass(frozen=True)
class Rows:
    """A table: arrays of one length, one field a column."""

    FILE: ClassVar[str]

    @classmethod
    def read(cls, folder: Path, **given: Any) -> Self:
        """Return the table of a folder; `given` is what columns are checked against."""
        declared = [(one.name, one.metadata) for one in fields(cls)]
        names = {name: said["named"] or name for name, said in declared}
        asked = tuple(dict.fromkeys(names[n] for n, said in declared if said["there"]))
        sheet = Sheet(folder / cls.FILE, (*asked, *cls.BESIDES), given)
        rows = cls(**{name: said["read"](sheet, names[name]) for name, said in declared})
        rows.refused(sheet)
        return rows

    BESIDES: ClassVar[tuple[str, ...]] = ()
    """Columns that have to be there, too, and are not looked at."""

    def refused(self, sheet: Sheet) -> None:
        """Raise TraceError where columns cannot go together."""

    def __len__(self) -> int:
        return len(next(iter(vars(self).values())))

    def take(self, rows: Int | Bool) -> Self:
        """Return some of the rows, or all in another order."""
        return type(self)(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


def column(read: Callable[[Sheet, str], Any], named: str = "", *, there: bool = True) -> Any:
    """Declare a column: how it is read, and how it is named where that is not the field's name.
    Without `there` it does not stand in the file, and is made of what does."""
    return field(metadata={"read": read, "named": named, "there": there})


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
    return column(lambda sheet, name: sheet.jobs(name, sheet.given["ids"], empty=empty), "job")


def seconds(*, empty: bool = False) -> Any:
    """Declare times, s."""
    return whole(1 - MAX_SECONDS, MAX_SECONDS, empty=empty)


def parts(places: int, below: int = MAX_AMOUNT, *, empty: int | None = None) -> Any:
    """Declare numbers of at most so many decimals, held as whole parts; see `Sheet.parts`."""
    return column(lambda sheet, name: sheet.parts(name, places, below, empty=empty))


def words(known: Sequence[str], named: str = "", *, empty: bool = False) -> Any:
    """Declare words, as their positions among those that are known."""
    return column(lambda sheet, name: sheet.words(name, known, empty=empty), named)


def spelled(kind: type[IntEnum], gap: str = "_") -> tuple[str, ...]:
    """Return the words of a noun's kinds as files spell them."""
    return tuple(one.name.lower().replace("_", gap) for one in kind)


def line() -> Any:
    """Declare the line of the file in which each row stands."""
    return column(lambda sheet, _: np.arange(len(sheet)) + 2, there=False)


# -------------------------------------------------------------------------------------- the summary


def value_of(path: Path, summary: Any, keys: str, kinds: tuple[type, ...], expected: str) -> Any:
    """Return what stands at these keys of a summary; TraceError where it is not as expected."""
    for key in keys.split("."):
        if not isinstance(summary, Mapping) or key not in summary:
            raise TraceError(path, "is not there", field=keys)
        summary = summary[key]
    odd = isinstance(summary, bool) and bool not in kinds
    odd = odd or (isinstance(summary, float) and not math.isfinite(summary))
    if odd or not isinstance(summary, kinds):
        raise TraceError(path, f"{shown(summary)} is not {expected}", field=keys)
    return summary


def read_summary(path: Path) -> dict[str, Any]:
    """Return what `summary.json` holds; TraceError where it is no JSON object."""
    try:
        summary = json_of(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(summary, dict):
        raise TraceError(path, "not a summary of a run")
    return summary


@dataclass(frozen=True)
class Summary:
    """`summary.json`, value by value, each checked as it is read; keys are dotted."""

    path: Path
    held: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Summary:
        """Return the summary of a run's folder."""
        path = folder / "summary.json"
        return cls(path, read_summary(path))

    def parameter(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return what a parameter given as text says, None where it was not given."""
        parameters = self.value("parameters", (dict,), "an object")
        if parameters.get(name) is None:
            return None
        try:
            return read(self.value(f"parameters.{name}", (str,), "text"))
        except ParameterError as error:
            raise TraceError(self.path, str(error), field=f"parameters.{name}") from None

    def stores(self) -> Stores | None:
        """Return where checkpoints go, None where they cost what the parameters say."""
        return self.parameter("vault", Stores.of)

    def value(self, keys: str, kinds: tuple[type, ...], expected: str) -> Any:
        """Return a value of one of these kinds."""
        return value_of(self.path, self.held, keys, kinds, expected)

    def measure(self, keys: str) -> float:
        """Return a number."""
        value: float = self.value(keys, (int, float), "a number")
        return value

    def number(self, keys: str, least: float, below: float) -> float:
        """Return a number within [least, below)."""
        value = self.measure(keys)
        if not least <= value < below:
            raise TraceError(self.path, f"{shown(value)} is not {least} to {below}", field=keys)
        return value

    def whole(self, keys: str, least: int, below: int, *, none: int | None = None) -> int:
        """Return a whole number within [least, below); `none` where null may stand and does."""
        if none is not None and not self.told(keys):
            return none
        value = self.number(keys, least, below)
        if value != int(value):
            raise TraceError(self.path, f"{shown(value)} is not whole", field=keys)
        return int(value)

    def told(self, keys: str) -> bool:
        """Return whether a number stands where null may."""
        kinds = (int, float, type(None))
        return self.value(keys, kinds, "a number or null") is not None

    def word(self, keys: str, known: Sequence[str], *, own: bool = False) -> str:
        """Return one of these words; with `own`, or the spelling of a class of the user's own."""
        value: str = self.value(keys, (str,), "a word")
        if value not in known and not (own and is_own(value)):
            raise TraceError(
                self.path, f"{shown(value)} is not one of {', '.join(known)}", field=keys
            )
        return value

    def flag(self, keys: str) -> bool:
        """Return true or false."""
        return bool(self.value(keys, (bool,), "true or false"))
