"""What a file of ours brings, taken out piece by piece, each held to what it must be.

Compiled code looks things up by number without asking whether they are there, and computes with nan
as with any number. So whatever a file says is checked here, once, when it is read; what is made of
it needs no checks. What fits and is a lie is the certifier's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.records import refused
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS

with lazily():
    from forestall.core import _compile  # Numba, which many that read files do without

Arrays = Mapping[str, npt.NDArray[Any]]
_GREATEST: Final = 1e100
"""Greater numbers than this are none of ours: their products are infinite."""


class Held:
    """Values, as JSON has them, and arrays by their names.

    Whatever is asked for and is not there, or is not as it must be, is a ParameterError with its
    name; who reads the file adds which one it is.

    Parameters
    ----------
    values : a mapping, or what a damaged file has in its place
    arrays : by name
    """

    def __init__(self, values: Any, arrays: Arrays | None = None) -> None:
        if not isinstance(values, Mapping):
            raise refused("values", values, "named values")
        self.values: Final = values
        self.arrays: Final = {} if arrays is None else arrays

    def value(self, name: str) -> Any:
        """Return a value of any kind."""
        if name not in self.values:
            raise ParameterError(name, None, "a value")
        return self.values[name]

    def whole(self, name: str, least: int = -MAX_SECONDS, most: int = MAX_SECONDS) -> int:
        """Return a whole number from `least` to `most`."""
        value = self.value(name)
        if type(value) is not int or not least <= value <= most:
            raise refused(name, value, f"a whole number from {least} to {most}")
        return value

    def number(
        self, name: str, least: float = -_GREATEST, most: float = _GREATEST, *, above: bool = False
    ) -> float:
        """Return a finite number from `least` (`above`: above it) to `most`."""
        value = self.value(name)
        fits = type(value) in (int, float) and least <= value <= most
        if not fits or (above and value == least):
            room = f"{'above' if above else 'from'} {least:g} to {most:g}"
            raise refused(name, value, f"a finite number {room}")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.value(name)
        if type(value) is not bool:
            raise refused(name, value, "true or false")
        return value

    def text(self, name: str, among: Sequence[str] | None = None) -> str:
        """Return a text, one of some where `among` has them."""
        value = self.value(name)
        if not isinstance(value, str) or (among is not None and value not in among):
            raise refused(name, value, "a text" if among is None else ", ".join(among))
        return value

    def listed(self, name: str, length: int | None = None) -> list[Any]:
        """Return a list, of this length where one is given."""
        value = self.value(name)
        if not isinstance(value, list) or len(value) != (len(value) if length is None else length):
            many = "" if length is None else f" of {length}"
            raise refused(name, value, f"a list{many}")
        return value

    def texts(self, name: str, length: int | None = None) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self.listed(name, length)
        if not all(isinstance(one, str) for one in found):
            raise refused(name, found, "a list of texts")
        return tuple(found)

    def numbers(
        self, name: str, length: int | None = None, least: float = -_GREATEST,
        most: float = _GREATEST,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Return a list of finite numbers from `least` to `most` as an array."""
        found = self.listed(name, length)
        if not all(type(one) in (int, float) and least <= one <= most for one in found):
            raise refused(name, found, f"a list of finite numbers from {least:g} to {most:g}")
        return np.array(found, dtype=np.float64)

    def part(self, name: str) -> Held:
        """Return named values within these; with them come the arrays ``NAME.*``."""
        value = self.value(name)
        if not isinstance(value, Mapping):
            raise refused(name, value, "named values")
        return type(self)(value, self.under(f"{name}."))

    def under(self, prefix: str) -> Arrays:
        """Return the arrays whose names begin so, by the rest of their names."""
        found = self.arrays.items()
        return {k.removeprefix(prefix): v for k, v in found if k.startswith(prefix)}

    def array(
        self,
        name: str,
        dtype: npt.DTypeLike,
        *shape: int | None,
        least: float = -_GREATEST,
        most: float = _GREATEST,
        nan: bool = False,
        unbounded: bool = False,
        rising: bool = False,
    ) -> npt.NDArray[Any]:
        """Return an array of this type and shape (None: any length), as compiled code takes it.

        All its numbers are finite (`nan`: or nan; `unbounded`: or infinite) and from `least` to
        `most`; `rising`: none is below the one before it, along the last axis. Of records only type
        and shape are looked at.
        """
        if name not in self.arrays:
            raise ParameterError(name, None, "an array")
        found = _typed(name, self.arrays[name], np.dtype(dtype), shape)
        if unbounded:
            least, most = -np.inf, np.inf
        if found.dtype.names is None and found.size:
            _within(name, found, least, most, nan=nan)
            if rising and bool((found[..., 1:] < found[..., :-1]).any()):
                raise ParameterError(name, _spelled(found.dtype, found.shape), "in rising order")
        return found

    def column(self, name: str, field: str, least: float, most: float) -> npt.NDArray[Any]:
        """Return a field of an array of records; all its numbers are from `least` to `most`."""
        found: npt.NDArray[Any] = self.arrays[name][field]
        if found.size:
            _within(f"{name}.{field}", found, least, most, nan=False)
        return found

    def hold(self, name: str, fits: bool | np.bool_, expected: str) -> Self:
        """Refuse what stands under this name unless it fits."""
        if not fits:
            found = self.arrays.get(name)
            told = self.values.get(name) if found is None else _spelled(found.dtype, found.shape)
            raise refused(name, told, expected)
        return self


def _typed(
    name: str, found: npt.NDArray[Any], wanted: np.dtype[Any], shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Return an array in this type: numbers of one kind become each other where nothing is lost."""
    alike = found.ndim == len(shape) and all(
        told is None or told == there for told, there in zip(shape, found.shape, strict=True)
    )
    same = found.dtype == wanted
    if not alike or not (same or (found.dtype.kind == wanted.kind and wanted.kind in "iuf")):
        raise ParameterError(name, _spelled(found.dtype, found.shape), _spelled(wanted, shape))
    if wanted.names is not None:
        made = _compile.records(len(found), wanted)
        made[:] = found
        return made
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.require(found, wanted, ["C", "W", "A"])
    if not same and wanted.kind != "f" and bool((cast != found).any()):
        raise ParameterError(name, _spelled(found.dtype, found.shape), _spelled(wanted, shape))
    return cast


def _within(name: str, found: npt.NDArray[Any], least: float, most: float, *, nan: bool) -> None:
    """Refuse numbers that are not finite, or lie outside."""
    if found.dtype.kind not in "iuf":
        return
    known = found[~np.isnan(found)] if nan and found.dtype.kind == "f" else found
    if not known.size:
        return
    low, high = known.min().item(), known.max().item()  # nan where any is
    if not (low >= least and high <= most):
        kind = (
            "numbers" if found.dtype.kind != "f" else "numbers or nan" if nan else "finite numbers"
        )
        room = "" if -least == most == _GREATEST else f" from {least:g} to {most:g}"
        raise ParameterError(name, f"numbers from {low} to {high}", f"{kind}{room}")


def _spelled(dtype: np.dtype[Any], shape: Sequence[int | None]) -> str:
    """Return a type and a shape as docstrings have them."""
    what = "records" if dtype.names is not None else str(dtype)
    return f"{what}[{', '.join('n' if size is None else str(size) for size in shape)}]"
