"""The section on nodes: how long they last, how long they are away, where and when they fail."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from forestall.core.show.facts import Fact, Untold, plain
from forestall.core.show.quantities import counted, duration, number
from forestall.core.show.report import Section
from forestall.reliability.history.mean_times import Interval, rate_per_1000
from forestall.reliability.nodes.node_times import NodeTimes
from forestall.site.nodes.pictures import pictures
from forestall.site.nodes.study import NodesStudy, study
from forestall.site.nodes.tables import NAMES, ends, lead, notes, tables, untold

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["figure", "section", "study"]

KEY: Final = "nodes"
TITLE: Final = "How reliable nodes are"
DAY_HOURS: Final = 24.0
HOUR: Final = 3600.0
POISSON: Final = (
    "events are independent and come at a constant rate; the failures of one event come together"
)


def section(found: NodesStudy) -> Section:
    """Return the section."""
    if found.found is None:
        return _nothing(found)
    if found.times is None:
        return _of_runs(found)

    return Section(
        KEY,
        TITLE,
        lead(found),
        facts=tuple(_figures(found)),
        body=(*tables(found), *pictures(found)),
        series=tuple(_series(found)),
        notes=tuple(notes(found)),
        untold=tuple(untold(found)),
    )


def figure(
    key: str,
    label: str,
    value: Interval,
    unit: str,
    records: int,
    *,
    assumes: str = "",
    level: float = 0.95,
    labels: Mapping[str, str] | None = None,
    why: str = "no failure was seen",
) -> Fact:
    """Return an interval as a figure; what is not finite is not told."""
    return Fact(
        key,
        label,
        plain(value.value),
        unit,
        records,
        assumes,
        plain(value.low),
        plain(value.high),
        level,
        labels or {},
        "" if math.isfinite(value.value) else why,
    )


def _figures(found: NodesStudy) -> list[Fact]:
    times, watch = found.times, found.found
    assert times is not None
    assert watch is not None
    n, level = times.failures, times.level
    unclear = found.with_unclear
    figures = [
        figure("node_mttf", "a node's mean time to failure", times.mttf.times(1 / DAY_HOURS),
               "days", n, assumes=POISSON, level=level),
        figure("node_failure_rate", "node failures", times.rate, "per_1000_node_days", n,
               assumes=POISSON, level=level, why="no node was in service"),
        Fact("node_failures", "failures, node by node", n, "count", n),
        Fact("node_failure_events", "failures, each burst counted as one",
             times.events, "count", n,
             "similar failures of 3 or more nodes within minutes have one cause"),
        figure("node_event_rate", "rate, each burst counted as one", times.rate_events,
               "per_1000_node_days", n, assumes=POISSON, level=level, why="no node was in service"),
    ]  # fmt: skip
    if unclear is not None and unclear.failures > n:
        label = "MTTF of a node if all unclear outages were failures"
        figures.append(
            figure("node_mttf_with_unclear", label, unclear.mttf.times(1 / DAY_HOURS), "days",
                   unclear.failures, assumes=POISSON, level=level)
        )  # fmt: skip
    if found.short:
        figures = [_too_short(one, found) for one in figures]
    return figures + _away(times)


def _too_short(one: Fact, found: NodesStudy) -> Fact:
    """Return a figure that says how little it rests on, where the records are short for a rate."""
    if one.unit == "count" or one.value is None:
        return one
    caution = f"the records cover only {duration(found.watched)}, so the result is mostly chance"
    return replace(one, assumes=f"{one.assumes}; {caution}" if one.assumes else caution)


def _away(times: NodeTimes) -> list[Fact]:
    """Return the figures of repairs and availability."""
    repairs, level = times.repairs, times.level
    figures: list[Fact] = []
    if repairs is not None:
        n = repairs.ended + repairs.open
        open_ones = "the records end before that many nodes were back"
        figures += [
            figure("node_mttr", "mean time to repair (MTTR)", repairs.mean.times(HOUR),
                   "seconds", n,
                   assumes="outages are exponential; open ones count up to the end of the records",
                   level=level, why="no failed node came back"),
            figure("node_repair_median", "median outage",
                   repairs.median.times(HOUR), "seconds", n, level=level, why=open_ones),
            figure("node_repair_90th", "90th percentile of outages",
                   repairs.ninth.times(HOUR), "seconds", n, level=level, why=open_ones),
            figure("node_availability", "availability", times.availability, "ratio",
                   n, assumes="uptimes and outages are exponential", level=level,
                   why="no node was in service"),
        ]  # fmt: skip
    share = times.in_service
    nothing = Interval(share, math.nan, math.nan)
    label = "time in service"
    figures.append(
        figure("node_in_service", label, nothing, "ratio", times.failures,
               why="no node was observed")
    )  # fmt: skip
    return figures


def _series(found: NodesStudy) -> list[Fact]:
    """Return the rates of groups as figures."""
    made = []
    for by, groups in ({} if found.short else found.groups or {}).items():
        rates = groups.rates
        for k, name in enumerate(rates.group):
            value = Interval(float(rates.rate[k]), float(rates.low[k]), float(rates.high[k]))
            made.append(
                figure(
                    f"node_failure_rate_by_{by}", f"node failures, {NAMES[by]} {name}", value,
                    "per_1000_node_days", int(rates.failures[k]), assumes=POISSON,
                    level=rates.level, labels={by: name or "not told"},
                    why="no node was in service",
                )
            )  # fmt: skip
    watch = found.found
    assert watch is not None
    for nature, seconds in watch.fleet.seconds.items():
        made.append(
            Fact("node_out_of_service", f"out of service, {nature}", seconds / 3600,
                 "node_hours", watch.fleet.spells.get(nature, 0), labels={"nature": nature})
        )  # fmt: skip
    return made


def _of_runs(found: NodesStudy) -> Section:
    """Return the section where failures are known from runs alone."""
    jobs = found.jobs
    assert jobs is not None
    level = found.asked.level
    text = (
        f"Nodes failed under {counted(jobs.runs, 'runs')}: "
        f"{ends(jobs.rate, 'per_1000_node_days', level)} that jobs ran. Runs alone show neither "
        "MTTF nor MTTR."
    )
    of_jobs = "counts failures under jobs only; time is that of jobs, not of nodes"
    figures = (
        figure("job_node_failure_rate", "node failures under jobs", jobs.rate,
               "per_1000_node_days", jobs.runs, assumes=f"{POISSON}; {of_jobs}", level=level,
               why="no job ran"),
        figure("job_node_event_rate", "the same, runs that ended together counted as one",
               jobs.rate_events, "per_1000_node_days", jobs.runs,
               assumes=f"{POISSON}; {of_jobs}", level=level, why="no job ran"),
        Fact("job_node_failures", "runs ended by a node failure", jobs.runs, "count",
             jobs.runs),
        Fact("job_node_failures_known", "of those, runs whose failed node is known", jobs.named,
             "count", jobs.runs),
    )  # fmt: skip
    why = "there are no records of outages; failures are visible only where a job ran"
    return Section(
        KEY, TITLE, text, figures,
        notes=(
            "One of the nodes of such a run failed; where the records do not name it, each of "
            "its n nodes counts for 1/n.",
        ),
        untold=(Untold("Node MTTF, MTTR and availability", why, "sacctmgr show event"),),
    )  # fmt: skip


def _nothing(found: NodesStudy) -> Section:
    """Return the section where nothing tells of failures."""
    text = "The records show no node failures: no outages, and no run ended by a node failure."
    told: tuple[str, ...] = ()
    if found.untold_days:
        high = rate_per_1000(0, found.untold_days, found.asked.level).high
        told = (
            "If the batch system records runs ended by node failures, nodes failed fewer than "
            f"{number(high)} times per 1000 node-days of running jobs.",
        )
    return Section(
        KEY, TITLE, text, notes=told,
        untold=(Untold(TITLE, "no outages are recorded", "sacctmgr show event, or a failure log"),),
    )  # fmt: skip
