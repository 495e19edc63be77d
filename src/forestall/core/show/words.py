"""Numbers, shares and durations in words, each with its unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, isfinite, log10
from typing import Any

from forestall.core.model.units import format_duration

Summary = Mapping[str, Any]
"""What a `summary.json` holds."""
NOTHING = "\N{EN DASH}"
"""Stands where a run has no such measure."""


NODE_HOURS = " node-hours"


def number(value: object) -> float | None:
    """Return a finite number, or None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        real = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return real if isfinite(real) else None


def percent(value: object) -> str:
    """Return a share as per cent, with digits enough to tell it from 0 and from 100."""
    share = number(value)
    if share is None:
        return NOTHING
    if 0 < share < 0.0001:
        return "under 0.01 %"
    if 0.9999 < share < 1:
        return "over 99.99 %"
    if 0 < share < 0.001 or 0.999 < share < 1:
        return f"{100 * share:.2f} %"
    return f"{100 * share:.1f} %"


def ratio(value: object, digits: int = 3) -> str:
    """Return a plain number."""
    plain = number(value)
    return NOTHING if plain is None else f"{plain:,.{digits}f}"


def count(value: object) -> str:
    """Return a whole number, thousands apart."""
    whole = number(value)
    return NOTHING if whole is None else f"{whole:,.0f}"


def duration(value: object) -> str:
    """Return a time span in the unit that suits it."""
    seconds = number(value)
    return NOTHING if seconds is None else format_duration(seconds)


def node_hours(value: object) -> str:
    """Return node-seconds as node-hours."""
    seconds = number(value)
    if seconds is None:
        return NOTHING
    hours = seconds / 3600
    return f"{hours:,.{1 if 0 < hours < 100 else 0}f}{NODE_HOURS}"


def counted(number_of: object, one: str) -> str:
    """Return a count with its noun: "1 job", "2 jobs"."""
    return f"{count(number_of)} {one}{'' if number_of == 1 else 's'}"


def in_words(share: float) -> str:
    """Return a share as people say it: all, about 9 in 10, about 97 in 100, none.

    >>> in_words(1), in_words(0.9), in_words(0.971), in_words(0.9996), in_words(0)
    ('all', 'about 9 in 10', 'about 97 in 100', 'more than 999 in 1,000', 'none')
    """
    if share >= 1:
        return "all"
    if share <= 0:
        return "none"
    if abs(share * 10 - round(share * 10)) < 0.05 and 0 < round(share * 10) < 10:
        return f"about {round(share * 10)} in 10"
    if 0.01 <= share < 0.995:
        return f"about {round(share * 100)} in 100"
    if share > 0.999:
        return "more than 999 in 1,000"
    if share < 0.001:
        return "fewer than 1 in 1,000"
    return f"about {round(share * 1000)} in 1,000"


def plain_kind(slug: str) -> str:
    """Return a slug in words: ``larger_than_machine`` is "larger than machine"."""
    return slug.replace("_", " ")


def probability(value: float) -> str:
    """Return a probability in per cent, with the digits that tell it from 0 and from 1.

    >>> probability(0.5), probability(0.99961), probability(1.0), probability(1e-9)
    ('50.00 %', '99.961 %', '100 %', '<0.0001 %')
    """
    rest = min(value, 1 - value)
    if rest <= 0:
        return f"{100 * value:.0f} %"
    if rest < 1e-6:
        return "<0.0001 %" if value < 0.5 else ">99.9999 %"
    digits = max(2, ceil(-log10(rest)) - 1)
    return f"{100 * value:.{digits}f} %"


def or_dash(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a way to write a value for which there may be none: then it is a dash."""
    return lambda value: "-" if value is None else write(value)


def figure(value: object, digits: int = 4) -> str:
    """Return a number with so many digits that count, thousands apart.

    >>> figure(1234.567), figure(0.0123456), figure(2.5), figure(None), figure(3.2e9)
    ('1,235', '0.01235', '2.500', '\N{EN DASH}', '3.2e+09')
    """
    plain = number(value)
    if plain is None:
        return NOTHING
    if plain == 0:
        return "0"
    if not 1e-4 <= abs(plain) < 1e8:
        return f"{plain:.{digits}g}"
    places = max(digits - 1 - floor(log10(abs(plain))), 0)
    return f"{plain:,.{places}f}"


def score(value: object) -> str:
    """Return a likelihood or criterion with one digit after the point, as differences count."""
    plain = number(value)
    if plain is None:
        return NOTHING
    return f"{plain:,.1f}" if abs(plain) < 1e8 else f"{plain:.6g}"


def between(ends: Sequence[object] | None, digits: int = 3) -> str:
    """Return an interval as ``0.690 to 0.751``; an end that is not known is a dash."""
    if ends is None or all(number(end) is None for end in ends):
        return NOTHING
    low, high = (figure(end, digits) for end in ends)
    return f"{low} to {high}"


def chance(p: object) -> str:
    """Return a p-value: three digits, and no false 0."""
    value = number(p)
    if value is None:
        return NOTHING
    if value < 0.001:
        return "under 0.001"
    return f"{value:.3f}" if value < 0.9995 else "1"


def parameters(values: Mapping[str, object], digits: int = 4) -> str:
    """Return parameters in one line: ``shape 0.712, scale 411.2``."""
    named = ((name.replace("_", " "), figure(value, digits)) for name, value in values.items())
    return ", ".join(f"{name} {value}" for name, value in named)
