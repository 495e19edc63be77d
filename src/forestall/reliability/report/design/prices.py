"""What ways to run a cluster's jobs cost: found for each queue, and shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from forestall.core.model.units import format_duration
from forestall.core.show.blocks import Block, Column, Listing, Prose, Table
from forestall.core.show.facts import taken
from forestall.core.show.report import Section
from forestall.core.show.words import count, or_dash
from forestall.core.show.words import probability as percent
from forestall.reliability.queues.prices import PricedJob, cheapest, priced_jobs
from forestall.reliability.report.design.file import ClusterTable, DesignFile

if TYPE_CHECKING:
    from forestall.reliability.queues.priced_structures import PricedStructure
    from forestall.reliability.report.design.search import SearchResult


def priced_queues(plan: DesignFile) -> dict[str, list[PricedJob]]:
    """Return what ways to run each queue's jobs cost, where the file has prices."""
    table = plan.table
    if table.prices is None or table.pool is None or table.pool.repair is None:
        return {}
    asked = table.prices.prices, float(table.pool.repair), table.success
    return {queue.name: priced_jobs(plan.cluster, queue, *asked) for queue in plan.cluster.queues}


def priced(one: PricedJob) -> dict[str, Any]:
    """Return a way to run a job and what it costs, for JSON."""
    return taken(
        one, "queue", "source", "spares", interval_s="interval", success_probability="success",
        hours="hours", work_node_hours="work", checkpoint_node_hours="checkpoints",
        rework_node_hours="rework", spare_node_hours="spare", waiting_node_hours="waiting",
        node_hours="node_hours", failures="failures", waits_hours="waits", energy_kwh="energy",
        cost="cost",
    )  # fmt: skip


def prices_told(found: dict[str, list[PricedJob]], target: float) -> dict[str, Any]:
    """Return the cheapest way for each queue, and all ways, for JSON."""
    best = {name: cheapest(jobs, target) for name, jobs in found.items()}
    return {
        "cheapest": {name: None if one is None else priced(one) for name, one in best.items()},
        "designs": [priced(one) for jobs in found.values() for one in jobs],
    }


PRICES: Final[tuple[Column, ...]] = (
    ("Queue", "queue", str),
    ("Nodes of", "source", lambda name: name or "its own"),
    ("Spares", "spares", count),
    ("Interval", "interval_s", or_dash(format_duration)),
    ("Success", "success_probability", percent),
    ("Node-h", "node_hours", "{:,.0f}".format),
    ("of spares", "spare_node_hours", "{:,.0f}".format),
    ("of saves", "checkpoint_node_hours", "{:,.0f}".format),
    ("of waiting", "waiting_node_hours", "{:,.0f}".format),
    ("kWh", "energy_kwh", "{:,.0f}".format),
    ("Cost", "cost", "{:,.0f}".format),
)


def prices_section(found: dict[str, list[PricedJob]], table: ClusterTable) -> list[Section]:
    """Return the cheapest way to run each queue's jobs, and what they cost now; nothing without
    prices."""
    told, target = table.prices, table.success
    if told is None:
        return []
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for name, jobs in found.items():
        best, least = cheapest(jobs, target), min(jobs, key=lambda one: one.cost, default=None)
        if best is None or least is None:
            lines.append(f"{name}: no number of spares gives {percent(target)} success.")
        else:
            rows.append(priced(best))
            lines.append(_beside(name, jobs, best, least, told.currency))
    lines += [
        f"Success: no more nodes are lost than there are spares; target {percent(target)}.",
        "Cost: mean cost of one job that works up to its limit; failed nodes are replaced by "
        "spares at once, or the job waits for a repair.",
    ]
    title = f"Cheapest ways to run a job with a success of {percent(target)}"
    if told.currency:
        title += f", in {told.currency}"
    cheap = (Table.by("prices", PRICES, rows),) if rows else ()
    return [Section("prices", title, body=(*cheap, Listing(tuple(lines))))]


def _beside(
    name: str, jobs: list[PricedJob], best: PricedJob, least: PricedJob, currency: str
) -> str:
    """Say what the cheapest way of all costs, and the present one."""
    unit = f" {currency}" if currency else ""
    text = f"{name}: "
    if least.cost < best.cost:
        text += (
            f"this success costs {best.cost - least.cost:,.0f}{unit} a job more than the "
            f"cheapest option ({_way(least)}; {percent(least.success)} success)"
        )
    else:
        text += "the cheapest option"
    plain = [one for one in jobs if not (one.spares or one.source or one.interval)]
    if plain:
        text += f"; without spares and checkpoints a job costs {plain[0].cost:,.0f}{unit}, "
        text += f"with {percent(plain[0].success)} success"
    else:
        text += "; without checkpoints a job hardly ever finishes"
    return text + "."


def _way(one: PricedJob) -> str:
    """Return a way to run a job in words."""
    spares = f"{one.spares} {'spare' if one.spares == 1 else 'spares'}"
    often = "no checkpoints"
    if one.interval is not None:
        often = f"a checkpoint every {format_duration(one.interval)}"
    return f"{spares}, {often}" + (f", nodes of {one.source}" if one.source else "")


# Prices of a search -----------------------------------------------------------------------------


PRICED_ROWS: Final = 10
"""Rows of failures against cost, about."""

PRICED: Final[tuple[Column, ...]] = (
    ("F_job", "failure", percent),
    ("Cost a job", "cost", "{:,.2f}".format),
    ("Capacity", "capacity", "{:,.0f}".format),
    ("Queues (nodes + spares x limit, checkpoints)", "ways", str),
)


def priced_section(found: SearchResult, plain: PricedStructure, currency: str) -> Section:
    """Return failures against cost: what no other beats in failures, cost and capacity."""
    enough = [one for one in found.priced if one.capacity >= plain.capacity * (1 - 1e-9)]
    listed, least = [], math.inf
    for one in enough:  # the fewest failures first: each of the listed costs less
        if one.cost < least * (1 - 1e-3):
            listed.append(one)
            least = one.cost
    step = max(1, -(-len(listed) // PRICED_ROWS))
    shown = [*listed[:-1:step], *listed[-1:]]
    unit = f" {currency}" if currency else ""
    now = "The present queues" if found.now is not None and found.refused < 1e-12 else "The best"
    lines = [
        f"{now} without spares and checkpoints: {plain.cost:,.2f}{unit} a job, F_job "
        f"{percent(plain.failure)}."
    ]
    cheap = found.cheapest
    if cheap is not None:
        lines.append(
            f"Cheapest with no more failures and no less capacity: {cheap.cost:,.2f}{unit} a job, "
            f"F_job {percent(cheap.failure)}: {_ways_of(cheap)}."
        )
    rows = [taken(one, "failure", "cost", "capacity") | {"ways": _ways_of(one)} for one in shown]
    note = "Cost: mean of a job that works up to its queue's limit. Failures: more nodes are lost "
    note += "than there are spares. Capacity: with the nodes that spares hold."
    body: list[Block] = [Prose(line) for line in lines]
    if rows:
        body.append(Table.by("priced", PRICED, rows))
    return Section("priced", "Failures against cost", body=(*body, Prose(note)))


def _ways_of(one: PricedStructure) -> str:
    """Return the queues of a priced structure in words."""
    return ", ".join(
        f"{queue.nodes} + {way.spares} x {format_duration(queue.limit)}"
        + ("" if way.interval is None else f", every {format_duration(way.interval)}")
        for queue, way in zip(one.structure.queues, one.ways, strict=True)
    )
