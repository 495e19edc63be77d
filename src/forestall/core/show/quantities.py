"""Quantities in words: numbers of about three digits, times, shares, intervals, each with its unit.

Reports write figures of their own with these, alike in text and on pages.
`forestall.core.show.words` has the plainer forms with fixed digits that the measures of runs are
told in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from forestall.core.show.facts import UNITS, Fact, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

APART: Final = 0.1
"""Times below this part of a unit are not written in it."""
LENGTHS: Final = (("d", 86_400, 172_800), ("h", 3600, 7200), ("min", 60, 120), ("s", 1, 0))
"""Units of times, s, and from which time on each is used."""
SHORT: Final = 2
"""Days below which a time is told in hours, minutes or seconds."""
MOST_PLACES: Final = 3
"""Digits after the point of a share that stands beside one that needs so many."""
FAR: Final = 100
"""Ends of an interval that differ by more than this factor have digits of their own."""


def number(value: float) -> str:
    """Return a number with about three digits, thousands apart; whole ones as such.

    >>> [number(v) for v in (12345.6, 123.4, 12.34, 1.234, 0.01234, 0.0, 7)]
    ['12,346', '123', '12.3', '1.23', '0.0123', '0', '7']
    """
    if isinstance(value, int) or value == 0:
        return f"{int(value):,}"
    if not math.isfinite(value):
        return "no end" if value > 0 else "-"
    size = abs(value)
    for least, digits in ((99.95, 0), (9.995, 1), (0.9995, 2)):
        if size >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.3g}" if size >= 1e-4 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(s) for s in (45, 300, 3600, 9000, 86_400, 1_000_000)]
    ['45 s', '5 min', '1 h', '2.5 h', '24 h', '11.6 d']
    """
    if not math.isfinite(seconds):
        return "no end" if seconds > 0 else "-"
    size = abs(seconds)
    for unit, length, least in LENGTHS[:-1]:
        whole = length < 86_400 and size >= length and size % length == 0
        if size >= least or whole:
            return f"{brief(seconds / length)} {unit}"
    return f"{brief(seconds)} s"


def fixed(values: Iterable[float]) -> list[str]:
    """Return numbers that stand together, such as those of a column, with like digits after the
    point; what is not finite is a dash.

    >>> fixed([2.431, 0.907, 0.0198])
    ['2.431', '0.907', '0.020']
    >>> fixed([119, 59.44]), fixed([3, 120])
    (['119', '59'], ['3', '120'])
    """
    given = list(values)
    sizes = [abs(one) for one in given if math.isfinite(one) and one]
    places = 0 if all(isinstance(one, int) for one in given) else _places(sizes)
    return [
        "-" if not math.isfinite(one) else f"{one:,.{places}f}" if one else "0" for one in given
    ]


def _places(sizes: Sequence[float]) -> int:
    """Return how many digits after the point give the largest of these three digits, and the
    smallest two."""
    if not sizes:
        return 0
    wanted = (2 - _power(max(sizes), 3), 1 - _power(min(sizes), 2))
    return min(6, max(0, *wanted))


def _power(size: float, digits: int) -> int:
    """Return the power of ten of a number that is rounded to so many digits."""
    return int(f"{size:.{digits - 1}e}".partition("e")[2])


def ends_fixed(low: Iterable[float], high: Iterable[float]) -> list[str]:
    """Return intervals that stand together with like digits; a dash for what has no end.

    >>> ends_fixed([0.5, 1], [2.25, math.nan])
    ['0.50 to 2.25', '-']
    """
    lows, highs = list(low), list(high)
    told = fixed([*lows, *highs])
    pairs = zip(told[: len(lows)], told[len(lows) :], strict=True)
    return [f"{a} to {b}" if b != "-" else b for a, b in pairs]


def durations(seconds: Iterable[float]) -> list[str]:
    """Return times that stand together in one unit with like digits, each with it; where the
    longest is far longer than the shortest, each in its own.

    >>> durations([121_680, 10_584, 5190])
    ['33.8 h', '2.9 h', '1.4 h']
    >>> durations([1, 1_000_000])
    ['1 s', '11.6 d']
    """
    given = list(seconds)
    sizes = [abs(one) for one in given if math.isfinite(one) and one]
    if not sizes:
        return [duration(one) for one in given]
    unit, length = _unit_of(max(sizes), min(sizes))
    if min(sizes) / length < APART:
        return [duration(one) for one in given]
    parts = [one / length for one in given]
    whole = all(size % length == 0 for size in sizes)
    told = [f"{one:,.0f}" for one in parts] if whole else fixed(parts)
    return [
        f"{text} {unit}" if math.isfinite(one) else duration(one)
        for text, one in zip(told, given, strict=True)
    ]


def _unit_of(most: float, least: float) -> tuple[str, int]:
    """Return the unit of times that stand together: the longest's, or one smaller for the least."""
    fitting = [(unit, length) for unit, length, from_ in LENGTHS if most >= from_]
    if least / fitting[0][1] < APART and len(fitting) > 1 and most / fitting[1][1] < 1000:
        return fitting[1]
    return fitting[0]


def brief(value: float) -> str:
    """Return a number with at most three digits, without zeros at its end."""
    return number(round(value)) if round(value, 2) == round(value) else trimmed(number(value))


def trimmed(text: str) -> str:
    """Return the text of a number without zeros at the end of its digits after the point."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(share: float) -> str:
    """Return a share as a percentage; what is nearly none or nearly all is not rounded to it."""
    if not math.isfinite(share):
        return "-"
    value = 100 * share
    if 0 < value < 0.05:
        return f"{value:.1g} %"
    if 99.95 <= value < 100:
        return f"{100 - float(f'{100 - value:.1g}'):.10g} %"
    return f"{value:.0f} %" if value in {0, 100} else f"{value:.1f} %"


def said(value: Value, unit: str, currency: str = "") -> str:
    """Return a value with its unit."""
    assert unit in UNITS, f"unit {unit!r}"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value):
        return "no end" if value > 0 else "-"
    if unit == "ratio":
        return percent(value)
    if unit == "seconds":
        return duration(value)
    if unit == "days" and 0 < abs(value) < SHORT:
        return duration(86_400 * value)
    if unit == "money":
        return f"{value:,.{0 if abs(value) >= 100 else 2}f} {currency}".rstrip()
    word = UNITS[unit]
    if value == 1 and word in {"nodes", "jobs"}:
        word = word[:-1]
    return f"{number(value)} {word}".rstrip()


def value_of(fact: Fact, currency: str = "") -> str:
    """Return a fact's value with its unit, or a dash."""
    return fact.shown or said(fact.value, fact.unit, currency)


def interval_of(fact: Fact, currency: str = "") -> str:
    """Return a fact's interval in words, "" where it has none."""
    if fact.low is None and fact.high is None:
        return ""
    ends = between(fact.low, fact.high, fact.unit, currency)
    return f"{at_level(fact.level)}: {ends}"


def at_level(level: float) -> str:
    """Return the level of intervals in words: ``95 %``."""
    return f"{100 * level:.10g} %"


def between(low: Value, high: Value, unit: str, currency: str = "") -> str:
    """Return the ends of an interval in words; one that is open is told as such."""
    if low is None or high is None or not math.isfinite(high) or not math.isfinite(low):
        if low is not None and math.isfinite(low):
            return f"at least {said(low, unit, currency)}"
        return f"at most {said(high, unit, currency)}" if high is not None else "-"
    first, last = _alike(low, high, unit, currency)
    head, _, tail = first.partition(" ")
    if tail and tail == last.partition(" ")[2]:
        return f"{head} to {last}"
    return f"{first} to {last}"


def _alike(low: float, high: float, unit: str, currency: str) -> tuple[str, str]:
    """Return both ends with one unit and like digits after the point, where they are near enough
    for that."""
    first, last = said(low, unit, currency), said(high, unit, currency)
    if unit == "ratio":
        places = [len(one.partition(".")[2].removesuffix(" %")) for one in (first, last)]
        if 0 < min(places) < max(places) <= MOST_PLACES:
            first, last = (f"{100 * one:.{max(places)}f} %" for one in (low, high))
        return first, last
    whole = isinstance(low, int) and isinstance(high, int)
    if whole or unit == "money" or low <= 0 or high > FAR * low:
        return first, last
    if unit == "days" and high < SHORT:
        low, high, unit = 86_400 * low, 86_400 * high, "seconds"
    if unit == "seconds":
        one, other = durations((low, high))
        return one, other
    one, other = fixed((low, high))
    word = UNITS[unit]
    return f"{one} {word}".rstrip(), f"{other} {word}".rstrip()


def titled(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def counted(count: int, what: str) -> str:
    """Return so many of something: ``1 record``, ``2 records``; ``1 class``, ``2 classes``."""
    one = what.removesuffix("es" if what.endswith("sses") else "s")
    return f"{count:,} {what if count != 1 else one}"


def from_records(fact: Fact, currency: str = "") -> str:
    """Return the quiet line under a fact: what it means, its interval, and from how many records
    it is."""
    records = "" if fact.records is None else counted(fact.records, "records")
    parts = [fact.meaning, interval_of(fact, currency), records]
    return "; ".join(part for part in parts if part)


def quiet(fact: Fact, currency: str = "") -> str:
    """Return what stands beside or below a fact: why it has no value, or what it is from."""
    return fact.why if fact.value is None else from_records(fact, currency)
