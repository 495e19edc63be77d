"""The same work on many things, on the machines of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from forestall.core._lazy import lazily
from forestall.core.dask.place import DaskPlace, place_of
from forestall.core.model.errors import ParameterError

with lazily():
    from forestall.core.dask import spread

Thing = TypeVar("Thing")
Given = TypeVar("Given")
Made = TypeVar("Made")


def check_place(on: str | None, workers: int | None) -> None:
    """Raise ParameterError for what names no place, and for a number of workers that cannot be."""
    if workers is not None and workers < 1:
        raise ParameterError("workers", workers, "at least 1")
    if on is not None and isinstance(place_of(on), DaskPlace) and workers is not None:
        raise ParameterError("workers", workers, "none: a running scheduler has its own")


def over_cluster(
    on: str,
    do: Callable[[Thing, Given], Made],
    things: Sequence[Thing],
    given: Given,
    *,
    workers: int | None = None,
    folder: str | Path = ".",
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[int, Made]]:
    """Yield the number of each thing and ``do(thing, given)``, as workers of a cluster finish them.

    What a worker had under way when it died is done again by another, and a job of Slurm that ends
    too early is replaced.

    Parameters
    ----------
    on : ``"slurm"``, ``"slurm:partition=NAME,account=NAME,time=1h,memory=2G,interface=NAME"`` (one
        worker a job; on this machine runs what gives them work), or ``"dask://HOST:PORT"``, a
        running Dask scheduler
    do : a function of a module that workers can import
    given : the same for all; each worker gets it once
    workers : worker jobs of Slurm (default 8, or as many as there are things)
    folder : one that this machine and the workers see, for certificates and logs of the run
    tell : told what becomes of workers

    Raises ParameterError; MissingExtraError without Dask; InputError where Slurm refuses the jobs,
    workers have another version, or die again and again with the same thing; UnreachableError where
    no scheduler answers; and what `do` raises.
    """
    check_place(on, workers)
    place = place_of(on)
    return spread.over_cluster(
        place, do, things, given, workers=workers or 0, folder=Path(folder), tell=tell
    )
