"""What rules are made of: what was seen of a node, or of the machine, within a window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from forestall.core.files.held import Held
from forestall.core.files.records import refused
from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.observations import Observations
from forestall.core.model.ras import Severity

ANY = "any"
"""The kind that stands for every failure."""


class Item(NamedTuple):
    """At least `least` records of one type within the window, on the node itself or anywhere on the
    machine.

    scope : ``node`` or ``machine``
    source : ``failure`` or ``event``
    kind : cause of the failure (`ANY` for all), or kind of the event
    severity : of the event (see `Severity`); 0 for failures
    least : 1 or more
    """

    scope: str
    source: str
    kind: str
    severity: int
    least: int

    @property
    def base(self) -> tuple[str, str, str, int]:
        """The item without its count."""
        return self[:4]

    def __str__(self) -> str:
        what = self.kind
        if self.source == "failure":
            what = "a failure" if self.kind == ANY else f"failure: {self.kind}"
        elif self.severity:
            what = f"{Severity(self.severity).name} {self.kind}"
        times = f" x{self.least}" if self.least > 1 else ""
        return f"{what}{times}" + (" (machine)" if self.scope == "machine" else "")


@dataclass(frozen=True)
class TypedRecords:
    """Failures and events as one list of typed records in order of time.

    Attributes
    ----------
    time : int64[n], s
    node : int64[n], -1 where it is none of the machine's
    kind : int64[n], which of `types`
    types : (source, kind, severity) by number
    """

    time: Ints
    node: Ints
    kind: Ints
    types: list[tuple[str, str, int]]

    @classmethod
    def of(cls, seen: Observations, before: int | None = None) -> TypedRecords:
        """Return the records of a window, those before a moment if one is given."""
        log = seen.failures
        types: list[tuple[str, str, int]] = [("failure", ANY, 0)]
        parts = [(log.time, log.node, np.zeros(len(log), dtype=np.int64))]
        if log.kind is not None and len(log):
            known = {word: 1 + k for k, word in enumerate(sorted(set(log.kind)))}
            types += [("failure", word, 0) for word in known]
            codes = np.fromiter((known[word] for word in log.kind), np.int64, len(log))
            parts.append((log.time, log.node, codes))
        if seen.events is not None and len(seen.events):
            events = seen.events
            pairs, codes = np.unique(
                events.kind.astype(np.int64) * 16 + events.severity, return_inverse=True
            )
            words = [("event", events.kinds[int(p) // 16], int(p) % 16) for p in pairs]
            parts.append((events.time, events.place.astype(np.int64), codes + len(types)))
            types += words
        time, node, kind = (np.concatenate([part[k] for part in parts]) for k in range(3))
        order = np.argsort(time, kind="stable")
        if before is not None:
            order = order[: int(np.searchsorted(time[order], before, side="left"))]
        return cls(time[order], node[order], kind[order], types)

    def of_type(self, item: Item) -> tuple[Ints, Ints]:
        """Return times and nodes of the records of an item's type."""
        what = (item.source, item.kind, item.severity)
        if what not in self.types:
            none = np.empty(0, dtype=np.int64)
            return none, none
        here = self.kind == self.types.index(what)
        return self.time[here], self.node[here]


@dataclass(frozen=True)
class FailureLookup:
    """Failures of each node, to be looked up at any (time, node): sorted by (node, time)."""

    begin: int
    key: Ints
    time: Ints
    first: Ints
    stride: int

    @classmethod
    def of(cls, seen: Observations) -> FailureLookup:
        """Return the failures of a window."""
        log = seen.failures
        stride = max(seen.end - seen.begin, 1) + 1
        key = np.sort(log.node * stride + (log.time - seen.begin))
        first = np.searchsorted(key, np.arange(seen.nodes + 1) * stride)
        return cls(seen.begin, key, key % stride + seen.begin, first, stride)

    def counts(self, times: Ints, nodes: Ints) -> Ints:
        """Return how often the nodes had failed strictly before the times."""
        return self._place(times, nodes) - self.first[nodes]

    def following(self, times: Ints, nodes: Ints) -> Ints:
        """Return when the nodes failed next, at or after the times; far off where they did not."""
        place = self._place(times, nodes)
        longer = np.append(self.time, 0)
        return np.where(place < self.first[nodes + 1], longer[place], np.int64(2**62))

    def _place(self, times: Ints, nodes: Ints) -> Ints:
        after = np.clip(times - self.begin, 0, self.stride - 1)
        return np.searchsorted(self.key, nodes * self.stride + after, side="left")


class Present(NamedTuple):
    """Where an item holds in a table of moments and nodes: at sorted cells (row * nodes + node), or
    at all nodes of some rows."""

    cells: Ints
    rows: Bools


def present(records: TypedRecords, item: Item, times: Ints, window: int, nodes: int) -> Present:
    """Return where an item holds: enough records within [t - window, t)."""
    time, node = records.of_type(item)
    first = np.searchsorted(times, time, side="right")
    stop = np.searchsorted(times, time + window, side="right")
    if item.scope == "machine":
        moves = np.zeros(len(times) + 1)
        np.add.at(moves, first, 1.0)
        np.add.at(moves, stop, -1.0)
        return Present(np.empty(0, dtype=np.int64), np.cumsum(moves)[:-1] >= item.least)
    use = (node >= 0) & (node < nodes) & (stop > first)
    first, length, node = first[use], (stop - first)[use], node[use]
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    cells = (np.repeat(first, length) + within) * nodes + np.repeat(node, length)
    found, number = np.unique(cells, return_counts=True)
    return Present(found[number >= item.least], np.empty(0, dtype=np.bool_))


def holding(items: tuple[Item, ...], where: dict[Item, Present], nodes: int) -> Present:
    """Return where all items of a set hold."""
    near = [where[item].cells for item in items if item.scope == "node"]
    wide = [where[item].rows for item in items if item.scope == "machine"]
    rows = np.logical_and.reduce(wide) if wide else np.empty(0, dtype=np.bool_)
    if not near:
        return Present(np.empty(0, dtype=np.int64), rows)
    cells = min(near, key=len)
    for other in near:
        if other is not cells:
            cells = cells[_among(cells, other)]
    return Present(cells[rows[cells // nodes]] if wide else cells, np.empty(0, dtype=np.bool_))


def _among(cells: Ints, other: Ints) -> Bools:
    if len(other) == 0:
        return np.zeros(len(cells), dtype=np.bool_)
    place = np.minimum(np.searchsorted(other, cells), len(other) - 1)
    answer: Bools = other[place] == cells
    return answer


def item_of(values: Any) -> Item:
    """Return the item of a list that JSON held. Raises ParameterError where it is none."""
    if not isinstance(values, list) or len(values) != len(Item._fields):
        raise refused("items", values, "a list of " + ", ".join(Item._fields))
    held = Held(dict(zip(Item._fields, values, strict=True)))
    return Item(
        held.text("scope", ("node", "machine")), held.text("source"), held.text("kind"),
        held.whole("severity", 0), held.whole("least", 1),
    )  # fmt: skip
