"""Parameters from plain values: the first that cannot be is named in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import likely

P = TypeVar("P", bound=BaseModel)


def checked(kind: type[P], values: Mapping[str, Any]) -> P:
    """Return validated parameters of this kind; ParameterError names the first that cannot be."""
    try:
        return kind(**values)
    except ValidationError as error:
        raise _first(kind, values, error) from None


def _first(kind: type[BaseModel], values: Mapping[str, Any], error: ValidationError) -> Exception:
    found = error.errors()
    first = found[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if not name:  # fields that do not go together; the text begins with the name of one
        name, _, allowed = first["msg"].removeprefix("Value error, ").partition(" should be ")
        value = values.get(name, kind.model_fields[name].default)
        return ParameterError(name, value, allowed)
    if first["type"] == "extra_forbidden":
        known = likely(name, kind.model_fields) or f" ({', '.join(kind.model_fields)})"
        return ParameterError(name, first["input"], f"a known parameter{known}")
    texts = [one["msg"] for one in found if one["loc"][:1] == (name,)]
    allowed = " or ".join(text.lower().removeprefix("input should be ") for text in texts)
    return ParameterError(name, first["input"], allowed)
