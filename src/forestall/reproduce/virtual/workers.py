"""Many cases over all cores, each kept on disk as soon as it is done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from forestall.__about__ import __version__
from forestall.model.errors import TraceError
from forestall.reproduce.virtual.runs import Given, play_case
from forestall.reproduce.virtual.study import Case

Row = dict[str, Any]

KEPT: Final = "runs.jsonl"
"""In the folder of results: a first line that says what the runs were made with, and a line for
each run that is done. A study that is broken off goes on from it."""
FORMAT: Final = 1
CHUNK: Final = 8
"""Cases that a worker takes at a time: they mostly share a year of jobs."""

_given: list[Given] = []
"""In a worker: what it was given when it began."""


def _begin(given: Given) -> None:
    _given.append(given)


def _play(case: Case) -> Row:
    return play_case(case, _given[0])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_all(
    cases: Sequence[Case],
    given: Given,
    folder: Path,
    *,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Play all cases that `folder` does not hold yet, over `workers` processes (0: one a core).

    Returns the rows in the order of the cases; they do not depend on the number of workers, nor on
    how often the study was broken off.
    """
    path = folder / KEPT
    known = _kept(path, given)
    rest = [case for case in cases if _key(asdict(case)) not in known]
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise TraceError(path, f"cannot be written: {error.strerror}") from None
    with file:
        if path.stat().st_size == 0:
            file.write(json.dumps(_stamp(given)) + "\n")
        for done, row in enumerate(_playing(rest, given, workers or cores())):
            known[_key(row)] = row
            file.write(json.dumps(row, allow_nan=False) + "\n")
            file.flush()
            if progress is not None:
                progress(len(cases) - len(rest) + done + 1, len(cases))
    return [known[_key(asdict(case))] for case in cases]


def _stamp(given: Given) -> Row:
    return {
        "forestall": __version__,
        "format": FORMAT,
        "days": given.days,
        "real": given.real is not None,
    }


def _key(row: Row) -> str:
    """Return what tells a case from all others, of it or of its row."""
    return json.dumps([row[name] for name in Case.__dataclass_fields__])


def _kept(path: Path, given: Given) -> dict[str, Row]:
    """Return the rows that are there already; of a study with other inputs, none.

    A line that was broken off is left out, and with it the file is written anew.
    """
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(_read, lines) if row is not None]
    if not rows or rows[0] != _stamp(given):
        path.unlink()
        return {}
    if len(rows) < len(lines):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {_key(row): row for row in rows[1:]}


def _read(line: str) -> Row | None:
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _playing(cases: Sequence[Case], given: Given, workers: int) -> Iterator[Row]:
    if cases:  # here, so that kernels are compiled once and not by every worker
        yield play_case(cases[0], given)
    rest = cases[1:]
    if workers == 1 or not rest:
        yield from (play_case(case, given) for case in rest)
        return
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(given,)
    )
    try:
        yield from pool.map(_play, rest, chunksize=CHUNK)
    finally:
        pool.shutdown(cancel_futures=True)
