"""Which nodes of a site are lemons, and what was lost with each node's failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.streams import stream
from forestall.prediction.assess.losses import after_checkpoint
from forestall.reliability.nodes.lemons import Lemons, lemons
from forestall.reliability.nodes.signals import NEAR, Signals, signals
from forestall.reliability.report.fleet import Watched, marks_of, watched

if TYPE_CHECKING:
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

FALSE_DISCOVERY_RATE: Final = 0.05
NOBODY: Final = frozenset({"unknown", "null", "none", "n/a", "(null)", "?", "-", ""})
"""Names that stand for no node."""
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LemonsStudy:
    """Which nodes are lemons; `found` None where the records tell no failures of nodes (`why`).

    `hours` are what is lost with each node's failures: node-hours of jobs where those are known
    (`of_jobs`), else hours that the node was out of service; None where neither is told.
    """

    asked: Asked
    watch: Watched | None
    found: Lemons | None
    hours: Floats | None = None
    of_jobs: bool = False
    why: str = ""


def study(
    site: SiteRecords, asked: Asked, *, false_discovery_rate: float = FALSE_DISCOVERY_RATE
) -> LemonsStudy:
    """Return which nodes are lemons; the records are cut to what was asked already."""
    watch = watched(site, asked)
    if watch is None:
        return LemonsStudy(asked, None, None, why="the records show no node failures")
    fleet = watch.fleet
    if int(np.count_nonzero(fleet.node_days > 0)) < 2:
        why = "fewer than two nodes are known, so there is nothing to compare"
        return LemonsStudy(asked, watch, None, why=why)
    lost = _lost(site, watch, asked)
    found = lemons(
        fleet,
        rng=stream(asked.seed, "lemons"),
        kind=watch.hardware or watch.partition,
        signals=_signals(site, watch),
        lost=lost,
        left_out=np.array([name.lower() in NOBODY for name in fleet.names], dtype=np.bool_),
        false_discovery_rate=false_discovery_rate,
        level=asked.level,
    )
    hours, of_jobs = found.lost_hours, True
    if hours is None or not float(hours.sum()) > 0:
        hours, of_jobs = found.down_hours, False
        if not bool(np.any(np.isfinite(hours))) or watch.basis == "runs":
            hours = None
    return LemonsStudy(asked, watch, found, hours, of_jobs)


def _signals(site: SiteRecords, watch: Watched) -> Signals:
    gpu = ticket = None
    if site.events is not None:
        gpu, ticket = marks_of(site.events)
    fleet = watch.fleet
    out = None
    if watch.basis == "failures":
        out = fleet.counts()
    elif watch.basis == "events":
        history = fleet.history
        began = history.outages.start >= history.start[history.outages.node]
        out = np.bincount(history.outages.node[began], minlength=len(fleet.names)).astype(np.int64)
    return signals(
        fleet.names,
        accounting=site.accounting,
        events=site.events,
        gpu=gpu,
        ticket=ticket,
        out=out,
        failed=watch.runs,
    )


def _lost(site: SiteRecords, watch: Watched, asked: Asked) -> Floats | None:
    """Return node-hours of jobs lost with the failures of each node: what runs that it ended had
    done since their last checkpoint; None where no such run's node is known."""
    runs, accounting = watch.runs, site.accounting
    if runs is None or accounting is None or runs.untold == len(runs):
        return None

    there = (runs.node >= 0) & ~_in_burst(watch, runs.node, accounting.end[runs.run])
    ended = accounting.take(runs.run[there])
    seconds = after_checkpoint(ended.elapsed, asked.checkpoint_interval)
    hours = np.maximum(ended.nodes, 1) * seconds / 3600
    lost: Floats = np.zeros(len(watch.fleet.names))
    np.add.at(lost, runs.node[there], hours)
    return lost


def _in_burst(watch: Watched, node: Ints, time: Ints) -> npt.NDArray[np.bool_]:
    """Return which of these ends of runs came with a failure of their node in a burst, bool[r]."""
    fleet = watch.fleet
    shared = np.flatnonzero(fleet.shared)
    if len(shared) == 0 or len(node) == 0:
        return np.zeros(len(node), dtype=np.bool_)
    begun = fleet.history.time[shared]
    low = int(min(begun.min(), time.min())) - NEAR
    far = int(max(begun.max(), time.max())) + NEAR - low + 1
    keys = np.sort(fleet.history.node[shared] * far + begun - low)
    at = node * far + time - low
    first, last = np.searchsorted(keys, at - NEAR), np.searchsorted(keys, at + NEAR, "right")
    return np.asarray((last > first) & (node >= 0))
