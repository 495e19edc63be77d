"""The same work on many things over all cores, in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import forestall as fs

Thing = TypeVar("Thing")
Given = TypeVar("Given")
Made = TypeVar("Made")

_begun: list[tuple[Callable[[Any, Any], Any], Any]] = []
"""In a worker: what it does, and what it was given when it began."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_workers(
    do: Callable[[Thing, Given], Made],
    things: Sequence[Thing],
    given: Given,
    *,
    workers: int = 0,
    chunk: int = 1,
    on: str | None = None,
    folder: str | Path = ".",
) -> Iterator[Made]:
    """Yield ``do(thing, given)`` of all things, in their order whatever the number of workers.

    The first is done here, so that kernels are compiled once and not by every worker.

    Parameters
    ----------
    do : a function of a module, which a worker can import
    given : the same for all; each worker gets it once
    workers : processes (0: one for each core)
    chunk : things that a worker takes at a time
    on : a cluster, as `fs.over_cluster` takes it; `workers` are its jobs then
    folder : one that its workers see
    """
    if things:
        yield do(things[0], given)
    rest = things[1:]
    if on is not None:
        yield from _in_order(
            fs.over_cluster(on, do, rest, given, workers=workers or None, folder=folder)
        )
        return
    count = workers or cores()
    if count == 1 or not rest:
        yield from (do(thing, given) for thing in rest)
        return
    pool = ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_begin, initargs=(do, given)
    )
    try:
        yield from pool.map(_do, rest, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(finished: Iterator[tuple[int, Made]]) -> Iterator[Made]:
    """Yield what was made in the order of numbers, each as soon as those before it are there."""
    early: dict[int, Made] = {}
    wanted = 0
    for number, made in finished:
        early[number] = made
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1


def _begin(do: Callable[[Any, Any], Any], given: object) -> None:
    _begun.append((do, given))


def _do(thing: object) -> Any:
    do, given = _begun[0]
    return do(thing, given)
