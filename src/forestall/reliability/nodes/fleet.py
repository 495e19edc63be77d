"""Nodes under watch: which failures they had, how long they were out of service, and bursts.

From outages with a nature (fault, administrative, unclear) to failures: outages of a node that
touch or overlap are one time out of service, and the first of them that is clear says what it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.reliability.history.history import DAY, History
from forestall.reliability.history.outages import NodeOutages, running_end
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, NATURES, UNCLEAR

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.slurm.records.node_events import NodeEvents


WITHIN: Final = 300
"""Failures of different nodes are one event only where each follows the last within so many s."""
LEAST: Final = 3
"""Nodes, at least, that fail together in one event."""
CHANCE: Final = 0.05
"""Where failures are frequent, the time within which they belong together shrinks until a failure
of another node comes within it by chance with this probability."""


@dataclass(frozen=True)
class WatchedNodes:
    """Nodes, the time over which each was watched, and its failures in that time.

    Attributes
    ----------
    names : of the nodes by number
    history : failures with exposure, on the uptime clock: time out of service for whatever cause is
        not exposure
    down : int64[n], s that the node was out of service after each failure (up to the end of the
        records where it was still out), -1 where the records do not tell
    ended : bool[n], whether the node was back by the end of the records
    event : int64[n], which event a failure belongs to: failures of several nodes at once are one
    shared : bool[n], whether a failure is part of such a burst
    seconds : node-seconds out of service under watch, by nature
    spells : times out of service that began under watch, by nature
    records : outages or failures as recorded
    joined : records that continued a time out of service
    before : times out of service that had begun before the watch
    found_down : faults recorded while the node was already out of service for administrative ends:
        no failures in service
    """

    names: tuple[str, ...]
    history: History
    down: Ints
    ended: Bools
    event: Ints
    shared: Bools
    seconds: Mapping[str, int] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    records: int = 0
    joined: int = 0
    before: int = 0
    found_down: int = 0

    def __len__(self) -> int:
        return len(self.history)

    @property
    def nodes(self) -> int:
        """How many nodes were watched."""
        return self.history.nodes

    @property
    def events(self) -> int:
        """Failures, those of several nodes at once counted as one."""
        return int(self.event.max(initial=-1)) + 1

    @cached_property
    def alone(self) -> float:
        """So many failures, each on its own, would leave a rate as unsure as these do; see
        `forestall.reliability.history.rates.compound_interval`."""
        sizes = np.bincount(self.event, minlength=1).astype(np.float64)
        return float(sizes.sum() ** 2 / (sizes @ sizes)) if len(self) else 0.0

    @cached_property
    def first(self) -> Bools:
        """Whether a failure is the first of its event, bool[n]."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[np.unique(self.event, return_index=True)[1]] = True
        return found

    @property
    def bursts(self) -> int:
        """How many events took several nodes at once."""
        return int(np.count_nonzero(self.first & self.shared))

    @cached_property
    def node_days(self) -> Floats:
        """Time in service of each node, float64[nodes], days."""
        return self.history.node_days

    @cached_property
    def watched_days(self) -> float:
        """Time under watch of all nodes, in service or not, days."""
        return float((self.history.end - self.history.start).sum()) / DAY

    def counts(self, *, own: bool = False) -> Ints:
        """Return failures of each node, int64[nodes]; its `own`: without those in bursts."""
        node = self.history.node[~self.shared] if own else self.history.node
        return np.bincount(node, minlength=len(self.names)).astype(np.int64)

    def days_between(self, begin: int, until: int) -> Floats:
        """Return each node's time in service within [begin, until), float64[nodes], days."""
        low, high = (np.clip(a, begin, until) for a in (self.history.start, self.history.end))
        seconds = high - low
        out = self.history.outages
        start = np.clip(out.start, low[out.node], high[out.node])
        end = np.clip(out.end, low[out.node], high[out.node])
        np.subtract.at(seconds, out.node, end - start)
        return seconds / DAY


def fleet_of_events(
    events: NodeEvents,
    begin: int,
    until: int,
    *,
    names: Sequence[str] | None = None,
    service: tuple[Ints, Ints, Bools] | None = None,
    cause: Coded | None = None,
    natures: tuple[str, ...] = (FAULT,),
    within: int = WITHIN,
) -> WatchedNodes:
    """Return the fleet of a site's outages.

    Parameters
    ----------
    begin, until : the watch [begin, until), s on the clock of the events
    names : all nodes; those that had events and are not among them are put at the end. None: those
        of the events alone
    service : start, end and newness of each of `names`, as `Failures` has them, where those of the
        events are among them; None: all are watched from begin to until and none is new
    cause : what each outage was about; None: not told
    natures : which outages are failures
    within : s; see `bursts_of`
    """
    every, node = _numbered(events, names)
    assert service is None or len(service[0]) == len(every), "a node without its time in service"
    if service is None:
        count = len(every)
        service = (
            np.full(count, begin, dtype=np.int64),
            np.full(count, until, dtype=np.int64),
            np.zeros(count, dtype=np.bool_),
        )
    else:
        start, end, new = service
        start, end = np.clip(start, begin, until), np.clip(end, begin, until)
        service = (start, np.maximum(start, end), new)
    told = np.ones(len(events), dtype=np.bool_)
    words = None if cause is None else (cause.code.astype(np.int64), cause.words)
    rows = _OutageColumns(
        node, events.begin, events.end, events.nature.astype(np.int64), told, words
    )
    origin = 0 if events.dated else None
    return _fleet(rows, every, service, until, natures, origin, within)


def _numbered(events: NodeEvents, names: Sequence[str] | None) -> tuple[tuple[str, ...], Ints]:
    """Return all names, and the number of each event's node among them."""
    if names is None:
        return events.names, events.node
    place = {name: k for k, name in enumerate(names)}
    for k in np.unique(events.node).tolist():
        place.setdefault(events.names[k], len(place))
    table = np.array([place.get(name, -1) for name in (*events.names, "")], dtype=np.int64)
    return tuple(place), table[events.node]


def fleet_of_failures(
    failures: Failures, begin: int, until: int, *, within: int = WITHIN
) -> WatchedNodes:
    """Return the fleet of a failure log, watched over [begin, until) on its own clock as far as
    its nodes were in service. Causes are what stands before the colon of a kind."""
    count = failures.nodes
    if failures.service_start is None:
        start, end = np.full(count, begin, dtype=np.int64), np.full(count, until, dtype=np.int64)
        new = np.zeros(count, dtype=np.bool_)
    else:
        assert failures.service_end is not None
        assert failures.service_new is not None
        start = np.clip(failures.service_start, begin, until)
        end = np.maximum(np.clip(failures.service_end, begin, until), start)
        new = failures.service_new & (failures.service_start >= begin)
    names = failures.names or tuple(str(k) for k in range(count))
    words = None
    if failures.kind is not None:
        told = Coded.of([kind.partition(":")[0] for kind in failures.kind])
        words = (told.code.astype(np.int64), told.words)
    back = failures.time + np.maximum(failures.downtime, 0)
    fault = np.full(len(failures), NATURES.index(FAULT))
    rows = _OutageColumns(failures.node, failures.time, back, fault, failures.downtime >= 0, words)
    fleet = _fleet(rows, names, (start, end, new), until, (FAULT,), failures.origin, within)
    return replace(fleet, history=replace(fleet.history, cleaning=failures.cleaning))


@dataclass(frozen=True)
class _OutageColumns:
    """Outages as columns; `cause` is codes (-1: none) and words."""

    node: Ints
    begin: Ints
    end: Ints
    nature: Ints
    told: Bools
    cause: tuple[Ints, tuple[str, ...]] | None

    def sorted(self) -> _OutageColumns:
        order = np.lexsort((self.nature, self.begin, self.node))
        cause = None if self.cause is None else (self.cause[0][order], self.cause[1])
        return _OutageColumns(
            self.node[order],
            self.begin[order],
            self.end[order],
            self.nature[order],
            self.told[order],
            cause,
        )


@dataclass(frozen=True)
class _Spells:
    """Times out of service in order of (node, begin); `at` is the record that says what it was."""

    node: Ints
    begin: Ints
    end: Ints
    nature: Ints
    at: Ints
    told: Bools
    open: Bools
    faults: Ints


def _spells(rows: _OutageColumns, until: int) -> _Spells:
    """Return the spells of rows in order: outages that overlap or touch are one."""
    known = np.where(rows.end == NEVER, rows.begin, rows.end)
    beyond = max(until, int(known.max(initial=until))) + 1
    stop = np.where(rows.end == NEVER, beyond, rows.end)
    reached = running_end(rows.node, stop)
    head = np.ones(len(rows.node), dtype=np.bool_)
    head[1:] = (rows.node[1:] != rows.node[:-1]) | (rows.begin[1:] > reached[:-1])
    heads = np.flatnonzero(head)
    if len(heads) == 0:
        none = heads
        empty = np.zeros(0, dtype=np.bool_)
        return _Spells(none, none, none, none, none, empty, empty, none)
    tails = np.append(heads[1:], len(head)) - 1
    far = len(head)
    clear = rows.nature != NATURES.index(UNCLEAR)
    at = np.minimum.reduceat(np.where(clear, np.arange(far), far), heads)
    at = np.where(at == far, heads, at)
    fault = rows.nature == NATURES.index(FAULT)
    return _Spells(
        rows.node[heads],
        rows.begin[heads],
        np.where(reached[tails] == beyond, np.maximum(until, rows.begin[tails]), reached[tails]),
        rows.nature[at],
        at,
        np.logical_or.reduceat(rows.told, heads),
        reached[tails] == beyond,
        np.add.reduceat(fault.astype(np.int64), heads),
    )


def _fleet(
    rows: _OutageColumns,
    names: tuple[str, ...],
    service: tuple[Ints, Ints, Bools],
    until: int,
    natures: tuple[str, ...],
    origin: int | None,
    within: int,
) -> WatchedNodes:
    rows = rows.sorted()
    spells = _spells(rows, until)
    start, end, new = service
    began = spells.begin >= start[spells.node]
    inside = began & (spells.begin < end[spells.node])
    before = ~began & (spells.end > start[spells.node])
    failed = inside & np.isin(spells.nature, [NATURES.index(one) for one in natures])
    low, high = (
        np.clip(edge, start[spells.node], end[spells.node]) for edge in (spells.begin, spells.end)
    )
    order = np.lexsort((spells.node[failed], spells.begin[failed]))
    chosen = np.flatnonzero(failed)[order]
    node, time = spells.node[chosen], spells.begin[chosen]
    label, kind = _labels(rows, spells.at[chosen])
    outages = NodeOutages(spells.end[chosen], spells.node, spells.begin, spells.end)
    history = History(time, node, kind, start, end, new, outages, "uptime", "all", origin, names)
    event, shared = bursts_of(time, node, label, history.span, within=within)
    length = (spells.end - spells.begin)[chosen]
    wanted = spells.nature == NATURES.index(ADMINISTRATIVE)
    return WatchedNodes(
        names,
        history,
        np.where(spells.told[chosen], length, -1),
        ~spells.open[chosen],
        event,
        shared,
        {name: int((high - low)[spells.nature == k].sum()) for k, name in enumerate(NATURES)},
        {
            name: int(np.count_nonzero(inside & (spells.nature == k)))
            for k, name in enumerate(NATURES)
        },
        len(rows.node),
        len(rows.node) - len(spells.node),
        int(np.count_nonzero(before)),
        int(spells.faults[inside & wanted].sum()),
    )


def _labels(rows: _OutageColumns, at: Ints) -> tuple[Ints, tuple[str, ...] | None]:
    """Return the causes of records as numbers (one for all where none is told) and as texts."""
    if rows.cause is None:
        return np.zeros(len(at), dtype=np.int64), None
    code, words = rows.cause
    with_none = (*words, "")
    return code[at], tuple(with_none[k] for k in code[at].tolist())


def bursts_of(
    time: Ints,
    node: Ints,
    label: Ints,
    span: tuple[int, int],
    *,
    within: int = WITHIN,
    least: int = LEAST,
) -> tuple[Ints, Bools]:
    """Return the event that each failure belongs to, int64[n], and whether that is a burst.

    Failures of one label that follow each other within `within` seconds, on at least `least`
    different nodes, are one event: a rack that lost its power, a switch, a file system. Where
    failures of a label are so frequent that this would happen by chance, the time is shorter (see
    `_limits`). All others are events of their own. Events are numbered by their first failure.

    Parameters
    ----------
    time, node, label : int64[n], failures in order of (time, node)
    span : the time under watch
    """
    n = len(time)
    if n == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    order = np.lexsort((np.arange(n), label))
    moment, of, kind = time[order], node[order], label[order]
    limit = _limits(moment, kind - int(kind.min()), max(span[1] - span[0], 1), within)
    head = _heads(moment, kind - int(kind.min()), limit)
    cluster = np.cumsum(head) - 1
    many = int(node.max()) + 1
    nodes = np.bincount(np.unique(cluster * many + of) // many)
    shared = np.empty(n, dtype=np.bool_)
    shared[order] = (nodes >= least)[cluster]
    whole = np.empty(n, dtype=np.int64)
    whole[order] = cluster
    key = np.where(shared, whole, np.arange(n) + n)
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[back.ravel()], shared


def _heads(time: Ints, label: Ints, limit: Floats) -> Bools:
    """Return which failures, in order of (label, time), begin a cluster."""
    head = np.ones(len(time), dtype=np.bool_)
    head[1:] = (label[1:] != label[:-1]) | (np.diff(time) > limit[label[1:]])
    return head


def _limits(time: Ints, label: Ints, whole: int, within: int) -> Floats:
    """Return how far apart failures of one event of each label can be, s.

    The longest of `within`, its half, its quarter, ... in which another cluster begins by chance
    with probability `CHANCE` at most. Clusters begin at a rate that is told by the time outside of
    them, so that neither many failures of one event nor many events in one long chain mislead.
    """
    count = int(label.max()) + 1
    limit = np.full(count, float(within))
    for _ in range(max(within, 1).bit_length()):
        head = _heads(time, label, limit)
        starts = np.flatnonzero(head)
        ends = np.append(starts[1:], len(time)) - 1
        of = label[starts]
        clusters = np.bincount(of, minlength=count)
        inside = np.bincount(of, weights=(time[ends] - time[starts]), minlength=count)
        free = np.maximum(whole - inside - clusters * limit, 1.0)
        often = -np.expm1(-clusters / free * limit) > CHANCE
        if not often.any():
            break
        limit[often] /= 2
    return limit
