"""The queue of a site at a time: a snapshot of its records, and the law of its run times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Ints
from forestall.core.show.quantities import counted
from forestall.scheduling.futures.snapshot import COLUMNS, NEVER, Snapshot
from forestall.site.futures.taken import drains_of, held_until
from forestall.site.learning.futures.law import JobsAsked, RunLaw
from forestall.site.learning.futures.order import PastQueue
from forestall.slurm.records.accounting import UNLIMITED, Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.present import PresentQueue
from forestall.slurm.records.site_records import SiteRecords

DAY: Final = 86_400
FREE_TO_START: Final = (
    "None",
    "JobArrayTaskLimit",
    "Priority",
    "Resources",
    "ReqNodeNotAvail",
    "Nodes required",
    "Reservation",
)
"""How Slurm's reasons begin of jobs that nothing but nodes keeps waiting."""
UNKNOWN_TASKS: Final = ("array_cut", "array_unread", "array_large")
"""Remarks on arrays of which more tasks wait than there are runs."""
RECENT: Final = 600
"""What the controller said counts for so many seconds."""


@dataclass(frozen=True)
class SiteQueue:
    """Who runs and who waits at a time.

    Attributes
    ----------
    snapshot : of it; a job's name is the row of its run in the records
    users : int64[n], codes of the users
    law, learned : run times of jobs that ended before, and how many those are
    pools : the names of each pool's partitions
    past : the queue of the past, as far as it is known now
    begin : since when
    held : bool[n], jobs that by Slurm wait for something that is not nodes; None: not told
    remarks : what was assumed, in sentences
    """

    snapshot: Snapshot
    users: Ints
    law: RunLaw
    learned: int
    pools: tuple[str, ...]
    past: PastQueue
    begin: int
    held: Bools | None
    remarks: tuple[str, ...]

    def asked(self) -> JobsAsked:
        """Return the jobs as their run times are drawn."""
        one = self.snapshot
        elapsed = np.where(one.running, one.now - one.start, 0)
        return JobsAsked(one.job, self.users, one.size, one.limit, elapsed)

    def rows(self, columns: Ints) -> Ints:
        """Return where jobs of the snapshot stand in the past."""
        return np.asarray(np.searchsorted(self.past.row, self.snapshot.job[columns]))


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
    rows, size, pool = whole_het_jobs(records, rows, size, pool, ~running[rows], limit)
    nodes = raised(nodes, pool, size, running[rows], remarks)
    largest = np.array(nodes)[pool]
    if int(np.sum(size > largest)):
        told = counted(int(np.sum(size > largest)), "waiting jobs")
        remarks.append(f"{told} ask for more nodes than there are and never start.")
    present = site.present if site.present and abs(site.present.asked - now) < RECENT else None
    inventory = site.inventory if now >= records.until - DAY else None
    reserved = () if present is None else present.reservations
    until = held_until(records, rows[running[rows]], limit) if inventory is not None else {}
    snapshot = Snapshot(
        now=now,
        nodes=nodes,
        job=rows,
        size=size,
        limit=limit[rows],
        start=np.where(running[rows], records.start[rows], NEVER),
        ready=ready[rows],
        pool=pool,
        drains=drains_of(inventory, reserved, names, now, until, remarks),
        array=records.array[rows],
        at_once=np.maximum(records.at_once[rows], 0).astype(np.int64),
    )
    remarks += array_remarks(records, rows[~running[rows]])
    found = SiteQueue(
        snapshot=snapshot,
        users=records.user.code[rows].astype(np.int64),
        law=law,
        learned=len(order),
        pools=names,
        past=past_queue(site, now, limit, nodes),
        begin=records.begin,
        held=None,
        remarks=tuple(remarks),
    )
    return found if present is None else by_priority(found, records, present)


def whole_het_jobs(
    records: Accounting, rows: Ints, size: Ints, pool: Ints, waits: Bools, limit: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return rows, nodes and pools with one row for each heterogeneous job that waits in a pool:
    its components start together, so it needs the nodes of all; `limit` becomes the longest."""
    het = records.het[rows]
    parts = np.flatnonzero(waits & (het >= 0))
    if not len(parts):
        return rows, size, pool
    size, keep = size.copy(), np.ones(len(rows), np.bool_)
    first: dict[tuple[int, int], int] = {}
    for place in parts[np.argsort(records.job[rows[parts]], kind="stable")].tolist():
        lead = first.setdefault((int(het[place]), int(pool[place])), place)
        if lead != place:
            size[lead] += size[place]
            limit[rows[lead]] = max(limit[rows[lead]], limit[rows[place]])
            keep[place] = False
    return rows[keep], size[keep], pool[keep]


def array_remarks(records: Accounting, waits: Ints) -> list[str]:
    """Return what is assumed of arrays whose tasks wait."""
    found = []
    limited = waits[records.at_once[waits] > 0]
    if len(limited):
        arrays = counted(len(np.unique(records.array[limited])), "arrays")
        found.append(f"{counted(len(limited), 'waiting tasks')} of {arrays} start as their arrays' "
                     "limits on running tasks allow.")  # fmt: skip
    if tasks_unknown(records):
        found.append(
            "At least: Slurm cut the lists of tasks of some waiting arrays, so more jobs wait than "
            "are counted. With SLURM_BITSTR_LEN=0 it prints them whole."
        )
    return found


def tasks_unknown(records: Accounting) -> bool:
    """Return whether more tasks wait than the records name."""
    return any(one.kind in UNKNOWN_TASKS for one in records.cleaning.remarks)


def by_priority(queue: SiteQueue, records: Accounting, present: PresentQueue) -> SiteQueue:
    """Return the queue with waiting jobs in order of Slurm's priorities, and with those known that
    something else than nodes holds."""
    snapshot = queue.snapshot
    recorded = {*records.job.tolist(), *records.array.tolist()}
    absent = [(why, tasks) for job, why, tasks in
              zip(present.job.tolist(), present.reason, present.tasks.tolist(), strict=True)
              if job not in recorded]  # fmt: skip
    remarks = queue.remarks
    if absent:
        whys = ", ".join(sorted({why for why, _ in absent}))
        jobs = counted(sum(tasks for _, tasks in absent), "jobs")
        remarks = (
            *remarks,
            f"Left out: {jobs} that Slurm holds back ({whys}) and that are not in its accounting.",
        )
    known = {job: k for k, job in enumerate(present.job.tolist())}
    rows = snapshot.job
    # Tasks that wait together stand there by their array, single ones by ids of their own.
    ids = zip(records.job[rows].tolist(), records.array[rows].tolist(), strict=True)
    place = [known.get(job, known.get(array, -1)) for job, array in ids]
    there = np.array([one >= 0 for one in place], np.bool_) & ~snapshot.running
    priority = np.where(there, np.append(present.priority, 0)[place], -1)
    order = np.lexsort((snapshot.ready, -priority, ~snapshot.running))
    order = np.concatenate(
        [np.flatnonzero(snapshot.running), order[~snapshot.running[order]]]
    ).astype(np.int64)
    held = np.array(
        [
            bool(there[k])
            and (not present.reason[place[k]].startswith(FREE_TO_START)
                 or bool(present.reservation[place[k]]))
            for k in order.tolist()
        ],
        np.bool_,
    )  # fmt: skip
    moved = replace(snapshot, **{name: getattr(snapshot, name)[order] for name in COLUMNS})
    return replace(queue, snapshot=moved, users=queue.users[order], held=held, remarks=remarks)


def past_queue(site: SiteRecords, now: int, limit: Ints, nodes: tuple[int, ...]) -> PastQueue:
    """Return the queue of the past as it is known at a time."""
    records = site.accounting
    assert records is not None, "no accounting"
    rows = np.flatnonzero((records.submit <= now) & ((records.nodes > 0) | (records.asked > 0)))
    ready = np.maximum(records.submit, records.eligible)[rows]
    size = np.where(records.nodes > 0, records.nodes, records.asked)[rows].astype(np.int64)
    pool = pools_of(records, site.inventory, rows)[0]
    start, end = records.start[rows], records.end[rows]
    return PastQueue(
        row=rows,
        submit=records.submit[rows],
        ready=ready,
        start=np.where(start <= now, start, NEVER),
        end=np.where(end <= now, end, NEVER),
        size=np.minimum(size, np.array(nodes)[pool]),
        limit=limit[rows],
        user=records.user.code[rows].astype(np.int64),
        partition=records.partition.code[rows].astype(np.int64),
        pool=pool,
        nodes=nodes,
    )


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
            f"{counted(missing, 'jobs')} of {int(np.sum(seen)) + missing:,} have no time limit "
            f"and are planned with the length of the longest run so far, {hours:,.1f} h."
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
            remarks.append(
                f"Jobs ran on {taken:,} nodes, more than the {told:,} that are known; {taken:,} "
                "are used."
            )
    return tuple(max(told, taken) for told, taken in zip(nodes, used.tolist(), strict=True))
