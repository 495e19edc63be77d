"""What ways to run a cluster's jobs cost: found for each queue, and shown."""

from __future__ import annotations

from typing import Any, Final

from forestall.app.reliability.design.file import ClusterTable, DesignFile
from forestall.model.units import format_duration
from forestall.reliability.queues.prices import PricedJob, cheapest, priced_jobs
from forestall.show.blocks import Column, Listing, Table
from forestall.show.facts import taken
from forestall.show.report import Section
from forestall.show.words import count, or_dash
from forestall.show.words import probability as percent


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
        node_hours="node_hours", waits_hours="waits", energy_kwh="energy", cost="cost",
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
