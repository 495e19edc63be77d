"""The header of sacct's text, and how rows are put together again that a separator or a newline in
a text has broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.slurm.notes import OddNotes

Long = npt.NDArray[np.int64]

COLUMNS: Final = (
    "JobIDRaw", "JobID", "Cluster", "User", "UID", "Account", "Partition", "QOS", "State",
    "ExitCode", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Elapsed", "Suspended",
    "TimelimitRaw", "Timelimit", "NNodes", "AllocNodes", "ReqNodes", "AllocCPUS", "NCPUS",
    "AllocTRES", "ReqTRES", "NodeList", "Reason", "FailedNode", "Restarts", "JobName", "SubmitLine",
)  # fmt: skip
"""The fields of sacct that are read; all others are passed over."""

FREE_TEXT: Final = frozenset(
    {"JobName", "SubmitLine", "Comment", "AdminComment", "SystemComment", "WorkDir", "Extra",
     "Constraints", "StdErr", "StdIn", "StdOut", "Container", "WCKey"}
)  # fmt: skip
"""Fields in which users can write anything."""

_WORD = rb"[A-Za-z]+"
_FIRST_TWO = re.compile(rb"\W*(" + _WORD + rb")([^A-Za-z]+)(" + _WORD + rb")")
_COMMAND = re.compile(r"(?:\S*/)?(?:sbatch|srun|salloc|scrontab|scron)\b")
_TIME = r"\d+|\d{4}-\d\d-\d\d[T ].*|[A-Za-z/]*"
SHAPES: Final = {
    name: re.compile(shape)
    for names, shape in (
        (("JobID", "JobIDRaw"), r"\d+[\d_.+\[\]%,:a-z-]*"),
        (("State",), r"[A-Z_]+\+?( by .*)?"),
        (("Submit", "Eligible", "Start", "End"), _TIME),
        (("ExitCode", "DerivedExitCode"), r"(\d+:\d+)?"),
        (("ElapsedRaw", "NNodes", "AllocNodes", "ReqNodes", "AllocCPUS", "NCPUS", "UID",
          "Restarts"),
         r"\d*[.\d]*[KMG]?"),
        (("TimelimitRaw",), r"\d*|[A-Za-z_]+"),
        (("Elapsed", "Suspended", "CPUTime"), r"[\d:.-]*|[A-Za-z_]+"),
    )
    for name in names
}  # fmt: skip
_CONTINUED = 50
"""A row is put together from no more lines than this."""
_MOST_STEPS = 20_000
"""A row is not put together where that takes more looks at a field."""
_MOST_BARS = 64
"""A row with more separators too many is not put together."""


@dataclass(frozen=True)
class ColumnHeader:
    """The names of the columns and what separates them."""

    names: tuple[str, ...]
    delimiter: bytes

    @classmethod
    def of(cls, line: bytes) -> ColumnHeader | None:
        """Return the header that a line is, None where it is none."""
        text = line.strip(b"\r\n").removeprefix(b"\xef\xbb\xbf")
        match = _FIRST_TWO.match(text)
        if match is None:
            return None
        apart = match[2] if match[2].strip(b" ") else None  # columns padded with blanks
        raw = text[match.start(1) :].split(apart)
        known = {name.lower(): name for name in (*COLUMNS, *FREE_TEXT)}
        words = [name.decode("ascii", errors="replace").strip() for name in raw]
        names = tuple(known.get(word.lower(), word) for word in words)
        if "State" not in names or not {"JobID", "JobIDRaw"} & set(names):
            return None
        return cls(names, match[2])


def mended(
    text: bytes,
    begins: Long,
    ends: Long,
    good: npt.NDArray[np.bool_],
    header: ColumnHeader,
    line: int,
    notes: OddNotes,
    source: str,
) -> list[tuple[int, list[str]]]:
    """Return the rows that lines with too many or too few separators make, with their lines."""
    rows: list[tuple[int, list[str]]] = []
    joined: list[int] = []
    lost: list[int] = []
    tails: list[int] = []
    at = np.flatnonzero(~good).tolist()
    parts = [text[int(begins[k]) : int(ends[k])].decode("utf-8", "replace") for k in at]
    mender = Mender(header)
    k = 0
    while k < len(at):
        if not parts[k].strip():
            k += 1
            continue
        stop = k + 1
        while stop < len(at) and at[stop] == at[stop - 1] + 1 and stop - k < _CONTINUED:
            stop += 1
        fields, used = mender.row(parts[k:stop])
        if fields is not None:
            rows.append((line + at[k], fields))
            joined.extend(line + place for place in at[k : k + used])
        elif mender.tail(parts[k]):
            tails.append(line + at[k])
        else:
            lost.append(line + at[k])
        k += used
    notes.lines("mended", "lines broken by a separator or newline in a text, put together again",
                "kept", source, joined)  # fmt: skip
    notes.lines("tail", "lines that continue the text at the end of the row above", "kept", source,
                tails)  # fmt: skip
    notes.lines(
        "malformed",
        "rows with a wrong number of fields",
        "left out",
        source,
        lost,
        f"has a wrong number of fields; expected the header's {len(header.names)}",
    )
    return rows  # fmt: skip


class Mender:
    """Finds the fields of broken rows."""

    def __init__(self, header: ColumnHeader) -> None:
        self._bar = header.delimiter.decode("latin1")
        self._names = header.names
        self._shapes = {k: SHAPES[n] for k, n in enumerate(header.names) if n in SHAPES}
        self._steps = 0
        self._free = [k for k, name in enumerate(header.names) if name in FREE_TEXT]

    def row(self, parts: list[str]) -> tuple[list[str] | None, int]:
        """Return the fields of the row that the first of these lines begins, and of how many lines
        it is; None and 1 where they make none."""
        bars = 0
        for used, part in enumerate(parts, 1):
            bars += part.count(self._bar)
            if bars >= len(self._names) - 1:
                fields = self._fields(" ".join(parts[:used]))
                if fields is not None:
                    return fields, used
                if bars > len(self._names) + _MOST_BARS or (used > 1 and self._begins(part)):
                    break
        return None, 1

    def tail(self, part: str) -> bool:
        """Return whether a line can be the rest of a text that ends the row before it."""
        return bool(self._free) and self._free[-1] == len(self._names) - 1 and (
            not self._begins(part)
        )  # fmt: skip

    def _begins(self, part: str) -> bool:
        """Return whether a line looks like the beginning of a row."""
        fields = part.split(self._bar)
        shapes = [(k, shape) for k, shape in self._shapes.items() if k < len(fields) - 1]
        return len(fields) > 1 and all(shape.fullmatch(fields[k]) for k, shape in shapes)

    def _fields(self, text: str) -> list[str] | None:
        """Return the fields of a row with at least as many separators as it should have."""
        parts = text.split(self._bar)
        extra = len(parts) - len(self._names)
        if not 0 <= extra <= _MOST_BARS or not self._free:
            return None
        best, score = None, -1
        self._steps = 0
        for fields in self._ways(parts, 0, extra, []):
            here = self._score(fields)
            if here > score:
                best, score = fields, here
        return best if self._steps <= _MOST_STEPS else None

    def _ways(self, parts: list[str], at: int, extra: int, done: list[str]) -> Iterator[list[str]]:
        """Yield the ways to make the fields after those that are done of the parts from `at` on,
        with `extra` separators to be put into texts; what has a shape must have it."""
        done = done.copy()
        while len(done) < len(self._names) and self._steps <= _MOST_STEPS:
            self._steps += 1
            k = len(done)
            if k in self._free:
                for more in range(extra, -1, -1):
                    text = self._bar.join(parts[at : at + 1 + more])
                    yield from self._ways(parts, at + 1 + more, extra - more, [*done, text])
                return
            if k in self._shapes and not self._shapes[k].fullmatch(parts[at]):
                return
            done.append(parts[at])
            at += 1
        if not extra and len(done) == len(self._names):
            yield done

    def _score(self, fields: list[str]) -> int:
        if "SubmitLine" not in self._names:
            return 0
        return int(_COMMAND.match(fields[self._names.index("SubmitLine")]) is not None)
