"""The Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive", JPDC 74(10),
2014; https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. A line a job, 18 numbers parted by
blanks, -1 for what is not known; lines that start with a semicolon are comments, of which those at
the top of the form ``; Name: value`` are the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core.files.atomic import atomic_path
from forestall.core.files.findings import Findings
from forestall.core.files.guard import reader
from forestall.core.files.packed import chunks_of_lines, pack
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.logs.jobs.job_ids import with_own_ids
from forestall.logs.jobs.swf_rows import COLUMNS, FRACTIONAL, Column, SwfRows

_HEADER = re.compile(r"\s*;\s*([A-Za-z]\w*)\s*:\s*(.*?)\s*")
_NEEDED = ("job", "submit", "run", "allocated", "processors", "request", "request_memory",
           "user", "queue")  # fmt: skip


@dataclass(frozen=True)
class Swf:
    """An SWF file: its 18 columns, or those that were wanted, and its comments with their places.

    Attributes
    ----------
    columns : by name (`COLUMNS`), in the order of the file: int64[n], float64[n] for the average
        CPU time and memory; -1 where not known
    comments : (number of rows that stand before it, the line) of each comment
    line : int64[n], 1-based line number of each row
    source, cleaning : where it came from; what was left out or changed on reading
    """

    columns: dict[str, Column]
    comments: tuple[tuple[int, str], ...] = ()
    line: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __len__(self) -> int:
        return len(self.columns["job"])

    @property
    def header(self) -> dict[str, str]:
        """The header's fields by name, as text; of two with one name the first counts."""
        out: dict[str, str] = {}
        for before, line in self.comments:
            match = _HEADER.fullmatch(line)
            if before == 0 and match:
                out.setdefault(match[1], match[2])
        return out

    def jobs(self, processors_per_node: int = 1) -> Jobs:
        """Return the jobs in submit order, sizes in nodes of so many processors each."""
        if processors_per_node < 1:
            raise ParameterError("processors-per-node", processors_per_node, "at least 1")
        submit = self.columns["submit"]
        order = np.argsort(submit, kind="stable")
        cleaning = self.cleaning
        late = np.flatnonzero(np.diff(submit) < 0) + 1
        if len(late):
            names = (f"line {line}" for line in self.line[late])
            text = "rows submitted before the row above them (sorted)"
            cleaning = cleaning.plus("unsorted", text, "kept", names)
        else:
            order = np.arange(len(submit))
        size = _sizes(self.columns, processors_per_node)[order]
        request = self.columns["request"][order]
        return Jobs(
            self.columns["job"][order],
            submit[order],
            size,
            self.columns["run"][order],
            np.where(request > 0, request, UNKNOWN),
            user=_texts(self.columns["user"][order]),
            queue=_texts(self.columns["queue"][order]),
            source=self.source,
            cleaning=cleaning,
            nodes=_machine(self.header, processors_per_node),
            processor_memory=self._memory(order) if processors_per_node == 1 else None,
        )

    def _memory(self, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the memory that jobs ask for a processor, MiB, 0 where it is not known."""
        kib = np.maximum(self.columns["request_memory"][order], 0).astype(np.int64)
        return -(-kib // 1024)


def read_swf(path: str | Path, *, processors_per_node: int = 1, strict: bool = False) -> Jobs:
    """Read the jobs of an SWF file (plain, .gz, .xz, .zst).

    Sizes are the allocated processors (field 5), where those are unknown the requested ones
    (field 8); with `processors_per_node` P a job has ceil(processors / P) nodes. Jobs without run
    time or size stay, for the simulator to count. The machine's size comes from the header.

    Raises TraceError if the file cannot be used (with `strict` also for the first row that
    would be left out or changed), ParameterError for a P below 1.
    """
    return with_own_ids(_read(path, strict, _NEEDED).jobs(processors_per_node))


@reader
def read_swf_file(
    path: str | Path, *, strict: bool = False, wanted: Sequence[str] | None = None
) -> Swf:
    """Read the columns `wanted` (None: all 18) and the comments of an SWF file; errors as in
    `read_swf`, and ParameterError for a column that SWF does not have.

    ``job`` is always there. Where columns are chosen, those that hold no times nor ids of jobs
    (`NARROW`) are int32 if all their values fit: a log of 5,000,000 jobs then takes half the
    memory.
    """
    if wanted is None:
        return _read(path, strict, None)
    for name in wanted:
        if name not in COLUMNS:
            raise ParameterError("wanted", name, f"some of {', '.join(COLUMNS)}")
    chosen = tuple(name for name in COLUMNS if name in {"job", *wanted})
    return _read(path, strict, chosen, narrow=True)


def write_swf(log: Swf | Jobs, path: str | Path) -> None:
    """Write an SWF file; .gz, .xz and .zst are packed. It appears whole or not at all.

    Jobs are written with their sizes as allocated and requested processors; users and queues that
    are no whole numbers are numbered from 1 in sorted order and named in comments.
    """
    whole = log if isinstance(log, Swf) else swf_of_jobs(log)
    data = b"".join(_encoded(whole))
    with atomic_path(path) as beside:
        pack(beside, data, Path(path).suffix)


def swf_of_jobs(jobs: Jobs) -> Swf:
    """Return jobs as the file that `write_swf` makes of them."""
    columns: dict[str, Column] = {
        name: np.full(len(jobs), UNKNOWN, dtype=np.float64 if name in FRACTIONAL else np.int64)
        for name in COLUMNS
    }
    columns |= {"job": jobs.job, "submit": jobs.submit, "run": jobs.runtime}
    columns |= {"allocated": jobs.size, "processors": jobs.size, "request": jobs.estimate}
    comments = ["; Version: 2.2", f"; MaxJobs: {len(jobs)}", f"; MaxRecords: {len(jobs)}"]
    if jobs.nodes is not None:
        comments += [f"; MaxNodes: {jobs.nodes}", f"; MaxProcs: {jobs.nodes}"]
    for name, texts in (("user", jobs.user), ("queue", jobs.queue)):
        if texts is not None:
            columns[name], named = _numbers(texts)
            comments += [f"; {name} {number}: {text}" for text, number in named]
    return Swf(columns, tuple((0, line) for line in comments), source=jobs.source)


def _read(
    path: str | Path, strict: bool, wanted: tuple[str, ...] | None, *, narrow: bool = False
) -> Swf:
    findings = Findings(path, strict)
    rows = SwfRows(findings, wanted, narrow=narrow)
    for text in chunks_of_lines(path, noted=findings.spoilt):
        rows.feed(text)
    lines = rows.lines()
    cleaning = findings.cleaning(len(lines), "jobs")
    before = np.searchsorted(lines, [number for number, _ in rows.comments])
    comments = zip(before.tolist(), (text for _, text in rows.comments), strict=True)
    return Swf(rows.columns(), tuple(comments), lines, str(path), cleaning)


def _sizes(columns: dict[str, Column], per_node: int) -> npt.NDArray[np.int64]:
    allocated, requested = columns["allocated"], columns["processors"]
    processors = np.where(allocated > 0, allocated, np.where(requested > 0, requested, UNKNOWN))
    return np.where(processors > 0, -(-processors // per_node), processors)


def _machine(header: dict[str, str], per_node: int) -> int | None:
    nodes, processors = (_count(header.get(name, "")) for name in ("MaxNodes", "MaxProcs"))
    if per_node == 1:
        return processors or nodes
    return nodes or (-(-processors // per_node) if processors else None)


def _count(text: str) -> int | None:
    """Return the positive number that a header field starts with; remarks may follow it."""
    match = re.match(r"\d+", text)
    return int(match[0]) or None if match else None


def _texts(numbers: Column) -> tuple[str, ...] | None:
    """Return numbers as text, "" for unknown ones; None where all are unknown."""
    values, places = np.unique(numbers, return_inverse=True)
    if len(values) == 0 or values[-1] < 0:
        return None
    names = np.array(["" if value < 0 else str(value) for value in values], dtype=object)
    return tuple(names[places].tolist())  # one text object a value, however many jobs


_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def _numbers(texts: tuple[str, ...]) -> tuple[Column, list[tuple[str, int]]]:
    """Return a number for each text, and which stands for which where they are not the same."""
    distinct = sorted(set(texts) - {""})
    if all(_NUMBER.fullmatch(text) for text in distinct):
        number = {text: int(text) for text in distinct}
        named = []
    else:
        number = {text: place for place, text in enumerate(distinct, 1)}
        named = list(number.items())
    number[""] = UNKNOWN
    return np.fromiter((number[text] for text in texts), np.int64, len(texts)), named


def _encoded(log: Swf, block: int = 1 << 16) -> Iterator[bytes]:
    """Yield the lines of the file as bytes."""
    at = 0
    for before, line in (*log.comments, (len(log), None)):
        for first in range(at, before, block):
            yield from _rows(log.columns, slice(first, min(first + block, before)))
        at = before
        if line is not None:
            yield line.encode() + b"\n"


def _rows(columns: dict[str, Column], part: slice) -> Iterable[bytes]:
    words = [_words(columns[name][part]) for name in COLUMNS]
    text = "\n".join(map(" ".join, zip(*words, strict=True)))
    return (text.encode(), b"\n")


def _words(column: Column) -> list[str]:
    if column.dtype != np.float64:
        return list(map(str, column.tolist()))
    # repr() is the shortest text that reads back as the same number.
    return [str(int(value)) if value == int(value) else repr(value) for value in column.tolist()]
