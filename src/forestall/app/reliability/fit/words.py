"""Numbers of fits in words: with the digits that count, intervals, p-values, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10

from forestall.show import words


def figure(value: object, digits: int = 4) -> str:
    """Return a number with so many digits that count, thousands apart.

    >>> figure(1234.567), figure(0.0123456), figure(2.5), figure(None), figure(3.2e9)
    ('1,235', '0.01235', '2.500', '\N{EN DASH}', '3.2e+09')
    """
    number = words.number(value)
    if number is None:
        return words.NOTHING
    if number == 0:
        return "0"
    if not 1e-4 <= abs(number) < 1e8:
        return f"{number:.{digits}g}"
    places = max(digits - 1 - floor(log10(abs(number))), 0)
    return f"{number:,.{places}f}"


def score(value: object) -> str:
    """Return a likelihood or criterion with one digit after the point, as differences count."""
    number = words.number(value)
    if number is None:
        return words.NOTHING
    return f"{number:,.1f}" if abs(number) < 1e8 else f"{number:.6g}"


def between(ends: Sequence[object] | None, digits: int = 3) -> str:
    """Return an interval as ``0.690 to 0.751``; an end that is not known is a dash."""
    if ends is None or all(words.number(end) is None for end in ends):
        return words.NOTHING
    low, high = (figure(end, digits) for end in ends)
    return f"{low} to {high}"


def chance(p: object) -> str:
    """Return a p-value: three digits, and no false 0."""
    value = words.number(p)
    if value is None:
        return words.NOTHING
    if value < 0.001:
        return "under 0.001"
    return f"{value:.3f}" if value < 0.9995 else "1"


def parameters(values: Mapping[str, object], digits: int = 4) -> str:
    """Return parameters in one line: ``shape 0.712, scale 411.2``."""
    named = ((name.replace("_", " "), figure(value, digits)) for name, value in values.items())
    return ", ".join(f"{name} {value}" for name, value in named)
