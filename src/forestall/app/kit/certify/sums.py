"""Do files agree? Counts and sums of one table against another, and against `summary.json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.app.kit.certify.finding import Finding, Told
from forestall.app.kit.certify.sheet import Bool, Int, Summary


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


@dataclass(frozen=True)
class Said:
    """A column as a file has it, and as it is here.

    Attributes
    ----------
    name : of the column, for the placeholder ``{column}``
    said, mine : what the file says, and what it should
    parts : the numbers are whole parts of a unit: so many
    words : for codes of words, the words
    """

    name: str
    said: npt.NDArray[Any]
    mine: npt.NDArray[Any]
    parts: int = 1
    words: tuple[str, ...] = ()


def unlike(finding: Finding, text: str, columns: Iterable[Said], *labels: Any) -> None:
    """Note rows in which columns differ; `text` has ``{column}`` for the name of the column, then
    ``{0}`` for what is said and ``{1}`` for what it is here, and the labels from ``{2}`` on."""
    for one in columns:
        told: tuple[Any, Any] = (Told(one.said, one.parts), Told(one.mine, one.parts))
        if one.words:
            known = np.array(one.words)
            told = (known[one.said], known[one.mine])
        where = text.replace("{column}", one.name)
        finding.where(one.said != one.mine, where, *told, *labels)


def unlike_rows(
    finding: Finding,
    text: str,
    said: list[Int],
    mine: list[Int],
    names: Int,
    *,
    once: bool = True,
) -> None:
    """Note rows that are in only one of two tables, or twice in one, or, without `once`, not as
    often in one as in the other; the first column is the position of a job or a host, and `names`
    tells how it is called."""
    one = np.unique(np.stack(said, axis=1), axis=0, return_counts=True)
    other = np.unique(np.stack(mine, axis=1), axis=0, return_counts=True)
    if not once:
        whole = [np.column_stack((rows, times)) for rows, times in (one, other)]
        both, count = np.unique(np.concatenate(whole), axis=0, return_counts=True)
        both = both[:, :-1]
    else:
        both, count = np.unique(np.concatenate((one[0], other[0])), axis=0, return_counts=True)
    alone = both[count == 1]
    odd = np.ones(len(alone), dtype=np.bool_)
    finding.where(odd, text, names[alone[:, 0]] if len(alone) else alone, alone[:, 1:].tolist())
    for rows, times in (one, other) if once else ():
        twice = times > 1
        finding.where(twice, text, names[rows[:, 0]], rows[:, 1:].tolist())


def passes(
    finding: Finding, time: Int, passing: Bool, *, each: bool = False, alone: bool = False
) -> None:
    """Note what is wrong with the passes among events: each is the last of a second that has other
    events, or stands `alone`, where what is not logged makes one; with `each`, where there are
    any, every second but the last has one."""
    line = np.arange(len(time)) + 2
    last = np.append(time[1:] != time[:-1], True)
    first = np.append(True, time[1:] != time[:-1])
    odd = passing & (~last | (first & (not alone)))
    finding.where(
        odd, "events.csv, line {0}: a pass that is not the last event of its second", line
    )
    if each and passing.any():
        open_still = last & ~passing & (time < time.max())
        finding.where(open_still, "events.csv, line {0}: a second without a pass", line)


# ---------------------------------------------------------------------------------------- measures


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
    return [found for part in parts for found in differences(*part, tolerance)]


def _same(said: Any, here: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if isinstance(here, numbers) and isinstance(said, numbers) and not isinstance(said, bool):
        return said == here if isinstance(here, int) else close(said, here, tolerance, tolerance)
    return type(said) is type(here) and bool(said == here)


def told(said: float | None, here: float | None, same: bool) -> str:
    """Return a measure of the summary, and what it is here where that is not the same."""
    return f"{said} in summary.json" + ("" if same else f", {here} recomputed")


def measured(summary: Summary, mine: Mapping[str, float], tolerance: float) -> list[str]:
    """Return which of the measures are not what they are here."""
    return [
        f"{name} is {said} in summary.json, {here} recomputed"
        for name, here in mine.items()
        if not close(said := summary.measure(name), here, tolerance, tolerance)
    ]
