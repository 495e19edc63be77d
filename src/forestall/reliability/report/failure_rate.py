"""How often a node fails, measured from a site's records, for what follows from it.

Taken from the first of these that is there: outages that are faults, a failure log, runs that the
failure of a node ended. Failures are counted node by node, over the time in service of all nodes
that the records name, as in the section on nodes; those of several nodes at once are told beside
it as one event each, and the rate is no surer than so many events make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.show.quantities import between, counted, duration, number
from forestall.reliability.history.rates import compound_interval
from forestall.reliability.nodes.fleet import fleet_of_failures
from forestall.reliability.report.fleet import known_nodes
from forestall.slurm.sources.sources import asked_of, cut, gather, younger

if TYPE_CHECKING:
    from forestall.reliability.nodes.fleet import WatchedNodes
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked
    from forestall.slurm.sources.sources import GivenRecords

DAY: Final = 86_400
LEAST: Final = DAY
"""Records of less time, s, do not tell how often a node fails."""
ONLY_FAILED: Final = (
    "Only nodes with outages are known, so the true MTTF may be longer: give the jobs or the "
    "nodes as well."
)
RECORDS: Final = "the records"
OF_OUTAGES: Final = "outages that are faults"
OF_LOG: Final = "failures of the log"
OF_RUNS: Final = "runs ended by a node failure"

ONE: Final = {
    OF_OUTAGES: "outage that is a fault",
    OF_LOG: "failure of the log",
    OF_RUNS: "run ended by a node failure",
}


@dataclass(frozen=True)
class MeasuredRate:
    """A node's failure rate.

    Attributes
    ----------
    failures, events : counted node by node, and with those of several nodes at once as one
    node_days : the time in which they came
    what : the records that were counted
    level : of the interval
    repair : mean time that a node is away after a failure, s; None where not told
    note : what else is to be said of the records, a sentence
    alone : so many failures that came each on its own would leave the rate as unsure as these do,
        `failures`^2 over the sum of the squared sizes of events; None where each came on its own
    """

    failures: int
    events: int
    node_days: float
    what: str
    level: float
    repair: float | None = None
    note: str = ""
    alone: float | None = None

    @property
    def rate(self) -> float:
        """Failures a node-second."""
        return self.failures / (self.node_days * DAY)

    @property
    def mttf(self) -> float:
        """A node's mean time to failure, s; inf without failures."""
        return 1 / self.rate if self.failures else math.inf

    def ends(self) -> tuple[float, float]:
        """Return the ends of the rate's interval, failures a node-second.

        It is the exact Poisson interval. Failures that came together are a compound Poisson count:
        its mean over its standard deviation is that of `alone` failures, whose interval it gets.
        """
        alone = self.failures if self.alone is None else self.alone
        low, high = compound_interval(self.failures, alone, self.level)
        time = self.node_days * DAY
        return low / time, high / time

    def mttf_ends(self) -> tuple[float, float]:
        """Return the ends of the interval of the MTTF, s; inf where it has no upper end."""
        low, high = self.ends()
        return 1 / high, (1 / low if low > 0 else math.inf)

    @property
    def _counted(self) -> str:
        return f"1 {ONE[self.what]}" if self.failures == 1 else f"{self.failures:,} {self.what}"

    @property
    def text(self) -> str:
        """What was measured, as a sentence."""
        low, high = self.mttf_ends()
        ends = between(low, high, "seconds")
        per = number(self.rate * 1000 * DAY)
        text = (
            f"{self._counted} in {number(self.node_days)} node-days: a node's "
            f"MTTF is {duration(self.mttf)} ({100 * self.level:g} %: {ends}), "
            f"{per} failures per 1000 node-days"
        )
        if self.events < self.failures:
            text += f"; simultaneous failures counted as one: {counted(self.events, 'events')}"
        if self.alone is not None:
            text += ", which widens the interval"
        return f"{text}. {self.note}".rstrip()


def measured(site: SiteRecords, asked: Asked, least: int = LEAST) -> MeasuredRate | None:
    """Return the failure rate of records that are cut to what was asked; None where they tell
    nothing of failures or of the time in which there were none, or cover less than `least` s."""
    if asked.until - asked.begin < least:
        return None
    if site.events is not None:
        known = known_nodes(site, site.events, asked)
        found = _of_fleet(known.fleet(asked), OF_OUTAGES, asked.level)
        if found is not None:
            return found if known.listed else replace(found, note=ONLY_FAILED)
    if site.failures is not None:
        fleet = fleet_of_failures(site.failures, asked.begin, asked.until)
        return _of_fleet(fleet, OF_LOG, asked.level)
    if site.accounting is not None:
        return _of_runs(site.accounting, asked.level)
    return None


def rate_of_records(given: GivenRecords) -> MeasuredRate:
    """Return the failure rate of what is `given`; ParameterError where it has no failure."""
    site = gather(given)
    if given.min_nodes > 1 and (site.events is not None or site.failures is not None):
        allowed = "1 here: outages and node failures count, whatever ran on the nodes"
        raise ParameterError("min_nodes", given.min_nodes, allowed)
    asked = asked_of(site, given)
    found = measured(cut(site, asked), asked, least=1)
    if found is None:
        raise TraceError(RECORDS, _missing(site))
    if not found.failures:
        least = duration(found.mttf_ends()[0])
        raise TraceError(
            RECORDS,
            f"there is no failure in {number(found.node_days)} node-days, so a node's MTTF is at "
            f"least {least} ({100 * found.level:g} %); expected a window with one ({{since}}), or "
            "{mttf}",
        )
    notes = (found.note, _caution(asked), younger(site, given))
    return replace(found, note=" ".join(note for note in notes if note))


def _caution(asked: Asked) -> str:
    """Return what is to be said of records that are short for a rate."""
    span = asked.until - asked.begin
    return (
        ""
        if span >= LEAST
        else f"The records cover only {duration(span)}, so the result is mostly chance."
    )


def _missing(site: SiteRecords) -> str:
    """Return what records without a rate lack."""
    if site.events is not None or site.failures is not None:
        return "no node was in service in all of this time"
    return "hold no outages, no failures and no runs ended by a node failure"


def _of_fleet(fleet: WatchedNodes, what: str, level: float) -> MeasuredRate | None:
    days = float(fleet.node_days.sum())
    if days <= 0:
        return None
    told = fleet.down[(fleet.down >= 0) & fleet.ended]
    repair = float(told.mean()) if len(told) and told.mean() > 0 else None
    alone = fleet.alone if fleet.events < len(fleet) else None
    return MeasuredRate(len(fleet), fleet.events, days, what, level, repair, alone=alone)


def _of_runs(accounting: Accounting, level: float) -> MeasuredRate | None:
    """Count runs that ended NODE_FAIL over the node-days that runs took; runs that one node took
    with it in the same second are one event."""
    days = float(accounting.node_seconds.sum()) / DAY
    failed = np.flatnonzero(accounting.base().among(["NODE_FAIL"]) & accounting.ran)
    if days <= 0 or not bool(accounting.base().told.any()):
        return None
    if not len(failed):
        # A log whose states are not Slurm's does not know this end at all.
        return MeasuredRate(0, 0, days, OF_RUNS, level) if accounting.nodelist.words else None
    node = accounting.failed_node.code[failed].astype(np.int64)
    end = accounting.end[failed]
    alone = np.where(node >= 0, node, -1 - np.arange(len(failed)))
    distinct = len(np.unique(np.column_stack((alone, end)), axis=0))
    return MeasuredRate(distinct, distinct, days, OF_RUNS, level)
