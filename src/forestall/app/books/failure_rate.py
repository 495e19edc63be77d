"""How often a node fails, measured from a site's records, for what follows from it.

Taken from the first of these that is there: outages that are faults, a failure log, runs that the
failure of a node ended. Failures are counted node by node; those of several nodes at once are told
beside it as one event each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.app.books.words import between, counted, duration, number
from forestall.model.errors import ParameterError
from forestall.reliability.rates import poisson_interval

if TYPE_CHECKING:
    from forestall.app.books.asked import Asked
    from forestall.app.books.sources import Given
    from forestall.model.accounting import Accounting
    from forestall.model.site_records import SiteRecords
    from forestall.reliability.fleet import Fleet

DAY: Final = 86_400
OF_OUTAGES: Final = "outages that are faults"
OF_LOG: Final = "failures of the log"
OF_RUNS: Final = "runs that a node's failure ended"


@dataclass(frozen=True)
class Measured:
    """A node's failure rate.

    Attributes
    ----------
    failures, events : counted node by node, and with those of several nodes at once as one
    node_days : the time in which they came
    what : the records that were counted
    level : of the interval
    repair : mean time that a node is away after a failure, s; None where not told
    note : what else is to be said of the records, a sentence
    """

    failures: int
    events: int
    node_days: float
    what: str
    level: float
    repair: float | None = None
    note: str = ""

    @property
    def rate(self) -> float:
        """Failures a node-second."""
        return self.failures / (self.node_days * DAY)

    @property
    def mttf(self) -> float:
        """A node's mean time to failure, s; inf without failures."""
        return 1 / self.rate if self.failures else math.inf

    def ends(self) -> tuple[float, float]:
        """Return the ends of the rate's exact Poisson interval, failures a node-second."""
        low, high = (float(end) for end in poisson_interval(self.failures, self.level))
        return low / (self.node_days * DAY), high / (self.node_days * DAY)

    def mttf_ends(self) -> tuple[float, float]:
        """Return the ends of the interval of the MTTF, s; inf where it has no upper end."""
        low, high = self.ends()
        return 1 / high, (1 / low if low > 0 else math.inf)

    @property
    def text(self) -> str:
        """What was measured, as a sentence."""
        low, high = self.mttf_ends()
        ends = between(low, high, "seconds")
        per = number(self.rate * 1000 * DAY)
        text = (
            f"{counted(self.failures, self.what)} in {number(self.node_days)} node-days: a node's "
            f"MTTF is {duration(self.mttf)} ({100 * self.level:g} %: {ends}), "
            f"{per} failures per 1000 node-days"
        )
        if self.events < self.failures:
            text += f"; with nodes that failed together as one, {self.events:,} events"
        return f"{text}. {self.note}".rstrip()


def measured(site: SiteRecords, asked: Asked) -> Measured | None:
    """Return the failure rate of records that are cut to what was asked; None where they tell
    nothing of failures or of the time in which there were none."""
    from forestall.reliability.fleet import fleet_of_events, fleet_of_failures

    if site.events is not None:
        known = () if site.inventory is None else site.inventory.names
        names = tuple(dict.fromkeys((*known, *site.events.names)))
        fleet = fleet_of_events(site.events, asked.begin, asked.until, names=names)
        found = _of_fleet(fleet, OF_OUTAGES, asked.level)
        if found is not None:
            return found
    if site.failures is not None:
        fleet = fleet_of_failures(site.failures, asked.begin, asked.until)
        return _of_fleet(fleet, OF_LOG, asked.level)
    if site.accounting is not None:
        return _of_runs(site.accounting, asked.level)
    return None


def rate_of_records(given: Given) -> Measured:
    """Return the failure rate of what is `given`; ParameterError where it has no failure."""
    from forestall.app.books.sources import asked_of, cut, gather, younger

    site = gather(given)
    asked = asked_of(site, given)
    found = measured(cut(site, asked), asked)
    if found is None:
        allowed = "records of node outages, failures or node failures of runs; there are none"
        raise ParameterError("FILES", _listed(site), allowed)
    if not found.failures:
        least = duration(found.mttf_ends()[0])
        allowed = (
            f"records with a failure: there are none in {number(found.node_days)} node-days, so "
            f"a node's MTTF is at least {least} ({100 * found.level:g} %)"
        )
        raise ParameterError("FILES", _listed(site), allowed)
    return replace(found, note=younger(site, given))


def _listed(site: SiteRecords) -> str:
    return "; ".join(site.sources)


def _of_fleet(fleet: Fleet, what: str, level: float) -> Measured | None:
    days = float(fleet.node_days.sum())
    if days <= 0:
        return None
    told = fleet.down[(fleet.down >= 0) & fleet.ended]
    repair = float(told.mean()) if len(told) and told.mean() > 0 else None
    return Measured(len(fleet), fleet.events, days, what, level, repair)


def _of_runs(accounting: Accounting, level: float) -> Measured | None:
    """Count runs that ended NODE_FAIL over the node-days that runs took; runs that one node took
    with it in the same second are one event."""
    days = float(accounting.node_seconds.sum()) / DAY
    failed = np.flatnonzero(accounting.base().among(["NODE_FAIL"]) & accounting.ran)
    if days <= 0 or not bool(accounting.base().told.any()):
        return None
    if not len(failed):
        # A log whose states are not Slurm's does not know this end at all.
        return Measured(0, 0, days, OF_RUNS, level) if accounting.nodelist.words else None
    node = accounting.failed_node.code[failed].astype(np.int64)
    end = accounting.end[failed]
    alone = np.where(node >= 0, node, -1 - np.arange(len(failed)))
    distinct = len(np.unique(np.column_stack((alone, end)), axis=0))
    return Measured(distinct, distinct, days, OF_RUNS, level)
