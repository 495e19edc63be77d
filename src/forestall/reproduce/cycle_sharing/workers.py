"""Many batches over all cores, each kept on disk as soon as it is done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from forestall.__about__ import __version__
from forestall.model.errors import TraceError
from forestall.reproduce.cycle_sharing.runs import Given, play_batch
from forestall.reproduce.cycle_sharing.study import Batch, Case

Row = dict[str, Any]

KEPT: Final = "runs.jsonl"
"""In the folder of results: a first line that says what the runs were made with, a line for each
row, and one after the rows of each batch that is done. A study that is broken off goes on from it.
"""
FORMAT: Final = 2

_given: list[Given] = []
"""In a worker: what it was given when it began."""


def _begin(given: Given) -> None:
    _given.append(given)


def _play(batch: Batch) -> list[Row]:
    return play_batch(batch, _given[0])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_all(
    batches: Sequence[Batch],
    given: Given,
    folder: Path,
    *,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Play all batches that `folder` does not hold yet, over `workers` processes (0: one a core).

    Returns the rows in the order of the batches; they do not depend on the number of workers, nor
    on how often the study was broken off. `progress` is told runs done and runs in all.
    """
    path = folder / KEPT
    known = _kept(path, given)
    rest = [left for batch in batches if (left := _left(batch, known)).cases]
    total = sum(len(batch.cases) for batch in batches)
    done = total - sum(len(batch.cases) for batch in rest)
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise TraceError(path, f"cannot be written: {error.strerror}") from None
    with file:
        if path.stat().st_size == 0:
            file.write(json.dumps(_stamp(given)) + "\n")
        for batch, rows in zip(rest, _playing(rest, given, workers or cores()), strict=True):
            for row in rows:
                known.setdefault(_key(row), []).append(row)
                file.write(json.dumps(row, allow_nan=False) + "\n")
            file.write(json.dumps({"done": [_key(asdict(case)) for case in batch.cases]}) + "\n")
            file.flush()
            done += len(batch.cases)
            if progress is not None:
                progress(done, total)
    return [row for batch in batches for case in batch.cases for row in known[_key(asdict(case))]]


def _left(batch: Batch, known: Mapping[str, list[Row]]) -> Batch:
    """Return what of a batch has not been played."""
    return Batch(tuple(case for case in batch.cases if _key(asdict(case)) not in known))


def _stamp(given: Given) -> Row:
    return {
        "forestall": __version__,
        "format": FORMAT,
        "days": given.days,
        "real": given.data is not None,
    }


def _key(row: Row) -> str:
    """Return what tells a case from all others, of it or of its rows."""
    return json.dumps([row[name] for name in Case.__dataclass_fields__])


def _kept(path: Path, given: Given) -> dict[str, list[Row]]:
    """Return the rows of cases that are there already; of a study with other inputs, none.

    Rows without a line after them that says that their batch is done are left out, and the file is
    written anew without them.
    """
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [_read(line) for line in lines]
    if not found or found[0] != _stamp(given):
        path.unlink()
        return {}
    whole = max((k for k, one in enumerate(found) if one is not None and "done" in one), default=0)
    if whole + 1 < len(lines):
        path.write_text("".join(f"{line}\n" for line in lines[: whole + 1]), encoding="utf-8")
    known: dict[str, list[Row]] = {}
    for one in found[1 : whole + 1]:
        if one is not None and "done" not in one:
            known.setdefault(_key(one), []).append(one)
    return known


def _read(line: str) -> Row | None:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _playing(batches: Sequence[Batch], given: Given, workers: int) -> Iterator[list[Row]]:
    if batches:  # here, so that kernels are compiled once and not by every worker
        yield play_batch(batches[0], given)
    rest = batches[1:]
    if workers == 1 or not rest:
        yield from (play_batch(batch, given) for batch in rest)
        return
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(given,)
    )
    try:
        yield from pool.map(_play, rest)
    finally:
        pool.shutdown(cancel_futures=True)
