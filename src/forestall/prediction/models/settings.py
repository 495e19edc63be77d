"""Checks of predictors' settings: one clear line for unusable input."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from forestall.core.model.errors import InputError, ParameterError

MOST: Final = 2**53
"""A setting is at most this: float64 holds all whole numbers up to it."""


def whole(name: str, value: Any, least: int, greatest: int = MOST) -> int:
    """Return a whole number from `least` to `greatest`. Raises ParameterError for others."""
    number = _whole(value)
    if number is None or not least <= number <= greatest:
        told = greatest < MOST or (number is not None and number > MOST)
        room = f"from {least} to {greatest}" if told else f"of at least {least}"
        raise ParameterError(name, value, f"a whole number {room}")
    return number


def number(
    name: str, value: Any, allowed: str, *, above: float | None = None, least: float | None = None
) -> float:
    """Return a finite number above `above`, or of at least `least`; `allowed` says so in words.

    Raises ParameterError for others.
    """
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        not (fits and math.isfinite(value))
        or (above is not None and value <= above)
        or (least is not None and value < least)
    ):
        raise ParameterError(name, value, allowed)
    return float(value)


def numbers(name: str, value: Any, allowed: str, count: int) -> list[float]:
    """Return so many finite numbers. Raises ParameterError for anything else."""
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise ParameterError(name, value, allowed)
    given = [*value]
    if len(given) != count:
        raise ParameterError(name, value, allowed)
    return [number(name, one, allowed) for one in given]


def ascending(name: str, value: Any, allowed: str, least: int = 1) -> list[int]:
    """Return whole numbers from `least` to `MOST` that ascend, at least one; a single one counts as
    a list of one. Raises ParameterError for others; `allowed` says in words which."""
    given = [value] if _whole(value) is not None else value
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise ParameterError(name, value, allowed)
    numbers = [_whole(one) for one in given]
    found = [one for one in numbers if one is not None]
    if len(found) < len(numbers) or not found or found[0] < least:
        raise ParameterError(name, value, allowed)
    if any(two <= one for one, two in pairwise(found)):
        raise ParameterError(name, value, allowed)
    if found[-1] > MOST:
        raise ParameterError(name, value, f"whole numbers, ascending to at most {MOST}")
    return found


def seconds(value: Any) -> list[int]:
    """Return the horizons that were asked for, whole seconds. Raises ParameterError for others."""
    return ascending("horizons", value, "positive whole seconds, ascending, such as [3600, 86400]")


def texts(name: str, value: Any) -> list[str]:
    """Return a list of texts; a single text counts as a list of one. Raises ParameterError for
    others."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(one, str) for one in found):
        raise ParameterError(name, value, "a list of names")
    return list(found)


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return one of some words. Raises ParameterError for others."""
    if not isinstance(value, str) or value not in options:
        raise ParameterError(name, value, "one of " + ", ".join(options))
    return value


def names_of(kind: type[Any]) -> list[str]:
    """Return which settings a predictor's class has."""
    found: dict[str, None] = {}
    for one in kind.__mro__:
        own = one.__dict__.get("__init__")
        if own is None:
            continue
        known = list(inspect.signature(own).parameters.values())[1:]
        found |= {p.name: None for p in known if p.kind is p.KEYWORD_ONLY}
        if not any(p.kind is p.VAR_KEYWORD for p in known):
            break
    return list(found)


def check_names(name: str, kind: type[Any], given: Mapping[str, Any]) -> None:
    """Raise InputError for a setting that a predictor's class does not have."""
    there = names_of(kind)
    for one in given:
        if one not in there:
            raise InputError(f"{name} has no setting {one!r}; it has: {', '.join(there)}")


def _whole(value: Any) -> int | None:
    """Return a whole number as such, None for what is none; NumPy's count, True does not."""
    if isinstance(value, bool | str) or value is None:
        return None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else None
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        return None
