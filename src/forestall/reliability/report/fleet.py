"""From a site's records to nodes under watch: which nodes, since when, and what failed."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER
from forestall.reliability.nodes.fleet import WatchedNodes, fleet_of_events, fleet_of_failures
from forestall.reliability.nodes.signals import NEAR, NodeFailRuns, node_fail_runs, operator_ended
from forestall.slurm.reasons import gpu_error, ticket, told
from forestall.slurm.records.node_events import FAULT, UNCLEAR
from forestall.slurm.records.run_ends import cause
from forestall.slurm.records.run_ends import causes_of as assess_causes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.inventory import Inventory
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Basis = Literal["events", "failures", "runs"]

DAY: Final = 86_400
LATE: Final = 14 * DAY
"""A node of which nothing is seen for so long from the begin on came into service when it was."""
WORDS: Final = 20_000
"""So many hostlists of several nodes are read, at most, to see which nodes there were when."""
_LAST: list[tuple[weakref.ref[Accounting], Seen | None]] = []
"""What the runs that were asked about last tell: several sections need it; gone with them."""
HOSTS: Final = 2_000_000
"""So many names of nodes are read from them, at most."""


@dataclass(frozen=True)
class Seen:
    """What jobs tell of nodes: names, and the first start and last end of a run on each."""

    names: tuple[str, ...]
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Watched:
    """Nodes under watch.

    Attributes
    ----------
    fleet : the nodes with their failures
    basis : what failures are: outages that were faults, lines of a failure log, or runs that a
        node's failure ended
    with_unclear : the fleet where unclear outages count as failures; None where there are none
    runs : runs that node failures ended; None without accounting
    partition, hardware : each node's group (-1: not told) and the groups' names; None: not told
    several : nodes that are in more than one partition
    strangers : names in the records that the inventory does not know
    late : nodes that came into service under watch, as far as the records tell
    listed : whether nodes that had no failure are known as well
    """

    fleet: WatchedNodes
    basis: Basis
    with_unclear: WatchedNodes | None = None
    runs: NodeFailRuns | None = None
    partition: tuple[Ints, tuple[str, ...]] | None = None
    hardware: tuple[Ints, tuple[str, ...]] | None = None
    several: int = 0
    strangers: tuple[str, ...] = ()
    late: int = 0
    listed: bool = True


def watched(site: SiteRecords, asked: Asked) -> Watched | None:
    """Return the nodes under watch, None where the records tell no failures of nodes."""
    if site.events is not None:
        found = _by_events(site, site.events, asked)
    elif site.failures is not None:
        fleet = fleet_of_failures(site.failures, asked.begin, asked.until)
        listed = bool(np.any(fleet.counts()[fleet.history.there] == 0))
        found = Watched(fleet, "failures", listed=listed)
    else:
        return _by_runs(site, asked)
    if site.accounting is not None:
        ended = ended_by_node(site.accounting)
        if site.events is not None:
            ended &= ~operator_ended(site.accounting, site.events, found.fleet.names)
        runs = node_fail_runs(site.accounting, found.fleet.names, site.events, ended=ended)
        found = replace(found, runs=runs)
    return _with_groups(found, site.inventory)


def ended_by_node(accounting: Accounting) -> Bools:
    """Return which runs a node's failure ended, by the rules of the losses, bool[n]."""
    return np.asarray(assess_causes_of(accounting) == cause("node_failure"))


def _by_events(site: SiteRecords, events: NodeEvents, asked: Asked) -> Watched:
    known = known_nodes(site, events, asked)
    fleet, unclear = (known.fleet(asked, natures) for natures in ((FAULT,), (FAULT, UNCLEAR)))
    return Watched(
        fleet,
        "events",
        with_unclear=unclear if fleet.spells.get(UNCLEAR) else None,
        strangers=known.strangers,
        late=known.late,
        listed=known.listed,
    )


@dataclass(frozen=True)
class KnownNodes:
    """All nodes that the records name, and when each was in service.

    Attributes
    ----------
    events : the outages, with node numbers as places in `names`
    names : nodes of the inventory, of outages and of runs
    service : start, end and newness of each node, as `Failures` has them
    strangers : names in the records that the inventory does not know
    late : nodes that came into service under watch, as far as the records tell
    listed : whether nodes that had no outage are known as well
    """

    events: NodeEvents
    names: tuple[str, ...]
    service: tuple[Ints, Ints, Bools]
    strangers: tuple[str, ...]
    late: int
    listed: bool

    def fleet(self, asked: Asked, natures: tuple[str, ...] = (FAULT,)) -> WatchedNodes:
        """Return the nodes with those of their outages that are failures."""
        return fleet_of_events(
            self.events,
            asked.begin,
            asked.until,
            names=self.names,
            service=self.service,
            cause=causes_of(self.events),
            natures=natures,
        )


def known_nodes(site: SiteRecords, events: NodeEvents, asked: Asked) -> KnownNodes:
    """Return all nodes that a site's inventory, outages and runs name, and when they served."""
    inventory = site.inventory
    recorded = set(events.node.tolist())
    named = [name for k, name in enumerate(events.names) if k in recorded]
    seen = seen_of(site.accounting, asked, inventory)
    if inventory is not None:
        # Runs of a partition may be on nodes of others: those tell nothing of who was there.
        ran = seen.names if seen is not None and asked.partition is None else ()
        known = set(inventory.names)
        strangers = tuple(name for name in dict.fromkeys((*named, *ran)) if name not in known)
        names = (*inventory.names, *strangers)
    else:
        strangers = ()
        names = tuple(dict.fromkeys((*events.names, *(seen.names if seen else ()))))
    events = _of(events, names)
    service, late = _service(names, events, seen, asked, len(names) - len(strangers))
    listed = inventory is not None or seen is not None
    return KnownNodes(events, names, service, strangers, late, listed)


def _of(events: NodeEvents, names: tuple[str, ...]) -> NodeEvents:
    """Return the outages with node numbers as places in `names`, which hold all that had any."""
    place = {name: k for k, name in enumerate(names)}
    table = np.array([place.get(name, 0) for name in (*events.names, "")], dtype=np.int64)
    return replace(events, node=table[events.node], names=names)


def _service(
    names: tuple[str, ...], events: NodeEvents, seen: Seen | None, asked: Asked, present: int
) -> tuple[tuple[Ints, Ints, Bools], int]:
    """Return start, end and newness of each node, and how many came late.

    Nodes are watched over the window. One of which nothing is seen for the first `LATE` seconds
    came with the first that is; one that the inventory does not know (from place `present` on)
    went with the last.
    """
    count = len(names)
    first = np.full(count, NEVER, dtype=np.int64)
    last = np.full(count, asked.begin, dtype=np.int64)
    np.minimum.at(first, events.node, events.begin)
    np.maximum.at(last, events.node, np.minimum(events.end, asked.until))
    start = np.full(count, asked.begin, dtype=np.int64)
    end = np.full(count, asked.until, dtype=np.int64)
    new = np.zeros(count, dtype=np.bool_)
    if seen is not None:
        place = {name: k for k, name in enumerate(names)}
        at = np.array([place.get(name, -1) for name in seen.names], dtype=np.int64)
        there = at >= 0
        np.minimum.at(first, at[there], seen.first[there])
        np.maximum.at(last, at[there], seen.last[there])
        new = (first < NEVER) & (first > asked.begin + LATE) & (first < asked.until)
        start[new] = first[new]
    gone = np.arange(count) >= present
    end[gone] = np.maximum(np.minimum(last[gone] + 1, asked.until), start[gone])
    return (start, end, new), int(np.count_nonzero(new))


def causes_of(events: NodeEvents) -> Coded | None:
    """Return what each outage was about, in a word or two; None where no reason is told."""
    if not bool(events.reason.told.any()):
        return None

    def label(state: str, reason: str, user: str) -> str:
        return told(state, reason, user).label.replace("_", " ")

    columns = (events.state, events.reason, events.user)
    key = np.zeros(len(events), dtype=np.int64)
    for column in columns:
        key = key * (len(column.words) + 1) + column.code + 1
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    words = [label(*(column[row] for column in columns)) for row in first.tolist()]
    coded = Coded.of(words)
    return Coded(coded.code[back.ravel()], coded.words)


def marks_of(events: NodeEvents) -> tuple[Bools, Bools]:
    """Return which outages tell of a GPU's error, and which of a ticket, bool[m] each."""
    words = events.reason.words
    tables = (
        np.array([*(bool(one(word)) for word in words), False], dtype=np.bool_)
        for one in (gpu_error, ticket)
    )
    gpu, tickets = (table[events.reason.code] for table in tables)
    return gpu, tickets


def seen_of(
    accounting: Accounting | None, asked: Asked, inventory: Inventory | None
) -> Seen | None:
    """Return what runs tell of nodes; None where they tell nothing, or only some runs are there.

    Runs on one node are read all, of lists of several nodes `WORDS` at most.
    """
    if accounting is None or asked.min_nodes > 1:
        return None
    if asked.partition is not None and inventory is None:
        return None
    return seen_by(accounting)


def seen_by(accounting: Accounting) -> Seen | None:
    """Return the nodes that these runs were on; None where they tell none. It is kept as long as
    the runs are."""
    for known, seen in _LAST:
        if known() is accounting:
            return seen
    seen = _seen_by(accounting)
    _LAST[:] = [(weakref.ref(accounting, lambda _: _LAST.clear()), seen)]
    return seen


def _seen_by(accounting: Accounting) -> Seen | None:
    ran = (accounting.start < NEVER) & accounting.nodelist.told
    if not bool(ran.any()):
        return None
    words = accounting.nodelist.words
    code = accounting.nodelist.code[ran]
    start = accounting.start[ran]
    end = np.minimum(accounting.end[ran], accounting.until)
    first = np.full(len(words), NEVER, dtype=np.int64)
    last = np.zeros(len(words), dtype=np.int64)
    np.minimum.at(first, code, start)
    np.maximum.at(last, code, end)
    used = np.flatnonzero(first < NEVER).tolist()
    lists: list[tuple[int, tuple[str, ...]]] = []
    several = [k for k in used if "[" in words[k] or "," in words[k]]
    step = -(-len(several) // WORDS) if several else 1
    lists += [(k, (words[k],)) for k in used if "[" not in words[k] and "," not in words[k]]
    room = HOSTS
    for k in several[::step]:
        hosts = _hosts(words[k])
        room -= len(hosts)
        lists.append((k, hosts))
        if room < 0:
            break
    place: dict[str, int] = {}
    nodes = [place.setdefault(host, len(place)) for _, hosts in lists for host in hosts]
    rows = np.repeat([k for k, _ in lists], [len(hosts) for _, hosts in lists]).astype(np.int64)
    earliest = np.full(len(place), NEVER, dtype=np.int64)
    latest = np.zeros(len(place), dtype=np.int64)
    np.minimum.at(earliest, nodes, first[rows])
    np.maximum.at(latest, nodes, last[rows])
    return Seen(tuple(place), earliest, latest)


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ParameterError:
        return ()


def _by_runs(site: SiteRecords, asked: Asked) -> Watched | None:
    """Return the nodes by the runs that failures ended: each known failed node a failure."""
    accounting = site.accounting
    if accounting is None:
        return None
    ended = ended_by_node(accounting)
    if not bool(ended.any()):
        return None
    seen = seen_of(accounting, asked, site.inventory)
    inventory = site.inventory
    names = tuple(
        dict.fromkeys(
            (
                *(inventory.names if inventory is not None else ()),
                *(seen.names if seen is not None else ()),
                *accounting.failed_node.take(np.flatnonzero(ended)).counts(),
            )
        )
    )
    runs = node_fail_runs(accounting, names, ended=ended)
    told = np.flatnonzero(runs.node >= 0)
    time, node = accounting.end[runs.run[told]], runs.node[told]
    order = np.lexsort((time, node))
    time, node = time[order], node[order]
    again = np.zeros(len(time), dtype=np.bool_)  # one failure ends all runs of its node
    again[1:] = (node[1:] == node[:-1]) & (np.diff(time) <= NEAR)
    failures = replace(
        Failures.build(time[~again], node[~again]),
        nodes=len(names),
        names=names,
        origin=0 if accounting.dated else None,
    )
    fleet = fleet_of_failures(failures, asked.begin, asked.until)
    found = Watched(fleet, "runs", runs=runs, listed=inventory is not None or seen is not None)
    return _with_groups(found, inventory)


def _with_groups(found: Watched, inventory: Inventory | None) -> Watched:
    """Return the nodes with their partitions and hardware as the inventory tells them."""
    if inventory is None:
        return found
    place = {name: k for k, name in enumerate(inventory.names)}
    at = [place.get(name, -1) for name in found.fleet.names]
    several = [tuple(sorted(parts)) for parts in inventory.partitions]
    partition = _grouped([",".join(several[k]) if k >= 0 else "" for k in at])
    hardware = _grouped([inventory.hardware[k] if k >= 0 else "" for k in at])
    return replace(
        found,
        partition=partition,
        hardware=hardware,
        several=sum(len(parts) > 1 for parts in several),
    )


def _grouped(texts: list[str]) -> tuple[Ints, tuple[str, ...]] | None:
    coded = Coded.of(texts)
    return (coded.code.astype(np.int64), coded.words) if coded.words else None


def offset_of(zone: str | None) -> Callable[[Ints], Ints] | None:
    """Return by how many seconds a zone's clock is ahead of UTC, as a function of times in order;
    None for UTC."""
    if zone is None:
        return None
    place = ZoneInfo(zone)

    def one(time: int) -> int:
        shift = datetime.fromtimestamp(time, UTC).astimezone(place).utcoffset()
        return 0 if shift is None else int(shift.total_seconds())

    def offset(times: Ints) -> Ints:
        if len(times) == 0:
            return times
        days = np.unique(np.append(times // DAY, times[-1] // DAY + 1))
        shift = np.array([one(day) for day in (days * DAY).tolist()], dtype=np.int64)
        at = np.searchsorted(days, times // DAY)
        found = shift[at]
        changing = shift[np.minimum(at + 1, len(days) - 1)] != found
        for k in np.flatnonzero(changing).tolist():  # two days a year
            found[k] = one(int(times[k]))
        return np.asarray(found)

    return offset
