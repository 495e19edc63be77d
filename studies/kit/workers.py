"""The same work on many things over all cores, in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

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
) -> Iterator[Made]:
    """Yield ``do(thing, given)`` of all things, in their order whatever the number of workers.

    The first is done here, so that kernels are compiled once and not by every worker.

    Parameters
    ----------
    do : a function of a module, which a worker can import
    given : the same for all; each worker gets it once
    workers : processes (0: one for each core)
    chunk : things that a worker takes at a time
    """
    if things:
        yield do(things[0], given)
    rest = things[1:]
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


def _begin(do: Callable[[Any, Any], Any], given: object) -> None:
    _begun.append((do, given))


def _do(thing: object) -> Any:
    do, given = _begun[0]
    return do(thing, given)
