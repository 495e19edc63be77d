"""Filters of event logs: each says which records to keep, as a mask.

One fault is reported many times: again and again by the same place, and by all places that see it.
Records are merged by the gaps between them (tupling):

- `temporal`: the same place and kind within the threshold. Liang et al., "Filtering failure logs
  for a BlueGene/L prototype", DSN 2005, and "BlueGene/L failure analysis and prediction models",
  DSN 2006; Hansen and Siewiorek, "Models for time coalescence in event logs", FTCS 1992.
- `spatial`: the same kind at any place within the threshold. Liang et al.; Oliner and Stearley,
  "What supercomputers say", DSN 2007, whose filter does this and `temporal` at once.
- `clusters`: all records within the threshold of each other, whatever their kind (one tuple of
  Hansen and Siewiorek); the first stands for its root.

A record can be measured against two others of its group (rule):

- ``seen``: the one before it, kept or not. A chain of records no further apart than the threshold
  is one, however long it lasts. This is the rule of all the papers above, and the default.
- ``kept``: the last one kept. A fault that is reported for hours counts again each threshold.

"Within" includes a gap of exactly the threshold. Five minutes is the threshold of Liang et al.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import RasLog, Severity
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.ras.places import at_level

Int = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Rule = Literal["seen", "kept"]

RULES: Final[tuple[Rule, ...]] = ("seen", "kept")
THRESHOLD: Final = 300
"""Five minutes, s."""


def severe(log: RasLog, least: Severity = Severity.FATAL) -> Mask:
    """Return which records are at least that severe, bool[n]."""
    return log.severity >= int(least)


def labelled(log: RasLog) -> Mask:
    """Return which records the log labels as alerts, bool[n]; none where it has no labels."""
    return np.zeros(len(log), dtype=np.bool_) if log.alert is None else log.alert.copy()


def temporal(log: RasLog, threshold: int = THRESHOLD, rule: Rule = "seen") -> Mask:
    """Return which records are not within `threshold` s of one of the same place and kind, bool[n].

    Raises ParameterError.
    """
    return spaced(_pairs(log.place, log.kind), log.time, threshold, rule)


def spatial(
    log: RasLog, threshold: int = THRESHOLD, rule: Rule = "seen", within: str = "system"
) -> Mask:
    """Return which records are not within `threshold` s of one of the same kind, bool[n].

    The other may be at any place of the same part of the machine: the same `within`, a level of
    `places.LEVELS`. Its own place counts too. Raises ParameterError.
    """
    part = log.kind if within == "system" else _pairs(at_level(log, within).place, log.kind)
    return spaced(part, log.time, threshold, rule)


def clusters(
    log: RasLog, threshold: int = THRESHOLD, rule: Rule = "seen", within: str = "system"
) -> Int:
    """Return which cluster each record belongs to, int64[n], numbered in order of their first one.

    A cluster holds all records of a part of the machine (`within`, a level) that are within
    `threshold` s of each other; its first record is its root. Raises ParameterError.
    """
    part = np.zeros(len(log), dtype=np.int32)
    if within != "system":
        part = at_level(log, within).place
    first = spaced(part, log.time, threshold, rule)
    order = np.argsort(part, kind="stable")
    number = np.cumsum(first) - 1  # of those records that begin one
    found = np.empty(len(log), dtype=np.int64)
    begins = np.flatnonzero(first[order])
    lengths = np.diff(np.append(begins, len(log)))
    found[order] = np.repeat(number[order][begins], lengths)
    return found


def spaced(group: npt.NDArray[np.integer], time: Int, threshold: int, rule: Rule) -> Mask:
    """Return which entries are further than `threshold` s from the one of their group that the rule
    names, bool[n].

    Parameters
    ----------
    group : whole numbers [n], which entries belong together
    time : int64[n], s, ascending
    """
    check_threshold(threshold)
    check_rule(rule)
    count = len(time)
    keep = np.ones(count, dtype=np.bool_)
    if count == 0:
        return keep
    order = np.argsort(group, kind="stable")
    groups, times = group[order], time[order]
    fresh = np.ones(count, dtype=np.bool_)
    fresh[1:] = groups[1:] != groups[:-1]
    apart = fresh.copy()
    apart[1:] |= np.diff(times) > threshold
    if rule == "kept":
        _step(apart, np.cumsum(apart), times, threshold)
    keep[order] = apart
    return keep


def _step(kept: Mask, chain: Int, times: Int, threshold: int) -> None:
    """Keep, in each chain, the first entry beyond the threshold after the last one kept.

    A chain is a run of entries of a group without a gap beyond the threshold; its first is kept.
    All chains take a step at a time: as many steps as the longest of them lasts thresholds.
    """
    width = np.int64(int(times.max() - times.min()) + threshold + 2)
    place = chain * width + (times - times.min())  # ascending: below 2**22 * 2**37
    following = np.searchsorted(place, place + threshold, side="right")
    front = np.flatnonzero(kept)
    while front.size:
        after = following[front]
        inside = after < len(chain)
        front, after = front[inside], after[inside]
        front = after[chain[after] == chain[front]]
        kept[front] = True


def check_threshold(threshold: int) -> None:
    """Raise ParameterError where `threshold` is no number of seconds."""
    if isinstance(threshold, bool) or not 0 <= threshold < MAX_SECONDS:
        raise ParameterError("threshold", threshold, "a number of seconds of at least 0")


def check_rule(rule: str) -> None:
    """Raise ParameterError where `rule` is none of `RULES`."""
    if rule not in RULES:
        raise ParameterError("rule", rule, " or ".join(RULES))


def _pairs(place: npt.NDArray[np.int32], kind: npt.NDArray[np.int32]) -> Int:
    kinds = int(kind.max()) + 1 if len(kind) else 1
    return place.astype(np.int64) * kinds + kind
