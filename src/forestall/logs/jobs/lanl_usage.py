"""Los Alamos' usage logs (LA-UR-06-0803): the jobs of its systems, published beside their failures.

A line a job, parted by blanks: its end, user, processors, submission, wanted start, deadline and
dispatch, processor seconds of user, of system and in all, and the batch id; later lines go on with
how it finished and ``/ nodes /``. Times are s since 1970, 0 for what nobody asked for.

https://www.lanl.gov/projects/computerscience/data, "usage data"; its README for system 20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import chunks_of_lines, text_of
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import UNKNOWN, Jobs
from forestall.core.model.units import MAX_SECONDS

FIELDS: Final = (
    "end", "user", "processors", "submit", "start", "deadline", "dispatch", "user time",
    "system time", "total time", "batch id",
)  # fmt: skip
_OURS: Final = (0, 1, 2, 3, 6, 10)
"""Places of the fields that are used."""
_WHOLE: Final = re.compile(r"-?\d{1,18}")
_NODES: Final = re.compile(r"/ [\d\- ]*/")
_SINCE: Final = 600_000_000
"""s since 1970 before which no job of theirs ended; numbers of a run's seconds are smaller."""


def is_lanl_usage(lines: Sequence[str]) -> bool:
    """Return whether a text that begins with these lines is such a log, but for some odd ones."""
    rows = [line.split() for line in lines if line.strip()]
    good = sum(
        len(row) >= len(FIELDS)
        and all(_WHOLE.fullmatch(row[k]) for k in _OURS)
        and int(row[0]) >= _SINCE
        and (len(row) == len(FIELDS) or row[-1] == "/")
        for row in rows
    )
    return good > 0 and good >= 0.9 * len(rows)


def read_lanl_usage(
    path: str | Path, *, processors_per_node: int = 1, strict: bool = False
) -> Jobs:
    """Read the jobs of a usage log (plain, .gz, .xz, .zst).

    Time 0 is the first submission. With `processors_per_node` P (4 on system 20) a job has
    ceil(processors / P) nodes. The run time is from the dispatch to the end; what was requested is
    not in the log. Where batch ids come again, jobs are numbered by their place in submit order.

    Raises TraceError if the file cannot be used (with `strict` also for the first row that
    would be left out), ParameterError for a P below 1.
    """
    if processors_per_node < 1:
        raise ParameterError("processors-per-node", processors_per_node, "at least 1")
    findings, rows, number = Findings(path, strict), list[tuple[int, ...]](), 0
    for text in chunks_of_lines(path, noted=findings.spoilt):
        for line in text_of(text[:-1]).split("\n"):
            number += 1
            if line.strip():
                _take(line, number, rows, findings)
    cleaning = findings.cleaning(len(rows), "jobs")
    _, user, processors, submit, dispatch, batch = (values := np.array(rows)).T
    order = np.argsort(submit, kind="stable")
    job = batch[order]
    again = len(job) - len(np.unique(job))
    if again:
        said = f"repeated batch ids ({again} times): jobs are numbered anew"
        cleaning = cleaning.plus("batch_id_again", said, "kept", [Path(path).name])
        job = np.arange(1, len(job) + 1)
    return Jobs(
        job,
        submit[order] - submit.min(),
        -(-processors[order] // processors_per_node),
        (values[:, 0] - dispatch)[order],
        np.full(len(job), UNKNOWN),
        user=tuple(map(str, user[order].tolist())),
        source=str(path),
        cleaning=cleaning,
        epoch=int(submit.min()),
        processor_memory=np.zeros(len(job), np.int64) if processors_per_node == 1 else None,
    )


def _take(line: str, number: int, rows: list[tuple[int, ...]], findings: Findings) -> None:
    """Take in a row, or say what is wrong with it."""
    words = line.split()
    rest = " ".join(words[len(FIELDS) :])
    if len(words) < len(FIELDS) or (rest and not _NODES.search(rest)):
        text = f"has {len(words)} fields; expected {len(FIELDS)}, and then '/ nodes /' if anything"
        findings.add("malformed", "malformed rows", "left out", [LineFinding(number, text)])
        return
    for place in _OURS:
        if not _WHOLE.fullmatch(words[place]):
            said = f"{shown(words[place])} is not a whole number"
            found = LineFinding(number, said, FIELDS[place])
            findings.add("malformed", "malformed rows", "left out", [found])
            return
    end, user, processors, submit, dispatch, batch = (int(words[k]) for k in _OURS)
    if not 0 < submit <= dispatch <= end < MAX_SECONDS:
        said = f"submitted {submit}, dispatched {dispatch}, ended {end}; expected this order"
        text = "rows whose times are not in order"
        findings.add("bad_times", text, "left out", [LineFinding(number, said)])
        return
    if processors <= 0:
        said = f"{processors}; expected 1 or more"
        found = LineFinding(number, said, "processors")
        findings.add("bad_size", "rows without processors", "left out", [found])
        return
    rows.append((end, user, processors, submit, dispatch, batch))
