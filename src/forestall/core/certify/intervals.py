"""Intervals of time on nodes, hosts or tasks, all owners on one axis: overlaps, unions, levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from forestall.core.certify.sheet import Bool, Int


@dataclass(frozen=True)
class Axis:
    """Owner and time as one number, owner first: a walk over all owners is one over the axis."""

    base: int
    width: int

    @classmethod
    def over(cls, *times: Int) -> Self:
        """Return an axis that holds all these times."""
        some = [each for each in times if len(each)]
        low = min((int(each.min()) for each in some), default=0)
        high = max((int(each.max()) for each in some), default=0)
        return cls(low, high - low + 2)

    def key(self, owner: Int, time: Int) -> Int:
        """Return the place of each owner's second on the axis; what lies off it at its ends."""
        return owner * self.width + np.clip(time - self.base, 0, self.width - 1)

    def owner(self, key: Int) -> Int:
        """Return whose second each place is."""
        return key // self.width

    def time(self, key: Int) -> Int:
        """Return the time of each place."""
        return key % self.width + self.base


def merged(start: Int, end: Int, *, joined: bool = True) -> tuple[Int, Int]:
    """Return the union of intervals [start, end) on one axis as disjoint ones, ascending. Those
    that touch are one, and those of no length no part of it; not so without `joined`."""
    if joined:
        some = end > start
        start, end = start[some], end[some]
    order = np.lexsort((end, start))
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.ones(len(start), dtype=np.bool_)
    begins[1:] = start[1:] > end[:-1] if joined else start[1:] >= end[:-1]
    return start[begins], end[lasts(begins)]


@dataclass(frozen=True)
class Outages:
    """When nodes are down: disjoint intervals [start, end) of each, ascending by (node, start)."""

    node: Int
    start: Int
    end: Int

    @classmethod
    def of(cls, node: Int, time: Int, downtime: Int, *, joined: bool = True) -> Self:
        """Return the outages of failures, of which those meanwhile prolong one; see `merged`."""
        axis = Axis.over(time, time + downtime)
        keys = axis.key(node, time), axis.key(node, time + downtime)
        start, end = merged(*keys, joined=joined)
        # The end of an outage lies on the axis before its node's part of it ends.
        return cls(axis.owner(start), axis.time(start), axis.time(end))

    def held(self, begin: int, end: int, capacity: Int) -> int:
        """Return the capacity of nodes times the seconds within [begin, end)."""
        seconds = np.clip(self.end, begin, end) - np.clip(self.start, begin, end)
        return int((capacity[self.node] * seconds).sum())


def firsts(owner: Int) -> Bool:
    """Return which rows are the first of their owner, whose rows stand together."""
    fresh = np.ones(len(owner), dtype=np.bool_)
    fresh[1:] = owner[1:] != owner[:-1]
    return fresh


def lasts(first: Bool) -> Bool:
    """Return which rows are the last of their owner, from which ones are the first."""
    return np.append(first[1:], True)[: len(first)]


def overlapping(start: Int, end: Int) -> Bool:
    """Return which of the intervals [start, end) begin before an earlier one of their owner has
    ended; they are on one axis, in order of their starts."""
    late = np.zeros(len(start), dtype=np.bool_)
    late[1:] = start[1:] < np.maximum.accumulate(end)[:-1]
    return late


def touches(since: Int, until: Int, start: Int, end: Int) -> Bool:
    """Return which of the intervals [start, end) meet one of [since, until), which are disjoint and
    ascending; all on one axis."""
    if not len(since):
        return np.zeros(len(start), dtype=np.bool_)
    at = np.searchsorted(since, end, side="left") - 1
    return (at >= 0) & (until[np.maximum(at, 0)] > start)


def inside(moments: Int, start: Int, end: Int, *, at_start: bool) -> Bool:
    """Return within which of the intervals (start, end), or [start, end), one of the moments lies,
    which are ascending; all on one axis."""
    side = "left" if at_start else "right"
    first = np.searchsorted(moments, start, side=side)  # type: ignore[call-overload]
    found: Bool = np.searchsorted(moments, end, side="left") > first
    return found


def levels(axis: Axis, owner: Int, start: Int, end: Int, amount: Int) -> tuple[Int, Int]:
    """Return the places on the axis at which what owners hold together changes, ascending, and how
    much it is from each of them on."""
    keys = np.concatenate((axis.key(owner, start), axis.key(owner, end)))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    change = np.concatenate((amount, -amount))[order]
    last = lasts(firsts(keys))  # the last change of each second
    return keys[last], np.cumsum(change)[last]


def last_begun(owner: Int, start: Int, whose: Int, time: Int, *, before: bool = False) -> Int:
    """Return the row of each owner that began last by a time, or before it; -1: none. Rows are in
    order of (owner, start)."""
    if not len(owner):
        return np.full(len(whose), -1, dtype=np.int64)
    axis = Axis.over(start, time)
    side = "left" if before else "right"
    at = np.searchsorted(axis.key(owner, start), axis.key(whose, time), side=side) - 1  # type: ignore[call-overload]
    return np.where((at >= 0) & (owner[np.maximum(at, 0)] == whose), at, -1)


def spread(counts: Int) -> tuple[Int, Int]:
    """Return owner and running number, from 0, of what each owner has so many of."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
