"""Arrays and names out of states that were kept: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.model.errors import ParameterError

Arrays = Mapping[str, npt.NDArray[Any]]


def taken(
    arrays: Arrays, name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Return a copy of an array, which must have this type and shape (None: any length); those of
    records are made so that kernels take them. Raises ValueError."""
    found, wanted = arrays[name], np.dtype(dtype)
    fits = found.ndim == len(shape) and all(
        told is None or told == is_ for told, is_ in zip(shape, found.shape, strict=True)
    )
    if found.dtype != wanted or not fits:
        raise ValueError(f"{name} is {found.dtype.name}{list(found.shape)}")
    if wanted.names is None:
        return np.array(found, wanted, order="C")
    made = records(len(found), wanted)
    made[:] = found
    return made


def inside(name: str, places: npt.NDArray[Any], bound: int, least: int = 0) -> None:
    """Raise ValueError unless all whole numbers are from `least` to below `bound`."""
    if places.size and not (places.min() >= least and places.max() < bound):
        raise ValueError(f"{name} points outside")


def spelled_out(jobs: Iterable[Hashable]) -> list[int | str]:
    """Return what jobs are called, as JSON can hold it. Raises ParameterError for other names."""
    told: list[int | str] = []
    for job in jobs:
        if isinstance(job, np.integer):
            job = int(job)
        if not isinstance(job, int | str) or isinstance(job, bool):
            raise ParameterError("job", job, "a text or a whole number, in what is saved")
        told.append(job)
    return told
