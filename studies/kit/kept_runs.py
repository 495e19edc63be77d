"""The runs of a study, kept on disk as they are done: one that is broken off goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import forestall as fs
from studies.kit.files import flushed
from studies.kit.workers import over_workers

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = dict[str, Any]
Case = TypeVar("Case", bound="DataclassInstance")
Given = TypeVar("Given")

KEPT: Final = "runs.jsonl"
"""In the folder of results: a line that says what the runs were made with, then a line for each
batch of cases that is done."""
FORMAT: Final = 3


def play_all(
    play: Callable[[tuple[Case, ...], Given], list[Row]],
    batches: Sequence[tuple[Case, ...]],
    given: Given,
    folder: Path,
    stamp: Mapping[str, Any],
    *,
    workers: int = 0,
    chunk: int = 1,
    on: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Play all cases that `folder` does not hold yet, over `workers` processes (0: one a core).

    Returns the rows in the order of the cases; they do not depend on the number of workers, nor on
    how often the study was broken off.

    Parameters
    ----------
    play : returns the rows of the cases of a batch, each with the fields of its case
    batches : cases that are better played together
    given : what all of them need besides
    stamp : what tells runs of this study from those of another that has the same cases
    chunk : batches that a worker takes at a time
    on : a cluster that plays them, as `fs.over_cluster` takes it
    progress : called with the number of cases done and of all cases
    """
    path = folder / KEPT
    begun = {"forestall": fs.__version__, "format": FORMAT, **stamp}
    known = _kept(path, begun)
    todo = [left for batch in batches if (left := _left(batch, known))]
    total = sum(map(len, batches))
    done = total - sum(map(len, todo))
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise fs.errors.TraceError(path, f"cannot be written: {error.strerror}") from None
    with file:
        if path.stat().st_size == 0:
            file.write(json.dumps(begun) + "\n")
        played = over_workers(play, todo, given, workers=workers, chunk=chunk, on=on, folder=folder)
        for batch, rows in zip(todo, played, strict=True):
            found = _by_case(batch, rows)
            known |= found
            file.write(json.dumps(found, allow_nan=False) + "\n")
            file.flush()
            done += len(batch)
            if progress is not None:
                progress(done, total)
    return [row for batch in batches for case in batch for row in known[_key(asdict(case))]]


def _left(batch: tuple[Case, ...], known: Mapping[str, list[Row]]) -> tuple[Case, ...]:
    """Return what of a batch has not been played."""
    return tuple(case for case in batch if _key(asdict(case)) not in known)


def _key(case: Row) -> str:
    """Return what tells a case from all others."""
    return json.dumps(list(case.values()))


def _by_case(batch: tuple[Case, ...], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each case of a batch."""
    fields = [asdict(case) for case in batch]
    found: dict[str, list[Row]] = {_key(one): [] for one in fields}
    for row in rows:
        found[_key({name: row[name] for name in fields[0]})].append(row)
    return found


def _kept(path: Path, begun: Row) -> dict[str, list[Row]]:
    """Return the rows of cases that are there already; of a study with other inputs, none.

    A line that was broken off is left out, and with it the file is written anew.
    """
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    read = [one for one in map(_read, text.splitlines()) if one is not None]
    if not read or read[0] != begun:
        path.unlink()
        return {}
    mended = "".join(json.dumps(one) + "\n" for one in read)
    if mended != text:
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(mended, encoding="utf-8")
        flushed(beside)
        os.replace(beside, path)
    return {key: rows for one in read[1:] for key, rows in one.items()}


def _read(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
