"""Arrays that become too short."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def longer(array: npt.NDArray[Any], length: int, fill: int = 0) -> npt.NDArray[Any]:
    """Return the array with room for `length` rows at least, twice as long where it must grow."""
    if length <= len(array):
        return array
    shape = (max(2 * len(array), length), *array.shape[1:])
    bigger = np.full(shape, fill, dtype=array.dtype).view(type(array))
    bigger[: len(array)] = array
    return bigger
