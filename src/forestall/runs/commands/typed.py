"""Errors and hints as a person at the command line reads them: parameters are spelled as their
options are typed, durations have units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from forestall.core._lazy import lazily
from forestall.core.commands.spellings import spelled
from forestall.core.model.errors import ForestallError, ParameterError, bounded
from forestall.core.model.settings import Kind
from forestall.core.model.spelling import named
from forestall.core.model.units import MAX_SECONDS, exact_duration

with lazily():
    from forestall.runs import models

OTHERWISE: Final = {"format": "failure_format"}
"""Parameters whose option has another name, where a command has none of their own."""


def options_of(parameters: Iterable[Any]) -> dict[str, str]:
    """Return the options of a command, spelled as they are typed, by the names that errors use."""
    long = [(one.name, name) for one in parameters for name in one.opts if name.startswith("--")]
    found = dict(long)
    found |= {name[2:].replace("-", "_"): name for _, name in long}
    return {ours: found[own] for ours, own in OTHERWISE.items() if own in found} | found


TAKE_NAMES: Final = frozenset({"vary"})
"""Options that are told the names of parameters: there they are spelled as keys."""


def as_typed(error: ForestallError, options: Mapping[str, str] | None = None) -> str:
    """Return the line for an error: `options` are those of the command, by parameter."""
    if isinstance(error, ParameterError):
        return _parameter(error, options or {})
    return bounded(error.before + named(error.message, _speller(options or {})))


def _parameter(error: ParameterError, options: Mapping[str, str]) -> str:
    first, space, rest = error.name.partition(" ")  # "set depth": the setting of an option
    name = first.replace("-", "_")
    value, allowed = error.value, named(error.allowed, _speller(options))
    if name in options and _is_duration(name):
        value = exact_duration(value) if isinstance(value, int) else value
        allowed = re.sub(r"(greater|less) than( or equal to)? (\d+)", _bound, allowed)
    if name in options and name not in TAKE_NAMES:
        words = r"(?<!-)\b(th1|th2|[a-z]+(_[a-z]+)+)\b"
        allowed = re.sub(words, lambda found: options.get(found[0], found[0]), allowed)
    return str(ParameterError(options.get(name, first) + space + rest, value, allowed))


def _speller(options: Mapping[str, str]) -> Callable[[str], str]:
    return lambda name: options.get(name) or spelled(name)


def _is_duration(name: str) -> bool:
    """Return whether a parameter of a run of this name is a duration."""
    told = (one.declared[name] for one in models.MODELS.values() if name in one.fields)
    return any(one.kind is Kind.DURATION for one in told)


def _bound(said: re.Match[str]) -> str:
    """Return a bound of durations with its unit: ``at least 1 h``."""
    word = {"greater": ("above", "at least"), "less": ("below", "at most")}[said[1]][bool(said[2])]
    seconds = int(said[3])
    return f"{word} {'2,177 years' if seconds == MAX_SECONDS else exact_duration(seconds)}"
