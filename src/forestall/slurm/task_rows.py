"""Tasks of job arrays and components of heterogeneous jobs in rows of sacct, by their JobID."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.slurm.notes import OddNotes
from forestall.slurm.records.accounting import UNKNOWN
from forestall.slurm.records.task_lists import JobId, task_id, task_ids
from forestall.slurm.sacct_text import Piece

with lazily():
    import polars as pl


Long = npt.NDArray[np.int64]
Columns = dict[str, npt.NDArray[Any]]

MOST_TASKS: Final = 1_000_000
"""Waiting tasks that get rows of their own, in all."""
CUT: Final = "array_cut"
"""Kind of the remark on arrays of which more tasks wait than are known."""
_ODD: Final = {
    "array_unread": "waiting arrays whose list of tasks cannot be read, counted as one job each",
    CUT: "waiting arrays whose list of tasks was cut, so that more tasks wait than are counted "
    "(SLURM_BITSTR_LEN=0 makes Slurm print it whole)",
    "array_large": f"waiting arrays beyond {MOST_TASKS:,} tasks in all, counted as one job each",
}
_LEAD: Final = re.compile(r"(\d{1,18})_\[.*", re.DOTALL)


class Unfolding:
    """Gives each task of an array that waits a row of its own; what is odd goes to `notes`."""

    def __init__(self, notes: OddNotes) -> None:
        self._notes = notes
        self._tasks = 0

    def __call__(self, piece: Piece, found: Columns) -> pl.DataFrame:
        """Return the frame of a piece with a row for each task, and give the columns that were
        `found` in it as many; theirs are job, task and at_once."""
        frame = piece.frame
        folded = frame["JobID"].str.contains("_[", literal=True) if "JobID" in frame else None
        if folded is None or not folded.any():
            return frame
        lists = self._lists(piece, np.flatnonzero(folded.to_numpy()).tolist())
        count = np.ones(len(frame), dtype=np.int64)
        for row, named in lists.items():
            count[row] = len(named.tasks or ())
        places = np.repeat(np.arange(len(frame)), count)
        for name, column in found.items():
            found[name] = column[places]
        first = np.cumsum(count) - count
        for row, named in lists.items():
            assert named.tasks is not None
            mine = slice(int(first[row]), int(first[row] + count[row]))
            found["job"][mine] = found["task"][mine] = task_ids(named.number, named.tasks)
            found["at_once"][mine] = named.tasks.at_once or UNKNOWN
        return frame[places] if lists else frame

    def _lists(self, piece: Piece, rows: list[int]) -> dict[int, JobId]:
        """Return the arrays that are given rows, by their row."""
        lists: dict[int, JobId] = {}
        odd: dict[str, list[int]] = {kind: [] for kind in _ODD}
        for row in rows:
            named = JobId.parse(piece.frame["JobID"][row])
            if named is None or named.tasks is None:
                odd["array_unread"].append(row)
                continue
            if named.tasks.cut:
                odd[CUT].append(row)
            if self._tasks + len(named.tasks) > MOST_TASKS:
                odd["array_large"].append(row)
            elif len(named.tasks):
                self._tasks += len(named.tasks)
                lists[row] = named
        for kind, places in odd.items():
            self._notes.lines(kind, _ODD[kind], "kept", piece.source, piece.lines[places])
        return lists


def groups_of(frame: pl.DataFrame) -> tuple[Long, Long]:
    """Return the numbers of tasks of arrays, and the leading jobs of components of heterogeneous
    jobs, int64[n] each; UNKNOWN for other rows."""
    task = np.full(len(frame), UNKNOWN, dtype=np.int64)
    het = task.copy()
    if "JobID" not in frame.columns:
        return task, het
    rows = np.flatnonzero(frame["JobID"].str.contains(r"[_+]").fill_null(False).to_numpy())
    if not len(rows):
        return task, het
    named = frame["JobID"].gather(rows).str.strip_chars()
    lead, number, offset = (
        named.str.extract(r"^(\d{1,9})(?:_(\d{1,9})|\+(\d{1,6}))$", group).cast(pl.Int64)
        for group in (1, 2, 3)
    )
    task[rows] = ((lead * 2**32) + number + 1).fill_null(UNKNOWN).to_numpy()
    het[rows] = (lead + 0 * offset).fill_null(UNKNOWN).to_numpy()
    return task, het


def id_of(text: str | None) -> int:
    """Return the number of a job named as in the column JobID, UNKNOWN where it is none.

    A task of an array has no raw id there: the array's id and the task make one that no real job
    has. Tasks that wait have the id of their array.
    """
    named = JobId.parse(text or "")
    if named is None:
        match = _LEAD.fullmatch((text or "").strip())  # an unreadable list
        return int(match[1]) if match else UNKNOWN
    if named.task is not None:
        return task_id(named.number, named.task)
    return named.number + (named.component or 0)
