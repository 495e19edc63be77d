"""A table of a run's folder as a certifier reads it: column by column, in whole numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.model.errors import TraceError
from forestall.model.units import MAX_SECONDS

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
MAX_NODES = 2**24
MAX_COUNT = 2**40
MAX_AMOUNT = 2**62
"""Thousandths of processor-seconds stay below this."""
NONE = np.iinfo(np.int64).min
"""Stands for an empty field."""
_COLUMNS = {
    "jobs": "job,submit,size,runtime,deadline,start,finish,completed,tasks_completed,outcome,lost,"
    "restarts,migrations",
    "tasks": "job,task,node,start,end,rate,work,done,outcome,migrations,restarts,checkpoints,lost",
    "runs": "job,task,node,start,runs_from,end,rate,work,begun,outcome,lost,checkpoints",
    "migrations": "time,job,task,source,target,end,predicted,outcome",
    "failures": "time,node,downtime,predicted,tasks,lost",
}


class Sheet:
    """One table, column by column, each checked as it is read."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.csv"
        columns = _COLUMNS[name].split(",")
        try:
            frame = pl.read_csv(self.path, infer_schema_length=0, null_values=[""])
        except FileNotFoundError:
            raise TraceError(self.path, "is not there") from None
        except pl.exceptions.NoDataError:
            said = f"is empty; expected a header with {','.join(columns)}"
            raise TraceError(self.path, said) from None
        except (OSError, pl.exceptions.PolarsError) as error:
            said = (str(error).splitlines() or ["unreadable"])[0]
            raise TraceError(self.path, f"is no comma-separated table ({said})") from None
        missing = [one for one in columns if one not in frame.columns]
        if missing:
            raise TraceError(self.path, f"lacks column {', '.join(missing)}")
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    def refuse(self, bad: npt.NDArray[np.bool_] | pl.Series, name: str, expected: str) -> None:
        """Raise TraceError for the first row in which `bad` holds."""
        rows = np.flatnonzero(np.asarray(bad))
        if len(rows):
            said = self.frame[name][int(rows[0])]
            what = "an empty field" if said is None else repr(said)
            raise TraceError(
                self.path, f"{what} is not {expected}", line=int(rows[0]) + 2, field=name
            )

    def whole(
        self, name: str, least: int = 0, below: int = MAX_COUNT, *, empty: bool = False
    ) -> Int:
        """Return whole numbers within [least, below), NONE where a field may be empty and is."""
        text = self.frame[name]
        numbers = text.cast(pl.Int64, strict=False)
        if numbers.null_count() != text.null_count():
            numbers = text.str.strip_chars().cast(pl.Int64, strict=False)
        unread = numbers.is_null() & text.is_not_null() if empty else numbers.is_null()
        self.refuse(unread, name, "a whole number")
        self.refuse((numbers < least).fill_null(value=False), name, f"{least} or more")
        self.refuse((numbers >= below).fill_null(value=False), name, f"below {below}")
        return numbers.fill_null(NONE).to_numpy()

    def seconds(self, name: str, *, empty: bool = False) -> Int:
        """Return times."""
        return self.whole(name, 1 - MAX_SECONDS, MAX_SECONDS, empty=empty)

    def amounts(self, name: str, *, empty: bool = False) -> Int:
        """Return numbers of at most three decimals, from 0 up, in thousandths; 0 where empty."""
        text = self.frame[name]
        numbers = text.cast(pl.Float64, strict=False)
        if numbers.null_count() != text.null_count():
            numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
        unread = numbers.is_null() & text.is_not_null() if empty else numbers.is_null()
        self.refuse(unread, name, "a number")
        values = numbers.fill_null(0.0).to_numpy() * 1000.0
        with np.errstate(invalid="ignore"):
            inside = (values >= 0) & (values < MAX_AMOUNT)
        self.refuse(~inside, name, "a number from 0 up")
        near = np.rint(values)
        off = np.abs(values - near) > np.maximum(1e-3, 1e-12 * near)
        self.refuse(off, name, "a number of at most three decimals")
        return near.astype(np.int64)

    def words(self, name: str, known: Sequence[str]) -> Int:
        """Return the position of each word among those that are known."""
        codes = self.frame[name].replace_strict(
            list(known), list(range(len(known))), default=-1, return_dtype=pl.Int64
        )
        codes = codes.fill_null(-1)
        self.refuse(codes < 0, name, f"one of {', '.join(known)}")
        return codes.to_numpy()

    def jobs(self, ids: Int) -> Int:
        """Return the position of each row's job."""
        asked = self.whole("job", -MAX_AMOUNT, MAX_AMOUNT)
        order = np.argsort(ids, kind="stable")
        at = order[np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)]
        self.refuse(ids[at] != asked, "job", "a job of jobs.csv")
        return at


def value_of(path: Path, summary: Any, keys: str, kinds: tuple[type, ...], expected: str) -> Any:
    """Return what stands at these keys of a summary; TraceError where it is not as expected."""
    for key in keys.split("."):
        if not isinstance(summary, Mapping) or key not in summary:
            raise TraceError(path, "is not there", field=keys)
        summary = summary[key]
    odd = isinstance(summary, bool) and bool not in kinds
    odd = odd or (isinstance(summary, float) and not math.isfinite(summary))
    if odd or not isinstance(summary, kinds):
        raise TraceError(path, f"{summary!r} is not {expected}", field=keys)
    return summary


def read_summary(path: Path) -> dict[str, Any]:
    """Return what `summary.json` holds; TraceError where it is no JSON object."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(summary, dict):
        raise TraceError(path, "is no summary of a run")
    return summary
