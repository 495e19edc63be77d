"""The text of ``sacct --parsable2`` as columns of text, in pieces, whatever became of the file.

Slurm escapes nothing: a separator or a newline in a job's name breaks its row. Rows with a wrong
number of separators are put together again where only one way of doing so gives a row whose times,
states and numbers can be read; what is left is named and left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.packed import chunks_of_lines
from forestall.core.model.errors import TraceError
from forestall.slurm.broken_rows import COLUMNS, SHAPES, ColumnHeader, mended
from forestall.slurm.notes import OPEN, OddNotes, ends_open

with lazily():
    import polars as pl


Long = npt.NDArray[np.int64]

CHUNK: Final = 16 << 20
SUPERSEDED: Final = {
    "Elapsed": ("ElapsedRaw",),
    "Timelimit": ("TimelimitRaw",),
    "NCPUS": ("AllocCPUS",),
    "NNodes": ("AllocNodes", "ReqNodes"),
    "ReqTRES": ("ReqNodes",),
}
"""Columns that tell nothing that these others do not."""
_NEWLINE = 10
_TOP = 200
"""The header stands within so many lines: messages may come before it."""


@dataclass(frozen=True)
class Piece:
    """Some rows of one answer of sacct.

    Attributes
    ----------
    frame : columns of text named as in `COLUMNS`, those that are there
    lines : int64[n], the line (JSON: the place among the jobs) of each row, from 1
    source : what was read
    """

    frame: pl.DataFrame
    lines: Long
    source: str


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is text of sacct with its header."""
    return any(ColumnHeader.of(line) is not None for line in head.split(b"\n")[:_TOP])


def pieces(path: str | Path, notes: OddNotes, source: str = "") -> Iterator[Piece]:
    """Yield the rows of jobs in a file, plain or packed; steps of jobs are left out.

    Parameters
    ----------
    notes : takes what is odd
    source : what the file is called in messages (default: its path)

    Raises TraceError where the file cannot be read, has no header or lacks a column.
    """
    name = source or str(path)
    header: ColumnHeader | None = None
    line = 1
    for chunk in chunks_of_lines(path, CHUNK, noted=notes.spoilt(name)):
        for text, found in _sections(chunk, header):
            if found is not None:
                header = found
                _check(header, name, line)
            elif header is None:
                _refuse_headless(text, name, line)
                count = text.count(b"\n")
                if text.strip():
                    kind = "lines before the header"
                    notes.lines("before_header", kind, "kept", name, range(line, line + count))
            else:
                yield from _rows(text, header, line, notes, name)
            line += int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE))
    if header is None:
        what = "has no header with JobID and State" if notes else "is empty"
        raise TraceError(name, f"{what}; expected the output of sacct --parsable2")
    if ends_open(path):
        notes.lines("cut_off", OPEN, "kept", name, [line - 1])


def _sections(
    chunk: bytes, now: ColumnHeader | None
) -> Iterator[tuple[bytes, ColumnHeader | None]]:
    """Yield the chunk cut at headers other than the one that holds (several where files were put
    together): text, header."""
    begin = place = 0
    while (place := chunk.find(b"JobID", place)) >= 0:
        first = chunk.rfind(b"\n", 0, place) + 1
        last = chunk.find(b"\n", place) + 1
        header = ColumnHeader.of(chunk[first:last])
        if header is not None and header != now:
            if first > begin:
                yield chunk[begin:first], None
            yield chunk[first:last], header
            begin, now = last, header
        place = last
    if begin < len(chunk):
        yield chunk[begin:], None


def _check(header: ColumnHeader, source: str, line: int) -> None:
    if not header.delimiter.strip(b" "):
        said = "has columns separated by blanks; expected sacct with -P (--parsable2)"
        raise TraceError(source, said, line=line)
    missing = [name for name in ("Start", "End") if name not in header.names]
    if missing:
        said = f"has no column {missing[0]}; expected at least JobID, State, Start and End"
        raise TraceError(source, said, line=line)


def _refuse_headless(text: bytes, source: str, line: int) -> None:
    first = text.lstrip().split(b"\n", 1)[0]
    if (
        line > _TOP
        or text.count(b"\n") > _TOP
        or SHAPES["JobID"].match(first[:20].decode("latin1"))
    ):
        said = (
            "has no header with JobID and State; expected the output of "
            "sacct --parsable2 without --noheader"
        )
        raise TraceError(source, said, line=line)


def _rows(
    text: bytes, header: ColumnHeader, line: int, notes: OddNotes, source: str
) -> Iterator[Piece]:
    if len(header.delimiter) > 1:
        text = text.replace(header.delimiter, b"\x1f")
        header = ColumnHeader(header.names, b"\x1f")
    there = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(there == _NEWLINE)
    bars = np.flatnonzero(there == header.delimiter[0])
    count = np.diff(np.searchsorted(bars, ends), prepend=0)
    good = count == len(header.names) - 1
    lines = np.arange(line, line + len(ends), dtype=np.int64)
    whole: list[tuple[int, list[str]]] = []
    if not bool(good.all()):
        begins = np.concatenate(([0], ends[:-1] + 1))
        whole = mended(text, begins, ends, good, header, line, notes, source)
        text = b"".join(_kept(text, begins, ends, good))
        lines = lines[good]
    frame = _frame(text, header, lines, notes, source) if len(lines) else None
    if whole:
        names = header.names
        taken = _taken(header)
        more = pl.DataFrame(
            {n: [fields[names.index(n)] for _, fields in whole] for n in taken},
            schema=dict.fromkeys(taken, pl.String),
        )
        frame = more if frame is None else pl.concat([frame, more])
        lines = np.concatenate((lines, [number for number, _ in whole])).astype(np.int64)
    if frame is not None:
        yield _jobs_only(frame, lines, notes, source)


def _taken(header: ColumnHeader) -> list[str]:
    """Return the columns to read."""
    there = set(header.names)
    return [
        name
        for name in COLUMNS
        if name in there and not (name in SUPERSEDED and there.issuperset(SUPERSEDED[name]))
    ]


def _kept(text: bytes, begins: Long, ends: Long, good: npt.NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield the text of the runs of good lines."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False]))))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield text[int(begins[first]) : int(ends[stop - 1]) + 1]


def _frame(
    text: bytes, header: ColumnHeader, lines: Long, notes: OddNotes, source: str
) -> pl.DataFrame:
    """Return columns of text of lines that all have as many fields as the header."""
    taken = _taken(header)
    # A field that was asked for twice has two columns of one name: the first is taken.
    seen = {name: k for k, name in reversed(list(enumerate(header.names)))}
    names = [n if seen[n] == k else f"{n} {k}" for k, n in enumerate(header.names)]

    table = pl.scan_csv(
        io.BytesIO(text),
        has_header=False,
        schema=dict.fromkeys(names, pl.String),
        separator=header.delimiter.decode("latin1"),
        quote_char=None,
    )
    return table.select(pl.col(taken).fill_null("")).collect()


def _jobs_only(frame: pl.DataFrame, lines: Long, notes: OddNotes, source: str) -> Piece:
    """Return the rows that are neither steps nor headers again."""
    name = "JobIDRaw" if "JobIDRaw" in frame.columns else "JobID"
    step = frame[name].str.contains(".", literal=True)
    if name == "JobID" and step.any():  # a list of tasks that was cut has dots, too: 12_[1,3,...]
        step &= frame[name].str.contains(r"^[^\[]*\.")
    if name == "JobID" and step.any():  # a list of tasks that was cut has dots, too: 12_[1,3,...]
        step &= frame[name].str.contains(r"^[^\[]*\.")
    other = step | (frame[name] == name)
    if other.any():
        notes.lines("step", "job steps, which are not jobs", "kept", source,
                    lines[step.to_numpy()])  # fmt: skip
        frame, lines = frame.filter(~other), lines[~other.to_numpy()]
    return Piece(frame, lines, source)
