"""The futures of a site's queue: played, with and without a drain, and told by job and by hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.versions import of_fits
from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError
from forestall.core.show.as_json import SCHEMA
from forestall.scheduling.futures.futures import Futures, quantiles
from forestall.scheduling.futures.snapshot import NEVER, Drain, SchedulerRule
from forestall.scheduling.simulation.futures.run import make_futures
from forestall.site.futures.question import FuturesQuestion, drain_of
from forestall.site.futures.queue import SiteQueue, queue_at, tasks_unknown
from forestall.site.futures.unknown import arrivals_of, hazard_of, holds_of, ordered
from forestall.slurm.records.task_lists import TASKS, id_text
from forestall.slurm.sources import sources

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.given import GivenRecords

LEVELS: Final = (0.1, 0.5, 0.9)
HOUR: Final = 3600
HOURS: Final = 24
SOON: Final = 60
"""Seconds: a median that a drain moves by less is as it was."""


@dataclass(frozen=True)
class QueueFutures:
    """What the futures of a queue say.

    Attributes
    ----------
    site, dated : the records, and whether times are Unix seconds
    asked : what was asked
    queue, futures : the queue, and its futures as things stand
    drain, drained : a drain that was asked about, and the futures with it; None: none was
    assumed : who is first, who is held, who comes next, and what fails, in sentences
    """

    site: SiteRecords
    dated: bool
    asked: FuturesQuestion
    queue: SiteQueue
    futures: Futures
    drain: Drain | None = None
    drained: Futures | None = None
    assumed: tuple[str, ...] = ()

    @property
    def now(self) -> int:
        """When the queue is as it is."""
        return self.queue.snapshot.now

    def told(self, time: int) -> str:
        """Return a time as a reader takes it."""
        return sources.spoken(time, self.dated)

    @cached_property
    def jobs(self) -> list[dict[str, Any]]:
        """Each job that runs or waits, in order of priority: who, what, and when it starts and
        ends in 10, 50 and 90 % of futures; None where it does not."""
        assert self.site.accounting is not None
        records, snapshot = self.site.accounting, self.queue.snapshot
        starts = quantiles(self.futures.start, np.array(LEVELS))
        ends = quantiles(self.futures.end, np.array(LEVELS))
        later = self.delays
        rows = []
        for column, row in enumerate(snapshot.job.tolist()):
            told: dict[str, Any] = {
                "job": number if (number := int(records.job[row])) < TASKS else id_text(number),
                "user": records.user[row],
                "partition": records.partition[row],
                "nodes": int(snapshot.size[column]),
                "limit_s": int(snapshot.limit[column]),
                "state": "running" if snapshot.running[column] else "waiting",
            }
            for name, values in (("start", starts), ("end", ends)):
                for level, value in zip(LEVELS, values[:, column].tolist(), strict=True):
                    told[f"{name}_{100 * level:.0f}"] = None if value == NEVER else value
            if later is not None:
                told["end_later_s"] = int(later[column])
            rows.append(told)
        return rows

    @cached_property
    def delays(self) -> Ints | None:
        """How much later each job ends with the drain, as a difference of medians, s, int64[n];
        None without one."""
        if self.drained is None:
            return None
        middle = np.array([0.5])
        ends = quantiles(self.futures.end, middle)[0], quantiles(self.drained.end, middle)[0]
        both = (ends[0] < NEVER) & (ends[1] < NEVER)
        return np.where(both, ends[1] - ends[0], 0)

    @cached_property
    def free(self) -> list[dict[str, Any]]:
        """Free nodes by hour, of all pools: in 10, 50 and 90 % of futures no more than that, and as
        planned by limits in half of them."""
        times, total = self._free_of(self.futures)
        low, middle, high = quantiles(total, np.array(LEVELS))
        return [
            {"time": int(t), "hours": n, "free_10": int(a), "free_50": int(b), "free_90": int(c)}
            for n, (t, a, b, c) in enumerate(zip(times, low, middle, high, strict=True))
        ]

    @cached_property
    def free_drained(self) -> list[int] | None:
        """Free nodes by hour with the drain, in half of the futures; None without one."""
        if self.drained is None:
            return None
        middle: list[int] = quantiles(self._free_of(self.drained)[1], np.array([0.5]))[0].tolist()
        return middle

    def _free_of(self, futures: Futures) -> tuple[Ints, Ints]:
        """Return the hours, int64[h], and the free nodes of all pools at them, int64[K, h]."""
        times = self.now + HOUR * np.arange(HOURS + 1, dtype=np.int64)
        pools = range(len(futures.snapshot.nodes))
        return times, sum((futures.free(times, pool) for pool in pools), np.zeros(1, np.int64))

    @property
    def more_wait(self) -> bool:
        """Whether more jobs wait than are known, since lists of tasks were cut."""
        return self.site.accounting is not None and tasks_unknown(self.site.accounting)

    @property
    def summary(self) -> Mapping[str, Any]:
        """All of it as plain values."""
        snapshot = self.queue.snapshot
        return {
            "schema": SCHEMA,
            "at": self.now,
            "at_text": self.told(self.now),
            "nodes": sum(snapshot.nodes),
            "pools": dict(zip(self.queue.pools, snapshot.nodes, strict=True)),
            "running_jobs": int(snapshot.running.sum()),
            "waiting_jobs": int((~snapshot.running).sum()),
            "waiting_jobs_at_least": self.more_wait,
            "learned_from_jobs": self.queue.learned,
            "jobs": self.jobs,
            "free_nodes": self.free,
            "drain": None if self.drain is None else asdict(self.drain),
            "remarks": [*self.assumed, *self.queue.remarks],
            "parameters": asdict(self.asked),
            "sources": list(self.site.sources),
            "versions": dict(of_fits()),
        }


def find(
    given: GivenRecords, asked: FuturesQuestion, progress: Progress | None = None
) -> QueueFutures:
    """Return the futures of the queue that records tell of. Raises TraceError and ParameterError
    for unusable input, and where nobody runs or waits."""
    site = sources.gather(given)
    if site.accounting is None or not len(site.accounting):
        raise ParameterError("FILES", None, "records of jobs; there are none")
    site = sources.cut(site, sources.asked_of(site, given))
    assert site.accounting is not None
    dated, records = sources.is_dated(site), site.accounting
    now = _moment(asked.at, records, given, dated=dated)
    drain = None if asked.drain is None else drain_of(asked.drain, now, given.zone, dated=dated)
    queue = queue_at(site, now)
    if not len(queue.snapshot):
        told = sources.spoken(now, dated)
        allowed = f"a time at which jobs of {records.source} run or wait; there are none "
        if asked.at is None:
            raise ParameterError("at", None, f"{allowed}when the records end ({told})")
        raise ParameterError("at", told, f"{allowed}then")
    most = sum(queue.snapshot.nodes)
    if drain is not None and drain.nodes > most:
        raise ParameterError("drain", asked.drain, f"no more than the {most:,} nodes there are")
    return played(site, queue, asked, drain, dated=dated, progress=progress)


def _moment(asked: str | None, records: Accounting, given: GivenRecords, *, dated: bool) -> int:
    """Return the moment that is asked about, by default that at which the records end."""
    if asked is None:
        return records.until
    try:
        now = sources.moment(asked, "at", given.zone, dated)
        if not records.begin <= now <= records.until:
            begin, end = (sources.spoken(one, dated) for one in (records.begin, records.until))
            raise ParameterError("at", asked, f"a time that the records cover: {begin} to {end}")
    except ParameterError as error:
        raise ParameterError("at", asked, f"{error.allowed} ({records.source})") from None
    return now


def played(
    site: SiteRecords,
    queue: SiteQueue,
    asked: FuturesQuestion,
    drain: Drain | None,
    *,
    dated: bool,
    progress: Progress | None = None,
) -> QueueFutures:
    """Return a queue's futures, with and without a drain; the run times are the same in both."""
    rule = SchedulerRule.named(asked.rule, asked.depth)
    queue, ranked = ordered(queue, asked, rule)
    run = queue.law.draw(queue.asked(), asked.futures, asked.seed)
    ready, holds = None, "Jobs start at once when their nodes are free."
    if asked.holds == "recorded":
        ready, holds = holds_of(queue, rule, asked.futures, asked.seed)
    arrivals, comes = None, "No other job arrives."
    if asked.arrivals == "recent":
        arrivals, comes = arrivals_of(site, queue, asked.futures, asked.seed)
    failures, fails = None, "No node fails."
    if asked.node_failures == "recorded":
        failures, fails = hazard_of(site, queue.snapshot.now, sum(queue.snapshot.nodes), asked.seed)
    steps = 1 if drain is None else 2
    own: dict[str, Any] = {"failures": failures, "arrivals": arrivals, "ready": ready}
    futures = make_futures(queue.snapshot, run, rule, **own)
    if progress is not None:
        progress(1, steps)
    found = QueueFutures(site, dated, asked, queue, futures, assumed=(ranked, holds, comes, fails))
    if drain is None:
        return found
    taken = (*queue.snapshot.drains, *shared_out(drain, queue.snapshot.nodes))
    snapshot = replace(queue.snapshot, drains=taken)
    drained = make_futures(snapshot, run, rule, **own)
    if progress is not None:
        progress(2, steps)
    return replace(found, drain=drain, drained=drained)


def shared_out(drain: Drain, nodes: tuple[int, ...]) -> tuple[Drain, ...]:
    """Return a drain of nodes of any pool as one of each, as large as the pool's share."""
    ends = np.cumsum([0, *nodes]) * drain.nodes / max(sum(nodes), 1)
    parts = np.diff(np.round(ends).astype(np.int64)).tolist()
    return tuple(replace(drain, nodes=part, pool=pool) for pool, part in enumerate(parts) if part)
