"""The queue of a site at a time: a snapshot of its records, and the law of its run times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forestall.engine.futures.snapshot import NEVER, Drain, Snapshot
from forestall.model.arrays import Bools, Ints
from forestall.model.site.accounting import UNLIMITED, Accounting
from forestall.model.site.inventory import Inventory
from forestall.model.site.site_records import SiteRecords
from forestall.predict.futures.law import JobsAsked, RunLaw
from forestall.show.quantities import counted

DAY = 86_400
UNUSABLE = ("DOWN", "DRAIN", "FAIL", "MAINT", "POWERED_DOWN", "FUTURE", "UNKNOWN")
"""Words in the state of a node that no job gets."""


@dataclass(frozen=True)
class SiteQueue:
    """Who runs and who waits at a time.

    Attributes
    ----------
    snapshot : of it; a job's name is the row of its run in the records
    users : int64[n], codes of the users
    law, learned : run times of jobs that ended before, and how many those are
    pools : the names of each pool's partitions
    remarks : what was assumed, in sentences
    """

    snapshot: Snapshot
    users: Ints
    law: RunLaw
    learned: int
    pools: tuple[str, ...]
    remarks: tuple[str, ...]

    def asked(self) -> JobsAsked:
        """Return the jobs as their run times are drawn."""
        one = self.snapshot
        elapsed = np.where(one.running, one.now - one.start, 0)
        return JobsAsked(one.job, self.users, one.size, one.limit, elapsed)


def queue_at(site: SiteRecords, now: int) -> SiteQueue:
    """Return the queue at a time, by what the records tell of it and of what ended before."""
    records = site.accounting
    assert records is not None, "no accounting"
    remarks: list[str] = []
    limit = limits(records, now, remarks)
    ended = records.ran & (records.end <= now) & (records.nodes > 0)
    order = np.flatnonzero(ended)[np.argsort(records.end[ended], kind="stable")]
    law = RunLaw.of(
        records.user.code[order].astype(np.int64),
        records.nodes[order].astype(np.int64),
        limit[order],
        np.maximum(records.elapsed[order], 1),
    )
    running = (records.start <= now) & (records.end > now) & (records.nodes > 0)
    waiting = (records.submit <= now) & (records.start > now) & (records.end > now)
    ready = np.maximum(records.submit, records.eligible)
    rows = in_order(records, running, waiting, ready)
    size = sizes(records, rows, running[rows], remarks)
    pool, nodes, names = pools_of(records, site.inventory, rows)
    nodes = raised(nodes, pool, size, running[rows], remarks)
    largest = np.array(nodes)[pool]
    if int(np.sum(size > largest)):
        told = counted(int(np.sum(size > largest)), "waiting jobs")
        remarks.append(f"{told} asked for more nodes than there are; they never start.")
    snapshot = Snapshot(
        now=now,
        nodes=nodes,
        job=rows,
        size=size,
        limit=limit[rows],
        start=np.where(running[rows], records.start[rows], NEVER),
        ready=ready[rows],
        pool=pool,
        drains=unusable(site.inventory, names, now, records.until, remarks),
    )
    users = records.user.code[rows].astype(np.int64)
    remarks.append("Jobs wait in order of when they could first start.")
    return SiteQueue(snapshot, users, law, len(order), names, tuple(remarks))


def in_order(records: Accounting, running: Bools, waiting: Bools, ready: Ints) -> Ints:
    """Return the rows of jobs that run, by start, and then of those that wait, by when they could
    first start: records tell no priorities."""
    runs, waits = np.flatnonzero(running), np.flatnonzero(waiting)
    runs = runs[np.argsort(records.start[runs], kind="stable")]
    waits = waits[np.argsort(ready[waits], kind="stable")]
    return np.concatenate([runs, waits])


def limits(records: Accounting, now: int, remarks: list[str]) -> Ints:
    """Return the limit of every run, s; of those without, the longest run that had ended."""
    told = (records.limit > 0) & (records.limit < UNLIMITED)
    done = records.ran & (records.end <= now)
    longest = int(records.elapsed[done].max(initial=DAY))
    seen = told & (records.submit <= now) & (records.end > now)
    missing = int(np.sum(~told & (records.submit <= now) & (records.end > now)))
    if missing:
        hours = longest / 3600
        remarks.append(
            f"{counted(missing, 'jobs')} of {int(np.sum(seen)) + missing:,} without a limit are "
            f"planned with that of the longest run so far, {hours:,.1f} h."
        )
    return np.where(told, records.limit, longest)


def sizes(records: Accounting, rows: Ints, running: Bools, remarks: list[str]) -> Ints:
    """Return the nodes of jobs; 1 where they are not told."""
    asked = np.where(records.asked[rows] > 0, records.asked[rows], records.nodes[rows])
    size = np.where(running, records.nodes[rows], asked).astype(np.int64)
    untold = int(np.sum(size < 1))
    if untold:
        remarks.append(f"{counted(untold, 'jobs')} without a size count as 1 node.")
    return np.maximum(size, 1)


def pools_of(
    records: Accounting, inventory: Inventory | None, rows: Ints
) -> tuple[Ints, tuple[int, ...], tuple[str, ...]]:
    """Return the pool of each job, the nodes of each pool, and its name: partitions that share
    nodes are one. Without an inventory all is one."""
    if inventory is None or not any(inventory.partitions):
        told = records.machine_nodes or (None if inventory is None else len(inventory))
        most = int(records.nodes.max(initial=1)) if told is None else told
        return np.zeros(len(rows), np.int64), (most,), ("",)
    root: dict[str, str] = {}

    def first(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for names in inventory.partitions:
        for name in names:
            root[first(name)] = first(names[0])
    groups = list(dict.fromkeys(first(names[0]) for names in inventory.partitions if names))
    nodes = [sum(bool(one) and first(one[0]) == g for one in inventory.partitions) for g in groups]
    largest = int(np.argmax(nodes))
    by_word = np.array(
        [
            groups.index(first(word.split(",")[0])) if word.split(",")[0] in root else largest
            for word in (*records.partition.words, "")
        ]
    )
    shown = tuple(", ".join(sorted(one for one in root if first(one) == g)) for g in groups)
    return by_word[records.partition.code[rows]].astype(np.int64), tuple(nodes), shown


def raised(
    nodes: Sequence[int], pool: Ints, size: Ints, running: Bools, remarks: list[str]
) -> tuple[int, ...]:
    """Return the nodes of pools, no fewer than run jobs."""
    used = np.bincount(pool[running], size[running], len(nodes)).astype(np.int64)
    for told, taken in zip(nodes, used.tolist(), strict=True):
        if taken > told:
            remarks.append(f"Jobs ran on {taken:,} nodes where {told:,} are known: so many count.")
    return tuple(max(told, taken) for told, taken in zip(nodes, used.tolist(), strict=True))


def unusable(
    inventory: Inventory | None, names: Sequence[str], now: int, until: int, remarks: list[str]
) -> tuple[Drain, ...]:
    """Return the nodes that are down or drained now, for a day; where nodes were listed then."""
    if inventory is None or now < until - DAY:
        return ()
    places = {part: k for k, one in enumerate(names) for part in one.split(", ") if part}
    gone = [0] * len(names)
    for state, parts in zip(inventory.state, inventory.partitions, strict=True):
        if any(word in state.upper() for word in UNUSABLE):
            gone[places.get(parts[0], 0) if parts else 0] += 1
    if sum(gone):
        told = counted(sum(gone), "nodes")
        remarks.append(f"{told} down or drained are taken to be back in a day.")
    return tuple(Drain(now, now + DAY, count, pool) for pool, count in enumerate(gone) if count)
