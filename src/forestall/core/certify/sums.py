"""Sums: of each owner, of one file against another, and measures against `summary.json`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import spread
from forestall.core.certify.sheet import Bool, Int

Run = TypeVar("Run", bound=Any)
TOLERANCE: Final = 1e-9
"""Measures that are not whole may differ by this, relative and absolute: sums in another order."""


def per(owner: Int, count: int, values: Int | None = None) -> Int:
    """Return the sum of values (or how many there are) of each owner."""
    if values is None:
        return np.bincount(owner, minlength=count)
    summed = np.zeros(count, dtype=np.int64)
    np.add.at(summed, owner, values)
    return summed


def total(values: Int) -> int:
    """Return the sum of whole numbers, however large."""
    low = values & 0xFFFFFFFF
    return (int((values >> 32).sum()) << 32) + int(low.sum())


# -------------------------------------------------------------------------------------- the log


def passes(
    finding: Finding, events: Any, passing: Bool, *, each: bool = False, alone: bool = False
) -> None:
    """Note what is wrong with the passes among events: each is the last of a second that has other
    events, or stands `alone`, where what is not logged makes one; with `each`, where there are
    any, every second but the last has one."""
    time = events.time
    last = np.append(time[1:] != time[:-1], True)
    first = np.append(True, time[1:] != time[:-1])
    odd = passing & (~last | (first & (not alone)))
    events.where(finding, odd, "a pass that is not the last event of its second")
    if each and passing.any():
        open_still = last & ~passing & (time < time.max())
        events.where(finding, open_still, "a second without a pass")


def answering(finding: Finding, events: Any, decisions: Any) -> Int | None:
    """Return the event that each decision answers, None where they are not as many as events
    count; each comes in its event's second."""
    owner = spread(events.decisions)[0]
    if len(owner) != len(decisions):
        text = "events.csv counts {0} decisions, but decisions.csv has {1}"
        finding.wrong(text, len(owner), len(decisions))
        return None
    decisions.where(finding, events.time[owner] != decisions.time, "not at its event's time")
    return owner


# ------------------------------------------------------------------------------------- measures


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None


def mean(values: npt.ArrayLike) -> float | None:
    """Return the mean, the sum being exact; None of nothing."""
    values = np.asarray(values)
    added = math.fsum(values) if values.dtype == np.float64 else total(values.astype(np.int64))
    return ratio(added, len(values))


def quantile_of(values: npt.NDArray[Any], share: float) -> float | None:
    """Return a quantile, between neighbours in proportion; None of nothing."""
    if not len(values):
        return None
    order = np.sort(values)
    place = share * (len(order) - 1)
    low = math.floor(place)
    high = min(low + 1, len(order) - 1)
    return float(order[low]) + (place - low) * float(order[high] - order[low])


def spread_of(values: npt.NDArray[Any]) -> dict[str, float | None]:
    """Return mean, median and 95th percentile; None of nothing."""
    return {
        "mean": math.fsum(values.tolist()) / len(values) if len(values) else None,
        "median": quantile_of(values, 0.5),
        "p95": quantile_of(values, 0.95),
    }


def calibration(
    tenth: Int, said: npt.NDArray[Any], kept: npt.NDArray[Any], names: tuple[str, str, str]
) -> list[dict[str, Any]]:
    """Return how often promises were kept, by the tenth of their probability: count, mean of what
    was said and share that was kept, so named."""
    rows = [tenth == k for k in range(10)]
    figures = [(int(mine.sum()), mean(said[mine]), mean(kept[mine])) for mine in rows]
    return [
        {"low": k / 10, "high": (k + 1) / 10, **dict(zip(names, figures[k], strict=True))}
        for k in range(10)
    ]


def close(said: float, here: float, relative: float, absolute: float = 0.0) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return math.isclose(here, said, rel_tol=relative, abs_tol=absolute)


def differences(name: str, said: Any, here: Any, tolerance: float) -> list[str]:
    """Return where a measure of the summary is not what it is here, part by part."""
    if isinstance(here, Mapping) and isinstance(said, Mapping) and here.keys() == said.keys():
        parts = [(f"{name}.{key}", said[key], here[key]) for key in here]
    elif isinstance(here, list) and isinstance(said, list) and len(here) == len(said):
        pairs = zip(said, here, strict=True)
        parts = [(f"{name}[{k}]", one, other) for k, (one, other) in enumerate(pairs)]
    else:
        same = _same(said, here, tolerance)
        return [] if same else [f"{name} is {said} in summary.json, {here} recomputed"]
    return [text for part in parts for text in differences(*part, tolerance)]


def _same(said: Any, here: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if isinstance(here, numbers) and isinstance(said, numbers) and not isinstance(said, bool):
        return said == here if isinstance(here, int) else close(said, here, tolerance, tolerance)
    return type(said) is type(here) and bool(said == here)


def recomputed(
    measures: Callable[[Run], Mapping[str, Any]], within: str = "", tolerance: float = TOLERANCE
) -> Callable[[Run, Finding], str]:
    """Return the check that measures in `summary.json`, or `within` an object of it, are those that
    the tables give."""

    def check(run: Run, finding: Finding) -> str:
        held, before = run.summary.held, f"{within}." if within else ""
        held = held.get(within) if within else held
        if not isinstance(held, Mapping):
            finding.wrong("summary.json has no measures of {0}", within)
            return ""
        mine = measures(run)
        for name, here in mine.items():
            said = held.get(name, "nothing")
            finding.each(differences(before + name, said, here, tolerance))
        name, here = next(iter(mine.items()))
        alone = len(mine) == 1 and not isinstance(here, Mapping | list)
        return f"{held.get(name)} in summary.json" if alone else f"{len(mine)} measures"

    return check
