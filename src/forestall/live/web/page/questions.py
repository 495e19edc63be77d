"""What people typed into the page, as questions and orders for the desk.

Browsers send what they like: everything is checked here, in words for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.live.desk import JobOrder, QuoteQuestion
from forestall.core.model.units import parse_duration

LONGEST: Final = 400_000
"""Characters of a script at most."""
_WORDS: Final = {"name": 200, "partition": 200, "words": 1000, "output": 1000}


def question_of(typed: Mapping[str, Any]) -> QuoteQuestion:
    """Return the question that the form holds. Raises InputError or ParameterError in words."""
    nodes = _whole(typed, "nodes")
    if nodes < 1:
        raise ParameterError("nodes", nodes, "a whole number, at least 1")
    time = parse_duration(_text(typed, "time", 100), "time")
    if time < 1:
        raise ParameterError("time", time, "a time of at least 1 s, such as 6h or 90m")
    by = typed.get("by")
    percent = _number(typed, "percent")
    if not 0 < percent < 100:
        raise ParameterError("minimum probability", percent, "between 0 % and 100 %")
    partition = _text(typed, "partition", 200)
    until = None if by is None else _whole(typed, "by")
    features = _text(typed, "features", 200).strip()
    return QuoteQuestion(nodes, time, until, percent / 100, partition, features=features)


def order_of(typed: Mapping[str, Any]) -> JobOrder:
    """Return the job that the form holds. Raises InputError or ParameterError in words."""
    own = typed.get("own") is True
    script = "" if own else _text(typed, "script", LONGEST)
    if not own and not script.startswith("#!"):
        raise InputError("the script does not begin with #!, such as #!/bin/sh")
    consents = typed.get("consents")
    if not isinstance(consents, list) or not all(isinstance(one, str) for one in consents):
        raise InputError("what you agree to is not a list of words")
    texts = {name: _text(typed, name, most).strip() for name, most in _WORDS.items()}
    texts["name"] = texts["name"] or JobOrder.name
    below = typed.get("below") is True
    return JobOrder(
        script.replace("\r\n", "\n"), texts["name"], texts["partition"], texts["words"],
        tuple(consents), texts["output"], below,
    )  # fmt: skip


def text_of(typed: Mapping[str, Any], name: str, most: int = 1000) -> str:
    """Return a text without blanks around it; InputError where there is none or it is too long."""
    text = _text(typed, name, most).strip()
    if not text:
        raise InputError(f"{name} is missing")
    return text


def _text(typed: Mapping[str, Any], name: str, most: int) -> str:
    value = typed.get(name, "")
    if not isinstance(value, str):
        raise InputError(f"{name} is not a text")
    if len(value) > most:
        raise InputError(f"{name} has {len(value):,} characters; at most {most:,}")
    return value


def _number(typed: Mapping[str, Any], name: str) -> float:
    value = typed.get(name)
    try:
        return float(value if isinstance(value, (int, float, str)) else "")
    except ValueError:
        raise InputError(f"{name} is not a number: {value!r:.60}") from None


def _whole(typed: Mapping[str, Any], name: str) -> int:
    value = _number(typed, name)
    if not value.is_integer() or abs(value) > 1e12:
        raise ParameterError(name, value, "a whole number")
    return int(value)
