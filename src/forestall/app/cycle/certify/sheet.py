"""A table of a run of cycle sharing as the certifier reads it: column by column, in whole
numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from forestall.app.kit.sheet import Int, Sheet
from forestall.model.errors import TraceError

PARTS = 1_000_000
"""Work is held as whole millionths of a second of a host of speed 1."""
MAX_WORK = 2**53
"""Millionths stay below this: as numbers of at most six decimals they are exact."""
_COLUMNS = {
    "jobs": "job,submit,runtime,start,finish,makespan,outcome,tries,failures,lost,checkpoints",
    "stays": "job,host,start,end,ended,work,saved,lost,checkpoints,chance,promise",
    "hosts": "host,name,speed,samples,share_s1,share_s2,share_s3,share_s4,share_s5,unavailable,s3,"
    "s4,s5,guests,guest_seconds,useful,lost",
    "availability": "host,start,end,state,work",
    "events": "time,event,job,host,state,decisions,candidates",
    "decisions": "time,decision,job,host,at,tries,candidates,jct,mttf,etl,jctf,rank,chance,reason",
    "candidates": "time,job,host,jct,mttf,etl,jctf,rank,chance",
}


class GuestSheet(Sheet):
    """One table of a run of cycle sharing."""

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

    def real(
        self, name: str, *, above: float = 0.0
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return finite numbers from `above` on."""
        text = self.frame[name]
        numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
        self.refuse(numbers.is_null(), name, "a number")
        values = numbers.to_numpy()
        self.refuse(~np.isfinite(values) | (values < above), name, f"a number from {above:g} up")
        return values

    def work(self, name: str, empty: int | None = None) -> Int:
        """Return numbers of at most six decimals, from 0 up, in millionths; `empty` where a field
        may be empty and is."""
        text = self.frame[name]
        numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
        unread = numbers.is_null() if empty is None else numbers.is_null() & text.is_not_null()
        self.refuse(unread, name, "a number")
        gone = numbers.is_null().to_numpy()
        values = numbers.fill_null(0.0).to_numpy() * float(PARTS)
        with np.errstate(invalid="ignore"):
            inside = (values >= 0) & (values < MAX_WORK)
        self.refuse(~inside, name, f"a number from 0 to {MAX_WORK // PARTS}")
        near = np.rint(values)
        off = np.abs(values - near) > np.maximum(1e-3, 1e-12 * near)
        self.refuse(off, name, "a number of at most six decimals")
        whole = near.astype(np.int64)
        return whole if empty is None else np.where(gone, empty, whole)
