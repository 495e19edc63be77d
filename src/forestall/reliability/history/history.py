"""From a failure log to samples: gaps with censoring, exposure, rates by year, node and cause."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.reliability.history.gaps import Gaps, NodeYears, gaps_of
from forestall.reliability.history.observed import Observed
from forestall.reliability.history.outages import NodeOutages, joined_up, outages_of, running_end
from forestall.reliability.history.rates import Rates
from forestall.reliability.history.years import Years, calendar_years, years_of_age

with lazily():
    import polars as pl


Clock = Literal["calendar", "uptime"]
First = Literal["auto", "all", "drop"]
Service = Literal["stated", "seen"]
By = Literal["node", "system"]
YearRule: TypeAlias = "Literal['calendar', 'age', 'own'] | npt.ArrayLike"

HOUR, DAY = 3600, 86_400
FEWEST_TIMES = 10
"""Steps between recorded times, at least, for telling the clock's own: that so many are multiples
of another number by chance has a probability below 0.001."""


@dataclass(frozen=True)
class History:
    """How the nodes of a machine failed while they were in service.

    Attributes
    ----------
    time, node : int64[n], failures in order of (time, node), s on the log's clock
    kind : cause of each, or None
    start, end : int64[nodes], each node was watched over [start, end); equal: not at all
    new : bool[nodes], whether the node was new at its start
    outages : when nodes were down
    clock : "calendar": gaps go from failure to failure; "uptime": from recovery to failure
    first : which intervals from a node's start to its first failure (or to its end, without one)
        count as gaps: those of new nodes ("auto"), all, or none ("drop")
    origin, names : as `Failures` has them
    cleaning : what was left out, changed or found odd, from the file up to here
    """

    time: Ints
    node: Ints
    kind: tuple[str, ...] | None
    start: Ints
    end: Ints
    new: Bools
    outages: NodeOutages
    clock: Clock = "calendar"
    first: First = "auto"
    origin: int | None = None
    names: tuple[str, ...] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def nodes(self) -> int:
        """How many nodes were in service at some time."""
        return int(np.count_nonzero(self.end > self.start))

    @cached_property
    def there(self) -> Ints:
        """The numbers of the nodes that were in service at some time, int64[nodes]."""
        return np.flatnonzero(self.end > self.start)

    # Gaps -----------------------------------------------------------------------------------------

    def gaps(self, by: By = "node") -> Gaps:
        """Return the gaps of every node, in order of (node, time), or those of the whole system.

        The gap after a node's last failure, and that of a node which never failed, are censored by
        the end of its service. A system's gaps run from any failure to the next, on whatever node
        (on the uptime clock: from when all nodes were up again), the first from the earliest start.
        On the uptime clock a failure that comes while the node, or for the system any node, is
        still down belongs to that outage and ends no gap.
        """
        if by == "node":
            return self._node_gaps
        if by != "system":
            raise ParameterError("by", by, "node or system")
        return self._system_gaps

    @cached_property
    def _node_gaps(self) -> Gaps:
        order = np.lexsort((self.time, self.node))
        return self._gaps(order, self.node[order], (self.start, self.end, self.new))

    def _gaps(self, order: Ints, group: Ints, service: tuple[Ints, Ints, Bools]) -> Gaps:
        """Return the gaps of groups with these services; `order` sorts failures by group."""
        time = self.time[order]
        since = time if self.clock == "calendar" else running_end(group, self.outages.up[order])
        start, end, new = service
        gaps = gaps_of(time, since, group, start, end)
        auto = new[gaps.node]
        counted = auto if self.first == "auto" else np.full(len(gaps), self.first == "all")
        ended_by = gaps.ended_by.copy()
        ended_by[~gaps.censored] = order[ended_by[~gaps.censored]]
        nothing = gaps.censored & (gaps.length <= 0)
        return replace(gaps, ended_by=ended_by).take((~gaps.first | counted) & ~nothing)

    @cached_property
    def _system_gaps(self) -> Gaps:
        start, end = self.span
        first = self.there[self.start[self.there] == start]
        one = (np.array([start]), np.array([end]), np.array([bool(np.all(self.new[first]))]))
        gaps = self._gaps(np.arange(len(self)), np.zeros(len(self), np.int64), one)
        return replace(gaps, node=np.full(len(gaps), -1))

    @cached_property
    def clock_step(self) -> int | None:
        """The step of the log's clock in seconds, of which all recorded times are multiples: what
        gaps of 0 are shorter than. None where too few different times are known to tell."""
        known = [self.time, self.outages.up] if self.clock == "uptime" else [self.time]
        apart = np.diff(np.unique(np.concatenate(known)))
        return int(np.gcd.reduce(apart)) if len(apart) >= FEWEST_TIMES else None

    @property
    def span(self) -> tuple[int, int]:
        """From the first node's start of service to the last one's end, s on the log's clock."""
        if len(self.there) == 0:
            return 0, 0
        return int(self.start[self.there].min()), int(self.end[self.there].max())

    def sample(
        self,
        by: By = "node",
        *,
        node: int | str | None = None,
        cause: str | None = None,
        year: int | None = None,
        years: YearRule = "calendar",
    ) -> tuple[Floats, Bools]:
        """Return (gaps in seconds, censored) of all nodes or one, of the system, a year, a cause.

        A gap belongs to the year in which it ends (see `years`). With a cause (``Hardware``, or
        with its sub-cause, ``Hardware: CPU``) gaps run from one failure of that cause to the next.
        Raises ParameterError for a node, cause or year that is not there.
        """
        if cause is not None:
            return self.only(cause).sample(by, node=node, year=year, years=years)
        gaps = self.gaps(by)
        if node is not None:
            if by == "system":
                raise ParameterError("node", node, "none with the gaps of the system")
            gaps = gaps.take(gaps.node == self.number(node))
        if year is not None:
            if by == "system" and years != "calendar":
                raise ParameterError("years", years, "calendar with the gaps of the system")
            rule = self.years(years)
            ends = gaps.end - gaps.censored  # a window's end is its past-the-last second
            gaps = gaps.take(rule.of(ends, np.maximum(gaps.node, 0)) == rule.place(year))
        return gaps.length, gaps.censored

    def number(self, node: int | str) -> int:
        """Return the number of a node given by number or name."""
        if self.names is not None and str(node) in self.names:
            return self.names.index(str(node))
        count = len(self.start)
        if not str(node).isdecimal() or int(node) >= count:
            raise ParameterError("node", node, f"a node from 0 to {count - 1}, or a name of one")
        return int(node)

    # Causes ---------------------------------------------------------------------------------------

    def causes(self, *, sub: bool = False) -> tuple[str, ...]:
        """Return the causes: what stands before the colon (all of it with `sub`), sorted."""
        return tuple(sorted(set(self._causes(sub))))

    def _causes(self, sub: bool) -> list[str]:
        kinds = self.kind or ()
        return [kind if sub else kind.partition(":")[0] for kind in kinds]

    def only(self, cause: str) -> History:
        """Return the history of the failures of one cause or sub-cause alone."""
        sub = ":" in cause
        if cause not in self.causes(sub=sub):
            known = ", ".join(name or "(none given)" for name in self.causes()[:12])
            raise ParameterError("cause", cause, f"a cause of the log: {known or 'it has none'}")
        return self._take(np.array([name == cause for name in self._causes(sub)], np.bool_))

    def without(self, cause: str) -> History:
        """Return the history of all failures but those of one cause or sub-cause."""
        causes = self._causes(":" in cause)
        return self._take(np.array([name != cause for name in causes], np.bool_))

    def of_nodes(self, nodes: npt.ArrayLike) -> History:
        """Return the history of these nodes alone; the others count as never in service."""
        chosen = np.zeros(len(self.start), dtype=np.bool_)
        chosen[[self.number(node) for node in np.atleast_1d(nodes).tolist()]] = True
        mine = chosen[self.outages.node]
        down = replace(
            self.outages,
            node=self.outages.node[mine],
            start=self.outages.start[mine],
            end=self.outages.end[mine],
        )
        end = np.where(chosen, self.end, self.start)
        return replace(self, end=end, outages=down)._take(chosen[self.node])

    def _take(self, where: Bools) -> History:
        index = np.flatnonzero(where)
        return replace(
            self,
            time=self.time[index],
            node=self.node[index],
            kind=None if self.kind is None else tuple(self.kind[i] for i in index.tolist()),
            outages=replace(self.outages, up=self.outages.up[index]),
        )

    # Years, exposure and rates --------------------------------------------------------------------

    def years(self, rule: YearRule = "calendar") -> Years:
        """Return the years by which to count.

        "calendar"; "age": years 1, 2, ... of each node from its start of service; "own": from its
        own first failure (from its start where it never failed); or int64[nodes], seconds on the
        log's clock from which each node's (each cohort's) years count. What is before the origin is
        put into year 1. A year of age has 365.25 days and begins with a whole day.
        """
        if isinstance(rule, str):
            if rule == "calendar":
                start, end = self.span
                return calendar_years(self.origin, start, max(start, end - 1))
            if rule == "age":
                return self._aged(self.start)
            if rule == "own":
                return self._aged(self.first_failures())
            raise ParameterError("years", rule, "calendar, age, own or the origin of each node")
        origin = np.asarray(rule)
        if origin.shape != self.start.shape or not np.all(np.isfinite(origin)):
            allowed = f"{len(self.start)} seconds, the origin of each node's years"
            raise ParameterError("years", f"{origin.size} origins", allowed)
        return self._aged(origin.astype(np.int64))

    def _aged(self, origin: Ints) -> Years:
        """Return years of age, as many as the nodes in service reach."""
        last = np.where(self.end > self.start, self.end - 1, origin)
        return years_of_age(origin, last)

    def first_failures(self) -> Ints:
        """Return each node's first failure, its start of service where it never failed."""
        first = np.full(len(self.start), np.iinfo(np.int64).max)
        np.minimum.at(first, self.node, self.time)
        return np.where(first == np.iinfo(np.int64).max, self.start, first)

    def node_years(self, years: YearRule = "calendar") -> NodeYears:
        """Return failures and exposure of each node in each year."""
        rule = self.years(years)
        count = len(rule.labels)
        place = self.node * count + rule.of(self.time, self.node)
        failures = np.bincount(place, minlength=len(self.start) * count)
        seconds = rule.within(np.arange(len(self.start)), self.start, self.end)
        if self.clock == "uptime":
            down = self.outages
            low = np.clip(down.start, self.start[down.node], self.end[down.node])
            high = np.clip(down.end, self.start[down.node], self.end[down.node])
            np.subtract.at(seconds, down.node, rule.within(down.node, low, high))
        return NodeYears(rule.labels, failures.reshape(-1, count), seconds / DAY)

    @cached_property
    def node_days(self) -> Floats:
        """Exposure of each node, float64[nodes], days (those up, on the uptime clock)."""
        return np.asarray(self.node_years(self.start).node_days.sum(axis=1))

    @property
    def exposure_hours(self) -> float:
        """Node-hours under watch, of all nodes together."""
        return float(self.node_days.sum()) * DAY / HOUR

    def rates(
        self,
        by: Literal["all", "year", "node", "cause", "subcause"] = "year",
        *,
        years: YearRule = "calendar",
        level: float = 0.95,
    ) -> Rates:
        """Return failures per 1000 node-days with exact intervals, of each year, node or cause."""
        if by == "year":
            table = self.node_years(years)
            names = [str(year) for year in table.years]
            failures, days = table.failures.sum(axis=0), table.node_days.sum(axis=0)
        elif by == "node":
            names = [self._name(node) for node in self.there.tolist()]
            failures = np.bincount(self.node, minlength=len(self.start))[self.there]
            days = self.node_days[self.there]
        elif by in ("all", "cause", "subcause"):
            causes = ["all"] * len(self) if by == "all" else self._causes(by == "subcause")
            names = sorted(set(causes)) if by != "all" else ["all"]
            counts = dict.fromkeys(names, 0)
            for cause in causes:
                counts[cause] += 1
            failures = np.array([counts[name] for name in names], dtype=np.int64)
            days = np.full(len(names), self.node_days.sum())
        else:
            raise ParameterError("by", by, "all, year, node, cause or subcause")
        return Rates.of(by, names, failures, days, level)

    def _name(self, node: int) -> str:
        return str(node) if self.names is None else self.names[node]

    # Tables and views -----------------------------------------------------------------------------

    def observed(self, by: By = "node") -> Observed:
        """Return failures and windows for tests of trend: of each node, or of the whole system."""
        time = self.time.astype(np.float64)
        if by == "system":
            start, end = (np.array([float(moment)]) for moment in self.span)
            return Observed(time, np.zeros(len(time), dtype=np.int64), start, end)
        if by != "node":
            raise ParameterError("by", by, "node or system")
        number = np.searchsorted(self.there, self.node).astype(np.int64)
        order = np.lexsort((time, number))
        start, end = (a[self.there].astype(np.float64) for a in (self.start, self.end))
        return Observed(time[order], number[order], start, end)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each thing that a report should name."""
        node, system = self.gaps("node"), self.gaps("system")
        return {
            "failures": len(self),
            "nodes": self.nodes,
            "nodes_failed": len(np.unique(self.node)),
            "gaps_node": int(np.count_nonzero(~node.censored)),
            "gaps_node_censored": int(np.count_nonzero(node.censored)),
            "gaps_node_zero": node.zeros,
            "gaps_system": int(np.count_nonzero(~system.censored)),
            "gaps_system_zero": system.zeros,
        }

    def table(self) -> pl.DataFrame:
        """Return a Polars table of the failures with the gap that each ended: ``time,node,back``
        and, where known, ``cause,kind``, ``gap_node`` (null: left out), ``gap_system``."""
        columns: dict[str, object] = {"time": self.time, "node": self.node, "back": self.outages.up}
        if self.kind is not None:
            columns |= {"cause": self._causes(False), "kind": list(self.kind)}
        for by in ("node", "system"):
            gaps = self.gaps(by)
            length = np.full(len(self), np.nan)
            seen = gaps.ended_by >= 0
            length[gaps.ended_by[seen]] = gaps.length[seen]
            columns[f"gap_{by}"] = pl.Series(length).fill_nan(None)
        return pl.DataFrame(columns)


def history(
    failures: Failures,
    *,
    clock: Clock = "calendar",
    merge_overlaps: bool | None = None,
    first: First = "auto",
    service: Service = "stated",
) -> History:
    """Return the history of a failure log.

    Parameters
    ----------
    failures : the log, with each node's time in service where it tells. Where it does not, all
        nodes are watched from time 0 (or the first failure, if that is earlier) to the end of its
        span, and none is taken to be new at the start
    clock : "calendar": gaps from failure to failure (as Hacker and Meglicki, HPDC 2007);
        "uptime": from the node's recovery to its next failure, exposure without the time down
    merge_overlaps : whether a failure recorded while its node was still down is left out, as part
        of the same outage; None: on the uptime clock
    first : see `History`
    service : "stated", or "seen": each node from its own first failure on, as if installed then
        (nodes without failures are left out); for logs whose stated dates are too coarse

    Raises ParameterError for an option that there is not, and for a log without failures.
    """
    for name, value, allowed in (
        ("clock", clock, ("calendar", "uptime")),
        ("first", first, ("auto", "all", "drop")),
        ("service", service, ("stated", "seen")),
    ):
        if value not in allowed:
            raise ParameterError(name, value, " or ".join(allowed))
    if len(failures) == 0:
        raise ParameterError("failures", "none", "a log with at least one failure")
    if merge_overlaps is None:
        merge_overlaps = clock == "uptime"
    start, end, new, cleaning = _service(failures, service)
    inside = (failures.time >= start[failures.node]) & (failures.time < end[failures.node])
    names = _names(failures, ~inside)
    text = "failures outside of their node's time in service"
    cleaning = cleaning.plus("outside_service", text, "left out", names)
    seen = failures.take(inside)
    outages, overlaps = outages_of(seen.time, seen.node, seen.downtime)
    text = "failures while their node was still down from an earlier one"
    if merge_overlaps:
        text += " (merged)"
    action: Literal["left out", "kept"] = "left out" if merge_overlaps else "kept"
    cleaning = cleaning.plus("overlapping_outage", text, action, _names(seen, overlaps))
    if clock == "uptime":
        text = "failures without a downtime (node assumed back at once)"
        cleaning = cleaning.plus("no_end", text, "changed", _names(seen, seen.downtime < 0))
    if merge_overlaps:
        up = joined_up(outages, seen.time, seen.node)
        outages = replace(outages, up=up[~overlaps])
        seen = seen.take(~overlaps)
    built = History(
        seen.time, seen.node, seen.kind, start, end, new, outages, clock, first,
        failures.origin, failures.names, cleaning,
    )  # fmt: skip
    cleaning = _of_first(built, cleaning)
    return replace(built, cleaning=_of_machine(built, cleaning))


def _names(failures: Failures, where: Bools) -> list[str]:
    index = np.flatnonzero(where)
    pairs = zip(failures.node[index].tolist(), failures.time[index].tolist(), strict=True)
    return [f"node {node} at {time} s" for node, time in pairs]


def _service(failures: Failures, service: Service) -> tuple[Ints, Ints, Bools, Cleaning]:
    """Return start, end and newness of each node, and the remarks so far."""
    cleaning = failures.cleaning + failures.aside
    count = failures.nodes
    if failures.service_start is None:
        begin = min(0, int(failures.time[0]))
        start = np.full(count, begin, dtype=np.int64)
        # the span is from time 0 where that is given, else from the first failure
        last = max(begin + failures.span, int(failures.time[-1]) + 1)
        end, new = np.full(count, last, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    else:
        assert failures.service_end is not None
        assert failures.service_new is not None
        start, end, new = failures.service_start, failures.service_end, failures.service_new
    if service == "seen":
        first = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(first, failures.node, failures.time)
        start, new = np.minimum(first, end), np.zeros(count, dtype=np.bool_)
        text = "nodes that never failed, so their start is unknown"
        names = (f"node {node}" for node in np.flatnonzero(start == end).tolist())
        cleaning = cleaning.plus("never_seen", text, "left out", names)
    return start, end, new, cleaning


def _of_first(built: History, cleaning: Cleaning) -> Cleaning:
    """Return the remarks with one on nodes whose first interval is no gap, of those in service."""
    if built.first == "all":
        return cleaning
    gone = built.there if built.first == "drop" else built.there[~built.new[built.there]]
    text = "nodes whose time to the first failure is not a gap"
    if built.first == "auto":
        text += " (not known to be new when observation began)"
    names = (f"node {node}" for node in gone.tolist())
    return cleaning.plus("first_interval", text, "left out", names)


def _of_machine(built: History, cleaning: Cleaning) -> Cleaning:
    """Return the remarks with one on failures that end no gap of the machine, on its uptime."""
    if built.clock == "calendar" or len(built) == 0:
        return cleaning
    back = np.maximum.accumulate(built.outages.up)
    still_down = np.zeros(len(built), dtype=np.bool_)
    still_down[1:] = built.time[1:] < back[:-1]
    pairs = zip(built.node[still_down].tolist(), built.time[still_down].tolist(), strict=True)
    text = "failures while some node was still down (they end no gap of the whole machine)"
    names = (f"node {node} at {time} s" for node, time in pairs)
    return cleaning.plus("machine_still_down", text, "kept", names)
