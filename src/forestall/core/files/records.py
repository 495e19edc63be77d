"""Dataclasses and named tuples that were written as JSON, read again: every field is held to the
type that it is declared with, so that what is made of them needs no checks.

For processes that stay small: `held` does the same for arrays, with NumPy.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from enum import Enum
from types import NoneType
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from forestall.core.model.errors import ParameterError

T = TypeVar("T")
LARGEST: Final = 2**63 - 1
_GREATEST: Final = 1e100
_LONG: Final = 60
"""Characters of a value that an error shows, at most."""
_KINDS: Final[Mapping[Any, str]] = {str: "a text", bool: "true or false", list: "a list"}


def record_of(kind: type[T], told: Any, *, least: float = 0, name: str = "record") -> T:
    """Return a dataclass or named tuple of what JSON has for it.

    Numbers are finite, from `least` to what 64 bits hold; lists, tuples, mappings by texts, enums,
    literals, unions with null, and records within records are taken as they are declared. Raises
    ParameterError, with the field's path, for a value of another kind, one that is missing and has
    no default, and one that nobody declared.
    """
    if not isinstance(told, dict):
        raise refused(name, told, "named values")
    hints, needed = _declared(cast("Any", kind))
    within = "" if name == "record" else f"{name}."
    for one in needed:
        if one not in told:
            raise ParameterError(f"{within}{one}", None, "a value")
    for one in told:
        if one not in hints:
            raise refused(name, one, f"only {', '.join(hints)}")
    values = {one: _taken(f"{within}{one}", hints[one], told[one], least) for one in told}
    return kind(**values)


def held_to(hint: Any, told: Any, *, least: float = -LARGEST, name: str = "value") -> Any:
    """Return what JSON has for a value of a type, as `record_of` does for a record."""
    return _taken(name, hint, told, least)


def refused(name: str, value: Any, expected: str) -> ParameterError:
    """Return the error about a value, which may be anything, shown on one short line."""
    if isinstance(value, Mapping | list | tuple):
        return ParameterError(name, f"{type(value).__name__} of {len(value)}", expected)
    if isinstance(value, int) and abs(value) > 10**_LONG:  # Python does not spell all of them
        return ParameterError(name, "a number of many digits", expected)
    text = str(value)
    return ParameterError(name, value if len(text) <= _LONG else f"{text[:_LONG]}...", expected)


@functools.cache
def _declared(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a record with their types, and those that have no default."""
    hints = get_type_hints(kind)
    if hasattr(kind, "_field_defaults"):
        return hints, tuple(one for one in kind._fields if one not in kind._field_defaults)
    missing = dataclasses.MISSING
    every = dataclasses.fields(kind)
    needed = [one.name for one in every if one.default is one.default_factory is missing]
    return {one.name: hints[one.name] for one in every}, tuple(needed)


def _taken(name: str, hint: Any, value: Any, least: float) -> Any:
    """Return a value as a field of this type holds it."""
    outer, inner = get_origin(hint) or hint, get_args(hint)
    if NoneType in inner:
        (rest,) = (one for one in inner if one is not NoneType)
        return None if value is None else _taken(name, rest, value, least)
    if outer is Any:
        return value
    if outer in (int, float):
        return _number(name, outer, value, least)
    if outer is Literal or issubclass(outer, Enum):
        return _one_of(name, outer, inner, value)
    if outer in (list, tuple):
        if not isinstance(value, list):
            raise refused(name, value, "a list")
        return outer(_taken(name, inner[0], one, least) for one in value)
    if issubclass(outer, Mapping):
        if not isinstance(value, dict):
            raise refused(name, value, "named values")
        return {key: _taken(f"{name}.{key}", inner[1], one, least) for key, one in value.items()}
    if outer in _KINDS:
        if not isinstance(value, outer):
            raise refused(name, value, _KINDS[outer])
        return value
    return record_of(outer, value, least=least, name=name)


def _number(name: str, kind: type, value: Any, least: float) -> float:
    whole = kind is int
    fits = type(value) is int or (type(value) is float and not whole)
    if not fits or not least <= value <= (LARGEST if whole else _GREATEST):
        what = "a whole" if whole else "a finite"
        raise refused(name, value, f"{what} number from {least:g} on")
    return cast("float", value if whole else float(value))


def _one_of(name: str, outer: Any, inner: tuple[Any, ...], value: Any) -> Any:
    allowed = inner or tuple(one.value for one in outer)
    if not isinstance(value, str) or value not in allowed:
        raise refused(name, value, ", ".join(allowed))
    return outer(value) if not inner else value
